"""Estimates cover the truth as often as they say, on simulated seeds whose truth is known."""

import math

import mpmath
import numpy as np
import pytest
from scipy import stats

from symattn.errors import ComputationFailed, InvalidInput
from verify.statistics import Estimate, extrapolate, extrapolate_means, intercepts

TRUTH, BIAS, SLOPE = 0.13, -2.0, 0.4
DIMENSIONS = np.repeat([250.0, 500.0, 1000.0], 8)


def seeds(generator, noise=1.0, law="normal"):
    """Measurements at `DIMENSIONS` with a control variate, scatter noise/sqrt(d)."""
    draws = {
        "normal": generator.standard_normal,
        "heavy": lambda size: generator.standard_t(5, size) / math.sqrt(5 / 3),
    }[law]
    control = generator.standard_normal(DIMENSIONS.size) / np.sqrt(DIMENSIONS)
    scatter = noise * draws(DIMENSIONS.size) / np.sqrt(DIMENSIONS)
    return TRUTH + BIAS / DIMENSIONS + SLOPE * control + scatter, control[:, None]


@pytest.mark.parametrize("law", ["normal", "heavy"])
def test_intervals_cover_and_p_values_are_uniform(law):
    generator = np.random.default_rng(11)
    trials = 2000
    found = [
        extrapolate(y, DIMENSIONS, x)
        for y, x in (seeds(generator, 1.0, law) for _ in range(trials))
    ]
    for level in (0.5, 0.9, 0.99):
        low, high = np.array([estimate.interval(level) for estimate in found]).T
        covered = int(np.sum((low < TRUTH) & (high > TRUTH)))
        assert stats.binomtest(covered, trials, level).pvalue > 1e-3
    p = [estimate.p_value(TRUTH) for estimate in found]
    assert stats.kstest(p, "uniform").pvalue > 1e-3
    z = [estimate.z(TRUTH) for estimate in found]
    assert stats.kstest(z, "norm").pvalue > 1e-3
    more = [estimate.p_value_of_more(TRUTH) for estimate in found]
    assert stats.kstest(more, "uniform").pvalue > 1e-3
    biases = [(estimate.bias - BIAS) / estimate.bias_error for estimate in found]
    assert stats.kstest(biases, "t", args=(found[0].freedom,)).pvalue > 1e-3
    if law == "normal":
        # chi-square with `freedom` degrees of freedom
        assert np.mean([estimate.residual**2 for estimate in found]) == pytest.approx(
            1.0, abs=4 * math.sqrt(2 / found[0].freedom / trials)
        )


def test_the_checks_of_the_fit_are_uniform_where_it_is_right():
    generator = np.random.default_rng(12)
    found = [extrapolate(*_swap(seeds(generator))) for _ in range(1500)]
    assert stats.kstest([e.curvature_p for e in found], "uniform").pvalue > 1e-3
    # Levene's test about medians errs to the side of large p-values.
    for level in (0.01, 0.05, 0.2):
        share = np.mean([e.scatter_p < level for e in found])
        assert share < level + 3 * math.sqrt(level / len(found))


def _swap(drawn):
    y, x = drawn
    return y, DIMENSIONS, x


def test_the_checks_of_the_fit_see_where_it_is_wrong():
    generator = np.random.default_rng(13)
    d = np.repeat([250.0, 500.0, 1000.0], 40)
    steep = generator.standard_normal(d.size) / d
    curved = 1e4 / d**2 + generator.standard_normal(d.size) * 0.1 / np.sqrt(d)
    assert extrapolate(steep, d).scatter_p < 1e-3
    assert extrapolate(curved, d).curvature_p < 1e-6


