"""The crossing of a simulated difference is covered as often as its error says."""

import numpy as np
import pytest
from scipy import stats

from symattn.errors import ComputationFailed, InvalidInput
from verify.crossing import crossing

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
