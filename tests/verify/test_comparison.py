"""A table is held against the right branch, extrapolated where that can be, and else only shown."""

import pytest

from symattn import AttentionModel, solve
from symattn._progress import silent
from verify.comparison import compare
from verify.judgement import judge
from verify.statistics import CURVED

# Smooth here, so that solving takes a second.
MODEL = AttentionModel(lam=0.1)
ALPHA = 8.0


@pytest.fixture(scope="module")
def truth():
    return {name: solve(MODEL, ALPHA, branch=name)[name] for name in ("semantic", "positional")}


@pytest.fixture
def compared(tmp_path):
    def run(*rows):
        path = tmp_path / "t.csv"
        head = (
            "lambda,alpha,start,dimension,theta,theta_error,m,m_error,train_loss,train_loss_error"
        )
        path.write_text("\n".join([head, *rows]))
        finding = compare(path, silent)
        return {p.name: p for p in judge(finding.predictions, 0.01)}

    return run


def test_several_dimensions_are_extrapolated_and_tested(compared, truth):
    theta, loss = truth["semantic"].overlaps.theta, truth["semantic"].train_loss
    wrong = 1.02 * loss
    found = compared(
        *(
            f"0.1,{ALPHA},semantic,{d},{-theta - 3 / d},1e-4,,,{wrong + 0.1 / d},{1e-3 * loss}"
            for d in (250, 500, 1000)
        )
    )
    assert found.keys() == {"semantic.theta@line=2", "semantic.train_loss@line=2"}
    good, bad = found.values()
    assert good.verdict == "holds"
    assert good.measured.value == pytest.approx(theta, rel=1e-9)
    assert good.measured.bias == pytest.approx(3.0, rel=1e-6)
    assert abs(good.predicted - theta) <= good.predicted_error <= 0.5e-4 * theta * 1.01
    assert bad.verdict == "fails"
    assert bad.parameters["lambda"] == 0.1


def test_one_dimension_is_shown_with_its_z(compared, truth):
    theta = truth["semantic"].overlaps.theta
    [found] = compared(f"0.1,{ALPHA},semantic,500,{theta + 5e-3},1e-3,,,,").values()
    assert found.verdict == "shown"
    assert found.z == pytest.approx(5.0, abs=0.1)
    assert "at d = 500 alone, so a bias of order 1/d remains" in found.note


def test_signs_are_arbitrary_and_what_symmetry_makes_zero_is_not_tested(compared, truth):
    m = truth["positional"].overlaps.m
    rows = [f"0.1,{ALPHA},positional,{d},1e-3,1e-4,{-m},1e-4,," for d in (500, 1000)]
    found = compared(*rows)
    assert found["positional.m@line=2"].verdict == "holds"
    assert found["positional.theta@line=2"].verdict == "shown"
    assert "0 by symmetry" in found["positional.theta@line=2"].note


def test_means_that_are_not_linear_in_1_over_d_are_known_to_be(compared, truth):
    """By what the report and the discussion go by."""
    theta = truth["semantic"].overlaps.theta
    for curvature, curved in ((1e4, True), (0.0, False)):
        rows = (
            f"0.1,{ALPHA},semantic,{d},{theta + curvature / d**2},1e-4,,,,"
            for d in (125, 250, 500, 1000)
        )
        measured = compared(*rows)["semantic.theta@line=2"].measured
        assert (measured.curvature_p < CURVED) == curved


@pytest.mark.slow
def test_jumps_are_known_where_there_are_any(compared):
    found = compared(
        *(f"0.1,{ALPHA},semantic,{d},,,,,1,1" for d in (500, 1000)),
        *(f"0.01,1.5,positional,{d},,,,,1,1" for d in (500, 1000)),
    )
    smooth, jumping = found.values()
    assert smooth.jump_share == 0.0
    assert "replica symmetry" not in smooth.note
    point = solve(AttentionModel(), 1.5, branch="positional", digits=4)["positional"]
    share = abs(point.jump_flux / point.hats.V_hat)
    assert jumping.jump_share == pytest.approx(share, rel=1e-3)
    assert f"{100 * share:.2g} % of V_hat" in jumping.note
    assert jumping.kind == "two-sided"


def test_an_unstable_branch_is_shown(compared):
    """The semantic one at the larger lambda and half of alpha: training leaves it for m > 0."""
    rows = [f"0.1,4,semantic,{d},,,,,0.02,1e-4" for d in (500, 1000)]
    [found] = compared(*rows).values()
    assert found.verdict == "shown"
    assert found.predicted is not None
    assert "unstable in the theory" in found.note


def test_a_branch_that_is_not_there_is_shown_with_the_reason(compared):
    # Below the weak-learning thresholds of lambda = 0.1, which are above 1
    found = compared("0.1,0.3,positional,500,,,0.01,0.001,,", f"0.1,{ALPHA},semantic,500,,,,,1,1")
    absent = found["positional.m@line=2"]
    assert absent.verdict == "shown"
    assert absent.predicted is None
    assert "no theory: " in absent.note
    assert found["semantic.train_loss@line=3"].predicted is not None


def test_where_no_branch_is_there_the_comparison_fails(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("lambda,alpha,start,dimension,q,q_error\n0.1,0.3,positional,500,0.1,0.01\n")
    assert "no branch at any of the settings" in compare(path, silent).failure


def test_every_setting_is_solved_once(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(
        "lambda,alpha,start,dimension,q,q_error\n"
        + "".join(f"0.1,{ALPHA},semantic,{d},0.1,0.01\n" for d in (100, 200, 100))
    )
    told = []
    compare(path, told.append)
    assert told == [f"semantic branch at alpha = {ALPHA:g}"]
