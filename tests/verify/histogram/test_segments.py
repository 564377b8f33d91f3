"""A segment's numbers are those of its transformers, however the epochs were divided."""

import json
import math
import shutil
from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path

import pytest
import torch
from torch.nn import functional

from symattn.errors import InvalidInput
from tests.verify.histogram.made_up import CPU, TASK
from verify.device import choose_device
from verify.histogram import segments as module_under_test
from verify.histogram.checkpoints import checkpoint_path, kept_epochs
from verify.histogram.mechanism import mechanisms
from verify.histogram.segments import EXAMPLES, Segment, segments
from verify.histogram.task import HistogramTask
from verify.histogram.training import Plan, Training, random_start

DEVICE = choose_device("cpu")
PLAN = Plan(task=TASK, restriction="semantic", seeds=(5, 8), sequences=60, sequences_seed=2)
SHORT_EXAMPLES = ((1, 1, 2, 2), (4, 0, 4, 4), (3, 2, 1, 0))


@pytest.fixture(autouse=True)
def short_examples(monkeypatch):
    """Sequences to be shown that the small task has."""
    monkeypatch.setattr(module_under_test, "EXAMPLES", SHORT_EXAMPLES)


def rows_of(plan, epochs, kept):
    """What all segments say, as the store has it."""
    chain = segments("x", plan, epochs, kept)
    return [json.loads(json.dumps(segment.run(DEVICE))) for segment in chain]


def length_of(first, second):
    """Euclidean length of the difference of two modules' weights, of a semantic one those used."""
    squares = 0.0
    for (name, a), (_, b) in zip(first.named_parameters(), second.named_parameters(), strict=True):
        used = torch.ones_like(a)
        if name in ("symbols", "positions"):
            used = used * getattr(first, f"{name}_part")
        if name in ("query", "key"):
            used = used * first.attended_part[:, None]
        squares += float((torch.square(a - b) * used).detach().double().sum())
    return math.sqrt(squares)


def gradient_of(module, sequences):
    """The norm of the gradient of the mean loss in all weights of a module, in double precision."""
    module = module.double()
    counts = torch.tensor([[row.count(s) for s in row] for row in sequences.tolist()])
    loss = functional.cross_entropy(module(sequences).flatten(0, 1), counts.flatten())
    gradients = torch.autograd.grad(loss, list(module.parameters()))
    return math.sqrt(sum(float(part.square().sum()) for part in gradients))


def test_rows_are_what_the_trained_transformers_do(tmp_path):
    """Each of the sequences of its own run."""
    plan = replace(PLAN, train_count=35)
    [_, rows] = rows_of(plan, (1, 3), tmp_path)
    data, start = plan.draw(), random_start(plan, CPU)
    training = Training(plan, start)
    training.advance(3)
    modules = [training.ensemble.module(run) for run in range(2)]
    wanted = torch.tensor([[Counter(row)[s] for s in row] for row in data.test.tolist()])

    def attention(sequences):
        return torch.stack([module.attention(sequences) for module in modules])

    mechanism = mechanisms(TASK, attention, seed=plan.seeds[0])
    shown = torch.tensor(rows[0]["examples"])
    expected = modules[0].attention(torch.tensor(SHORT_EXAMPLES)).detach()
    torch.testing.assert_close(shown, expected, rtol=0, atol=5.1e-5)
    assert rows[1]["examples"] is None
    for run, (row, module) in enumerate(zip(rows, modules, strict=True)):
        logits = module(data.test).detach()
        loss = functional.cross_entropy(logits.flatten(0, 1), wanted.flatten())
        assert (row["seed"], row["epoch"]) == (plan.seeds[run], 3)
        assert row["test_loss"] == pytest.approx(float(loss), rel=1e-5)
        right = (logits.argmax(dim=-1) == wanted).double().mean()
        assert row["test_accuracy"] == pytest.approx(float(right), rel=1e-12)
        assert row["train_loss"] == training.losses[-1][run]
        moved = length_of(module, start.module(run))
        assert row["moved"] == row["from_random"] == pytest.approx(moved, rel=1e-5)
        parts = asdict(mechanism[run])
        rest = 1 - parts["joint"]
        assert row["mechanism"] == pytest.approx({**parts, "rest": rest}, rel=1e-4, abs=1e-6)
        own = data.train[torch.tensor(plan.chosen()[run])]
        assert row["gradient_norm"] == pytest.approx(gradient_of(module, own), rel=1e-4)
    assert rows[0]["gradient_norm"] != pytest.approx(rows[1]["gradient_norm"], rel=1e-2)


def test_a_lifted_segment_tells_both_distances(tmp_path):
    """From where it was lifted, noise and all, and from the random weights before that."""
    rows_of(PLAN, (2,), tmp_path)
    [rows] = rows_of(PLAN.lift(2), (1,), tmp_path)
    restricted = Training.after(PLAN, 2, CPU, tmp_path).ensemble.unrestricted(0.0, (0, 0))
    first = random_start(PLAN, CPU).unrestricted(0.0, (0, 0))
    lifted = Training.after(PLAN.lift(2), 1, CPU, tmp_path).ensemble
    for run, row in enumerate(rows):
        from_random = length_of(lifted.module(run), first.module(run))
        assert row["from_random"] == pytest.approx(from_random, rel=1e-5)
        # It moved from the noisy start; the noise is 1e-3 times the root of 8768.
        noise = 1e-3 * math.sqrt(9 * 64 + 2 * 64**2)
        from_restricted = length_of(lifted.module(run), restricted.module(run))
        assert abs(from_restricted - math.hypot(noise, row["moved"])) < 0.1 * noise
        assert 0 < row["moved"] < row["from_random"]