def test_a_line_without_control_is_the_textbook_formula():
    """Equal weights, since there are equally many seeds and the values are scaled by sqrt(d)."""
    generator = np.random.default_rng(14)
    d = np.repeat([100.0, 400.0], 5)
    y = generator.standard_normal(10) / np.sqrt(d)
    found = extrapolate(y, d)
    means = [y[:5].mean(), y[5:].mean()]
    assert found.value == pytest.approx((400 * means[1] - 100 * means[0]) / 300, rel=1e-12)
    scale = sum(100 * (4 if i > 4 else 1) * (y[i] - means[i > 4]) ** 2 for i in range(10)) / 8
    assert found.residual == pytest.approx(math.sqrt(scale), rel=1e-12)
    variance = (400**2 * scale / 400 + 100**2 * scale / 100) / 5 / 300**2
    assert found.error == pytest.approx(math.sqrt(variance), rel=1e-12)
    assert found.freedom == 8


def test_one_dimension_gives_the_mean_there():
    y = np.random.default_rng(15).standard_normal(12)
    found = extrapolate(y, np.full(12, 500.0))
    test = stats.ttest_1samp(y, 0.3)
    assert found.value == pytest.approx(y.mean(), rel=1e-12)
    assert found.t(0.3) == pytest.approx(test.statistic, rel=1e-12)
    assert found.p_value(0.3) == pytest.approx(test.pvalue, rel=1e-12)
    assert found.interval(0.9) == pytest.approx(tuple(test.confidence_interval(0.9)), rel=1e-12)
    less = stats.ttest_1samp(y, 0.3, alternative="less")
    assert found.p_value_of_more(0.3) == pytest.approx(less.pvalue, rel=1e-12)
    assert found.bias is None
    assert found.scatter_p is None
    assert found.curvature_p is None


def test_control_variates_take_out_what_they_explain():
    y, x = seeds(np.random.default_rng(16), noise=0.05)
    with_control, without = extrapolate(y, DIMENSIONS, x), extrapolate(y, DIMENSIONS)
    assert with_control.error < without.error / 4
    assert with_control.freedom == without.freedom - 1


def test_several_columns_have_the_values_of_each():
    generator = np.random.default_rng(17)
    y = generator.standard_normal((DIMENSIONS.size, 2))
    x = generator.standard_normal((DIMENSIONS.size, 1))
    single = [extrapolate(column, DIMENSIONS, x).value for column in y.T]
    assert intercepts(y, DIMENSIONS, x) == pytest.approx(single, rel=1e-10)


@pytest.mark.parametrize("freedom", [1, 3, 20, 200, 5000, math.inf])
@pytest.mark.parametrize("t", [1e-6, 0.3, -2.0, 9.0, 45.0, -1e4, 1e9])
def test_z_has_the_tail_of_t_however_far_out(t, freedom):
    z = Estimate(value=t, error=1.0, freedom=freedom, count=9).z(0.0)
    assert math.copysign(1, z) == math.copysign(1, t)
    with mpmath.workdps(40):
        if math.isinf(freedom):
            wanted = mpmath.log(mpmath.erfc(abs(t) / mpmath.sqrt(2)) / 2)
        else:
            # log I_x(freedom/2, 1/2)/2, x = freedom/(freedom + t^2), by Euler's integral
            a, x = mpmath.mpf(freedom) / 2, freedom / (freedom + mpmath.mpf(t) ** 2)
            wanted = mpmath.log(mpmath.betainc(a, 0.5, 0, x, regularized=True) / 2)
        got = mpmath.log(mpmath.erfc(abs(z) / mpmath.sqrt(2)) / 2)
        assert abs(got - wanted) <= 1e-9 * max(1, abs(wanted))


def test_a_deviation_counts_as_far_as_it_goes_beyond_the_error_of_the_prediction():
    found = Estimate(value=1.0, error=0.1, freedom=10, count=11)
    assert found.t(0.5, 0.2) == pytest.approx(3.0)
    assert found.t(1.5, 0.2) == pytest.approx(-3.0)
    assert found.z(0.95, 0.2) == 0.0
    assert found.p_value(0.95, 0.2) == 1.0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"values": [1.0, math.nan, 2.0, 3.0]}, "seed 8 at d = 200"),
        ({"controls": [[1.0], [2.0], [math.inf], [0.5]]}, "seed 9 at d = 200"),
        ({"values": [0.1, 0.1, 0.1, 0.1]}, "do not scatter"),
        ({"controls": [[0.0], [0.0], [0.0], [0.0]]}, "is 0 for every seed"),
        ({"controls": [[0.01], [0.005], [0.005], [0.0025]]}, "depend on each other"),
        ({"controls": [[1.0, 3.0], [2.0, 1.0], [4.0, 1.0], [0.5, 0.0]]}, "take more seeds"),
    ],
)  # fmt: skip
def test_what_cannot_be_extrapolated_is_refused(change, words):
    given = {"values": [1.0, 2.0, 4.0, 3.0], "dimensions": [100, 200, 200, 400], "controls": None}
    with pytest.raises(ComputationFailed, match=words):
        extrapolate(**{**given, **change}, seeds=[7, 8, 9, 10])


