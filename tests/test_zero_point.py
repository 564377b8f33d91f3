"""Q = 0 against its closed form, integrated from the model's definition."""

import numpy as np
import pytest
from scipy.optimize import brentq

from symattn import ASYMMETRIC, AttentionModel, ComputationFailed, solve
from symattn.zero_point import zero_point


def _targets(model):
    """t_11 and t_22 at the nodes of a rule over h*, and its weights: all of shape (nodes, nodes).

    The integrands are analytic about the real axes and even in h*, so the trapezoidal sum over half
    of the plane converges exponentially; at this step and at half of it the means are the same.
    """
    step = 0.08
    u = step * np.arange(-110, 111)
    v = step * np.arange(0, 111)[:, None]
    weights = np.exp(-(u**2 + v**2) / 2) * np.where(v == 0.0, 0.5, 1.0)
    rho = model.sigma**2
    first, second = (1 / (1 + np.exp(-rho * u * (u + sign * v))) for sign in (1, -1))
    share, ((a11, _), (_, a22)) = 1 - model.omega, model.mixing
    return share * first + model.omega * a11, share * second + model.omega * a22, weights


def _reference(model, alpha):
    """V (lambda + sigma^2 alpha E tr K) - sigma^2 as a function of V, and E loss, at x = 0.

    H = -sigma^2 [[tau, delta/2], [delta/2, 0]] in rotated coordinates, K = H (I + V H)^-1.
    """
    sigma = model.sigma
    t11, t22, weights = _targets(model)
    tau, delta = t11 + t22 - 1, t11 - t22
    hessian = -(sigma**2) * np.moveaxis(
        np.array([[tau, delta / 2], [delta / 2, np.zeros_like(tau)]]), (0, 1), (2, 3)
    )

    def excess(V):
        kernel = hessian @ np.linalg.inv(np.eye(2) + V * hessian)
        trace = np.average(np.trace(kernel, axis1=2, axis2=3), weights=weights)
        return V * (model.lam + sigma**2 * alpha * trace) - sigma**2

    loss = sigma**2 * np.average((t11 - 0.5) ** 2 + (t22 - 0.5) ** 2, weights=weights)
    return excess, loss


@pytest.mark.parametrize(
    ("model", "alpha"),
    [
        (AttentionModel(lam=0.1), 0.5),
        (AttentionModel(lam=0.2, omega=0.7), 1.0),
        (AttentionModel(lam=0.1, omega=0.8, mixing=ASYMMETRIC), 2.0),
    ],
    ids=str,
)
def test_response_and_loss_are_those_of_the_closed_form(model, alpha):
    found = zero_point(model, alpha)
    excess, loss = _reference(model, alpha)
    response = brentq(excess, 0.99 * found.V, 1.01 * found.V, xtol=1e-15, rtol=1e-15)
    np.testing.assert_allclose((found.V, found.loss), (response, loss), rtol=1e-13)
    # the reference itself is good to a few units in the last place
    assert abs(found.V - response) <= found.errors["V"] + 1e-15 * response
    assert abs(found.loss - loss) <= found.errors["loss"] + 1e-15 * loss
    assert found.errors["V"] < 1e-13


@pytest.mark.parametrize("omega", [0.8, 1.0])
def test_a_target_below_uniform_attention_lowers_the_response(omega):
    """With tau < 0 on average V falls from sigma^2/lambda; it never leaves (0, sigma^2/lambda)."""
    model = AttentionModel(omega=omega, mixing=ASYMMETRIC)
    found = zero_point(model, 5.0)
    assert 0.0 < found.V < model.sigma**2 / model.lam


def test_the_replicon_vanishes_where_the_response_ends():
    """d(alpha)/dV = 0 where 1 = alpha V^2 E|K|^2: the replicon falls to 0 like a square root."""
    model = AttentionModel(lam=0.3, omega=1.0)
    low, high = 0.1, 20.0
    while high - low > 1e-6:
        middle = 0.5 * (low + high)
        try:
            zero_point(model, middle)
            low = middle
        except ComputationFailed:
            high = middle
    assert 0.0 < zero_point(model, low).replicon < 0.02


def test_is_a_branch_of_solve():
    point = solve(AttentionModel(lam=0.1), 0.5, branch="zero")["zero"]
    assert point.overlaps.q == point.overlaps.m == point.overlaps.theta == 0.0
    assert point.train_loss == pytest.approx(0.5 * point.test_error, rel=1e-14)
