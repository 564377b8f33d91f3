"""Planted exponents are found, and others refuted."""

import numpy as np
import pytest

from symattn import AttentionModel
from verify.device import choose_device
from verify.experiments.concentration import Concentration
from verify.experiments.students import OF_BRANCH

_EXPERIMENT = Concentration(
    name="x",
    model=AttentionModel(),
    alpha=1.5,
    sizes={10: 60, 100: 60, 200: 60, 400: 60, 800: 60},
    least=100,
)
_NAMES = ("q", "m", "theta", "train_loss", "test_error")
# By branch; both overlaps are there, the branch's own one is the larger.
_MEANS = {
    "semantic": dict(zip(_NAMES, (0.09, 0.05, 0.13, 0.003, 0.002), strict=True)),
    "positional": dict(zip(_NAMES, (0.05, 0.25, 0.02, 0.003, 0.002), strict=True)),
}


def _rows(exponent, below=1.0):
    """Overlaps that scatter like d^exponent; at d = 10 `below` times as much."""

    def rows(unit):
        found = []
        for seed in unit.seeds:
            for start in unit.starts:
                noise = np.random.default_rng([seed, start == "semantic"]).standard_normal(5)
                noise *= 0.3 * unit.dimension**exponent * (below if unit.dimension == 10 else 1.0)
                # Every second training set has Q of the other sign.
                sign = -1 if seed % 2 else 1
                means = _MEANS[start]
                numbers = {n: means[n] * (1 + x) for n, x in zip(_NAMES, noise, strict=True)}
                numbers["m"] *= sign
                numbers["theta"] *= -sign
                found.append(
                    {"seed": seed, "dimension": unit.dimension, "alpha": 1.5, "start": start}
                    | {"teacher": 0.0}
                    | numbers
                )
        return found

    return rows


@pytest.fixture(scope="module")
def finding():
    return _EXPERIMENT.finding(5, _rows(-0.5))


def test_a_planted_exponent_is_found(finding):
    assert [(p.name, p.kind) for p in finding.predictions] == [
        ("x.semantic.slope.from-100", "two-sided"),
        ("x.semantic.slope.from-10", "shown"),
        ("x.positional.slope.from-100", "two-sided"),
        ("x.positional.slope.from-10", "shown"),
    ]
    for prediction in finding.predictions:
        assert prediction.predicted == -0.5
        assert prediction.measured.error < 0.05
        assert abs(prediction.measured.t(-0.5)) < 4


@pytest.mark.parametrize("exponent", [-0.2, -1.0])
def test_another_exponent_is_refuted(exponent):
    for prediction in _EXPERIMENT.finding(5, _rows(exponent)).predictions:
        assert abs(prediction.measured.t(exponent)) < 4
        assert abs(prediction.measured.t(-0.5)) > 4


def test_small_dimensions_are_shown_and_not_judged():
    for prediction in _EXPERIMENT.finding(5, _rows(-0.5, below=0.1)).predictions:
        assert (abs(prediction.measured.t(-0.5)) < 4) == (prediction.kind == "two-sided")


def test_runs_that_left_the_state_are_counted_and_change_nothing(finding):
    gone = {unit.seeds[0] for unit in _EXPERIMENT.units(5)}

    def astray(unit):
        rows = _rows(-0.5)(unit)
        for row in rows:
            if row["start"] == "semantic" and row["seed"] in gone:
                row.update(_MEANS["positional"])
        return rows

    def without(unit):
        return [row for row in _rows(-0.5)(unit) if row["seed"] not in gone]

    strayed, rest = (_EXPERIMENT.finding(5, rows).predictions for rows in (astray, without))
    for one, other, complete in zip(strayed, rest, finding.predictions, strict=True):
        semantic = ".semantic." in one.name
        assert one.measured == (other if semantic else complete).measured
        counted = f"{len(gone)} of 300 runs left the state, and do not count"
        assert one.note == (counted if semantic else "")


def test_figures_have_the_deviations_of_what_is_not_zero_by_symmetry(finding):
    rows = [row for unit in _EXPERIMENT.units(5) for row in _rows(-0.5)(unit)]
    for figure, branch in zip(finding.figures, ("semantic", "positional"), strict=True):
        assert figure.name == f"x-{branch}"
        [axes] = figure.drawing.axes
        points = [line for line in axes.lines if line.get_linestyle() == "None"]
        assert len(points) == len(OF_BRANCH[branch])
        for line, name in zip(points, OF_BRANCH[branch], strict=True):
            values = [
                [abs(r[name]) for r in rows if (r["start"], r["dimension"]) == (branch, d)]
                for d in _EXPERIMENT.sizes
            ]
            np.testing.assert_allclose(line.get_xdata(), list(_EXPERIMENT.sizes))
            np.testing.assert_allclose(line.get_ydata(), [np.std(v, ddof=1) for v in values])


def test_units_have_all_training_sets_at_both_starts():
    units = _EXPERIMENT.units(5)
    assert {unit.starts for unit in units} == {("semantic", "positional")}
    counts = {d: sum(len(u.seeds) for u in units if u.dimension == d) for d in _EXPERIMENT.sizes}
    assert counts == _EXPERIMENT.sizes
    assert len({unit.key for unit in units}) == len(units)


def test_trained_students_concentrate():
    """Roughly at such dimensions: the exponent is below -0.2 by more than its error."""
    experiment = Concentration(
        name="tiny",
        model=AttentionModel(),
        alpha=3.0,
        sizes={40: 16, 160: 16},
        least=40,
    )
    device = choose_device("cpu")
    prediction, *_ = experiment.finding(1, lambda unit: unit.run(device)).predictions
    assert prediction.measured.value < -0.2
    assert prediction.measured.error < 0.3
