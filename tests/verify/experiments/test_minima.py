"""Planted minima are found, held against their branch, and shown where there is no theory."""

import json

import numpy as np
import pytest

from symattn import AttentionModel
from tests.verify.planted import planted_row, scattered
from verify.device import choose_device
from verify.experiments.minima import Minima
from verify.theory import TheoryAt

_MODEL = AttentionModel()
_ALPHAS = (1.0, 1.5, 2.0)
_NUMBERS = ("q", "m", "theta", "train_loss", "test_error")
# By branch; what is 0 by symmetry is small.
_TRUTH = {
    "semantic": dict(zip(_NUMBERS, (0.09, 1e-3, 0.13, 0.003, 0.0019), strict=True)),
    "positional": dict(zip(_NUMBERS, (0.05, 0.25, 1e-3, 0.0031, 0.0022), strict=True)),
}
_POINTS_ERROR = 2e-6


def _experiment(**changes):
    given = {"name": "x", "title": "X", "model": _MODEL, "alphas": _ALPHAS}
    return Minima(**{**given, "sizes": {250: 24, 500: 12}, "curve": (1.2,), **changes})


def _point(branch, alpha, jump_flux=0.0, stable=True):
    numbers = {name: alpha * value for name, value in _TRUTH[branch].items()}
    errors = dict.fromkeys(_NUMBERS, 1e-8)
    flux = {"jump_flux": jump_flux, "V_hat": 0.04}
    return {**numbers, **flux, "errors": errors, "stable": stable}


def _rows(unit):
    rows = []
    for seed in unit.seeds:
        for alpha in unit.alphas:
            for start in unit.starts:
                row = planted_row(_MODEL, unit.dimension, seed, alpha, start=start)
                number = scattered(_MODEL, row, 1.0, 0.003)
                for name, truth in _TRUTH[start].items():
                    row[name] = alpha * truth * number
                rows.append({**row, "test_error_error": _POINTS_ERROR * seed / 2**63})
    return rows


def _results(theory=_point, rows=_rows):
    def results(unit):
        if isinstance(unit, TheoryAt):
            return {repr(a): theory(unit.branch, a) for a in unit.alphas}
        return rows(unit)

    return results


def test_planted_minima_are_found_and_judged():
    finding = _experiment().finding(3, _results())
    names = [prediction.name for prediction in finding.predictions]
    assert names == [
        f"x.{branch}.{name}@alpha={alpha:g}"
        for branch, own in (("semantic", "theta"), ("positional", "m"))
        for alpha in _ALPHAS
        for name in ("q", own, "train_loss", "test_error")
    ]
    for prediction in finding.predictions:
        branch, name = prediction.name.split("@")[0].split(".")[1:]
        truth = prediction.parameters["alpha"] * _TRUTH[branch][name]
        assert prediction.kind == "two-sided"
        assert prediction.predicted == pytest.approx(truth)
        assert prediction.measured.error < 1e-3 * truth
        assert abs(prediction.measured.t(truth)) < 4
        assert prediction.measured.bias is not None
        assert prediction.note == ""
    assert len(finding.text) == 1


def test_the_error_of_a_test_error_has_that_of_its_points_too():
    """It is the same for all training sets, so that their scatter does not show it."""
    experiment = _experiment(alphas=(1.5,), branches=("semantic",))
    finding = experiment.finding(3, _results())
    errors = {p.name.split(".")[2].split("@")[0]: p.predicted_error for p in finding.predictions}
    training = [u for u in experiment.units(3) if not isinstance(u, TheoryAt)]
    largest = max(row["test_error_error"] for unit in training for row in _rows(unit))
    assert errors.pop("test_error") == pytest.approx(1e-8 + largest)
    assert set(errors.values()) == {1e-8}


def test_a_wrong_theory_is_seen():
    def wrong(branch, alpha):
        point = _point(branch, alpha)
        return {**point, "q": 1.02 * point["q"]}

    for prediction in _experiment().finding(3, _results(theory=wrong)).predictions:
        off = abs(prediction.measured.t(prediction.predicted))
        assert (off > 10) == (prediction.symbol == "q")


def test_jumps_are_told_of():
    finding = _experiment().finding(3, _results(theory=lambda b, a: _point(b, a, -0.004)))
    for prediction in finding.predictions:
        assert prediction.jump_share == pytest.approx(0.1)
        assert "10 % of V_hat" in prediction.note


