"""Both mechanisms: what is said of them is what their runs did, and the sign of each is its own."""

import io
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from symattn.plotting import save
from tests.verify.experiments.made_up_rows import named
from tests.verify.experiments.planted_segments import (
    drawn_means,
    normal,
    pictures,
    planted,
    standard_error,
)
from verify.device import choose_device
from verify.experiments import two_mechanisms
from verify.experiments.two_mechanisms import TwoMechanisms
from verify.histogram import segments
from verify.histogram.segments import EXAMPLES
from verify.histogram.task import HistogramTask
from verify.judgement import judge_findings
from verify.units import Chain

EXPERIMENT = TwoMechanisms(
    name="both",
    task=HistogramTask(),
    sequences=400,
    runs=7,
    epochs=(1, 4, 9),
    lifted_epochs=(2, 5),
    kept=Path("kept"),
)
KINDS = ("positional", "semantic")
CHECKED = ("accuracy", "accuracy-lifted", "index-lifted")


def kind_of(plan):
    return (plan.lifted or plan).restriction


def numbers(plan, seed, epoch):
    """Each kind has its own, and lifting changes them a little."""
    lifted, semantic = plan.lifted is not None, kind_of(plan) == "semantic"
    noise = [normal(seed, epoch, lifted, i) for i in range(8)]
    return {
        "train_loss": 0.4 + 0.1 * semantic - 0.05 * lifted + 0.01 * noise[0],
        "test_loss": 0.5 + 0.1 * semantic - 0.03 * lifted + 0.01 * noise[1],
        "test_accuracy": 0.9 + 0.005 * semantic + 0.002 * lifted + 0.003 * noise[2],
        "index": (1 if semantic else -1) * (0.9 if lifted else 1.0) + 0.01 * noise[3],
        "rest": 0.1 + 0.05 * lifted + 0.01 * noise[4],
        "moved": (3.0 if lifted else 40.0) + 0.1 * noise[5],
        "from_random": 40.0 + 0.1 * noise[6],
        "gradient_norm": 0.2 / epoch + 0.01 * noise[7],
    }


def with_one(what, kind, run, **changes):
    """The same, but that one run of a kind has other numbers, restricted or lifted."""
    seeds = [seed for plan in plans(kind) for seed in plan.seeds]

    def changed(plan, seed, epoch):
        own = numbers(plan, seed, epoch)
        its_own = seed == seeds[run] and (plan.lifted is not None) == (what == "lifted")
        return {**own, **changes} if its_own else own

    return changed


@pytest.fixture(scope="module")
def finding():
    """What is said of the planted numbers."""
    return EXPERIMENT.finding(5, planted(numbers))


def plans(kind, experiment=EXPERIMENT):
    return [
        chain.units[0].plan
        for chain in experiment.units(5)
        if chain.units[0].plan.restriction == kind
    ]


def expected(kind, name, *, lifted, epoch):
    """One of the planted numbers of all runs."""
    return np.array(
        [
            numbers(plan.lift(9) if lifted else plan, seed, epoch)[name]
            for plan in plans(kind)
            for seed in plan.seeds
        ]
    )


def test_runs_are_in_chains_of_restricted_and_then_lifted_segments():
    chains = EXPERIMENT.units(5)
    assert all(isinstance(chain, Chain) for chain in chains)
    for chain in chains:
        assert [(unit.first, unit.last) for unit in chain.units] == [
            (0, 1),
            (1, 4),
            (4, 9),
            (0, 2),
            (2, 5),
        ]
        restricted, lifted = chain.units[:3], chain.units[3:]
        [plan] = {unit.plan for unit in restricted}
        assert plan.restriction in KINDS
        assert {unit.plan for unit in lifted} == {plan.lift(9)}
        assert {unit.kept for unit in chain.units} == {Path("kept")}
    keys = [unit.key for chain in chains for unit in chain.units]
    assert len(set(keys)) == len(keys)


def test_all_runs_have_seeds_of_their_own_and_the_same_sequences():
    for kind in KINDS:
        assert sum(len(plan.seeds) for plan in plans(kind)) == EXPERIMENT.runs
    everything = [*plans("positional"), *plans("semantic")]
    assert len({seed for plan in everything for seed in plan.seeds}) == 2 * EXPERIMENT.runs
    assert len({plan.sequences_seed for plan in everything}) == 1
    assert {(plan.sequences, plan.train_count) for plan in everything} == {(400, None)}
    assert {plan.optimiser for plan in everything} == {"adam"}
    other = {chain.units[0].plan.sequences_seed for chain in EXPERIMENT.units(6)}
    assert not other & {plan.sequences_seed for plan in everything}


