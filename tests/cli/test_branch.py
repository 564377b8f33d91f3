"""`symattn branch`: table, JSON, files, and what is refused."""

import csv
import json

import pytest

from symattn.cli import main

FAST = (
    "branch", "--branch", "positional", "--over", "alpha=1:1.5", "--lambda", "0.1", "--digits", "2"
)  # fmt: skip
NUMBERS = ("q", "m", "V", "theta", "train_loss", "test_error")
WEAK_POSITIONAL = 1.05442388664543562829  # where this branch leaves Q = 0, in closed form


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """What is printed, and the JSON and CSV files."""
    directory = tmp_path_factory.mktemp("branch") / "made"
    printed = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "symattn.cli._console.Console.result", lambda self, text: printed.append(text)
        )
        for words in (
            ["--out", str(directory / "points.json")],
            ["--out", str(directory / "points.csv"), "--json"],
        ):
            assert main([*FAST, *words]) == 0
    assert sorted(path.name for path in directory.iterdir()) == ["points.csv", "points.json"]
    return printed, json.loads((directory / "points.json").read_text()), directory / "points.csv"


def test_the_object_is_the_same_in_the_file_and_on_standard_output(written):
    printed, found, _ = written
    assert json.loads(printed[1]) == found
    assert set(found) == {"model", "over", "branches", "loss_crossings", "absent"}
    [branch] = found["branches"]
    assert branch["name"] == "positional"
    for point in branch["points"]:
        assert set(point["errors"]) == set(NUMBERS)
        assert {"alpha", "stable", *NUMBERS} <= set(point)
        assert len(point["eigenvalues"]) == 4
    [end] = branch["special_points"]
    assert abs(end["alpha"] - WEAK_POSITIONAL) <= end["errors"]["alpha"]


def test_the_csv_file_has_the_same_points(written):
    _, found, path = written
    [branch] = found["branches"]
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["kind"] for row in rows] == ["point"] * len(branch["points"]) + ["end"]
    for row, point in zip(rows, branch["points"], strict=False):
        assert float(row["alpha"]) == point["alpha"]
        for name in NUMBERS:
            assert float(row[name]) == point[name]
            assert float(row[f"{name}_error"]) == point["errors"][name]
        assert row["stable"] == str(point["stable"])
        assert complex(float(row["eigenvalue_1_real"]), float(row["eigenvalue_1_imag"])) == complex(
            *point["eigenvalues"][0]
        )


def test_the_table_has_the_special_points_with_their_errors(written):
    printed, _, path = written
    lines = printed[0].splitlines()
    assert lines[0].startswith("attention model: L = 2")
    assert "positional branch" in lines[2]
    [row] = [line.split() for line in lines if "#1" in line]
    assert abs(float(row[2]) - WEAK_POSITIONAL) <= float(row[3])
    assert lines[-1] == f"Written: {path.with_suffix('.json')}"


def test_an_interrupted_run_leaves_no_file(tmp_path, monkeypatch, capsys):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("symattn.continuation.walk.walk", interrupt)
    monkeypatch.setattr("symattn.continuation.follow.walk", interrupt)
    assert main([*FAST, "--out", str(tmp_path / "points.csv")]) == 130
    assert capsys.readouterr().err == "symattn: interrupted\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--out", "points.txt"], "--out = 'points.txt' is not allowed"),
        (["--out", "/dev/null/points.csv"], "--out = '/dev/null'"),
        (["--out", "points\0.csv"], "--out"),
        (["--over", "alpha=2:1"], "--over = 'alpha=2:1'"),
        (["--over", "alpha=nan:1"], "--over = 'alpha=nan'"),
        (["--over", "alpha=1e999:1"], "--over"),
        (["--over", "alpha"], "--over = 'alpha'"),
        (["--over", "alpha=1:2:3"], "--over = 'alpha=1:2:3'"),
        (["--over", "beta=1:2"], "--over = 'beta' is not allowed"),
        (["--over", "lambda=0.1:0.2"], "--alpha is missing"),
        (["--over", "lambda=0.1:0.2", "--alpha", "-1"], "--alpha = -1"),
        (["--branch", "zero"], "--branch = 'zero'"),
        (["--digits", "9"], "--digits = 9"),
        (["--length", "3"], "--length = 3"),
    ],
)
def test_bad_input_is_one_line_and_status_2(words, named, capsys):
    assert main([*FAST, *words]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1
    assert named in captured.err
