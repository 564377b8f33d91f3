"""Sizes of training sets: as many steps for each, and the sentence says what the indices do."""

import io
import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from symattn.plotting import save
from tests.verify.experiments.made_up_rows import named
from tests.verify.experiments.planted_segments import (
    drawn_means,
    normal,
    planted,
    standard_error,
)
from verify.device import choose_device
from verify.experiments.crossover import Crossover
from verify.histogram import segments
from verify.histogram.task import HistogramTask
from verify.units import Chain

EXPERIMENT = Crossover(
    name="sizes",
    task=HistogramTask(),
    sequences=2000,
    counts=(30, 100, 1000),
    runs=4,
    steps=200,
    readings=4,
    kept=Path("kept"),
)
NUMBERS = ("test_accuracy", "index", "rest")

# Student's t of 3 degrees of freedom is below this with a probability of 0.975, from tables.
T_OF_FOUR_RUNS = 3.182446


def planted_line(at_30, slope, noise=0.05):
    """Numbers of runs whose index is a line in log n, but for noise that depends on the epoch."""

    def numbers(plan, seed, epoch):
        n = plan.train_count
        return {
            "test_accuracy": 0.5 + 0.001 * math.log(n) + 0.01 * normal(seed, epoch, 1),
            "index": at_30 + slope * math.log10(n / 30) + noise * normal(seed, epoch),
            "rest": 0.2 + 0.01 * normal(seed, epoch, 2),
        }

    return numbers


def by_hand(indices):
    """Numbers of four runs whose indices are given for each size, None where a run has none."""

    def numbers(plan, seed, epoch):
        return {"test_accuracy": 0.5, "index": indices[plan.train_count][plan.seeds.index(seed)]}

    return numbers


RISING = planted_line(-0.4, 0.6)


def expected(count, epoch, name, numbers=RISING):
    """Planted numbers of all runs of a size."""
    [chain] = [c for c in EXPERIMENT.units(5) if c.units[0].plan.train_count == count]
    plan = chain.units[0].plan
    return np.array([numbers(plan, seed, epoch)[name] for seed in plan.seeds])


# Steps in an epoch: 30, 100 and 1000 sequences make 1, 4 and 32 batches of 32. Of 200 steps the
# quarters are 50, 100, 150 and 200.
EPOCHS = {30: [50, 100, 150, 200], 100: [12, 25, 38, 50], 1000: [2, 3, 5, 6]}


def test_a_size_is_a_chain_of_about_as_many_steps_as_another():
    chains = EXPERIMENT.units(5)
    assert all(isinstance(chain, Chain) for chain in chains)
    for chain, (count, epochs) in zip(chains, EPOCHS.items(), strict=True):
        assert [unit.last for unit in chain.units] == epochs
        assert [unit.first for unit in chain.units] == [0, *epochs[:-1]]
        [plan] = {unit.plan for unit in chain.units}
        assert (plan.restriction, plan.lifted, plan.train_count) == ("none", None, count)
        assert len(plan.seeds) == 4
    seeds = [seed for chain in chains for seed in chain.units[0].plan.seeds]
    assert len(set(seeds)) == 12
    # All have one test set.
    assert len({chain.units[0].plan.sequences_seed for chain in chains}) == 1


@given(count=st.integers(1, 5000), steps=st.integers(1, 30_000), readings=st.integers(1, 9))
def test_every_reading_is_within_half_a_pass_of_its_share(count, steps, readings):
    experiment = replace(EXPERIMENT, counts=(count,), steps=steps, readings=readings)
    [chain] = experiment.units(1)
    epochs = [unit.last for unit in chain.units]
    assert epochs[0] >= 1
    assert epochs == sorted(set(epochs))
    a_pass = -(-count // 32)
    for reading in range(1, readings + 1):
        share = steps * reading / readings
        nearest = min(abs(epoch * a_pass - share) for epoch in epochs)
        # The first epoch is done in any case.
        assert nearest <= a_pass / 2 or (epochs[0] == 1 and share < a_pass / 2)


def test_numbers_are_means_over_the_runs_of_a_size():
    found = named(EXPERIMENT.finding(5, planted(RISING)))
    for count, epochs in EPOCHS.items():
        for name in NUMBERS:
            values = expected(count, epochs[-1], name)
            prediction = found[f"sizes.{name}@n={count}"]
            assert prediction.measured.value == pytest.approx(values.mean(), rel=1e-12)
            assert prediction.measured.error == pytest.approx(standard_error(values), rel=1e-9)
            assert prediction.kind == "shown"
            assert f"{count} sequences" in prediction.statement
    assert len(found) == 9


def test_the_text_says_what_was_done():
    first, _ = EXPERIMENT.finding(5, planted(RISING)).text
    assert "4 transformers for each size n" in first
    assert "out of 0.7 of 2000" in first
    assert "for about 200 steps of 32 sequences" in first


def sentence_of(numbers):
    return EXPERIMENT.finding(5, planted(numbers)).text[1]


BOTH = "Both mechanisms occur: there is a crossover with the amount of data."
NONE = "No size is clear."


@pytest.mark.parametrize(
    ("at_30", "slope", "told", "verdict"),
    [
        (-0.4, 0.765, "positional at n = 30; neither clearly at n = 100; semantic", BOTH),
        (0.4, -0.765, "semantic at n = 30; neither clearly at n = 100; positional", BOTH),
        (
            -0.5,
            0.0,
            "positional at n = 30; positional at n = 100; positional",
            "There is no crossover: every size that is clear is positional.",
        ),
        (
            0.0,
            0.3,
            "neither clearly at n = 30; semantic at n = 100; semantic",
            "There is no crossover: every size that is clear is semantic.",
        ),
        (0.0, 0.0, "neither clearly at n = 30; neither clearly at n = 100; neither clearly", NONE),
    ],
)
def test_the_sentence_names_the_mechanism_of_every_size_that_is_clear(at_30, slope, told, verdict):
    """Those whose mean index is not 0 by the test of Student at a level of 5 %."""
    numbers = planted_line(at_30, slope)
    names = []
    for count, epochs in EPOCHS.items():
        indices = expected(count, epochs[-1], "index", numbers)
        clear = stats.ttest_1samp(indices, 0.0).pvalue < 0.05
        mechanism = "semantic" if indices.mean() > 0 else "positional"
        names.append(f"{mechanism if clear else 'neither clearly'} at n = {count}")
    assert "; ".join(names) == f"{told} at n = 1000"
    assert sentence_of(numbers) == (
        "By the mean index, where its 95% interval leaves out 0, attention is "
        f"{told} at n = 1000. {verdict}"
    )


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("factor", "clear"), [(0.999, False), (1.001, True)])
def test_a_size_is_clear_where_the_interval_leaves_out_zero(factor, clear, sign):
    """Four indices, two at m + d and two at m - d, have a mean of standard error d/sqrt(3)."""
    d = 0.1
    m = factor * T_OF_FOUR_RUNS * d / math.sqrt(3)
    edge = [sign * (m + d), sign * (m - d), sign * (m - d), sign * (m + d)]
    sentence = sentence_of(by_hand({30: edge, 100: [0.1, -0.1, 0.1, -0.1], 1000: edge}))
    mechanism = "semantic" if sign > 0 else "positional"
    assert (f"attention is {mechanism} at n = 30; neither clearly at n = 100;" in sentence) == clear
    assert (NONE in sentence) == (not clear)


