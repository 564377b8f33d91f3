"""The crossing of a simulated difference is covered as often as its error says."""

import numpy as np
import pytest
from scipy import stats

from symattn.errors import ComputationFailed, InvalidInput
from verify.crossing import crossing, difference_at, fit_at

ALPHAS = np.array([1.0, 1.2, 1.4, 1.6])
DIMENSIONS = np.repeat([250.0, 500.0, 1000.0], 8)
ROOT, ROOT_BIAS = 1.25, 8.0


def differences(generator, curvature=0.0):
    """Zero at ROOT + ROOT_BIAS/d in the mean; a seed's deviations at all alphas go together."""
    shift = ALPHAS - ROOT - ROOT_BIAS / DIMENSIONS[:, None]
    mean = 2.0 * shift + curvature * shift**2
    common = generator.standard_normal((DIMENSIONS.size, 1))
    tilt = 0.3 * generator.standard_normal((DIMENSIONS.size, 1)) * (ALPHAS - 1.3)
    single = 0.2 * generator.standard_normal((DIMENSIONS.size, ALPHAS.size))
    return mean + (common + tilt + single) / np.sqrt(DIMENSIONS)[:, None]


@pytest.mark.parametrize(("degree", "curvature"), [(1, 0.0), (2, 0.8)])
def test_intervals_cover_the_crossing(degree, curvature):
    generator = np.random.default_rng(21)
    trials = 800
    found = [
        crossing(ALPHAS, differences(generator, curvature), DIMENSIONS, degree=degree)
        for _ in range(trials)
    ]
    for level in (0.5, 0.95):
        low, high = np.array([estimate.interval(level) for estimate in found]).T
        covered = int(np.sum((low < ROOT) & (high > ROOT)))
        assert stats.binomtest(covered, trials, level).pvalue > 1e-3
    t = [(estimate.bias - ROOT_BIAS) / estimate.bias_error for estimate in found]
    assert abs(np.mean(t)) < 4 / np.sqrt(trials)


@pytest.mark.parametrize(
    ("at", "degree", "curvature"), [(ROOT, 1, 0.0), (1.5, 2, 0.8), (0.9, 3, 0.8)]
)
def test_intervals_cover_the_difference_at_a_place(at, degree, curvature):
    """Also beyond the alphas measured."""
    generator = np.random.default_rng(25)
    truth = 2.0 * (at - ROOT) + curvature * (at - ROOT) ** 2
    trials = 800
    found = [
        difference_at(at, ALPHAS, differences(generator, curvature), DIMENSIONS, degree=degree)
        for _ in range(trials)
    ]
    for level in (0.5, 0.95):
        low, high = np.array([estimate.interval(level) for estimate in found]).T
        covered = int(np.sum((low < truth) & (high > truth)))
        assert stats.binomtest(covered, trials, level).pvalue > 1e-3


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_the_difference_where_it_crosses_is_zero(degree):
    """And as uncertain, in units of the slope there, as the place is."""
    difference = differences(np.random.default_rng(26), 0.8)
    root = crossing(ALPHAS, difference, DIMENSIONS, degree=degree)
    there, before, after = (
        difference_at(root.value + shift, ALPHAS, difference, DIMENSIONS, degree=degree)
        for shift in (0.0, -1e-5, 1e-5)
    )
    slope = (after.value - before.value) / 2e-5
    assert there.value == pytest.approx(0.0, abs=1e-12)
    assert there.error == pytest.approx(slope * root.error, rel=1e-6)


def test_controls_make_a_difference_sharper():
    generator = np.random.default_rng(27)
    control = generator.standard_normal((DIMENSIONS.size, 1)) / np.sqrt(DIMENSIONS)[:, None]
    difference = differences(generator) + 5 * control
    found = difference_at(ROOT, ALPHAS, difference, DIMENSIONS, control, degree=1)
    without = difference_at(ROOT, ALPHAS, difference, DIMENSIONS, degree=1)
    assert found.error < without.error / 3
    assert abs(found.t(0.0)) < 4


@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize("at", [0.7, 1.2, 1.33])
def test_a_polynomial_is_what_it_is_fitted_by(degree, at):
    polynomial = np.polynomial.Polynomial([0.3, -2.0, 1.7, 0.9][: degree + 1])
    places = [1.0, 1.15, 1.4, 1.6, 1.9]
    found = fit_at(at, places, polynomial(np.array(places)), degree=degree)
    assert found == pytest.approx(polynomial(at), rel=1e-10)


def test_a_fit_is_that_of_least_squares():
    places, curve = [1.0, 1.2, 1.4, 1.6, 1.8], [0.1, -0.3, 0.2, 0.5, -0.1]
    expected = np.polynomial.Polynomial.fit(places, curve, 2)(1.3)
    assert fit_at(1.3, places, curve, degree=2) == pytest.approx(expected, rel=1e-10)


def test_a_slope_that_depends_on_the_dimension_is_extrapolated_too():
    noise = 1e-4 * np.random.default_rng(24).standard_normal((DIMENSIONS.size, ALPHAS.size))
    over_d = 1 / DIMENSIONS[:, None]
    difference = (2 + 300 * over_d) * (ALPHAS - ROOT) - 60 * over_d + noise
    found = crossing(ALPHAS, difference, DIMENSIONS)
    assert found.error < 1e-4
    assert abs(found.t(ROOT)) < 4


def test_controls_narrow_it_down():
    generator = np.random.default_rng(22)
    control = generator.standard_normal((DIMENSIONS.size, 1)) / np.sqrt(DIMENSIONS)[:, None]
    difference = differences(generator) + 5 * control
    with_control = crossing(ALPHAS, difference, DIMENSIONS, control)
    without = crossing(ALPHAS, difference, DIMENSIONS)
    assert with_control.error < without.error / 3
    assert abs(with_control.t(ROOT)) < 4


def test_no_crossing_two_crossings_and_a_flat_one_are_refused():
    generator = np.random.default_rng(23)
    noise = 0.01 * generator.standard_normal((DIMENSIONS.size, ALPHAS.size))
    with pytest.raises(ComputationFailed, match="crosses zero 0 times"):
        crossing(ALPHAS, noise + 1.0 + ALPHAS, DIMENSIONS)
    with pytest.raises(ComputationFailed, match="crosses zero 2 times"):
        crossing(ALPHAS, noise + (ALPHAS - 1.1) * (ALPHAS - 1.5), DIMENSIONS, degree=2)
    tilt = generator.standard_normal((DIMENSIONS.size, 1))
    with pytest.raises(ComputationFailed, match="too uncertain"):
        crossing(ALPHAS, 1e-3 * noise + tilt * (ALPHAS - 1.3), DIMENSIONS)
    noise[3, 1] = np.nan
    with pytest.raises(ComputationFailed, match="measurement 3"):
        crossing(ALPHAS, noise, DIMENSIONS)


@pytest.mark.parametrize(
    ("x", "shape", "degree"),
    [([1, 1], (24, 2), 1), ([1, 2], (24, 2), 2), ([1, 2], (24, 3), 1), ([1, 2, 3], (24, 3), 0)],
)
def test_bad_shapes_are_refused(x, shape, degree):
    with pytest.raises(InvalidInput):
        crossing(x, np.ones(shape), DIMENSIONS, degree=degree)
    with pytest.raises(InvalidInput):
        difference_at(1.5, x, np.ones(shape), DIMENSIONS, degree=degree)
    with pytest.raises(InvalidInput):
        fit_at(1.5, x, np.ones(shape[1]), degree=degree)
