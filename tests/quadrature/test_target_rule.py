"""The rule over h*: moments of the Gaussian, and functions with the kink it is split at."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad

from symattn.quadrature._target_rule import onset_points, target_rule

# (sigma, omega, a11, a22), V: from no onset at all to several on a line
CASES = [
    ((0.5, 0.3, 0.6, 0.6), 2.0),
    ((0.5, 0.3, 0.6, 0.6), 15.0),
    ((0.5, 0.3, 0.3, 0.2), 14.0),
    ((0.7, 0.8, 0.6, 0.6), 9.0),
    ((0.7, 0.0, 0.6, 0.6), 9.0),
    ((0.4, 0.5, 0.3, 0.2), 60.0),
]


def condition(u, v, parameters, V):
    """V sigma^2 tau + (V sigma^2 delta)^2/4 - 1, positive where the prox jumps at w = 0."""
    sigma, omega, a11, a22 = parameters
    s11 = 1.0 / (1.0 + np.exp(-(u * u + u * v)))
    s22 = 1.0 / (1.0 + np.exp(-(u * u - u * v)))
    t11 = (1.0 - omega) * s11 + omega * a11
    t22 = (1.0 - omega) * s22 + omega * a22
    scale = V * sigma**2
    return scale * (t11 + t22 - 1.0) + (scale * (t11 - t22)) ** 2 / 4.0 - 1.0


def sign_changes(u, v, parameters, V):
    values = condition(u, v, parameters, V)
    return u[:-1][(values[:-1] < 0.0) != (values[1:] < 0.0)]


@pytest.mark.parametrize(("parameters", "V"), CASES)
def test_onset_points_solve_the_explicit_condition_and_none_is_missing(parameters, V):
    edge = 6.0 * parameters[0]
    fine = np.linspace(-edge, edge, 100_001)
    total = 0
    for v in np.linspace(-edge, edge, 41):
        found = onset_points(-edge, edge, v, parameters, V)
        np.testing.assert_allclose(condition(found, v, parameters, V), 0.0, atol=1e-12 * V**2)
        np.testing.assert_allclose(found, sign_changes(fine, v, parameters, V), atol=2e-4 * edge)
        total += len(found)
    assert (total > 0) == (V > 2.0)


@pytest.mark.parametrize("reflection", [False, True])
@pytest.mark.parametrize("exchange", [False, True])
@pytest.mark.parametrize(("parameters", "V"), CASES)
def test_the_rule_integrates_the_gaussian(parameters, V, exchange, reflection):
    points, weights = target_rule(
        parameters, V, 9.0, 48, 48, 28, exchange=exchange, reflection=reflection
    )
    u, v = points.T / parameters[0]
    k = 1.5
    expected = {
        "1": 1.0,
        "u^2": 1.0,
        "v^2": 1.0,
        "u^2 v^2": 1.0,
        "u^4 v^2": 3.0,
        "cos": math.exp(-(k**2)),
    }
    found = {
        "1": weights.sum(),
        "u^2": weights @ u**2,
        "v^2": weights @ v**2,
        "u^2 v^2": weights @ (u * v) ** 2,
        "u^4 v^2": weights @ (u**4 * v**2),
        "cos": weights @ (np.cos(k * u) * np.cos(k * v)),
    }
    if not reflection:
        expected["u"] = 0.0
        expected["shifted"] = math.exp(0.5 * 0.6**2)
        found["u"] = weights @ u
        found["shifted"] = weights @ np.exp(0.6 * u)
    if not exchange:
        expected["u v"] = expected["mixed"] = 0.0
        found["u v"] = weights @ (u * v)
        found["mixed"] = weights @ (np.sin(k * u) * np.sin(k * v))
    assert found == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize(("parameters", "V"), CASES[1:])
def test_a_kink_of_third_order_at_the_onset_costs_no_accuracy(parameters, V):
    sigma = parameters[0]
    edge = 8.0 * sigma

    def density(x):
        return math.exp(-0.5 * (x / sigma) ** 2) / (sigma * math.sqrt(2.0 * math.pi))

    def jumping(u, v):
        return np.maximum(0.0, condition(u, v, parameters, V)) ** 3

    # on lines of the rule, against a quadrature that is told where the kinks are
    points, weights = target_rule(parameters, V, 8.5, 34, 34, 28, exchange=False, reflection=False)
    step = 8.5 * sigma / 34.0
    fine = np.linspace(-edge, edge, 4001)
    scale = weights @ jumping(*points.T)
    rows = np.unique(points[:, 1])
    for v in rows[np.abs(rows) < 9.0 * step][::2]:
        on_row = np.abs(points[:, 1] - v) < 1e-9
        found = weights[on_row] @ jumping(points[on_row, 0], v) / (density(v) * step)
        kinks = sign_changes(fine, v, parameters, V)
        ends = [-edge, *kinks, edge]
        expected = sum(
            quad(lambda u, v=v: density(u) * jumping(u, v), low, high, epsabs=1e-13, limit=200)[0]
            for low, high in pairwise(ends)
        )
        assert found == pytest.approx(expected, abs=1e-6 * scale)
