"""The test error against quadrature by numpy alone, mpmath, and its stated error."""

import math
from functools import cache

import numpy as np
import pytest
from mpmath import mp

from symattn import ASYMMETRIC, STANDARD, AttentionModel, linear_baseline
from symattn.overlaps import Overlaps
from symattn.quadrature.generalization_error import mean_test_loss
from tests.quadrature import energy_by_hand as by_hand
from tests.reference.stored import stored_points

IDENTITY_LIKE = ((0.9, 0.1), (0.2, 0.8))


@cache
def moments(shift, scale, nodes=160, half_width=9.5):
    """E S_11, E S_22, and of their squares, at u ~ N(shift, scale^2), v ~ N(0, scale^2)."""
    axis = np.linspace(-half_width, half_width, 2 * nodes + 1)
    weights = np.exp(-0.5 * axis**2)
    weights /= weights.sum()
    s11, s22 = by_hand.attention(shift + scale * axis[:, None], scale * axis[None, :])
    return [weights @ x @ weights for x in (s11, s22, s11**2, s22**2)]


def factorised(model, q, m):
    """eps_g at theta = 0, where h* and w are independent: products of two-dimensional means."""
    s11, s22, s11_square, s22_square = moments(math.sqrt(2.0) * m, math.sqrt(q))
    t11, t22, t11_square, t22_square = moments(0.0, model.sigma)
    total = 0.0
    for k, (t, t_square, s, s_square) in enumerate(
        [(t11, t11_square, s11, s11_square), (t22, t22_square, s22, s22_square)]
    ):
        share, entry = 1.0 - model.omega, model.omega * model.mixing[k][k]
        first = share * t + entry
        second = share**2 * t_square + 2.0 * share * entry * t + entry**2
        total += second - 2.0 * first * s + s_square
    return model.sigma**2 * total


def test_the_moments_are_those_of_mpmath():
    # trapezoidal, in token coordinates
    with mp.workdps(25):
        nodes = [mp.mpf(k) / 5 for k in range(-50, 51)]
        weights = [mp.npdf(x) / 5 for x in nodes]
        first = [
            (mp.mpf("0.3") / mp.sqrt(2) + x / 2, w) for x, w in zip(nodes, weights, strict=True)
        ]
        second = [
            (-mp.mpf("0.3") / mp.sqrt(2) + x / 2, w) for x, w in zip(nodes, weights, strict=True)
        ]
        s11 = mp.fsum(
            w1 * w2 / (1 + mp.exp(x1 * x2 - x1**2)) for x1, w1 in first for x2, w2 in second
        )
    assert moments(0.3, 0.5)[0] == pytest.approx(float(s11), abs=1e-13)


@pytest.mark.parametrize("mixing", [STANDARD, ASYMMETRIC, IDENTITY_LIKE])
@pytest.mark.parametrize(
    ("sigma", "omega", "q", "m"),
    [(0.5, 0.3, 0.05, 0.25), (0.5, 0.3, 0.1, 0.0), (0.7, 0.9, 0.4, 0.5), (0.2, 0.0, 0.02, 0.1)],
)
def test_at_theta_zero_it_factorises(sigma, omega, q, m, mixing):
    model = AttentionModel(sigma=sigma, omega=omega, mixing=mixing)
    expected = factorised(model, q, m)
    for accuracy in (1e-4, 1e-7, 1e-10):
        value, error, _ = mean_test_loss(model, Overlaps(q, m, 10.0, 0.0), accuracy)
        assert abs(value - expected) <= error
        assert error <= accuracy * expected


@pytest.mark.parametrize("point", stored_points(), ids=lambda point: point.name)
def test_it_is_that_of_the_reference(point):
    p = point.parameters
    model = AttentionModel(
        sigma=p.sigma, omega=p.omega, mixing=((p.a11, 1.0 - p.a11), (1.0 - p.a22, p.a22))
    )
    value, error, _ = mean_test_loss(model, Overlaps(p.q, p.m, p.V, p.theta), 1e-9)
    bound = error + point.errors["test_error"]
    assert value == pytest.approx(point.values["test_error"], abs=bound)


