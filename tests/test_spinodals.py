"""Where a branch stops being stable: against solves on either side, and where it never does."""

import numpy as np
import pytest

from symattn import AttentionModel, ComputationFailed, solve, threshold
from symattn.quadrature.expectations import Resolution
from symattn.state_evolution import evolve


def growth(model, branch, direction, alpha):
    """The eigenvalue of the branch in the direction of m (1) or theta (3), less 1, finer grids."""
    at = solve(model, alpha, branch=branch, digits=8)[branch]
    step = evolve(model, alpha, at.overlaps, Resolution.for_accuracy(1e-9))
    return step.jacobian[direction, direction] - 1.0


@pytest.mark.parametrize(
    ("branch", "direction", "model"),
    [
        ("semantic", 1, AttentionModel(omega=0.1, lam=0.07)),
        pytest.param("semantic", 1, AttentionModel(), marks=pytest.mark.slow),
        pytest.param("positional", 3, AttentionModel(omega=0.03, lam=0.02), marks=pytest.mark.slow),
    ],
)
def test_the_branch_becomes_unstable_towards_the_other_overlap(branch, direction, model):
    found = threshold(model, f"spinodal_{branch}")
    assert found.error <= 0.5e-6 * found.alpha
    assert found.method.startswith(f"symmetry breaking: {('m', 'theta')[direction // 2]} ")
    sides = [growth(model, branch, direction, found.alpha + sign * found.error) for sign in (-1, 1)]
    assert sides[0] * sides[1] < 0.0
    at = found.at[branch]
    assert at.alpha == found.alpha
    alone = solve(model, found.alpha, branch=branch, digits=8)[branch]
    for name, value in at.to_dict().items():
        if name in at.errors:
            apart = abs(value - alone.to_dict()[name])
            assert apart <= at.errors[name] + alone.errors[name], name
    # the other eigenvalues are below
    eigenvalues = np.sort([z.real for z in at.eigenvalues])
    assert eigenvalues[-1] == pytest.approx(1.0, abs=1e-5)
    assert eigenvalues[-2] < 1.0


@pytest.mark.slow
def test_more_digits_agree_within_the_errors():
    model = AttentionModel()
    rough, good = (threshold(model, "spinodal_semantic", digits=digits) for digits in (3, 7))
    assert abs(rough.alpha - good.alpha) <= rough.error + good.error
    assert good.error < 0.01 * rough.error


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("spinodal_positional", r"positional branch, from alpha = 1\.0\d* to 5, is stable all"),
        ("spinodal_semantic", r"semantic branch, from alpha = 2\.\d* to 5, is unstable all along"),
    ],
)
def test_where_there_is_none_the_reason_is_given(name, reason):
    with pytest.raises(ComputationFailed, match=reason):
        threshold(AttentionModel(lam=0.1), name)


def test_a_branch_that_is_not_there_has_none():
    with pytest.raises(ComputationFailed, match="no semantic fixed point found"):
        threshold(AttentionModel(omega=1.0, lam=0.1), "spinodal_semantic")
