"""alpha_c and alpha_l against published values, solves on either side, and finer solutions."""

import itertools
import math
import random

import pytest

from symattn import (
    AttentionModel,
    ComputationFailed,
    InvalidInput,
    NotFound,
    all_thresholds,
    linear_baseline,
    solve,
    threshold,
)

# arXiv 2402.03902, public data: from overlaps good to a few percent
PUBLISHED = {("alpha_c", 0.4): 1.75057, ("alpha_c", 0.3): 1.24102, ("alpha_l", 0.3): 1.45058}


def gap(name, model, alpha, digits):
    """What is positive below the crossing, from fixed points solved at `alpha`; and its error."""
    semantic = solve(model, alpha, branch="semantic", digits=digits)["semantic"]
    if name == "alpha_l":
        baseline = linear_baseline(model)
        error = semantic.errors["test_error"] + baseline.error
        return semantic.test_error - baseline.test_error, error
    positional = solve(model, alpha, branch="positional", digits=digits)["positional"]
    error = semantic.errors["train_loss"] + positional.errors["train_loss"]
    return semantic.train_loss - positional.train_loss, error


@pytest.mark.parametrize(
    ("name", "omega"),
    [
        pytest.param("alpha_c", 0.4, marks=pytest.mark.slow),
        pytest.param("alpha_c", 0.3, marks=pytest.mark.slow),
        ("alpha_l", 0.3),
    ],
)
def test_the_gap_changes_sign_within_the_error(name, omega):
    model = AttentionModel(omega=omega)
    found = threshold(model, name, digits=5)
    assert found.alpha == pytest.approx(PUBLISHED[name, omega], rel=0.05)
    assert found.error <= 0.5e-5 * found.alpha
    assert found.digits >= 5
    assert gap(name, model, found.alpha - 2 * found.error, 7)[0] > 0
    assert gap(name, model, found.alpha + 2 * found.error, 7)[0] < 0
    assert {branch: point.alpha for branch, point in found.at.items()} == dict.fromkeys(
        found.at, found.alpha
    )


@pytest.mark.slow
@pytest.mark.parametrize(("name", "digits"), [("alpha_c", 12), ("alpha_l", 10)])
def test_ten_digits_and_more_at_the_parameters_of_the_paper(name, digits):
    model = AttentionModel()
    found = threshold(model, name, digits=digits)
    assert found.digits >= digits
    # the fixed points solved there at 9 digits do not resolve the error, but bound the gap
    value, error = gap(name, model, found.alpha, 9)
    slope = (gap(name, model, found.alpha + 1e-3, 7)[0] - value) / 1e-3
    assert abs(value) <= error + 1.1 * abs(slope) * found.error
    rough = threshold(model, name, digits=6)
    assert abs(rough.alpha - found.alpha) <= rough.error + found.error


@pytest.mark.slow
@pytest.mark.parametrize("name", ["alpha_c", "alpha_l"])
def test_errors_hold_against_a_finer_solution_at_random_models(name):
    draw = random.Random(20261130)
    compared = 0
    while compared < 10:
        corner = draw.uniform(0.2, 0.8)
        model = AttentionModel(
            omega=draw.uniform(0.0, 0.45),
            lam=10 ** draw.uniform(-2.2, -0.9),
            sigma=draw.uniform(0.35, 0.6),
            mixing=((corner, 1 - corner), (1 - corner, corner)),
        )
        try:
            coarse = all_thresholds(model, name, digits=4)
            fine = all_thresholds(model, name, digits=7)
        except NotFound:
            continue  # no such crossing there: nothing to compare
        assert len(coarse) == len(fine)
        for one, other in zip(coarse, fine, strict=True):
            assert abs(one.alpha - other.alpha) <= one.error + other.error, model
            compared += 1


@pytest.mark.slow
@pytest.mark.parametrize("model", [AttentionModel(omega=0.2), AttentionModel(omega=0.1, lam=0.07)])
def test_all_crossings_are_apart_and_each_is_one(model):
    # at omega = 0.2 the positional branch has two pieces, at lambda = 0.07 none has jumps
    several = all_thresholds(model, "alpha_c", digits=5)
    assert several
    for one, other in itertools.pairwise(several):
        assert one.alpha + one.error < other.alpha - other.error
    for one in several:
        ends = [gap("alpha_c", model, one.alpha + k * one.error, 7)[0] for k in (-2, 2)]
        assert min(ends) < 0.0 < max(ends)


def test_a_crossing_out_of_reach_of_the_finest_grids_is_refused(monkeypatch):
    # whatever the reason, the search must not start over and over
    monkeypatch.setattr("symattn._crossing._error", lambda *_: math.inf)
    with pytest.raises(ComputationFailed, match=r"0 digits reached .* 3 asked"):
        threshold(AttentionModel(omega=0.1, lam=0.07), "alpha_c", digits=3)


def test_no_crossing_is_said_with_its_reason():
    with pytest.raises(ComputationFailed, match="alpha_c was not found: no semantic branch"):
        threshold(AttentionModel(omega=1.0, lam=0.1), "alpha_c")


def test_branches_that_do_not_cross_are_said_with_where_they_exist():
    # at omega = 0.5 the semantic branch stays worse than the linear map up to alpha = 5
    with pytest.raises(ComputationFailed, match=r"do not cross .*\(semantic: 1\.\d+ to 5\)"):
        threshold(AttentionModel(omega=0.5), "alpha_l")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [({"name": "alpha_x"}, "name = 'alpha_x'"), ({"name": "alpha_c", "digits": 0}, "digits = 0")],
)
@pytest.mark.parametrize("function", [threshold, all_thresholds])
def test_bad_input_names_the_value(function, arguments, named):
    with pytest.raises(InvalidInput) as caught:
        function(AttentionModel(), **arguments)
    assert named in str(caught.value)