def majority():
    """By counting: the accuracy on the test set of the commonest count of the training set."""
    drawn = plans("semantic")[0].draw()
    train, test = (
        Counter(row.count(symbol) for row in sequences.tolist() for symbol in row)
        for sequences in (drawn.train, drawn.test)
    )
    return test[max(train, key=train.get)] / test.total()


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_are_means_over_runs(kind, finding):
    found = named(finding)

    def before(name):
        return expected(kind, name, lifted=False, epoch=9)

    def after(name, epoch=5):
        return expected(kind, name, lifted=True, epoch=epoch)

    wanted = {
        "accuracy": before("test_accuracy"),
        "accuracy-lifted": after("test_accuracy"),
        "index-lifted": (1 if kind == "semantic" else -1) * after("index"),
        "rest-lifted": after("rest"),
        "gain-lifted": after("test_accuracy") - before("test_accuracy"),
        "loss-lifted": after("train_loss") - before("train_loss"),
        "moved-lifted": after("moved") / after("from_random"),
        "gradient-lifted@epoch=2": after("gradient_norm", 2),
        "gradient-lifted@epoch=5": after("gradient_norm"),
    }
    for name, values in wanted.items():
        prediction = found[f"both.{kind}.{name}"]
        assert prediction.measured.value == pytest.approx(values.mean(), rel=1e-12)
        assert prediction.measured.error == pytest.approx(standard_error(values), rel=1e-9)
        assert prediction.measured.count == 7
        assert prediction.kind == ("checked" if name in CHECKED else "shown")
    assert len(found) == 2 * len(wanted)


def test_far_above_is_a_quarter_of_the_errors_of_the_commonest_count(finding):
    """And an index is of the right sign if it is beyond 0."""
    found = named(finding)
    for kind in KINDS:
        for name in ("accuracy", "accuracy-lifted"):
            bound = found[f"both.{kind}.{name}"].predicted
            assert 1 - bound == pytest.approx((1 - majority()) / 4, rel=1e-12)
        assert found[f"both.{kind}.index-lifted"].predicted == 0.0


def verdicts(finding):
    """Of what is checked; the judgement of a suite changes none."""
    judged = judge_findings([finding], 1e-3)
    before, after = (
        {p.name.removeprefix("both."): p.verdict for p in each.predictions if p.kind == "checked"}
        for each in (finding, judged[0])
    )
    assert before == after
    assert before.keys() == {f"{kind}.{name}" for kind in KINDS for name in CHECKED}
    return before


def fails(numbers):
    found = verdicts(EXPERIMENT.finding(5, planted(numbers, shown=False)))
    return {name for name, verdict in found.items() if verdict == "fails"}


def test_all_holds_where_each_mechanism_stays_what_it_was(finding):
    assert set(verdicts(finding).values()) == {"holds"}


@pytest.mark.parametrize(
    ("kind", "run", "index"),
    [("positional", 0, 0.01), ("semantic", 6, -0.01), ("semantic", 3, 0.0)],
)
def test_one_run_whose_mechanism_becomes_the_other_fails(kind, run, index):
    assert fails(with_one("lifted", kind, run, index=index)) == {f"{kind}.index-lifted"}


def test_nothing_is_said_of_the_index_before_the_restriction_is_lifted():
    assert fails(with_one("restricted", "semantic", 2, index=-1.0)) == set()


def test_one_run_without_an_index_fails():
    made = EXPERIMENT.finding(
        5, planted(with_one("lifted", "semantic", 3, index=None), shown=False)
    )
    assert verdicts(made)["semantic.index-lifted"] == "fails"
    prediction = named(made)["both.semantic.index-lifted"]
    values = np.delete(expected("semantic", "index", lifted=True, epoch=5), 3)
    assert prediction.measured.value == pytest.approx(values.mean(), rel=1e-12)
    assert f"least of 6 runs: {values.min():.4g}" in prediction.note


def test_no_run_with_an_index_is_said_in_words():
    def uniform(plan, seed, epoch):
        return {**numbers(plan, seed, epoch), "index": None}

    made = EXPERIMENT.finding(5, planted(uniform, shown=False))
    for kind in KINDS:
        prediction = named(made)[f"both.{kind}.index-lifted"]
        assert (prediction.measured, prediction.verdict) == (None, "fails")
        assert "no run has one" in prediction.note
    [curves] = made.figures
    save(curves.drawing, io.BytesIO(), "svg")
    drawn = [len(container[0].get_xdata()) for container in curves.drawing.axes[3].containers]
    assert drawn == [0, 0]


@pytest.mark.parametrize("what", ["restricted", "lifted"])
def test_one_run_that_is_hardly_better_than_the_commonest_count_fails(what):
    bound = majority() + 0.75 * (1 - majority())
    name = "accuracy" if what == "restricted" else "accuracy-lifted"
    for accuracy, wanted in ((bound - 1e-6, {f"positional.{name}"}), (bound + 1e-6, set())):
        assert fails(with_one(what, "positional", 4, test_accuracy=accuracy)) == wanted


