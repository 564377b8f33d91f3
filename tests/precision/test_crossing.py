"""Crossings beyond double precision."""

import pytest
from mpmath import mp, mpf

from symattn import AttentionModel, ComputationFailed, linear_baseline, solve
from symattn.overlaps import Overlaps

pytest.importorskip("flint", reason="python-flint is not installed")
from symattn._crossing import Start, crossing
from symattn._progress import silent
from symattn.precision.crossing import precise_crossing

# at this model alpha_c is about 6.3 and alpha_l about 5.3
MODEL = AttentionModel(lam=0.1, omega=0.1)


def rough(alpha, *branches):
    return Start(
        alpha,
        {
            branch: Overlaps(*(round(x, 4) for x in found.overlaps))
            for branch in branches
            for found in [solve(MODEL, alpha, branch=branch, digits=3)[branch]]
        },
    )


@pytest.mark.slow
@pytest.mark.parametrize(("name", "alpha"), [("alpha_c", 6.3), ("alpha_l", 5.3)])
def test_the_branches_cross_there(name, alpha):
    branches = ("semantic", "positional") if name == "alpha_c" else ("semantic",)
    found = crossing(MODEL, name, 16, rough(alpha, *branches), silent)
    assert isinstance(found.alpha, mpf)
    assert found.digits >= 16
    assert found.error <= mpf(10) ** -16 / 2 * found.alpha
    assert set(found.at) == set(branches)
    # in double precision, from solutions of their own
    below, above = (
        {
            branch: solve(MODEL, float(found.alpha) * factor, branch=branch, digits=11)[branch]
            for branch in branches
        }
        for factor in (1 - 1e-6, 1 + 1e-6)
    )

    def difference(at):
        if name == "alpha_c":
            return at["semantic"].train_loss - at["positional"].train_loss
        return at["semantic"].test_error - linear_baseline(MODEL).test_error

    ends = difference(below), difference(above)
    assert ends[0] > 0.0 > ends[1]
    # the root of the line through both, to what is left of the curvature
    share = ends[0] / (ends[0] - ends[1])
    assert share == pytest.approx(0.5, abs=1e-4)


@pytest.mark.slow
def test_errors_cover_the_difference_to_more_digits():
    start = rough(5.3, "semantic")
    few, many = (crossing(MODEL, "alpha_l", digits, start, silent) for digits in (16, 18))
    with mp.workdps(40):
        assert abs(few.alpha - many.alpha) <= few.error + many.error


def test_without_flint_the_extra_is_named(monkeypatch):
    monkeypatch.setattr("symattn.precision._branch.find_spec", lambda _: None)
    with pytest.raises(ComputationFailed, match=r"alpha_c: .* 'symattn\[proofs\]'"):
        precise_crossing(MODEL, "alpha_c", 16, Start(6.3, {}), silent)


def test_digits_out_of_reach_are_refused():
    with pytest.raises(ComputationFailed, match="1000 digits need"):
        precise_crossing(MODEL, "alpha_c", 1000, rough(6.3, "semantic", "positional"), silent)
