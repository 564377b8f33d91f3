"""Planted crossings are found, and shown with the reason where they cannot be judged."""

import numpy as np
import pytest

from symattn import AttentionModel, linear_baseline
from tests.verify.experiments.made_up_rows import along
from tests.verify.planted import planted_row, scattered
from verify.experiments.transition import Transition
from verify.theory import TheoryAt, ThresholdOf

_MODEL = AttentionModel()
_ALPHAS = (0.95, 1.15, 1.35, 1.55, 1.75)
_ALPHA_C, _ALPHA_L = 1.25, 1.48
_LINEAR = linear_baseline(_MODEL).test_error
_THRESHOLDS = {
    "alpha_c": {"alpha": _ALPHA_C, "error": 1e-5, "jump_share": 0.1},
    "alpha_l": {"alpha": _ALPHA_L, "error": 1e-5, "jump_share": 0.0},
}


def _experiment(starts=3):
    return Transition(
        name="x", model=_MODEL, alphas=_ALPHAS, sizes={250: 24, 500: 12}, starts=starts
    )


def _gap(alpha):
    """Semantic less positional training loss: parabolic, zero at alpha_c."""
    return -4e-4 * (alpha - _ALPHA_C) - 5e-5 * (alpha - _ALPHA_C) ** 2


def _rows(unit, shift=0.0, astray=()):
    """Start ` 1` ends in the lowest minimum of its branch, the others in higher ones or astray.

    For the training sets `astray` all starts of the positional branch are, at the largest alpha.
    """
    rows = []
    for seed in unit.seeds:
        for alpha in unit.alphas:
            row = planted_row(_MODEL, unit.dimension, seed, alpha)
            noise = scattered(_MODEL, row, 1.0, 0.002)
            loss = 0.002 * alpha * noise
            own = np.random.default_rng([seed, round(100 * alpha)]).standard_normal(2)
            own *= np.array([3e-4, 1.5e-4]) / unit.dimension**0.5
            gap = (_gap(alpha) + shift + 2e-3 / unit.dimension) * (1 + row["teacher"]) + own[0]
            error_gap = -2e-4 * (alpha - _ALPHA_L) * (1 + row["teacher"]) + own[1]
            numbers = {
                "test_error": _LINEAR * noise + error_gap,
                "linear_test_error": _LINEAR * noise,
            }
            for start in unit.starts:
                branch, _, number = start.partition(" ")
                lowest = loss + gap if branch == "semantic" else loss
                cosines = (0.8, 0.1) if branch == "semantic" else (-0.1, 0.7)
                height = {"": 1.05, "1": 1.0, "2": 0.5}[number]
                gone = seed in astray and alpha == _ALPHAS[-1] and branch == "positional"
                if number == "2" or gone:
                    cosines = cosines[::-1]
                found = {**along(*cosines, 0.05, row["teacher"]), "train_loss": height * lowest}
                rows.append({**row, "start": start, **numbers, **found})
    return rows


def _point(branch, alpha):
    gap = _gap(alpha) if branch == "semantic" else 0.0
    return {"train_loss": 0.002 * alpha + gap, "test_error": _LINEAR - 2e-4 * (alpha - _ALPHA_L)}


def _results(rows=_rows, thresholds=_THRESHOLDS, point=_point):
    def results(unit):
        if isinstance(unit, ThresholdOf):
            return thresholds[unit.name]
        if isinstance(unit, TheoryAt):
            return {repr(alpha): point(unit.branch, alpha) for alpha in unit.alphas}
        return rows(unit)

    return results


def _found(**given):
    finding = _experiment().finding(3, _results(**given))
    return {prediction.name.removeprefix("x."): prediction for prediction in finding.predictions}


@pytest.mark.parametrize(("name", "truth"), [("alpha_c", _ALPHA_C), ("alpha_l", _ALPHA_L)])
def test_planted_crossings_are_found_from_the_lowest_minima_of_both_states(name, truth):
    """The difference is 0 at the threshold, which is tested, and nowhere else, which is shown."""
    found = _found()
    difference, place = found[name], found[f"{name}.where"]
    assert (difference.kind, difference.predicted) == ("two-sided", 0.0)
    # The planted curves are parabolas, which a cubic has exactly.
    assert difference.predicted_error < 1e-15
    assert difference.measured.error < 1e-5
    assert abs(difference.measured.t(0.0)) < 4
    assert (place.kind, place.predicted, place.predicted_error) == ("shown", truth, 1e-5)
    assert place.measured.error < 0.02
    assert abs(place.measured.t(truth)) < 4
    for prediction in (difference, place):
        assert prediction.jump_share == _THRESHOLDS[name]["jump_share"]
    assert ("10 % of V_hat" in difference.note) == (name == "alpha_c")


@pytest.mark.parametrize("wrong", [1.35, 0.8])
def test_a_wrong_threshold_is_refuted(wrong):
    """Also one outside the range; the difference there is what the planted curve says."""
    moved = {**_THRESHOLDS, "alpha_c": {**_THRESHOLDS["alpha_c"], "alpha": wrong}}
    found = _found(thresholds=moved)["alpha_c"]
    assert abs(found.measured.t(0.0, found.predicted_error)) > 6
    assert abs(found.measured.t(_gap(wrong))) < 4


