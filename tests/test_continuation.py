"""Branches by continuation: against single solves, identities along them, and each other."""

import math

import numpy as np
import pytest

from symattn import AttentionModel, ComputationFailed, InvalidInput, solve
from symattn.continuation import follow_branch, leave_at

SMOOTH = AttentionModel(lam=0.1)  # nothing jumps
NEVER = {"low": 1.0, "high": 2.0}


@pytest.fixture(scope="module")
def uninformed():
    return follow_branch(SMOOTH, "uninformed", low=1.5, high=5.0)


@pytest.fixture(scope="module")
def positional():
    return follow_branch(SMOOTH, "positional", low=0.9, high=3.0)


def kinds(branch):
    return [point.kind for point in branch.special_points]


def test_points_are_the_fixed_points_of_single_solves(positional):
    for point in positional.points[:: len(positional.points) // 3]:
        if not point.stable or point.overlaps.m < 0.05:
            continue
        alone = solve(SMOOTH, point.parameter, branch="positional", digits=8)["positional"]
        for name in ("q", "m", "V", "train_loss", "test_error"):
            mine = getattr(point.overlaps, name, None) or getattr(point, name, None)
            other = getattr(alone.overlaps, name, None) or getattr(alone, name, None)
            assert abs(mine - other) <= point.errors[name] + alone.errors[name], name


def test_the_slope_in_lambda_is_the_penalty(positional):
    branch = follow_branch(SMOOTH, "positional", over="lambda", low=0.08, high=0.12, alpha=1.5)
    lam = np.array([point.parameter for point in branch.points])
    loss = np.array([point.train_loss for point in branch.points])
    q = np.array([point.overlaps.q for point in branch.points])
    assert lam[0] == pytest.approx(0.08)
    assert lam[-1] == pytest.approx(0.12)
    # the loss is the integral of q/(2 sigma^2), by Simpson's rule over a fit
    fit = np.polynomial.Polynomial.fit(lam, q / (2 * SMOOTH.sigma**2), 6).integ()
    assert loss[-1] - loss[0] == pytest.approx(fit(lam[-1]) - fit(lam[0]), rel=1e-5)


def test_the_positional_branch_merges_where_the_uninformed_one_breaks_its_symmetry():
    left = follow_branch(SMOOTH, "positional", low=1.0, high=3.0)
    other = follow_branch(SMOOTH, "uninformed", low=1.0, high=5.0)
    mergers = [p for p in left.special_points if p.kind == "merger"]
    for merger in mergers:
        breaks = [
            p for p in other.special_points if p.kind == "symmetry breaking" and p.direction == "m"
        ]
        assert any(abs(p.parameter - merger.parameter) <= p.error + merger.error for p in breaks)


def test_a_fold_is_where_the_eigenvalue_within_the_branch_passes_one(uninformed):
    for point in uninformed.special_points:
        if point.kind == "fold":
            near = solve(SMOOTH, point.parameter * 1.001, branch="uninformed", digits=4)
            assert max(z.real for z in near["uninformed"].eigenvalues) > 0.9


def test_a_branch_leaves_at_a_symmetry_breaking():
    semantic = follow_branch(AttentionModel(), "semantic", low=0.78, high=0.9, digits=3)
    [point] = [p for p in semantic.special_points if p.kind == "symmetry breaking"]
    assert point.direction == "m"
    mixed = leave_at(semantic, point, low=0.8, high=0.9, digits=3)
    assert mixed.name == "mixed"
    assert all(p.overlaps.m * p.overlaps.theta != 0.0 for p in mixed.points)
    assert math.isclose(mixed.points[0].parameter, point.parameter, rel_tol=0.05)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"branch": "zero"}, "branch = 'zero'"),
        ({"over": "rho"}, "over = 'rho'"),
        ({"low": 2.0, "high": 1.0}, "2.0:1.0"),
        ({"low": 0.0}, "0.0:2.0"),
        ({"high": math.inf}, "inf"),
        ({"digits": 9}, "digits = 9"),
        ({"over": "lambda"}, "alpha is missing"),
        ({"over": "omega", "high": 1.5, "alpha": 1.0}, "1.0:1.5"),
    ],
)
def test_bad_input_is_one_line_that_names_the_value(arguments, named):
    settings = {"branch": "semantic", **NEVER, **arguments}
    with pytest.raises(InvalidInput) as caught:
        follow_branch(SMOOTH, settings.pop("branch"), **settings)
    assert named in str(caught.value)


def test_a_branch_that_is_nowhere_in_the_range_says_so():
    with pytest.raises(ComputationFailed, match="no semantic fixed point found"):
        follow_branch(AttentionModel(lam=0.5), "semantic", low=0.1, high=0.3)
