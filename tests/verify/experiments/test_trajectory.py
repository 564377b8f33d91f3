"""Message passing by iterations: planted overlaps, the fixed point, and tiny training sets."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from symattn import AttentionModel, solve
from symattn.overlaps import Overlaps
from tests.verify.planted import planted_row, scattered
from verify.device import choose_device
from verify.experiments.trajectory import MessagePassing, PredictedPath, Trajectory
from verify.layer import inputs_and_labels
from verify.samples import draw_samples

_MODEL = AttentionModel(lam=0.1)
_START = Overlaps(q=0.03, m=0.25, V=3.0, theta=0.0)
_EXPERIMENT = Trajectory(
    name="x",
    branch="positional",
    model=_MODEL,
    alpha=1.5,
    start=_START,
    iterations=3,
    sizes={250: 24, 500: 12},
)
_CPU = choose_device("cpu")


def _truth(name, iteration):
    return {"q": 0.03, "m": 0.25, "V": 3.0, "theta": 0.1}[name] * (1 + 0.1 * iteration)


def _results(off=1.0):
    errors = dict.fromkeys(("q", "m", "V", "theta"), 1e-8)

    def results(unit):
        if isinstance(unit, PredictedPath):
            return [{**{n: off * _truth(n, t) for n in errors}, "errors": errors} for t in range(4)]
        rows = []
        for seed in unit.seeds:
            for t in (1, 2, 3):
                row = planted_row(_MODEL, unit.dimension, seed, 1.5, iteration=t)
                number = scattered(_MODEL, row, 1.0, 0.01)
                numbers = {name: _truth(name, t) * number for name in errors}
                rows.append({**row, **numbers, "distance": 1e-3 * number})
        return rows

    return results


@pytest.mark.parametrize(("branch", "own"), [("positional", "m"), ("semantic", "theta")])
def test_planted_overlaps_are_found_by_iteration(branch, own):
    finding = replace(_EXPERIMENT, branch=branch).finding(2, _results())
    names = [(name, t) for t in (1, 2, 3) for name in ("q", own, "V")]
    tested = [p for p in finding.predictions if p.kind != "shown"]
    assert [p.name for p in tested] == [f"x.{n}.iteration-{t}" for n, t in names]
    for prediction in finding.predictions[len(tested) :]:
        # That of the last iterate, about which the planted numbers scatter at any d.
        assert prediction.name.startswith("x.distance@d=")
        assert prediction.measured.value == pytest.approx(1e-3, rel=0.1)
    for (name, t), prediction in zip(names, tested, strict=True):
        truth = _truth(name, t)
        assert prediction.kind == "two-sided"
        assert (prediction.predicted, prediction.predicted_error) == (truth, 1e-8)
        assert prediction.measured.error < 1e-3 * truth
        assert abs(prediction.measured.t(truth)) < 4
    [figure] = finding.figures
    assert figure.name == "x-iterations"
    for axes, name in zip(figure.drawing.axes, ("q", own, "V"), strict=True):
        np.testing.assert_allclose(axes.lines[0].get_ydata(), [_truth(name, t) for t in range(4)])


def test_a_wrong_path_is_seen():
    predictions = _EXPERIMENT.finding(2, _results(off=1.02)).predictions
    tested = [p for p in predictions if p.kind == "two-sided"]
    assert len(tested) == 9
    for prediction in tested:
        assert abs(prediction.measured.t(prediction.predicted)) > 10


def test_a_fixed_point_is_a_path_that_stays():
    point = solve(_MODEL, 1.5, branch="positional", digits=8)["positional"]
    start = Overlaps(*(float(value) for value in point.overlaps))
    rows = PredictedPath(model=_MODEL, alpha=1.5, start=start, iterations=2).run(_CPU)
    assert len(rows) == 3
    for row in rows:
        for name, value in start._asdict().items():
            assert abs(row[name] - value) <= row["errors"][name] + 1e-7 * abs(value)


_UNIT = MessagePassing(
    experiment="x",
    model=_MODEL,
    alpha=1.5,
    start=_START,
    iterations=2,
    dimension=200,
    seeds=(4, 9),
)


def test_rows_are_of_iterations_on_the_training_sets_of_their_seeds():
    """Controls are those of the samples, and overlaps near state evolution already at d = 200."""
    rows = _UNIT.run(_CPU)
    assert [(row["seed"], row["iteration"]) for row in rows] == [(4, 1), (4, 2), (9, 1), (9, 2)]
    for row in rows:
        samples = draw_samples(_MODEL, 200, 300, [row["seed"]])
        x, y = inputs_and_labels(samples, 0)
        untrained = (y - x.mean(dim=1, keepdim=True)).square().sum() / (2 * 200**2)
        teacher = torch.linalg.vector_norm(samples.teacher[0, 0]) ** 2 / 200 - 1
        assert row["zero_loss"] == pytest.approx(float(untrained))
        assert row["teacher"] == pytest.approx(float(teacher))
        assert (row["dimension"], row["alpha"]) == (200, 1.5)
    path = PredictedPath(model=_MODEL, alpha=1.5, start=_START, iterations=2).run(_CPU)
    for t in (1, 2):
        for row in rows:
            if row["iteration"] == t:
                assert row["m"] == pytest.approx(path[t]["m"], abs=0.5 * path[t]["m"])
                assert row["V"] == pytest.approx(path[t]["V"], rel=0.2)


def test_a_training_set_is_the_same_in_any_company():
    together = [row for row in _UNIT.run(_CPU) if row["seed"] == 9]
    alone = replace(_UNIT, seeds=(9,)).run(_CPU)
    assert len(together) == len(alone) == 2
    for one, other in zip(together, alone, strict=True):
        assert one == pytest.approx(other)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("model", AttentionModel(lam=0.2)),
        ("alpha", 1.6),
        ("start", _START._replace(theta=0.01)),
        ("iterations", 3),
        ("dimension", 201),
        ("seeds", (4,)),
        ("experiment", "y"),
    ],
)
def test_keys_differ_where_anything_differs(name, value):
    assert replace(_UNIT, **{name: value}).key != _UNIT.key
    assert replace(_UNIT).key == _UNIT.key
    if name in ("model", "alpha", "start", "iterations"):
        path = PredictedPath(model=_MODEL, alpha=1.5, start=_START, iterations=2)
        assert replace(path, **{name: value}).key != path.key


def test_units_have_all_training_sets():
    units = _EXPERIMENT.units(2)
    counts = {250: 0, 500: 0}
    for unit in units[1:]:
        counts[unit.dimension] += len(unit.seeds)
    assert counts == _EXPERIMENT.sizes
    assert len({unit.key for unit in units}) == len(units)
