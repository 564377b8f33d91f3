"""Q = 0 against its closed form, integrated by mpmath from the model's definition."""

import mpmath
import pytest

from symattn import ASYMMETRIC, AttentionModel, ComputationFailed, solve
from symattn.zero_point import zero_point


def _reference(model, alpha, V):
    """V (lambda + sigma^2 alpha E tr K) - sigma^2, and E loss, at x = 0.

    H = -sigma^2 [[tau, delta/2], [delta/2, 0]] in rotated coordinates, K = H (I + V H)^-1.
    """
    sigma, omega = mpmath.mpf(model.sigma), mpmath.mpf(model.omega)
    (a11, _), (_, a22) = model.mixing

    def weights(u, v):
        first = (1 - omega) / (1 + mpmath.exp(-u * (u + v))) + omega * a11
        second = (1 - omega) / (1 + mpmath.exp(-u * (u - v))) + omega * a22
        return first, second

    def trace(t11, t22):
        tau, delta = t11 + t22 - 1, t11 - t22
        hessian = -(sigma**2) * mpmath.matrix([[tau, delta / 2], [delta / 2, 0]])
        kernel = hessian * (mpmath.eye(2) + V * hessian) ** -1
        return kernel[0, 0] + kernel[1, 1]

    def loss(t11, t22):
        return sigma**2 * ((t11 - 0.5) ** 2 + (t22 - 0.5) ** 2)

    def mean(function):
        total = mass = mpmath.mpf(0)
        step = mpmath.mpf("0.5")
        for i in range(-15, 16):
            for j in range(-15, 16):
                weight = mpmath.exp(-((i * step) ** 2 + (j * step) ** 2) / 2)
                mass += weight
                total += weight * function(*weights(sigma * i * step, sigma * j * step))
        return total / mass

    return V * (model.lam + sigma**2 * alpha * mean(trace)) - sigma**2, mean(loss)


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
    excess, loss = _reference(model, alpha, mpmath.mpf(found.V))
    assert abs(excess) < 1e-9
    assert found.loss == pytest.approx(float(loss), abs=1e-9)
    assert found.errors["V"] < 1e-11


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
