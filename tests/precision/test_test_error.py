"""The test error beyond double precision against double precision, and against itself."""

import math

import numpy as np
import pytest
from mpmath import mp, mpf

from symattn import AttentionModel, linear_baseline
from symattn.overlaps import Overlaps
from symattn.quadrature import generalization_error

pytest.importorskip("flint", reason="python-flint is not installed")
from symattn.precision.test_error import linear_test_error, mean_test_loss

CASES = [
    (AttentionModel(lam=0.1), Overlaps(0.0056, 0.136, 2.66, 0.0)),
    (AttentionModel(omega=0.1, sigma=0.4), Overlaps(0.06, 0.0, 2.0, 0.07)),
    (AttentionModel(mixing=((0.3, 0.7), (0.8, 0.2))), Overlaps(0.05, 0.2, 2.0, 0.05)),
]


def precise(model, overlaps, aim):
    with mp.workdps(60):
        return mean_test_loss(model, Overlaps(*map(mpf, overlaps)), aim)


@pytest.mark.parametrize(("model", "overlaps"), CASES, ids=str)
def test_agrees_with_the_sum_over_four_dimensions_in_double_precision(model, overlaps):
    expected = generalization_error.mean_test_loss(model, overlaps, 1e-13)
    assert abs(precise(model, overlaps, 20.0) - expected.value) <= expected.error


@pytest.mark.parametrize(("model", "overlaps"), CASES, ids=str)
def test_aims_are_met(model, overlaps):
    with mp.workdps(60):
        truth = precise(model, overlaps, 30.0)
        for aim in (12.0, 20.0):
            assert abs(precise(model, overlaps, aim) - truth) < mpf(10) ** -aim


def test_at_theta_zero_it_is_a_matter_of_moments():
    """By Gauss-Hermite rules for student and target apart."""
    model, overlaps = CASES[0]
    nodes, weights = np.polynomial.hermite_e.hermegauss(120)
    weights = weights / weights.sum()

    def moments(mean, deviation):
        u, v = np.meshgrid(mean + deviation * nodes, deviation * nodes, indexing="ij")
        values = [0.5 * (1 + np.tanh(u * (u + sign * v) / 2)) for sign in (1, -1)]
        return [(weights @ x @ weights, weights @ x**2 @ weights) for x in values]

    student = moments(math.sqrt(2.0) * overlaps.m, math.sqrt(overlaps.q))
    expected = 0.0
    for (s, s2), (t, t2) in zip(student, moments(0.0, model.sigma), strict=True):
        mean = 0.7 * t + 0.3 * 0.6
        square = 0.49 * t2 + 2 * 0.7 * 0.3 * 0.6 * t + (0.3 * 0.6) ** 2
        expected += model.sigma**2 * (square - 2 * mean * s + s2)
    assert float(precise(model, overlaps, 20.0)) == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("model", [model for model, _ in CASES], ids=str)
def test_the_linear_baseline_in_double_precision_is_met(model):
    baseline = linear_baseline(model)
    value, error = linear_test_error(model, 20)
    assert abs(value - baseline.test_error) <= baseline.error
    assert error <= 0.5e-20 * value
    finer, finer_error = linear_test_error(model, 30)
    assert abs(value - finer) <= error + finer_error
