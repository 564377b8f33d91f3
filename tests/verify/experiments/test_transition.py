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


def _rows(unit, shift=0.0):
    """Start ` 1` ends in the lowest minimum of its branch, the others in higher ones or astray."""
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
                if number == "2":
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
    found = _found()[name]
    assert found.kind == "two-sided"
    assert (found.predicted, found.predicted_error) == (truth, 1e-5)
    assert found.measured.error < 0.02
    assert abs(found.measured.t(truth)) < 4
    assert ("10 % of V_hat" in found.note) == (name == "alpha_c")
    assert found.jump_share == _THRESHOLDS[name]["jump_share"]


def test_a_crossing_elsewhere_is_seen():
    moved = {"alpha_c": {**_THRESHOLDS["alpha_c"], "alpha": 1.35}, "alpha_l": {"absent": "none"}}
    found = _found(thresholds=moved)["alpha_c"]
    assert abs(found.measured.t(found.predicted, found.predicted_error)) > 6


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


def test_without_a_threshold_in_theory_the_crossing_is_shown():
    absent = {"absent": "the branches do not cross"}
    found = _found(thresholds={**_THRESHOLDS, "alpha_c": absent})
    assert (found["alpha_c"].kind, found["alpha_c"].predicted) == ("shown", None)
    assert found["alpha_c"].note == "the branches do not cross"
    assert abs(found["alpha_c"].measured.t(_ALPHA_C)) < 4
    assert found["alpha_l"].kind == "two-sided"


def test_a_crossing_outside_the_range_is_shown_with_the_reason():
    found = _found(rows=lambda unit: _rows(unit, shift=1e-3))["alpha_c"]
    assert (found.kind, found.measured) == ("shown", None)
    assert "crosses zero 0 times" in found.note
    assert found.predicted == _ALPHA_C


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