def test_runs_that_are_all_right_everywhere_are_checked_all_the_same():
    def perfect(plan, seed, epoch):
        return {**numbers(plan, seed, epoch), "test_accuracy": 1.0}

    made = EXPERIMENT.finding(5, planted(perfect, shown=False))
    assert set(verdicts(made).values()) == {"holds"}
    prediction = named(made)["both.semantic.accuracy"]
    assert prediction.measured is None
    assert "every run has 1" in prediction.note
    assert named(made)["both.semantic.gain-lifted"].note == "every run has 0"


def test_the_published_accuracies_stand_beside(finding):
    found = named(finding)
    for kind, published in (("positional", "0.9988 ± 0.0004"), ("semantic", "0.9989 ± 0.0012")):
        least = expected(kind, "test_accuracy", lifted=False, epoch=9).min()
        assert found[f"both.{kind}.accuracy"].note == (
            f"least of 7 runs: {least:.4g}; published: {published} after 200 epochs"
        )


def test_the_text_says_what_was_done(finding):
    [first, second] = finding.text
    assert "7 transformers of each kind were trained for 9 epochs" in first
    assert "on the same 0.7 of 400 sequences" in first
    assert f"right in {majority():.4f} of all places" in first
    assert "less than 25% of the errors" in first
    assert "step 0.001 went on for 5 epochs" in second
    assert "standard deviation 0.001 " in second
    assert "cannot prove a minimum" in second


def test_curves_go_on_where_the_restriction_is_lifted(finding):
    curves, _ = finding.figures
    names = ("train_loss", "test_loss", "test_accuracy", "index", "rest")
    scales = [axes.get_yscale() for axes in curves.drawing.axes]
    assert scales == ["log", "log", "linear", "linear", "linear"]
    assert curves.drawing.axes[-1].get_xlabel() == "epoch"
    points = [(False, 1), (False, 4), (False, 9), (True, 2), (True, 5)]
    for axes, name in zip(curves.drawing.axes, names, strict=True):
        for kind, container in zip(KINDS, axes.containers, strict=True):
            assert container.get_label() == f"{kind}, mean over runs"
            values = [expected(kind, name, lifted=lifted, epoch=e) for lifted, e in points]
            x, y, errors = drawn_means(container)
            assert x == [1, 4, 9, 11, 14]
            assert y == pytest.approx([v.mean() for v in values])
            assert errors == pytest.approx([standard_error(v) for v in values])
    assert "lifted at epoch 9" in curves.caption


def test_matrices_are_those_of_the_first_run_of_each_kind(finding):
    _, matrices = finding.figures
    drawn = [axes for axes in matrices.drawing.axes if axes.images]
    wanted = []
    for kind in KINDS:
        first = plans(kind)[0].seeds[0]
        wanted += [*pictures(first, 9), *pictures(first, 5)]
    assert len(drawn) == len(wanted) == 4 * len(EXAMPLES)
    for axes, matrix in zip(drawn, wanted, strict=True):
        assert np.array_equal(axes.images[0].get_array(), matrix)
    rows = [axes.get_ylabel() for axes in drawn[:: len(EXAMPLES)]]
    assert rows == [f"{kind}, {how}" for kind in KINDS for how in ("restricted", "lifted")]


def test_a_task_that_the_examples_are_not_of_has_no_matrices():
    made = EXPERIMENT.finding(5, planted(numbers, shown=False))
    assert [figure.name for figure in made.figures] == ["both-training"]


def test_trained_transformers_give_a_finding(tmp_path, monkeypatch):
    short = ((1, 1, 2, 2), (4, 0, 4, 4))
    for module in (segments, two_mechanisms):
        monkeypatch.setattr(module, "EXAMPLES", short)
    experiment = replace(
        EXPERIMENT,
        task=HistogramTask(length=4, symbols=5),
        sequences=300,
        runs=3,
        epochs=(1, 3),
        lifted_epochs=(1, 2),
        kept=tmp_path,
    )
    device = choose_device("cpu")
    trained = {
        unit.key: json.loads(json.dumps(unit.run(device)))
        for chain in experiment.units(1)
        for unit in chain.units
    }
    made = experiment.finding(1, lambda unit: trained[unit.key])
    assert all(prediction.measured is not None for prediction in made.predictions)
    assert len(made.figures) == 2
    # What sees only symbols, or only positions, is semantic or positional, and hardly moved since.
    found = named(made)
    for kind in KINDS:
        assert found[f"both.{kind}.index-lifted"].verdict == "holds"
        assert found[f"both.{kind}.index-lifted"].measured.value > 0.9
        assert 0 < found[f"both.{kind}.moved-lifted"].measured.value < 0.1
        for epoch in (1, 2):
            assert found[f"both.{kind}.gradient-lifted@epoch={epoch}"].measured.value > 0
