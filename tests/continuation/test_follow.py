"""Branches: against single solves, closed forms, and identities along them."""

import math

import numpy as np
import pytest

from symattn import AttentionModel, ComputationFailed, InvalidInput, solve
from symattn.continuation import follow_branch, leave_at
from symattn.quadrature.expectations import Resolution
from symattn.state_evolution import evolve
from symattn.zero_point import zero_point

SMOOTH = AttentionModel(lam=0.1)  # nothing jumps

# Where m and theta begin to grow at Q = 0 and lambda = 0.1: closed forms, proved by ball arithmetic
WEAK_POSITIONAL = 1.05442388664543562829
WEAK_SEMANTIC = 2.88937143505539


@pytest.fixture(scope="module")
def positional():
    return follow_branch(SMOOTH, "positional", low=0.9, high=3.0)


@pytest.fixture(scope="module")
def semantic():
    return follow_branch(SMOOTH, "semantic", low=2.7, high=4.5)


def kinds(branch):
    return [point.kind for point in branch.special_points]


def assert_agrees_with_a_solve(point, branch, model, alpha):
    alone = solve(model, alpha, branch=branch, digits=8)[branch]
    for name in ("q", "m", "V", "theta"):
        apart = abs(getattr(point.overlaps, name) - getattr(alone.overlaps, name))
        assert apart <= point.errors[name] + alone.errors[name], name
    for name in ("train_loss", "test_error"):
        apart = abs(getattr(point, name) - getattr(alone, name))
        assert apart <= point.errors[name] + alone.errors[name], name
    assert point.stable == alone.stable
    assert max(z.real for z in point.eigenvalues) == pytest.approx(
        max(z.real for z in alone.eigenvalues), abs=1e-2
    )


