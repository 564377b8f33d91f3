"""Crossings beyond double precision."""

import pytest
from mpmath import mp, mpf

from symattn import AttentionModel, ComputationFailed, linear_baseline, solve
from symattn.overlaps import Overlaps

pytest.importorskip("flint", reason="python-flint is not installed")
from symattn._crossing import Start, crossing
from symattn._progress import silent
from symattn.precision import crossing as crossings
from symattn.precision._branch import Branch
from symattn.precision._plan import Plan
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
    assert {point.alpha for point in found.at.values()} == {float(found.alpha)}
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


def test_the_rounding_to_a_double_counts_among_the_errors(monkeypatch):
    # half a unit in the last place off, with an error that leaves 15 digits by itself
    with mp.workprec(64):
        alpha = 4 + mpf(2) ** -51
    errors = [mpf("1.9e-15"), mpf("1e-17")]
    monkeypatch.setattr(crossings.Branch, "of", lambda *_: None)
    monkeypatch.setattr(crossings, "_crossed", lambda *_: (alpha, errors.pop(0)))
    monkeypatch.setattr(crossings, "fixed_point", lambda model, alpha, *_: alpha)
    start = Start(4.0 + 1e-9, {"semantic": Overlaps(0.01, 0.0, 2.0, 0.05)})
    found = precise_crossing(MODEL, "alpha_l", 15, start, silent)
    assert isinstance(found.alpha, float)
    assert found.digits == 15
    assert not errors
    assert abs(found.alpha - alpha) <= found.error <= 0.5e-15 * found.alpha
    assert found.at["semantic"] == found.alpha


def test_without_flint_the_extra_is_named(monkeypatch):
    monkeypatch.setattr("symattn.precision._branch.find_spec", lambda _: None)
    with pytest.raises(ComputationFailed, match=r"alpha_c: .* 'symattn\[proofs\]'"):
        precise_crossing(MODEL, "alpha_c", 16, Start(6.3, {}), silent)


def test_digits_out_of_reach_are_refused():
    with pytest.raises(ComputationFailed, match="1000 digits need"):
        precise_crossing(MODEL, "alpha_c", 1000, rough(6.3, "semantic", "positional"), silent)


def test_the_work_beyond_the_digits_sampled_is_foreseen():
    at = Overlaps(0.0056, 0.136, 2.66, 0.0)
    foreseen, known = (
        Branch(MODEL, "positional", None, Plan.of(MODEL, at, sampled), 30.0)._nodes(30.0)
        for sampled in (14.0, 30.0)
    )
    assert 0.5 < foreseen / known < 2.0
