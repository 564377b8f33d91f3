"""Sizes of training sets: as many steps for each, and the sentence says what the indices do."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tests.verify.experiments.made_up_rows import named
from tests.verify.experiments.planted_segments import normal, planted, standard_error
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
    parts=4,
    kept=Path("kept"),
)


def planted_line(at_30, slope, noise=0.05):
    """Numbers of runs whose index is a line in log n, and grows with the epochs."""

    def numbers(plan, seed, epoch):
        n = plan.train_count
        index = at_30 + slope * math.log10(n / 30) + noise * normal(seed, epoch)
        return 0.5 + 0.001 * math.log(n) + 0.01 * normal(seed, epoch, 1), index, 1.0

    return numbers


RISING = planted_line(-0.4, 0.6)


def seeds_of(count):
    [chain] = [c for c in EXPERIMENT.units(5) if c.units[0].plan.train_count == count]
    return chain.units[0].plan.seeds


def expected(count, epoch, which, numbers=RISING):
    """Planted numbers of all runs of a size."""
    [chain] = [c for c in EXPERIMENT.units(5) if c.units[0].plan.train_count == count]
    plan = chain.units[0].plan
    return np.array([numbers(plan, seed, epoch)[which] for seed in plan.seeds])


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
    # All have one test set, and a small training set is part of a large one.
    assert len({chain.units[0].plan.sequences_seed for chain in chains}) == 1


@given(count=st.integers(1, 5000), steps=st.integers(1, 30_000), parts=st.integers(1, 9))
def test_every_part_ends_within_half_a_pass_of_its_share(count, steps, parts):
    experiment = replace(EXPERIMENT, counts=(count,), steps=steps, parts=parts)
    [chain] = experiment.units(1)
    epochs = [unit.last for unit in chain.units]
    assert epochs[0] >= 1
    assert epochs == sorted(set(epochs))
    a_pass = -(-count // 32)
    for part in range(1, parts + 1):
        share = steps * part / parts
        nearest = min(abs(epoch * a_pass - share) for epoch in epochs)
        # The first epoch is done in any case.
        assert nearest <= a_pass / 2 or (epochs[0] == 1 and share < a_pass / 2)


def test_numbers_are_means_over_the_runs_of_a_size():
    found = named(EXPERIMENT.finding(5, planted(RISING)))
    for count, epochs in EPOCHS.items():
        for name, which in (("test_accuracy", 0), ("index", 1)):
            values = expected(count, epochs[-1], which)
            shown = found[f"sizes.{name}@n={count}"]
            assert shown.measured.value == pytest.approx(values.mean(), rel=1e-12)
            assert shown.measured.error == pytest.approx(standard_error(values), rel=1e-9)
            assert shown.kind == "shown"
            assert f"{count} sequences" in shown.statement
    assert len(found) == 6


@pytest.mark.parametrize(
    ("at_30", "slope", "signs", "change"),
    [
        (-0.4, 0.6, ", from positional to semantic;", "grows with n"),
        (0.4, -0.6, ", from semantic to positional;", "falls with n"),
        (0.3, 0.3, ", and keeps its sign;", "grows with n"),
        (-0.5, 0.0, ", and keeps its sign;", "does not clearly change with n"),
    ],
)
def test_the_sentence_is_that_of_a_line_through_all_runs(at_30, slope, signs, change):
    numbers = planted_line(at_30, slope)
    first, sentence = EXPERIMENT.finding(5, planted(numbers)).text
    assert "4 transformers for each size n" in first
    assert "for 200 steps of 32 sequences" in first
    values = {n: expected(n, epochs[-1], 1, numbers) for n, epochs in EPOCHS.items()}
    x = np.repeat([math.log10(n) for n in values], 4)
    y = np.concatenate(list(values.values()))
    # The normal equations, and Student's t of 12 - 2 degrees of freedom
    design = np.column_stack([np.ones(12), x])
    covariance = np.linalg.inv(design.T @ design)
    fitted = covariance @ design.T @ y
    variance = float(np.sum((y - design @ fitted) ** 2)) / 10
    margin = stats.t.ppf(0.975, 10) * math.sqrt(variance * covariance[1, 1])
    assert sentence == (
        f"From n = 30 to 1000 the mean index goes from {values[30].mean():+.2f} to "
        f"{values[1000].mean():+.2f}{signs} a line through all runs {change}, by {fitted[1]:+.2f} "
        f"± {margin:.2f} for every factor of ten (95 % interval)."
    )


def test_figures_have_means_against_sizes_and_steps():
    sizes, steps = EXPERIMENT.finding(5, planted(RISING)).figures
    index, wrong = sizes.drawing.axes
    assert index.get_xscale() == wrong.get_xscale() == "log"
    for axes, which in ((index, 1), (wrong, 0)):
        [container] = axes.containers
        line, _, [bars] = container
        values = [expected(n, epochs[-1], which) for n, epochs in EPOCHS.items()]
        values = values if which else [1 - v for v in values]
        assert list(line.get_xdata()) == list(EPOCHS)
        assert line.get_ydata() == pytest.approx([v.mean() for v in values])
        halves = [np.ptp(segment[:, 1]) / 2 for segment in bars.get_segments()]
        assert halves == pytest.approx([standard_error(v) for v in values])
    for axes, (count, epochs) in zip(steps.drawing.axes, EPOCHS.items(), strict=True):
        assert axes.get_ylabel() == f"index, $n$ = {count}"
        [container] = axes.containers
        assert list(container[0].get_xdata()) == [math.ceil(count / 32) * e for e in epochs]
        means = [expected(count, epoch, 1).mean() for epoch in epochs]
        assert container[0].get_ydata() == pytest.approx(means)
        # Neither mechanism
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
        parts=2,
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
        f"sizes.{name}@n={count}" for name in ("test_accuracy", "index") for count in (10, 150)
    }
    for prediction in finding.predictions:
        assert -1 < prediction.measured.value < 1
    assert len(finding.figures) == 2