def four_dimensional(model, overlaps, nodes):
    """Gauss-Hermite in token coordinates of all four fields."""
    q, m, _, theta = overlaps
    x, weights = np.polynomial.hermite_e.hermegauss(nodes)
    weights /= weights.sum()
    spread = math.sqrt(q - theta**2 / model.rho)
    h1 = (model.sigma * x)[:, None, None, None]
    h2 = (model.sigma * x)[None, :, None, None]
    w1 = m + theta / model.rho * h1 + spread * x[None, None, :, None]
    w2 = -m + theta / model.rho * h2 + spread * x[None, None, None, :]
    t11 = (1.0 - model.omega) / (1.0 + np.exp(h1 * h2 - h1**2)) + model.omega * model.mixing[0][0]
    t22 = (1.0 - model.omega) / (1.0 + np.exp(h1 * h2 - h2**2)) + model.omega * model.mixing[1][1]
    s11 = 1.0 / (1.0 + np.exp(w1 * w2 - w1**2))
    s22 = 1.0 / (1.0 + np.exp(w1 * w2 - w2**2))
    loss = (t11 - s11) ** 2 + (t22 - s22) ** 2
    return model.sigma**2 * float(np.einsum("i,j,k,l,ijkl", *[weights] * 4, loss))


@pytest.mark.parametrize("mixing", [STANDARD, ASYMMETRIC])
@pytest.mark.parametrize(
    ("sigma", "overlaps"),
    [
        (0.5, Overlaps(0.0972, 0.0, 15.46, 0.1386)),
        (0.5, Overlaps(0.0972, 0.2, 15.46, 0.1386)),
        (0.6, Overlaps(0.3, 0.1, 20.0, 0.1)),
    ],
)
def test_the_true_error_is_within_the_stated_one(sigma, overlaps, mixing):
    model = AttentionModel(sigma=sigma, mixing=mixing)
    expected = four_dimensional(model, overlaps, 40)
    assert four_dimensional(model, overlaps, 36) == pytest.approx(expected, rel=1e-9)
    for accuracy in (1e-3, 1e-5, 1e-7):
        value, error, _ = mean_test_loss(model, overlaps, accuracy)
        assert abs(value - expected) <= error + 1e-9 * expected
        assert error <= accuracy * expected


@pytest.mark.parametrize("mixing", [STANDARD, ASYMMETRIC])
@pytest.mark.parametrize(
    "overlaps",
    [
        Overlaps(0.0972, 0.0, 15.46, 0.1386),
        Overlaps(0.0972, 0.2, 15.46, 0.0),
        Overlaps(0.0972, 0.2, 15.46, 0.1),
    ],
)
def test_the_gradient_is_the_difference_quotient_of_another_rule(overlaps, mixing):
    model = AttentionModel(mixing=mixing)
    gradient = mean_test_loss(model, overlaps, 1e-8).gradient
    for k in range(4):
        change = 1e-3
        ends = []
        for sign in (1, -1):
            moved = list(overlaps)
            moved[k] += sign * change
            ends.append(four_dimensional(model, Overlaps(*moved), 30))
        quotient = (ends[0] - ends[1]) / (2.0 * change)
        assert gradient[k] == pytest.approx(quotient, rel=2e-4, abs=1e-9)
    assert gradient[2] == 0.0


def test_near_a_perfect_copy_it_is_the_square_of_the_gradient():
    # omega = 0 and w = h* + s xi with s small
    model = AttentionModel(omega=0.0)
    s, h = 1e-3, 1e-20
    axis = np.linspace(-9.0, 9.0, 181)
    weights = np.exp(-0.5 * axis**2)
    weights /= weights.sum()
    u, v = 0.5 * axis[:, None], 0.5 * axis[None, :]
    square = 0.0
    for along_u, along_v in ((1j * h, 0.0), (0.0, 1j * h)):
        for entry in by_hand.attention(u + along_u, v + along_v):
            square += weights @ (entry.imag / h) ** 2 @ weights
    value, _, _ = mean_test_loss(model, Overlaps(0.25 + s**2, 0.0, 1.0, 0.25), 1e-6)
    assert value == pytest.approx(model.rho * s**2 * square, rel=1e-4)


def test_without_the_student_it_is_that_of_the_uniform_map():
    # Q = 0 attends with 1/2: the linear baseline's error plus the bias of 1/2
    model = AttentionModel(mixing=ASYMMETRIC)
    baseline = linear_baseline(model)
    bias = model.rho * sum((baseline.W[k][k] - 0.5) ** 2 for k in range(2))
    value, error, _ = mean_test_loss(model, Overlaps(0.0, 0.0, 1.0, 0.0), 1e-9)
    assert value == pytest.approx(baseline.test_error + bias, abs=error + 1e-16)