@pytest.mark.parametrize(
    "change",
    [
        {"dimensions": [100, 200]},
        {"dimensions": [100, 0, 200]},
        {"dimensions": [100, math.inf, 200]},
        {"controls": [1.0, 2.0, 3.0]},
        {"controls": [[1.0], [2.0]]},
    ],
)
def test_bad_shapes_are_refused(change):
    given = {"values": [1.0, 2.0, 4.0], "dimensions": [100, 200, 200], "controls": None}
    with pytest.raises(InvalidInput):
        extrapolate(**{**given, **change})


def test_a_level_is_a_probability():
    with pytest.raises(InvalidInput, match="level"):
        Estimate(value=1.0, error=0.1, freedom=3, count=4).interval(95)


MEANS_AT = (250.0, 500.0, 1000.0, 2000.0)


def means(generator, seeds, curvature=0.0):
    """Means and standard errors of `seeds` measurements at each of `MEANS_AT`."""
    found = []
    for d in MEANS_AT:
        truth = TRUTH + BIAS / d + curvature / d**2
        y = truth + generator.standard_normal(seeds) / math.sqrt(d)
        error = float(y.std(ddof=1)) / math.sqrt(seeds)
        found.append(Estimate(value=y.mean(), error=error, freedom=seeds - 1, count=seeds))
    return found


def test_means_with_errors_are_extrapolated():
    generator = np.random.default_rng(18)
    trials = 2000
    found = [extrapolate_means(means(generator, 40), MEANS_AT) for _ in range(trials)]
    for level in (0.5, 0.95):
        low, high = np.array([estimate.interval(level) for estimate in found]).T
        covered = int(np.sum((low < TRUTH) & (high > TRUTH)))
        assert stats.binomtest(covered, trials, level).pvalue > 1e-3
    # between the freedom of one mean and that of all
    assert all(39 <= estimate.freedom <= 4 * 39 for estimate in found)
    assert found[0].count == 160
    t = [(estimate.bias - BIAS) / estimate.bias_error for estimate in found]
    assert abs(np.mean(t)) < 4 / math.sqrt(trials)


def test_means_at_two_dimensions_lie_on_their_line():
    pair = [
        Estimate(value=v, error=e, freedom=math.inf, count=1) for v, e in ((2.0, 0.3), (1.5, 0.1))
    ]
    found = extrapolate_means(pair, [100, 200])
    assert found.value == pytest.approx(2 * 1.5 - 2.0)
    assert found.bias == pytest.approx(100.0)
    assert found.error == pytest.approx(math.hypot(0.3, 2 * 0.1))
    assert math.isinf(found.freedom)
    assert found.curvature_p is None


def test_means_that_are_not_linear_in_1_over_d_are_seen():
    generator = np.random.default_rng(19)
    assert extrapolate_means(means(generator, 200), MEANS_AT).curvature_p > 1e-3
    assert extrapolate_means(means(generator, 200, 1e5), MEANS_AT).curvature_p < 1e-6


@pytest.mark.parametrize("dimensions", [[100, 100], [100], [100, -200]])
def test_means_at_one_dimension_have_no_limit(dimensions):
    mean = Estimate(value=1.0, error=0.1, freedom=3, count=4)
    with pytest.raises(InvalidInput, match="dimensions"):
        extrapolate_means([mean, mean], dimensions)
