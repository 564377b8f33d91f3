"""Minima are told apart by their losses, and the lowest one of the state is compared."""

import json

import numpy as np
import pytest

from symattn.errors import ComputationFailed
from symattn.model import AttentionModel
from tests.verify.experiments.made_up_rows import POINT, along, named, results
from verify.device import choose_device
from verify.experiments.several_minima import SeveralMinima, different_minima
from verify.theory import TheoryAt

EXPERIMENT = SeveralMinima(
    name="several", model=AttentionModel(), alpha=1.5, sizes={500: 5, 1000: 4}, noisy=3
)


def made_up(seed, dimension, alpha, start, method, known):
    """Positional: plain 2 % above the lowest, `1` the lowest, `2` the same one, `3` semantic."""
    noise = 1e-7 * np.random.default_rng(seed + 1).standard_normal()
    lowest = 0.0031 * (1 + 0.2 * known["teacher"]) + noise
    kind, _, number = start.partition(" ")
    if kind == "semantic":
        return {**along(0.9, 0.0, 0.09, known["teacher"]), "train_loss": lowest}
    if number == "3":
        return {**along(0.9, 0.1, 0.09, known["teacher"]), "train_loss": 0.9 * lowest}
    q = 0.047 + 0.3 * known["teacher"] / 100 + noise + (0.002 if number else 0.0)
    # Every second training set has Q of the other sign.
    sign = -1 if seed % 2 else 1
    numbers = along(0.1, sign * 0.6, q, known["teacher"])
    factor = {"": 1.02, "1": 1.0, "2": 1 + 1e-8}[number]
    return {**numbers, "train_loss": factor * lowest}


def test_losses_tell_minima_apart():
    losses = [1.0 + 3e-6, 2.0, 1.0, 1.0 + 1e-7]
    found = different_minima([{"train_loss": x} for x in losses])
    assert [row["train_loss"] for row in found] == [1.0, 1.0 + 3e-6, 2.0]


def test_the_lowest_of_the_state_is_compared():
    finding = EXPERIMENT.finding(4, results(made_up))
    found = named(finding)
    for name in ("q", "m", "train_loss"):
        lowest = found[f"several.lowest.{name}"]
        # Several starts need not find the lowest of all, so that this is no test.
        assert (lowest.kind, lowest.predicted) == ("shown", POINT[name])
        assert "the lowest of 4 starts need not be" in lowest.note
        assert "10 % of V_hat" in lowest.note
        assert found[f"several.plain.{name}"].kind == "shown"
    assert found["several.lowest.q"].measured.value == pytest.approx(0.049, abs=1e-6)
    assert found["several.plain.q"].measured.value == pytest.approx(0.047, abs=1e-6)
    assert found["several.lowest.m"].measured.value == pytest.approx(1.2 * 0.049**0.5, abs=1e-5)
    assert found["several.lowest.train_loss"].measured.value == pytest.approx(0.0031, abs=1e-6)
    assert found["several.plain.train_loss"].measured.value == pytest.approx(0.003162, abs=1e-6)


def test_minima_of_the_other_state_do_not_count():
    found = named(EXPERIMENT.finding(4, results(made_up)))
    assert found["several.positional.count@d=500"].note == "2 on each of 5 training sets"
    assert found["several.positional.count@d=1000"].note == "2 on each of 4 training sets"
    assert found["several.semantic.count@d=500"].note == "1 on each of 5 training sets"
    spread = found["several.positional.spread@d=500"]
    value = spread.measured.value if spread.measured else float(spread.note.split()[0])
    assert value == pytest.approx(0.02, rel=1e-6)


def test_numbers_that_differ_have_a_mean():
    training = [u for u in EXPERIMENT.units(4) if not isinstance(u, TheoryAt)]
    odd = [s % 2 for u in training if u.dimension == 500 for s in u.seeds]
    assert 0 < sum(odd) < len(odd)

    def result(unit):
        rows = results(made_up)(unit)
        if isinstance(unit, TheoryAt):
            return rows
        # Where the seed is odd, the plain start ends in the lowest minimum too.
        lowest = {r["seed"]: r["train_loss"] for r in rows if r["start"] == "positional 1"}
        return [
            {**r, "train_loss": lowest[r["seed"]]}
            if r["seed"] % 2 and r["start"] == "positional"
            else r
            for r in rows
        ]

    found = named(EXPERIMENT.finding(4, result))
    counts = 2.0 - np.array(odd)
    measured = found["several.positional.count@d=500"].measured
    assert measured.value == pytest.approx(counts.mean())
    assert measured.error == pytest.approx(counts.std(ddof=1) / 5**0.5)


def test_without_a_positional_minimum_it_fails():
    def semantic(seed, dimension, alpha, start, method, known):
        return {**along(0.9, 0.0, 0.09, known["teacher"]), "train_loss": 0.003}

    with pytest.raises(ComputationFailed, match="larger dimensions"):
        EXPERIMENT.finding(4, results(semantic))


def test_trained_students_give_a_finding():
    experiment = SeveralMinima(
        name="tiny", model=AttentionModel(), alpha=1.5, sizes={40: 4, 60: 4}, noisy=1
    )
    device = choose_device("cpu")
    trained = {
        u.key: json.loads(json.dumps(u.run(device)))
        for u in experiment.units(1)
        if not isinstance(u, TheoryAt)
    }
    made = results(made_up)
    finding = experiment.finding(
        1, lambda u: made(u) if isinstance(u, TheoryAt) else trained[u.key]
    )
    names = [p.name for p in finding.predictions]
    assert len(names) == len(set(names)) == 3 + 3 + 4 + 2
    [figure] = finding.figures
    assert len(figure.drawing.axes) == 2