def test_runs_without_an_index_say_nothing():
    """Three of one sign are not clear, and one by itself never is; all alike are."""
    indices = {
        30: [0.3, None, 0.35, 0.25],
        100: [None, None, -0.9, None],
        1000: [-0.7, -0.7, None, None],
    }
    made = EXPERIMENT.finding(5, planted(by_hand(indices)))
    assert (
        "attention is semantic at n = 30; neither clearly at n = 100; positional at n = 1000. "
        in made.text[1]
    )
    found = named(made)
    assert found["sizes.index@n=30"].measured.value == pytest.approx(0.3)
    assert found["sizes.index@n=30"].measured.count == 3
    assert found["sizes.index@n=100"].measured is None
    # One run is no point with an error; two that are alike are.
    x, y, _ = drawn_means(made.figures[0].drawing.axes[1].containers[0])
    assert (x, y) == ([30, 1000], pytest.approx([0.3, -0.7]))


def test_no_run_with_an_index_is_no_crossover():
    nothing = dict.fromkeys(EPOCHS, [None] * 4)
    made = EXPERIMENT.finding(5, planted(by_hand(nothing)))
    assert NONE in made.text[1]
    assert named(made)["sizes.index@n=30"].note == "no run has one"
    for figure in made.figures:
        save(figure.drawing, io.BytesIO(), "svg")


def test_figures_have_means_against_sizes_and_steps():
    sizes, steps = EXPERIMENT.finding(5, planted(RISING)).figures
    for axes, name in zip(sizes.drawing.axes, NUMBERS, strict=True):
        assert axes.get_xscale() == "log"
        [container] = axes.containers
        x, y, errors = drawn_means(container)
        values = [expected(n, epochs[-1], name) for n, epochs in EPOCHS.items()]
        assert x == list(EPOCHS)
        assert y == pytest.approx([v.mean() for v in values])
        assert errors == pytest.approx([standard_error(v) for v in values])
        # Neither mechanism
        flat = [0.0, 0.0] in [list(line.get_ydata()) for line in axes.lines]
        assert flat == (name == "index")
    for axes, (count, epochs) in zip(steps.drawing.axes, EPOCHS.items(), strict=True):
        assert axes.get_ylabel() == f"index, $n$ = {count}"
        [container] = axes.containers
        x, y, errors = drawn_means(container)
        assert x == [math.ceil(count / 32) * epoch for epoch in epochs]
        values = [expected(count, epoch, "index") for epoch in epochs]
        assert y == pytest.approx([v.mean() for v in values])
        assert errors == pytest.approx([standard_error(v) for v in values])
        assert [0.0, 0.0] in [list(line.get_ydata()) for line in axes.lines]


def test_trained_transformers_give_a_finding(tmp_path, monkeypatch):
    monkeypatch.setattr(segments, "EXAMPLES", ((1, 1, 2, 2),))
    experiment = replace(
        EXPERIMENT,
        task=HistogramTask(length=4, symbols=5),
        sequences=400,
        counts=(10, 150),
        runs=3,
        steps=20,
        readings=2,
        kept=tmp_path,
    )
    device = choose_device("cpu")
    trained = {
        unit.key: json.loads(json.dumps(unit.run(device)))
        for chain in experiment.units(1)
        for unit in chain.units
    }
    finding = experiment.finding(1, lambda unit: trained[unit.key])
    assert {prediction.name for prediction in finding.predictions} == {
        f"sizes.{name}@n={count}" for name in NUMBERS for count in (10, 150)
    }
    for prediction in finding.predictions:
        assert -1 < prediction.measured.value < 1
    assert len(finding.figures) == 2
