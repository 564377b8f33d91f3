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


def _results(stiffness_rows):
    """Planted theory, trained layers with |m| = alpha, and these rows of Hessians."""

    def results(unit):
        if isinstance(unit, TheoryAt | ThresholdOf):
            return _theory(unit)
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
            rows.append({**row, "stiffness": curve + 0.4 / unit.dimension + noise})
    return rows


def test_planted_threshold_is_found():
    finding = _EXPERIMENT.finding(1, _results(_planted))
    [prediction] = finding.predictions
    measured = prediction.measured
    assert prediction.kind == "two-sided"
    assert prediction.predicted == _THRESHOLD
    assert measured.error < 0.01
    assert abs(measured.value - 1.1) < 4 * measured.error
    # A stiffness higher by 0.4/d at the slope -0.1 is 0 later by 4/d.
    assert measured.bias == pytest.approx(4, abs=4 * measured.bias_error)
    assert [figure.name for figure in finding.figures] == ["x-stiffness", "x-trained"]


def test_measured_threshold_is_that_of_the_theory():
    device = choose_device("cpu")
    [prediction] = _EXPERIMENT.finding(1, _results(lambda unit: unit.run(device))).predictions
    assert prediction.measured.error < 0.15
    assert abs(prediction.measured.value - _THRESHOLD) < 4 * prediction.measured.error


def test_a_threshold_outside_the_range_is_not_judged():
    def stiff(unit):
        return [{**row, "stiffness": 1 + row["stiffness"]} for row in _planted(unit)]

    [prediction] = _EXPERIMENT.finding(1, _results(stiff)).predictions
    assert (prediction.kind, prediction.measured) == ("shown", None)
    assert "crosses zero 0 times" in prediction.note


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
