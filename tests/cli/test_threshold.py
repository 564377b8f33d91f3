"""`symattn threshold`: the JSON contract, the table, and what is said when there is none."""

import json
import re

import pytest

from symattn.cli import main

FAST = ("threshold", "weak_positional", "--lambda", "0.1")


def test_the_object_has_what_the_contract_says(capsys):
    assert main([*FAST, "--json"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    found = json.loads(captured.out)
    assert set(found) == {
        "name", "model", "alpha", "error", "digits", "method", "certificate", "at"
    }  # fmt: skip
    assert found["name"] == "weak_positional"
    assert found["model"]["lam"] == 0.1
    assert found["digits"] == 15
    assert found["error"] <= 0.5e-15 * found["alpha"]
    assert set(found["at"]) == {"zero"}
    assert {"replicon", "jump_flux"} <= set(found["at"]["zero"])
    assert found["at"]["zero"]["errors"]["replicon"] < 1e-14


def test_beyond_fifteen_digits_numbers_are_text(capsys):
    assert main([*FAST, "--digits", "20", "--json", "--certificate", "estimated"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert re.fullmatch(r"1\.05442388664543562829\d*", found["alpha"])
    assert 0 < float(found["error"]) <= 0.5e-20 * 1.06
    assert found["certificate"] == "estimated"
    assert main([*FAST, "--digits", "20", "--certificate", "estimated"]) == 0
    table = capsys.readouterr().out
    assert f"  weak_positional = {found['alpha']}\n  +- {found['error']}\n" in table


def test_the_table_has_the_threshold_its_error_and_the_fixed_point(capsys):
    assert main([*FAST, "--digits", "6"]) == 0
    table = capsys.readouterr().out
    assert re.search(r"weak_positional +1\.0544\d+ +\+- \S+ +Q = 0 becomes unstable", table)
    assert "zero fixed point" in table
    assert re.search(r"replicon +0\.97049\d+ +\+- ", table)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["weak_positional"], "nowhere a regular fixed point"),
        (["weak_semantic", "--omega", "1", "--lambda", "0.1"], "Q = 0 ends at weak_bulk"),
        (["weak_bulk", "--lambda", "0.1", "--digits", "1000"], "1000 digits need"),
    ],
)
def test_what_does_not_exist_is_one_line_and_status_1(words, reason, capsys):
    assert main(["threshold", *words]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1
    assert reason in captured.err


def test_a_curve_is_an_object_and_a_file(capsys, tmp_path):
    path = tmp_path / "curve.csv"
    words = ["threshold", "weak_positional", "--over", "lambda=0.1:0.3:3", "--digits", "10"]
    assert main([*words, "--out", str(path), "--json"]) == 0
    curve = json.loads(capsys.readouterr().out)
    assert [point["lambda"] for point in curve["points"]] == [0.1, 0.2, 0.3]
    assert curve["points"][0]["alpha"] == pytest.approx(1.0544238866, rel=1e-9)
    assert path.read_text().splitlines()[1].startswith("lambda,alpha,error,certificate,zero_q")
    assert main([*words, "--out", str(path)]) == 0
    assert re.search(r"\n  0\.2 +2\.33584\d+ +\+- \S+ +zero ", capsys.readouterr().out)


@pytest.mark.parametrize(
    "words",
    [
        ["--over", "omega=0.3"],
        ["--over", "omega=0.3:0.1:5"],
        ["--over", "omega=0:0.5:1"],
        ["--over", "omega=0:0.5:x"],
        ["--over", "omega=0:nan:3"],
        ["--over", "lambda=0.1:1e400:3"],
        ["--over", "lambda=0.1:1e999999999:3"],
        ["--over", "alpha=0.1:0.5:3"],
        ["--over", "omega=0:0.5:3", "--all"],
        ["--over", "omega=0:0.5:3", "--out", "curve.txt"],
        ["--out", "curve.csv"],
    ],
)
def test_a_curve_that_cannot_be_is_one_line_and_status_2(words, capsys):
    assert main(["threshold", "alpha_l", *words]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1
    assert any(f"--{option} " in captured.err for option in ("over", "out", "all"))


def test_all_of_them_are_a_list(capsys):
    assert main([*FAST, "--all", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["thresholds"]
    assert found["name"] == "weak_positional"
