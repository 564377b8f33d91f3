"""Shares are counts of states, and losses are compared on the same training set."""

import json

import pytest
from scipy import stats

from symattn.model import AttentionModel
from tests.verify.experiments.made_up_rows import THRESHOLDS, along, named, results
from verify.device import choose_device
from verify.experiments.random_starts import RandomStarts
from verify.theory import ThresholdOf

EXPERIMENT = RandomStarts(
    name="random", model=AttentionModel(), alphas=(0.9, 1.5), sizes={100: 9, 200: 4}
)


def outcome(seed, alpha):
    """At alpha = 0.9 positional for every seed; at 1.5 by the seed's remainder of division by 3."""
    return "positional" if alpha < 1 else ("semantic", "positional", "neither")[seed % 3]


COSINES = {"semantic": (0.9, 0.1), "positional": (-0.1, -0.6), "neither": (0.2, 0.2)}


def made_up(seed, dimension, alpha, start, method, known):
    if start != "random":
        assert method == "minimise"
        # Which informed start is the lower one depends on the training set.
        return {"train_loss": 0.003 + 0.001 * ((seed % 2 == 0) == (start == "semantic"))}
    assert method == "adam"
    above = outcome(seed, alpha) == "neither"
    loss = 0.0031 if above else 0.003 * (1 + 1e-9)
    numbers = along(*COSINES[outcome(seed, alpha)], 0.05, known["teacher"])
    return {**numbers, "train_loss": loss, "gradient_norm": 1e-9}


def seeds(dimension):
    return [s for u in EXPERIMENT._random(7) if u.dimension == dimension for s in u.seeds]


def test_both_kinds_of_start_have_the_same_training_sets():
    for dimension, count in EXPERIMENT.sizes.items():
        informed = [s for u in EXPERIMENT._informed(7) if u.dimension == dimension for s in u.seeds]
        assert informed == seeds(dimension)
        assert len(set(informed)) == count


def test_shares_are_counts_of_states():
    found = named(EXPERIMENT.finding(7, results(made_up)))
    for dimension, count in EXPERIMENT.sizes.items():
        for alpha in EXPERIMENT.alphas:
            expected = [outcome(seed, alpha) for seed in seeds(dimension)]
            for name in ("semantic", "positional", "neither"):
                shown = found[f"random.{name}@d={dimension},alpha={alpha:g}"]
                assert shown.note == f"{expected.count(name)} of {count}"
                assert shown.kind == "shown"
            above = found[f"random.above@d={dimension},alpha={alpha:g}"]
            assert above.note == f"{expected.count('neither')} of {count}"
    assert len({outcome(seed, 1.5) for seed in seeds(100)}) == 3


def test_the_figure_has_fractions_intervals_and_thresholds():
    [figure] = EXPERIMENT.finding(7, results(made_up)).figures
    top = figure.drawing.axes[0]
    [container] = [c for c in top.containers if c.get_label() == "semantic"]
    points, _, [bars] = container
    count = [outcome(seed, 1.5) for seed in seeds(100)].count("semantic")
    assert points.get_ydata() == pytest.approx([0.0, count / 9])
    wilson = stats.binomtest(count, 9).proportion_ci(method="wilson")
    assert bars.get_segments()[1][:, 1] == pytest.approx([wilson.low, wilson.high])
    places = {line.get_xdata()[0] for line in top.lines if line.get_label()[0] != "_"}
    assert set(THRESHOLDS.values()) <= places


def test_trained_students_give_a_finding():
    experiment = RandomStarts(name="tiny", model=AttentionModel(), alphas=(1.0, 1.5), sizes={30: 2})
    device = choose_device("cpu")
    trained = {
        u.key: json.loads(json.dumps(u.run(device)))
        for u in experiment.units(1)
        if not isinstance(u, ThresholdOf)
    }
    made = results(made_up)
    finding = experiment.finding(
        1, lambda u: made(u) if isinstance(u, ThresholdOf) else trained[u.key]
    )
    shares = {p.name: int(p.note.split()[0]) for p in finding.predictions}
    for alpha in ("1", "1.5"):
        states = [shares[f"tiny.{s}@d=30,alpha={alpha}"] for s in COSINES]
        assert sum(states) == 2
