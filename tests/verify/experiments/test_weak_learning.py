"""The threshold of weak learning from Hessians: a planted one, and that of the theory."""

import numpy as np
import pytest

from symattn import AttentionModel
from tests.verify.planted import planted_row, scattered
from verify.device import choose_device
from verify.experiments.weak_learning import WeakLearning
from verify.theory import TheoryAt, ThresholdOf
from verify.zero_stiffness import ZeroStiffness

_MODEL = AttentionModel(lam=0.1)
_EXPERIMENT = WeakLearning(
    name="x",
    model=_MODEL,
    alphas=(0.8, 1.0, 1.2, 1.4),
    sizes={100: 24, 200: 12},
    trained_alphas=(0.6, 1.1, 2.0),
    trained_sizes={30: 2, 60: 2},
    curve=(1.5,),
)
# In closed form, as symattn.threshold has it with a proof.
_THRESHOLD = 1.05442388664563


def _theory(unit):
    if isinstance(unit, ThresholdOf):
        return {"alpha": _THRESHOLD, "error": 1e-9}
    return {repr(a): {"m": 0.1 * a} if a > _THRESHOLD else {"absent": "none"} for a in unit.alphas}


def _results(stiffness_rows, theory=_theory):
    """Planted theory, trained layers with |m| = alpha, and these rows of Hessians."""

    def results(unit):
        if isinstance(unit, TheoryAt | ThresholdOf):
            return theory(unit)
        if isinstance(unit, ZeroStiffness):
            return stiffness_rows(unit)
        return [
            {"alpha": a, "dimension": unit.dimension, "seed": s, "m": (-1) ** s * a}
            for s in unit.seeds
            for a in unit.alphas
        ]

    return results


def _planted(unit):
    rows = []
    for seed in unit.seeds:
        for alpha in unit.alphas:
            row = planted_row(_MODEL, unit.dimension, seed, alpha)
            noise = scattered(_MODEL, row, 0.0, 0.002)
            curve = 0.1 * (1.1 - alpha) + 0.02 * (1.1 - alpha) ** 2
            rows.append({**row, "regular": True, "stiffness": curve + 0.4 / unit.dimension + noise})
    return rows


def _at(threshold):
    """The theory with the threshold elsewhere."""

    def theory(unit):
        found = _theory(unit)
        return {**found, "alpha": threshold} if isinstance(unit, ThresholdOf) else found

    return theory


def _predictions(stiffness_rows, theory=_theory):
    finding = _EXPERIMENT.finding(1, _results(stiffness_rows, theory))
    return {prediction.name.removeprefix("x."): prediction for prediction in finding.predictions}


def test_planted_threshold_is_found():
    found = _predictions(_planted, _at(1.1))
    assert list(found) == [
        "weak_positional",
        "weak_positional.where",
        "stiffness@alpha=0.8",
        "stiffness@alpha=1.4",
    ]
    difference, place = found["weak_positional"], found["weak_positional.where"]
    assert (difference.kind, difference.predicted) == ("two-sided", 0.0)
    assert difference.measured.error < 1e-3
    assert abs(difference.measured.t(0.0)) < 4
    assert difference.measured.bias == pytest.approx(0.4, abs=4 * difference.measured.bias_error)
    assert (place.kind, place.predicted) == ("shown", 1.1)
    assert place.measured.error < 0.01
    assert abs(place.measured.t(1.1)) < 4
    # A stiffness higher by 0.4/d at the slope -0.1 is 0 later by 4/d.
    assert place.measured.bias == pytest.approx(4, abs=4 * place.measured.bias_error)


def test_the_sign_at_both_ends_is_tested():
    """0.1 u + 0.02 u^2 at u = 0.3 and -0.3, the second with the other sign."""
    found = _predictions(_planted)
    for alpha, truth in ((0.8, 0.0318), (1.4, 0.0282)):
        prediction = found[f"stiffness@alpha={alpha:g}"]
        assert (prediction.kind, prediction.predicted) == ("one-sided", 0.0)
        assert abs(prediction.measured.t(truth)) < 4
        assert prediction.measured.p_value_of_more(0.0) > 0.99


@pytest.mark.parametrize("wrong", [1.0, 1.2, 0.6])
def test_a_wrong_threshold_is_refuted(wrong):
    assert abs(_predictions(_planted, _at(wrong))["weak_positional"].measured.t(0.0)) > 6


def test_measured_threshold_is_that_of_the_theory():
    device = choose_device("cpu")
    found = _predictions(lambda unit: unit.run(device))
    difference, place = found["weak_positional"].measured, found["weak_positional.where"].measured
    assert place.error < 0.15
    assert abs(place.value - _THRESHOLD) < 4 * place.error
    assert abs(difference.t(0.0)) < 4
    for alpha in (0.8, 1.4):
        assert found[f"stiffness@alpha={alpha:g}"].measured.t(0.0) > 3


def test_a_threshold_outside_the_range_is_refuted_and_its_place_unknown():
    def stiff(unit):
        return [{**row, "stiffness": 1 + row["stiffness"]} for row in _planted(unit)]

    found = _predictions(stiff)
    assert found["weak_positional"].kind == "two-sided"
    assert found["weak_positional"].measured.t(0.0) > 6
    place = found["weak_positional.where"]
    assert (place.kind, place.measured) == ("shown", None)
    assert "crosses zero 0 times" in place.note
    # Q = 0 is never unstable, which the last alpha refutes.
    assert found["stiffness@alpha=1.4"].measured.p_value_of_more(0.0) < 1e-6


def test_without_a_threshold_in_theory_the_ends_are_tested():
    def theory(unit):
        return {"absent": "none"} if isinstance(unit, ThresholdOf) else _theory(unit)

    assert list(_predictions(_planted, theory)) == ["stiffness@alpha=0.8", "stiffness@alpha=1.4"]


def test_there_are_two_figures():
    finding = _EXPERIMENT.finding(1, _results(_planted))
    assert [figure.name for figure in finding.figures] == ["x-stiffness", "x-trained"]


def test_figure_of_trained_layers_shows_moduli_by_dimension():
    figure = _EXPERIMENT.finding(1, _results(_planted)).figures[1]
    [axes] = figure.drawing.axes
    curve = axes.lines[0]
    np.testing.assert_allclose(curve.get_xdata(), [0.6, _THRESHOLD, 1.1, 1.5, 2.0])
    np.testing.assert_allclose(curve.get_ydata(), [0, 0, 0.11, 0.15, 0.2])
    heights = [container.lines[0].get_ydata(orig=False) for container in axes.containers]
    np.testing.assert_allclose(heights, [[0.6, 1.1, 2.0]] * 2)
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert [label for label in labels if "trained" in label] == [
        "trained, $d$ = 30",
        "trained, $d$ = 60",
    ]
