"""`symattn report`: the table, the files, the status."""

import json
import re
from functools import cache

import pytest

from symattn import AttentionModel, linear_baseline
from symattn.cli import main
from symattn.fixed_points import solve
from symattn.report import Report

MODEL = AttentionModel(lam=0.1)


@cache
def points():
    """The fixed points of a setting where nothing jumps."""
    return tuple(
        solve(MODEL, 4.0, branch=branch, digits=4)[branch] for branch in ("semantic", "positional")
    )


def small_report(failures):
    return Report(
        model=MODEL,
        fixed_points=points(),
        curves={point.branch: (point,) for point in points()},
        ends={"semantic": {2.0: "theta goes to 0"}, "positional": {}},
        thresholds={},
        baseline=linear_baseline(MODEL),
        absent={"alpha_c": "the branches do not cross"},
        failures=failures,
    )


def test_the_table_names_what_was_found_and_what_was_written(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("symattn.report.make_report", lambda model, progress: small_report({}))
    assert main(["report", "--out", str(tmp_path)]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    for text in (
        "Every step of the derivation holds",
        "alpha = 4.0",
        "semantic fixed point",
        "positional fixed point",
        "semantic: not found at alpha = 2.0",
        "alpha_c: the branches do not cross",
    ):
        assert text in captured.out
    assert "thresholds in alpha" not in captured.out
    for name in ("report.json", "overlaps.png", "overlaps.svg"):
        assert str(tmp_path / name) in captured.out
        assert (tmp_path / name).stat().st_size > 0


def test_a_part_that_failed_is_status_1_and_the_rest_is_there(tmp_path, monkeypatch, capsys):
    failures = {"derivation": "kernel.py: not what the derivation gives", "alpha_c": "none"}
    monkeypatch.setattr(
        "symattn.report.make_report", lambda model, progress: small_report(failures)
    )
    assert main(["report", "--out", str(tmp_path), "--json"]) == 1
    captured = capsys.readouterr()
    assert json.loads(captured.out) == json.loads((tmp_path / "report.json").read_text())
    assert captured.err == (
        "symattn: derivation: kernel.py: not what the derivation gives; alpha_c: none\n"
    )
    assert main(["report", "--out", str(tmp_path)]) == 1
    assert "Every step" not in capsys.readouterr().out


@pytest.mark.slow
def test_the_papers_setting_gives_the_published_thresholds_within_their_accuracy(tmp_path, capsys):
    assert main(["report", "--out", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    # arXiv 2402.03902 and its public data; their quadrature is good to a few percent.
    for name, published in (("alpha_c", 1.2410), ("alpha_l", 1.4506)):
        value, error = re.search(rf"^  {name} +(\S+) +\+- (\S+)", out, re.MULTILINE).groups()
        assert float(value) == pytest.approx(published, rel=0.05)
        assert float(error) <= 0.5e-6 * float(value)
    written = json.loads((tmp_path / "report.json").read_text())
    assert written["failures"] == {}
    assert all(len(curve) > 15 for curve in written["curves"].values())