def test_points_are_the_fixed_points_of_single_solves(positional, semantic):
    for branch in (positional, semantic):
        for point in (branch.points[len(branch.points) // 2], branch.points[-1]):
            assert_agrees_with_a_solve(point, branch.name, SMOOTH, point.parameter)


def test_the_range_is_filled(positional):
    alphas = [point.parameter for point in positional.points]
    assert alphas == sorted(alphas)
    assert alphas[-1] == pytest.approx(3.0, rel=1e-12)
    assert max(np.diff(np.log(alphas))) < 0.16


@pytest.mark.parametrize(
    ("branch", "expected"), [("positional", WEAK_POSITIONAL), ("semantic", WEAK_SEMANTIC)]
)
def test_a_branch_leaves_zero_where_the_closed_form_says(branch, expected, request):
    [end] = [p for p in request.getfixturevalue(branch).special_points if p.kind == "end"]
    assert "Q = 0" in end.note
    assert abs(end.parameter - expected) <= end.error
    assert end.error < 1e-3
    assert abs(end.overlaps.V - zero_point(SMOOTH, expected).V) <= end.errors["V"]
    assert end.errors["V"] < 1e-2


def test_the_slope_of_the_loss_in_alpha_is_the_envelope(positional):
    alpha = np.array([point.parameter for point in positional.points])
    loss = np.array([point.train_loss for point in positional.points])
    fit = np.polynomial.Polynomial.fit(np.log(alpha), loss, 9).deriv()
    for at in (1.5, 2.5):
        envelope = solve(SMOOTH, at, branch="positional")["positional"].envelope
        assert fit(math.log(at)) / at == pytest.approx(envelope, rel=1e-4)


def test_the_slope_of_the_loss_in_lambda_is_the_penalty():
    branch = follow_branch(SMOOTH, "positional", over="lambda", low=0.08, high=0.12, alpha=1.5)
    lam = np.array([point.parameter for point in branch.points])
    loss = np.array([point.train_loss for point in branch.points])
    q = np.array([point.overlaps.q for point in branch.points])
    assert (lam[0], lam[-1]) == pytest.approx((0.08, 0.12), rel=1e-12)
    penalty = np.polynomial.Polynomial.fit(lam, q / (2 * SMOOTH.sigma**2), 6).integ()
    assert loss[-1] - loss[0] == pytest.approx(penalty(lam[-1]) - penalty(lam[0]), rel=1e-5)


@pytest.mark.parametrize(("over", "low", "high"), [("omega", 0.28, 0.33), ("sigma", 0.48, 0.52)])
def test_what_changes_the_channel_can_be_followed_too(over, low, high):
    branch = follow_branch(SMOOTH, "positional", over=over, low=low, high=high, alpha=2.0)
    assert branch.points[0].parameter == pytest.approx(low, rel=1e-12)
    last = branch.points[-1]
    model = AttentionModel(lam=0.1, **{over: last.parameter})
    assert_agrees_with_a_solve(last, "positional", model, 2.0)


def test_omega_is_followed_to_both_ends_of_its_domain():
    model = AttentionModel(lam=0.1)
    branch = follow_branch(
        model, "positional", over="omega", low=0.0, high=1.0, alpha=4.0, digits=2
    )
    assert branch.special_points == ()
    assert (branch.points[0].parameter, branch.points[-1].parameter) == (0.0, 1.0)
    for point in (branch.points[0], branch.points[-1]):
        model = AttentionModel(lam=0.1, omega=point.parameter)
        assert_agrees_with_a_solve(point, "positional", model, 4.0)


@pytest.mark.slow
def test_errors_hold_against_grids_of_twice_the_digits():
    model = AttentionModel()
    branch = follow_branch(model, "semantic", low=0.7, high=0.95, digits=3)
    for point in branch.points[1::3]:
        assert_agrees_with_a_solve(point, "semantic", model, point.parameter)
    fine = follow_branch(model, "semantic", low=0.7, high=0.95, digits=5)
    assert kinds(fine) == kinds(branch) == ["merger", "symmetry breaking"]
    for rough, good in zip(branch.special_points, fine.special_points, strict=True):
        assert abs(rough.parameter - good.parameter) <= rough.error + good.error
        for name in ("q", "m", "V", "theta"):
            apart = abs(getattr(rough.overlaps, name) - getattr(good.overlaps, name))
            assert apart <= rough.errors[name] + good.errors[name], name


@pytest.mark.slow
def test_at_a_symmetry_breaking_the_eigenvalue_is_one_and_a_mixed_branch_leaves():
    model = AttentionModel()
    semantic = follow_branch(model, "semantic", low=0.78, high=0.9, digits=4)
    [point] = [p for p in semantic.special_points if p.kind == "symmetry breaking"]
    assert point.direction == "m"
    growth = []
    for alpha in (point.parameter - 3 * point.error, point.parameter + 3 * point.error):
        at = solve(model, alpha, branch="semantic", digits=8)["semantic"]
        step = evolve(model, alpha, at.overlaps, Resolution.for_accuracy(1e-8))
        growth.append(step.jacobian[1, 1] - 1.0)
    assert growth[0] > 0.0 > growth[1]
    mixed = leave_at(semantic, point, low=0.8, high=0.9)
    assert mixed.name == "mixed"
    assert mixed.special_points[0].kind == "merger"
    assert all(p.overlaps.m * p.overlaps.theta != 0.0 for p in mixed.points)
    # a pitchfork: alpha moves with the square of m
    near = [p for p in mixed.points if 20.0 * p.errors["m"] < p.overlaps.m < 0.04]
    ratios = [(p.parameter - point.parameter) / p.overlaps.m**2 for p in near]
    assert len(near) > 1
    assert ratios == pytest.approx([ratios[0]] * len(near), rel=0.2)


REQUEST = {"branch": "semantic", "low": 1.0, "high": 2.0}


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"branch": "zero"}, "branch = 'zero'"),
        ({"over": "rho"}, "over = 'rho'"),
        ({"low": 2.0, "high": 1.0}, "alpha=2:1"),
        ({"low": 1.0, "high": 1.0}, "alpha=1:1"),
        ({"low": 0.0}, "alpha=0:2"),
        ({"low": "1"}, "alpha=1"),
        ({"high": math.inf}, "alpha=inf"),
        ({"low": math.nan}, "alpha=nan"),
        ({"alpha": 1.5}, "alpha = 1.5"),
        ({"digits": 9}, "digits = 9"),
        ({"digits": True}, "digits = True"),
        ({"over": "lambda"}, "alpha is missing"),
        ({"over": "lambda", "alpha": math.nan}, "alpha = nan"),
        ({"over": "omega", "high": 1.5, "alpha": 1.0}, "omega=1:1.5"),
    ],
)
def test_bad_input_is_one_line_that_names_the_value(arguments, named):
    settings = {**REQUEST, **arguments}
    with pytest.raises(InvalidInput) as caught:
        follow_branch(SMOOTH, settings.pop("branch"), **settings)
    assert named in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_only_symmetry_breakings_can_be_left_at(positional):
    with pytest.raises(InvalidInput, match="special = 'end'"):
        leave_at(positional, positional.special_points[0], low=1.0, high=2.0)


def test_a_branch_that_is_nowhere_in_the_range_says_so():
    with pytest.raises(ComputationFailed, match="no semantic fixed point found for alpha in"):
        follow_branch(AttentionModel(lam=0.5), "semantic", low=0.1, high=0.3)


def test_an_interruption_is_passed_on():
    def interrupt(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        follow_branch(SMOOTH, "positional", low=1.5, high=2.0, progress=interrupt)