def test_what_a_cubic_misses_on_the_curve_of_the_theory_is_no_deviation():
    """A quartic, which is 0 at a threshold where a cubic through its values is not."""

    def quartic(alpha):
        return 0.02 * ((alpha - 1.35) ** 4 - 0.1**4)

    def point(branch, alpha):
        extra = quartic(alpha) if branch == "semantic" else 0.0
        return {**_point(branch, alpha), "train_loss": 0.002 * alpha + extra}

    # On five equidistant places a cubic misses a fourth difference, 24 h^4, in the pattern
    # 1, -4, 6, -4, 1 over 70.
    largest = 0.02 * 6 / 70 * 24 * 0.2**4
    middle = {**_THRESHOLDS, "alpha_c": {**_THRESHOLDS["alpha_c"], "alpha": 1.25}}
    found = _found(point=point, thresholds=middle)["alpha_c"]
    assert found.predicted_error == pytest.approx(2 * largest, rel=1e-6)
    fitted = np.polynomial.Polynomial.fit(_ALPHAS, [quartic(a) for a in _ALPHAS], 3)
    assert quartic(1.25) == pytest.approx(0, abs=1e-12)
    between = np.linspace(_ALPHAS[0], _ALPHAS[-1], 200)
    assert np.abs(fitted(between) - quartic(between)).max() < found.predicted_error


def test_the_order_at_both_ends():
    """By more than 0: what is lower comes second in the difference."""
    found = _found()
    for name, symbol, truth in (
        ("lower-minimum@alpha=0.95", "eps_t, semantic less positional", _gap(0.95)),
        ("lower-minimum@alpha=1.75", "eps_t, positional less semantic", -_gap(1.75)),
        ("lower-test-error@alpha=0.95", "eps_g, semantic less linear", 2e-4 * 0.53),
        ("lower-test-error@alpha=1.75", "eps_g, linear less semantic", 2e-4 * 0.27),
    ):
        prediction = found[name]
        assert (prediction.kind, prediction.predicted) == ("one-sided", 0.0)
        assert prediction.symbol == symbol
        assert prediction.measured.value > 0
        assert abs(prediction.measured.t(truth)) < 4
        assert prediction.measured.p_value_of_more(0.0) > 0.99


def test_the_wrong_order_is_seen():
    found = _found(rows=lambda unit: _rows(unit, shift=5e-4))
    assert found["lower-minimum@alpha=0.95"].measured.p_value_of_more(0.0) > 0.99
    assert found["lower-minimum@alpha=1.75"].measured.p_value_of_more(0.0) < 1e-6


def test_the_linear_map_is_that_of_the_baseline():
    found = _found()["linear_test_error"]
    assert found.predicted == _LINEAR
    assert found.kind == "two-sided"
    assert abs(found.measured.t(_LINEAR)) < 4


def test_without_a_threshold_in_theory_nothing_is_said_of_it():
    absent = {"absent": "the branches do not cross"}
    found = _found(thresholds={**_THRESHOLDS, "alpha_c": absent})
    assert not {"alpha_c", "alpha_c.where"} & found.keys()
    assert found["alpha_l"].kind == "two-sided"
    assert found["lower-minimum@alpha=1.75"].kind == "one-sided"


def test_a_threshold_is_refuted_too_where_nothing_crosses_in_the_range():
    found = _found(rows=lambda unit: _rows(unit, shift=1e-3))
    assert found["alpha_c"].kind == "two-sided"
    assert found["alpha_c"].measured.t(0.0, found["alpha_c"].predicted_error) > 6
    assert found["alpha_c"].measured.value == pytest.approx(1e-3, rel=0.05)
    place = found["alpha_c.where"]
    assert (place.kind, place.measured, place.predicted) == ("shown", None, _ALPHA_C)
    assert "crosses zero 0 times" in place.note


def test_training_sets_that_lack_a_state_anywhere_are_dropped_and_counted():
    experiment = _experiment()
    training = [unit for unit in experiment.units(3) if hasattr(unit, "seeds")]
    astray = {unit.seeds[0] for unit in training}
    lacking = experiment.finding(3, _results(rows=lambda unit: _rows(unit, astray=astray)))
    without = experiment.finding(
        3, _results(rows=lambda unit: [r for r in _rows(unit) if r["seed"] not in astray])
    )
    for one, other in zip(lacking.predictions, without.predictions, strict=True):
        assert one.measured == other.measured
    assert f" {len(astray)} training sets lack one of the states somewhere" in lacking.text[0]
    complete = experiment.finding(3, _results())
    assert "lack one of the states" not in complete.text[0]


def test_every_branch_has_as_many_starts_as_asked_for():
    for starts, expected in (
        (1, ("semantic", "positional")),
        (2, ("semantic", "semantic 1", "positional", "positional 1")),
    ):
        units = _experiment(starts).units(3)
        training = [u for u in units if not isinstance(u, TheoryAt | ThresholdOf)]
        assert {unit.starts for unit in training} == {expected}
        assert {unit.alphas for unit in training} == {_ALPHAS}
        assert len({unit.key for unit in units}) == len(units)


def test_the_figure_has_theory_as_lines_where_there_is_one():
    def point(branch, alpha):
        if branch == "positional" and alpha > 1.4:
            return {"absent": "none"}
        return _point(branch, alpha)

    [figure] = _experiment().finding(3, _results(point=point)).figures
    losses, errors = figure.drawing.axes
    np.testing.assert_allclose(losses.lines[0].get_xdata(), _ALPHAS[:3])
    np.testing.assert_allclose(losses.lines[0].get_ydata(), [_gap(a) for a in _ALPHAS[:3]])
    # A test error needs the semantic branch alone.
    np.testing.assert_allclose(errors.lines[0].get_xdata(), _ALPHAS)
    points = losses.containers[0].lines[0].get_ydata(orig=False)
    np.testing.assert_allclose(points, [_gap(a) for a in _ALPHAS], atol=5e-5)