def test_nothing_is_judged_where_there_is_no_fixed_point():
    def theory(branch, alpha):
        if branch == "semantic" and alpha < 1.4:
            return {"absent": "searched in vain"}
        return _point(branch, alpha)

    finding = _experiment().finding(3, _results(theory=theory))
    for prediction in finding.predictions:
        absent = prediction.name.startswith("x.semantic") and "alpha=1.5" not in prediction.name
        absent = absent and "alpha=2" not in prediction.name
        assert (prediction.kind == "shown") == (prediction.predicted is None) == absent
        assert prediction.note == ("no semantic fixed point is found here" if absent else "")
    # The line has the points that there are, rising.
    semantic = finding.figures[0].drawing.axes[0].lines[0]
    np.testing.assert_allclose(semantic.get_xdata(), [1.5, 2.0])


def test_figures_can_be_drawn_without_any_theory():
    finding = _experiment().finding(3, _results(theory=lambda b, a: {"absent": "none"}))
    assert [figure.name for figure in finding.figures] == ["x-alpha", "x-limits"]
    assert {prediction.kind for prediction in finding.predictions} == {"shown"}


def test_lines_have_more_sample_complexities_than_points():
    figure = _experiment().finding(3, _results()).figures[0].drawing
    assert [len(axes.containers) for axes in figure.axes] == [2, 1, 1, 2, 2]
    q = figure.axes[0].lines[0]
    np.testing.assert_allclose(q.get_xdata(), [1.0, 1.2, 1.5, 2.0])
    np.testing.assert_allclose(q.get_ydata(), 0.09 * np.array([1.0, 1.2, 1.5, 2.0]))


def test_nothing_is_judged_where_the_theory_is_unstable():
    finding = _experiment().finding(
        3, _results(theory=lambda b, a: _point(b, a, stable=b == "semantic"))
    )
    for prediction in finding.predictions:
        semantic = prediction.name.startswith("x.semantic")
        assert (prediction.kind == "two-sided") == semantic
        assert prediction.predicted is not None
        assert ("unstable in the theory" in prediction.note) != semantic


def _strays(choose):
    """Rows where the positional runs of the chosen training sets end in the semantic state."""

    def rows(unit):
        found = _rows(unit)
        for row in found:
            if row["start"] == "positional" and choose(unit, row):
                row.update({name: row["alpha"] * v for name, v in _TRUTH["semantic"].items()})
        return found

    return rows


def test_runs_that_left_their_state_are_counted_and_change_nothing():
    """The limit is that of the training sets which stayed."""
    experiment = _experiment(branches=("positional",))
    training = [unit for unit in experiment.units(3) if not isinstance(unit, TheoryAt)]
    gone = {unit.seeds[0] for unit in training}
    strayed = experiment.finding(3, _results(rows=_strays(lambda u, row: row["seed"] in gone)))
    without = experiment.finding(
        3, _results(rows=lambda unit: [r for r in _rows(unit) if r["seed"] not in gone])
    )
    for one, other in zip(strayed.predictions, without.predictions, strict=True):
        assert one.kind == "two-sided"
        assert one.measured == other.measured
        assert one.note == f"{len(gone)} of 36 runs left the state, and do not count"
        assert other.note == ""


def test_a_state_that_all_have_left_is_shown_without_a_number():
    experiment = _experiment()
    finding = experiment.finding(3, _results(rows=_strays(lambda u, row: row["alpha"] < 1.4)))
    for prediction in finding.predictions:
        left = prediction.name.startswith("x.positional") and prediction.name.endswith("=1")
        assert (prediction.kind == "shown") == (prediction.measured is None) == left
        assert (prediction.note == "36 of 36 runs left the state, and do not count") == left
    # Only the points that there are.
    m = finding.figures[0].drawing.axes[2]
    np.testing.assert_allclose(m.containers[0].lines[0].get_xdata(orig=False), [1.5, 2.0])


def test_all_branches_have_the_same_training_sets():
    experiment = _experiment()
    training = [unit for unit in experiment.units(3) if not isinstance(unit, TheoryAt)]
    assert {unit.starts for unit in training} == {("semantic", "positional")}
    theory = [unit for unit in experiment.units(3) if isinstance(unit, TheoryAt)]
    # Falling: branches end at small alpha.
    assert {unit.alphas for unit in theory} == {(2.0, 1.5, 1.2, 1.0)}
    assert len({unit.key for unit in experiment.units(3)}) == len(experiment.units(3))


def test_trained_students_give_a_finding():
    experiment = _experiment(alphas=(1.5,), curve=(), sizes={30: 4, 50: 4})
    device = choose_device("cpu")
    done = {
        unit.key: json.loads(json.dumps(unit.run(device)))
        for unit in experiment.units(1)
        if not isinstance(unit, TheoryAt)
    }
    finding = experiment.finding(1, _results(rows=lambda unit: done[unit.key]))
    assert len(finding.predictions) == 8
    assert [figure.name for figure in finding.figures] == ["x-limits"]
