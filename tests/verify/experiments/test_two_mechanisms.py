"""Both mechanisms: what is said of them is what their runs did, and the sign of each is its own."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.verify.experiments.made_up_rows import named
from tests.verify.experiments.planted_segments import normal, pictures, planted, standard_error
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


def numbers(plan, seed, epoch):
    """Accuracy, index, distance: each kind has its own, and lifting changes them a little."""
    lifted = plan.lifted is not None
    kind = plan.lifted.restriction if lifted else plan.restriction
    noise = [normal(seed, epoch, lifted, i) for i in range(3)]
    accuracy = 0.9 + 0.005 * (kind == "semantic") + 0.002 * lifted + 0.003 * noise[0]
    index = (1 if kind == "semantic" else -1) * (0.9 if lifted else 1.0) + 0.01 * noise[1]
    return accuracy, index, (3.0 if lifted else 40.0) + 0.1 * noise[2]


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


def expected(kind, which, *, lifted, epoch):
    """One of the planted numbers of all runs."""
    return np.array(
        [
            numbers(plan.lift(9) if lifted else plan, seed, epoch)[which]
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
    assert {plan.sequences for plan in everything} == {400}
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
def test_predictions_are_means_over_runs(kind, finding):
    found = named(finding)
    before, after = (
        expected(kind, 0, lifted=lifted, epoch=epoch) for lifted, epoch in ((False, 9), (True, 5))
    )
    sign = 1 if kind == "semantic" else -1
    restricted, moved = (
        expected(kind, 2, lifted=lifted, epoch=epoch) for lifted, epoch in ((False, 9), (True, 5))
    )
    for name, values in (
        ("accuracy", before),
        ("accuracy-lifted", after),
        ("gain-lifted", after - before),
        ("index-lifted", sign * expected(kind, 1, lifted=True, epoch=5)),
        ("moved", moved / restricted),
    ):
        measured = found[f"both.{kind}.{name}"].measured
        assert measured.value == pytest.approx(values.mean(), rel=1e-12)
        assert measured.error == pytest.approx(standard_error(values), rel=1e-9)
        assert measured.count == 7
    for name in ("accuracy", "accuracy-lifted"):
        prediction = found[f"both.{kind}.{name}"]
        assert (prediction.kind, prediction.predicted) == ("one-sided", pytest.approx(majority()))
    index = found[f"both.{kind}.index-lifted"]
    assert (index.kind, index.predicted) == ("one-sided", 0.0)
    assert {found[f"both.{kind}.{name}"].kind for name in ("gain-lifted", "moved")} == {"shown"}
    assert len(found) == 10


def verdicts(finding):
    judged = judge_findings([finding], 1e-3)
    return {p.name.removeprefix("both."): p.verdict for p in judged[0].predictions}


def test_predictions_hold_where_each_mechanism_stays_what_it_was(finding):
    found = verdicts(finding)
    assert {name for name, verdict in found.items() if verdict == "holds"} == {
        f"{kind}.{name}"
        for kind in KINDS
        for name in ("accuracy", "accuracy-lifted", "index-lifted")
    }


def test_a_mechanism_that_becomes_the_other_fails():
    def turned(plan, seed, epoch):
        accuracy, index, moved = numbers(plan, seed, epoch)
        return accuracy, index if plan.lifted is None else abs(index), moved

    found = verdicts(EXPERIMENT.finding(5, planted(turned)))
    assert found["positional.index-lifted"] == "fails"
    assert found["semantic.index-lifted"] == "holds"


def test_what_learned_nothing_fails():
    def poor(plan, seed, epoch):
        accuracy, *others = numbers(plan, seed, epoch)
        return accuracy - (0.6 if plan.restriction == "positional" else 0), *others

    found = verdicts(EXPERIMENT.finding(5, planted(poor)))
    assert {name for name, verdict in found.items() if verdict == "fails"} == {
        "positional.accuracy"
    }


def test_the_published_accuracies_stand_beside(finding):
    found = named(finding)
    for kind, mean, deviation in (("positional", 0.9988, 0.0004), ("semantic", 0.9989, 0.0012)):
        own = expected(kind, 0, lifted=False, epoch=9)
        distance = (own.mean() - mean) / np.hypot(own.std(ddof=1), deviation)
        note = found[f"both.{kind}.accuracy"].note
        assert note.startswith(f"after 200 epochs {mean}, standard deviation {deviation:.2g} (")
        assert "2402.03902" in note
        assert note.endswith(f"difference {distance:+.2f} of both together")


def test_the_text_says_what_was_done(finding):
    [first, second] = finding.text
    assert "7 transformers of each kind were trained for 9 epochs" in first
    assert "of 400 sequences" in first
    assert f"right in {majority():.4f} of all places" in first
    assert "step 0.001 went on for 5 epochs" in second
    assert "standard deviation 0.001 " in second


def test_curves_go_on_where_the_restriction_is_lifted(finding):
    curves, _ = finding.figures
    error, index = curves.drawing.axes
    assert (error.get_yscale(), index.get_yscale()) == ("log", "linear")
    assert index.get_xlabel() == "epoch"
    points = [(False, 1), (False, 4), (False, 9), (True, 2), (True, 5)]
    for axes, which in ((error, 0), (index, 1)):
        for kind, container in zip(KINDS, axes.containers, strict=True):
            assert container.get_label() == f"{kind}, mean"
            values = [expected(kind, which, lifted=lifted, epoch=e) for lifted, e in points]
            values = [1 - v for v in values] if which == 0 else values
            line, _, [bars] = container
            assert list(line.get_xdata()) == [1, 4, 9, 11, 14]
            assert line.get_ydata() == pytest.approx([v.mean() for v in values])
            halves = [np.ptp(segment[:, 1]) / 2 for segment in bars.get_segments()]
            assert halves == pytest.approx([standard_error(v) for v in values])
    assert "lifted at epoch 9" in curves.caption


def test_matrices_are_those_of_the_first_run_of_each_kind(finding):
    _, matrices = finding.figures
    shown = [axes for axes in matrices.drawing.axes if axes.images]
    wanted = []
    for kind in KINDS:
        first = plans(kind)[0].seeds[0]
        wanted += [*pictures(first, 9), *pictures(first, 5)]
    assert len(shown) == len(wanted) == 4 * len(EXAMPLES)
    for axes, matrix in zip(shown, wanted, strict=True):
        assert np.array_equal(axes.images[0].get_array(), matrix)
    rows = [axes.get_ylabel() for axes in shown[:: len(EXAMPLES)]]
    assert rows == [f"{kind}, {how}" for kind in KINDS for how in ("restricted", "lifted")]


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
        lifted_epochs=(1,),
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
    assert len(found) == 10
    for kind in KINDS:
        assert found[f"both.{kind}.index-lifted"].measured.value > 0.9
        assert 0 < found[f"both.{kind}.moved"].measured.value < 0.1