@pytest.mark.parametrize(
    "task",
    [
        HistogramTask(length=4, symbols=4),
        HistogramTask(length=5, symbols=5),
        HistogramTask(length=3, symbols=15),
    ],
    ids=["a symbol less", "longer", "shorter"],
)
def test_no_matrices_are_shown_of_another_task(task, tmp_path):
    """The symbol 4 is the largest of sequences of four."""
    [rows] = rows_of(replace(PLAN, task=task), (1,), tmp_path)
    assert [row["examples"] for row in rows] == [None, None]


@pytest.mark.parametrize("lift", [False, True])
def test_however_the_epochs_are_divided_the_numbers_are_the_same(lift, tmp_path):
    plan = PLAN.lift(1) if lift else PLAN
    [whole] = rows_of(plan, (4,), tmp_path / "whole")
    *_, divided = rows_of(plan, (1, 2, 4), tmp_path / "divided")
    assert divided == whole
    assert kept_epochs(tmp_path / "divided", plan.label, plan.digest()) == [2, 4]


def test_a_segment_is_done_again_whatever_was_kept(tmp_path):
    """As after an interruption between its checkpoint and the line of its numbers."""
    chain = list(segments("x", PLAN, (1, 2, 3), tmp_path))
    first = [segment.run(DEVICE) for segment in chain]
    assert chain[2].run(DEVICE) == first[2]
    assert chain[1].run(DEVICE) == first[1]
    shutil.rmtree(tmp_path)
    assert chain[2].run(DEVICE) == first[2]


def test_a_damaged_checkpoint_ends_a_segment(tmp_path):
    first, second = segments("x", PLAN, (1, 2), tmp_path)
    first.run(DEVICE)
    path = checkpoint_path(tmp_path, PLAN.label, PLAN.digest(), 1)
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(InvalidInput, match="is no checkpoint of this run, or damaged"):
        second.run(DEVICE)
    assert kept_epochs(tmp_path, PLAN.label, PLAN.digest()) == [1]


def test_segments_follow_each_other():
    kept = Path("kept")
    chain = list(segments("x", PLAN, (1, 5, 20), kept))
    assert [(segment.first, segment.last) for segment in chain] == [(0, 1), (1, 5), (5, 20)]
    assert all(segment.kept == kept and segment.experiment == "x" for segment in chain)
    assert list(segments("x", PLAN, (), kept)) == []


def test_keys_tell_all_but_the_place():
    made = Segment(experiment="x", plan=PLAN, first=0, last=3, kept=Path("here"))
    elsewhere = replace(made, kept=Path("there"))
    assert elsewhere == made
    assert elsewhere.key == made.key
    assert made.key.startswith("x semantic to epoch 3 ")
    others = [
        replace(made, experiment="y"),
        replace(made, plan=replace(PLAN, seeds=(5, 9))),
        replace(made, plan=PLAN.lift(3)),
        replace(made, first=1),
        replace(made, last=4),
    ]
    assert len({made.key, *(other.key for other in others)}) == 6


def test_costs_add_up():
    """By steps and runs: 42 of 60 sequences are for training, or as many as are named."""
    one, other, both = (
        Segment(experiment="x", plan=PLAN, first=first, last=last, kept=Path())
        for first, last in ((0, 2), (2, 7), (0, 7))
    )
    assert one.cost + other.cost == pytest.approx(both.cost)
    assert other.cost == pytest.approx(2.5 * one.cost)
    more_runs = replace(one, plan=replace(PLAN, seeds=tuple(range(6))))
    assert more_runs.cost == pytest.approx(3 * one.cost)
    fewer = replace(one, plan=replace(PLAN, train_count=21))
    assert fewer.cost == pytest.approx(one.cost / 2)


def test_the_examples_are_sequences_of_the_published_task():
    task = HistogramTask()
    assert all(len(sequence) == task.length for sequence in EXAMPLES)
    assert all(0 <= symbol < task.symbols for sequence in EXAMPLES for symbol in sequence)


@pytest.mark.slow
@pytest.mark.parametrize(("restriction", "index"), [("positional", -1), ("semantic", 1)])
def test_either_half_of_the_embedding_suffices_for_a_small_task(restriction, index, tmp_path):
    """As published for a larger one; and the mechanism is that of the half."""
    plan = replace(PLAN, restriction=restriction, sequences=2000)
    [rows] = rows_of(plan, (120,), tmp_path)
    majority = plan.draw().majority()
    for row in rows:
        assert majority < 0.7 < 0.95 < row["test_accuracy"]
        found = row["mechanism"]
        assert abs(found["index"] - index) < 5 * found["index_error"]
