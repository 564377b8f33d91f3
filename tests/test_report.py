"""The main job, in small: parts that fail do not stop the others, and all is written."""

import json

import pytest

from symattn import AttentionModel, ComputationFailed, InvalidInput, NotFound, linear_baseline
from symattn.fixed_points import solve
from symattn.report import make_report, write_report
from symattn.thresholds import Threshold

MODEL = AttentionModel(lam=0.1)


def made_up_threshold(model, name):
    """A made-up alpha_l, and no alpha_c."""
    if name == "alpha_c":
        raise ComputationFailed("alpha_c does not exist here")
    at = {"semantic": solve(model, 4.0, branch="semantic", digits=4)["semantic"]}
    return Threshold(
        name=name, model=model, alpha=4.0, error=1e-6, digits=6, method="made up", at=at
    )


def solved_between(low, high):
    """`solve`, with branches that exist between two sample complexities only."""

    def solve_there(model, alpha, **settings):
        if not low < alpha < high:
            raise ComputationFailed(f"nothing at {alpha}")
        return solve(model, alpha, **settings)

    return solve_there


@pytest.fixture(scope="module")
def report():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("symattn.report.ALPHA", 4.0)
        patch.setattr("symattn.report.ALPHAS", (2.0, 3.0, 3.8, 4.0, 4.5, 6.0))
        patch.setattr("symattn.report.threshold", made_up_threshold)
        patch.setattr("symattn.report.solve", solved_between(3.5, 5.5))
        return make_report(MODEL, lambda line: None)


def test_both_branches_are_given_in_full(report):
    assert [point.branch for point in report.fixed_points] == ["semantic", "positional"]
    for point in report.fixed_points:
        assert point.alpha == 4.0
        assert point.errors["q"] <= 0.5e-6 * point.overlaps.q


def test_branches_are_followed_to_both_sides_until_they_end(report):
    for branch in ("semantic", "positional"):
        assert [point.alpha for point in report.curves[branch]] == [3.8, 4.5]
        assert {point.branch for point in report.curves[branch]} == {branch}
        assert report.ends[branch] == {3.0: "nothing at 3.0", 6.0: "nothing at 6.0"}


def test_a_part_that_fails_is_named_and_the_others_are_done(report):
    assert report.failures == {"alpha_c": "alpha_c does not exist here"}
    assert set(report.thresholds) == {"alpha_l"}
    assert report.baseline == linear_baseline(MODEL)


def test_files_that_are_not_what_is_derived_are_a_failure(monkeypatch):
    monkeypatch.setattr("symattn.report.ALPHAS", ())
    monkeypatch.setattr("symattn.report.threshold", made_up_threshold)
    monkeypatch.setattr("symattn.report.solve", solved_between(0.0, 0.0))
    monkeypatch.setattr("symattn.symbolic.regenerate", lambda check, progress: ("kernel.py",))
    failures = make_report(MODEL, lambda line: None).failures
    assert set(failures) == {"derivation", "semantic branch", "positional branch", "alpha_c"}
    assert "kernel.py" in failures["derivation"]


def test_everything_is_written(report, tmp_path):
    paths = write_report(report, tmp_path / "new")
    assert {path.name for path in paths} == {"report.json", "overlaps.png", "overlaps.svg"}
    assert set(paths) == set((tmp_path / "new").iterdir())
    written = json.loads((tmp_path / "new" / "report.json").read_text())
    assert written == report.to_dict()
    assert [point["alpha"] for point in written["curves"]["semantic"]] == [3.8, 4.5]
    assert written["ends"]["positional"][0] == {"alpha": 3.0, "reason": "nothing at 3.0"}
    assert written["thresholds"]["alpha_l"]["error"] == 1e-6
    assert set(written["errors"]) == {"linear_test_error"}


def test_what_cannot_be_written_is_named(report, tmp_path):
    (tmp_path / "report.json").mkdir()
    with pytest.raises(ComputationFailed, match=r"report\.json: .*name a directory"):
        write_report(report, tmp_path)


def test_what_is_not_there_is_no_failure(monkeypatch):
    def not_found(*_, **__):
        raise NotFound("searched for in vain")

    monkeypatch.setattr("symattn.report.ALPHAS", ())
    monkeypatch.setattr("symattn.report.threshold", not_found)
    monkeypatch.setattr("symattn.report.solve", not_found)
    monkeypatch.setattr("symattn.symbolic.regenerate", lambda check, progress: ())
    report = make_report(MODEL, lambda line: None)
    assert report.failures == {}
    assert set(report.absent) == {"semantic branch", "positional branch", "alpha_c", "alpha_l"}
    assert report.to_dict()["absent"]["alpha_l"] == "searched for in vain"


def test_a_model_that_is_not_solved_is_refused_at_once():
    with pytest.raises(InvalidInput, match="length = 3"):
        make_report(AttentionModel(length=3, mixing=[[1, 0, 0], [0, 1, 0], [0, 0, 1]]), print)


def test_a_missing_matplotlib_is_named_before_any_work(monkeypatch):
    monkeypatch.setattr("symattn._packages.find_spec", lambda name: None)
    with pytest.raises(ComputationFailed, match=r"symattn\[plot\]"):
        make_report(MODEL, lambda line: None)
