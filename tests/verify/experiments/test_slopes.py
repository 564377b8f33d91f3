"""Slopes of the training loss against those of the minima themselves, and planted ones."""

from dataclasses import replace

import numpy as np
import pytest

from symattn import AttentionModel
from tests.verify.planted import planted_results, planted_row, scattered
from verify.device import choose_device
from verify.experiments.slopes import Slopes
from verify.experiments.students import Students
from verify.theory import TheoryAt

_MODEL = AttentionModel(lam=0.1)


def _slopes(sizes, branches=("positional",)):
    return Slopes(name="x", model=_MODEL, alpha=3.0, sizes=sizes, branches=branches)


def _points(q=0.02, unstable=()):
    """Fixed points whose training loss has the slope 0.004 in alpha."""
    errors = {"q": 1e-6, "train_loss": 1e-7}
    return {
        repr(a): {
            "q": q,
            "train_loss": 0.004 * a,
            "errors": errors,
            "jump_flux": 0.0,
            "V_hat": 0.02,
            "stable": a not in unstable,
        }
        for a in (3.0 + 0.1, 3.0, 3.0 - 0.1)
    }


def test_slope_in_lambda_is_half_the_square_of_the_weights():
    """Of every training set: d risk/d lambda = |Q|^2/2 at the minimum."""
    experiment = _slopes({40: 6, 60: 6})
    device = choose_device("cpu")
    done = {u.key: u.run(device) for u in experiment.units(2) if not isinstance(u, TheoryAt)}
    results = planted_results(theory=_points(), rows=lambda unit: done[unit.key])
    prediction = experiment.finding(2, results).predictions[0]
    central = []
    for unit in experiment.units(2):
        if not isinstance(unit, TheoryAt) and len(unit.lams) == 2:
            central += replace(unit, lams=(_MODEL.lam,)).run(device)
    students = Students(_MODEL, central)
    expected = students.limit_of(students.column("q") / (2 * _MODEL.rho))
    assert np.ptp(students.column("q")) > 1e-3
    assert prediction.measured.value == pytest.approx(expected.value, rel=1e-3)
    assert prediction.measured.error == pytest.approx(expected.error, rel=1e-2)
    assert prediction.predicted == pytest.approx(0.02 / (2 * 0.25))
    assert 1e-6 * 2 < prediction.predicted_error < 1e-3 * prediction.predicted


def test_slope_in_alpha_is_continued_on_the_same_samples():
    """The sum of the added samples' losses at the later minimum and at the earlier one bound it."""
    [unit] = [u for u in _slopes({40: 4}).units(2) if getattr(u, "lams", None) == (_MODEL.lam,)]
    assert unit.alphas == (2.9, 3.1)
    rows = unit.run(choose_device("cpu"))
    losses = {(row["seed"], row["alpha"]): row["train_loss"] for row in rows}
    zero = {(row["seed"], row["alpha"]): row["zero_loss"] for row in rows}
    for seed in unit.seeds:
        gain = losses[seed, 3.1] - losses[seed, 2.9]
        assert 0 < gain < zero[seed, 3.1] - zero[seed, 2.9]


def _planted_rows(unit, gone=()):
    """The runs of the training sets `gone` leave their state at the larger alpha or lambda."""
    rows = []
    for seed in unit.seeds:
        for alpha in unit.alphas:
            for lam in unit.lams:
                for start in unit.starts:
                    leaves = seed in gone and (alpha > 3 or lam > _MODEL.lam)
                    state = {"semantic": "positional", "positional": "semantic"}[start]
                    row = planted_row(
                        _MODEL,
                        unit.dimension,
                        seed,
                        alpha,
                        state=state if leaves else start,
                        start=start,
                        lam=lam,
                    )
                    limit = 0.004 * alpha + 0.03 * (lam - 0.1)
                    row["train_loss"] = scattered(_MODEL, row, limit, 1e-5)
                    rows.append(row)
    return rows


def test_planted_slopes_are_found():
    experiment = _slopes({250: 24, 500: 12}, branches=("semantic", "positional"))
    finding = experiment.finding(4, planted_results(theory=_points(), rows=_planted_rows))
    names = [p.name for p in finding.predictions]
    assert names == [
        f"x.{branch}.slope-in-{what}@alpha=3"
        for branch in ("semantic", "positional")
        for what in ("lambda", "alpha")
    ]
    for prediction in finding.predictions:
        truth = 0.03 if "lambda" in prediction.name else 0.004
        measured = prediction.measured
        assert measured.value == pytest.approx(truth, abs=4 * measured.error)
        assert measured.error < 5e-3 * truth
    assert finding.predictions[1].predicted == pytest.approx(0.004)
    assert finding.predictions[1].predicted_error == pytest.approx(1e-6)


def test_training_sets_that_left_the_state_at_either_end_do_not_count():
    experiment = _slopes({250: 24, 500: 12})
    training = [unit for unit in experiment.units(4) if not isinstance(unit, TheoryAt)]
    gone = {unit.seeds[0] for unit in training}
    strayed, without = (
        experiment.finding(4, planted_results(theory=_points(), rows=rows)).predictions
        for rows in (
            lambda unit: _planted_rows(unit, gone),
            lambda unit: [r for r in _planted_rows(unit) if r["seed"] not in gone],
        )
    )
    for one, other in zip(strayed, without, strict=True):
        assert one.kind == "two-sided"
        assert one.measured == other.measured
        assert one.note.startswith(f"{len(gone)} of 36 training sets left the state")
        assert other.note == ""


@pytest.mark.parametrize(("unstable", "shown"), [(3.0, "lambda"), (3.1, "alpha"), (2.9, "alpha")])
def test_nothing_is_judged_at_an_unstable_fixed_point(unstable, shown):
    theory = _points(unstable=(unstable,))
    results = planted_results(theory=theory, rows=_planted_rows)
    for prediction in _slopes({250: 12, 500: 6}).finding(4, results).predictions:
        assert (prediction.kind == "shown") == (f"slope-in-{shown}" in prediction.name)
        assert ("unstable" in prediction.note) == (prediction.kind == "shown")


def test_nothing_is_judged_without_a_fixed_point():
    theory = {repr(a): {"absent": "none"} for a in (3.0 + 0.1, 3.0, 3.0 - 0.1)}
    finding = _slopes({250: 12, 500: 6}).finding(
        4, planted_results(theory=theory, rows=_planted_rows)
    )
    assert {(p.kind, p.predicted) for p in finding.predictions} == {("shown", None)}
