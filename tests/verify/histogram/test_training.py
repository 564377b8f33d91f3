"""Training against a plain loop over separate modules, and however often it was interrupted."""

import math
import shutil
from dataclasses import replace

import pytest
import torch
from torch.nn import functional

from symattn.errors import InvalidInput
from tests.verify.histogram.made_up import CPU, TASK, ensemble, scattered
from verify.histogram import training as module_under_test
from verify.histogram.checkpoints import checkpoint_path, kept_epochs
from verify.histogram.ensemble import Ensemble
from verify.histogram.task import HistogramTask
from verify.histogram.training import (
    BATCH,
    NOISE,
    Plan,
    Training,
    distance,
    random_start,
    start_of,
)

# 43 different sequences, 30 of them for training: one batch. With `MANY` it is three.
PLAN = Plan(task=TASK, seeds=(5, 8), sequences=44)
MANY = replace(PLAN, sequences=130)


@pytest.fixture
def batches(monkeypatch):
    """The sequences that ensembles were given, in order."""
    seen, plain = [], Ensemble.logits

    def logits(self, sequences):
        seen.append(sequences)
        return plain(self, sequences)

    monkeypatch.setattr(Ensemble, "logits", logits)
    return seen


def optimiser_of(plan, module):
    """The published one, without any of torch's short cuts."""
    if plan.optimiser == "sgd":
        return torch.optim.SGD(module.parameters(), lr=1e-3, fused=False, foreach=False)
    return torch.optim.Adam(
        module.parameters(), lr=1e-3, betas=(0.9, 0.98), eps=1e-9, fused=False, foreach=False
    )


def cross_entropy(module, sequences):
    counts = torch.tensor([[row.count(s) for s in row] for row in sequences.tolist()])
    return functional.cross_entropy(module(sequences).flatten(0, 1), counts.flatten())


def by_a_plain_loop(plan, start, run, batches):
    """The module of one run after a step on each batch, and the loss before each step."""
    module, losses = start.module(run), []
    optimiser = optimiser_of(plan, module)
    for sequences in batches:
        loss = cross_entropy(module, sequences)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(float(loss.detach()))
    return module, losses


def moved_alike(training, start, run, module):
    """That a run moved as the module did, to rounding, and that no weight stayed where it was."""
    # Adam divides by moduli of gradients, also where these are near its epsilon of 1e-9.
    rounding = 1e-11 if training.plan.optimiser == "adam" else 1e-14
    for name, weight in module.named_parameters():
        first = start.weights[name][run]
        moved, expected = training.ensemble.weights[name][run] - first, weight.detach() - first
        torch.testing.assert_close(moved, expected, rtol=1e-6, atol=rounding)
        assert float(expected.abs().max()) > 1e-6


def same_weights(first, second):
    """Bit for bit."""
    a, b = first.ensemble.weights, second.ensemble.weights
    assert a.keys() == b.keys()
    return all(torch.equal(a[name], b[name]) for name in a)


@pytest.mark.parametrize("optimiser", ["adam", "sgd"])
@pytest.mark.parametrize("restriction", ["none", "semantic"])
def test_steps_are_those_of_a_plain_loop_for_each_run(restriction, optimiser, double):
    """All in one batch, so that the order does not matter."""
    plan = replace(PLAN, restriction=restriction, optimiser=optimiser)
    sequences, start = plan.draw().train, random_start(plan, CPU)
    assert 16 < len(sequences) <= BATCH
    training = Training(plan, CPU, start)
    for steps in (1, 6):
        training.advance(steps)
        for run in range(2):
            module, losses = by_a_plain_loop(plan, start, run, steps * [sequences])
            assert [of[run] for of in training.losses] == pytest.approx(losses, rel=1e-9)
            moved_alike(training, start, run, module)


@pytest.mark.parametrize("optimiser", ["adam", "sgd"])
def test_batches_have_every_sequence_once_in_an_epoch(optimiser, double, batches):
    plan = replace(MANY, optimiser=optimiser)
    data, start = plan.draw(), random_start(plan, CPU)
    training = Training(plan, CPU, start)
    training.advance(3)
    per_epoch = math.ceil(len(data.train) / 32)
    assert per_epoch == 3
    assert len(batches) == 3 * per_epoch
    everything = sorted(map(tuple, data.train.tolist()))
    orders = []
    for run in range(2):
        own = [batch[run] for batch in batches]
        assert {len(batch) for batch in own} == {32, len(data.train) % 32}
        for epoch in range(3):
            passed = torch.cat(own[epoch * per_epoch : (epoch + 1) * per_epoch])
            orders.append(list(map(tuple, passed.tolist())))
            assert sorted(orders[-1]) == everything
        module, losses = by_a_plain_loop(plan, start, run, own)
        moved_alike(training, start, run, module)
        # The mean over all sequences, of which the last batch has fewer
        for epoch in range(3):
            of_epoch = range(epoch * per_epoch, (epoch + 1) * per_epoch)
            mean = sum(losses[i] * len(own[i]) for i in of_epoch) / len(data.train)
            assert training.losses[epoch][run] == pytest.approx(mean, rel=1e-9)
    # Every epoch of every run in an order of its own
    assert len(set(map(tuple, orders))) == 6


def test_no_run_depends_on_the_others(double):
    together = Training(MANY, CPU, random_start(MANY, CPU))
    together.advance(2)
    for run, seed in enumerate(MANY.seeds):
        plan = replace(MANY, seeds=(seed,))
        alone = Training(plan, CPU, random_start(plan, CPU))
        alone.advance(2)
        for name, weight in together.ensemble.weights.items():
            torch.testing.assert_close(
                weight[run], alone.ensemble.weights[name][0], rtol=1e-9, atol=1e-11
            )


def test_training_leaves_its_start_as_it_is():
    start = random_start(PLAN, CPU)
    before = {name: weight.clone() for name, weight in start.weights.items()}
    training = Training(PLAN, CPU, start)
    now = training.ensemble
    training.advance(2)
    assert all(torch.equal(start.weights[name], weight) for name, weight in before.items())
    assert all(weight.dtype == torch.float32 for weight in now.weights.values())
    assert not any(weight.requires_grad for weight in now.weights.values())


@pytest.mark.parametrize("restriction", ["positional", "semantic"])
def test_what_is_masked_stays_as_it_was_drawn(restriction):
    plan = replace(PLAN, restriction=restriction)
    start = random_start(plan, CPU)
    training = Training(plan, CPU, start)
    training.advance(3)
    half, now = start.weights["symbols"].shape[-1] // 2, training.ensemble.weights
    masked = {"symbols": slice(half, None), "positions": slice(half)}
    for name, of in masked.items():
        assert torch.equal(now[name][..., of], start.weights[name][..., of])
        used = slice(half) if of.start else slice(half, None)
        assert not torch.equal(now[name][..., used], start.weights[name][..., used])
    seen = masked["positions" if restriction == "positional" else "symbols"]
    for name in ("query", "key"):
        assert torch.equal(now[name][:, seen], start.weights[name][:, seen])


def test_test_errors_are_those_of_each_run_by_itself(double, monkeypatch):
    plan = replace(MANY, seeds=(1, 2, 3))
    training = Training(plan, CPU, random_start(plan, CPU))
    training.advance(4)
    test = plan.draw().test
    found = training.test()
    for run in range(3):
        module = training.ensemble.module(run)
        with torch.no_grad():
            named = module(test).argmax(dim=-1).tolist()
            loss = float(cross_entropy(module, test))
        right = [
            name == row.count(symbol)
            for row, names in zip(test.tolist(), named, strict=True)
            for symbol, name in zip(row, names, strict=True)
        ]
        assert found[run] == pytest.approx((loss, sum(right) / len(right)), rel=1e-12)
        assert 0 < sum(right) < len(right)
    # However many are tested at a time
    monkeypatch.setattr(module_under_test, "_TESTED", 7)
    assert len(test) % 7
    for some, all_at_once in zip(training.test(), found, strict=True):
        assert some == pytest.approx(all_at_once, rel=1e-12)


@pytest.mark.parametrize(
    "plan",
    [
        MANY,
        replace(MANY, restriction="positional", train_count=40),
        replace(MANY, optimiser="sgd"),
        replace(MANY, restriction="semantic").lift(1),
    ],
    ids=lambda plan: f"{plan.label}-{plan.optimiser}",
)
def test_four_epochs_are_two_and_two_more(plan, tmp_path):
    straight = Training.after(plan, 4, CPU, tmp_path / "nothing")
    begun = Training.after(plan, 2, CPU, tmp_path)
    begun.keep(tmp_path)
    gone_on = Training.after(plan, 4, CPU, tmp_path)
    assert len(gone_on.losses) == 2
    assert same_weights(gone_on, straight)
    assert gone_on.losses == straight.losses[2:]
    assert gone_on.test() == straight.test()
    assert not same_weights(gone_on, begun)
    # Its checkpoint is deleted, or all of them are.
    gone_on.keep(tmp_path)
    checkpoint_path(tmp_path, plan.label, plan.digest(), 4).unlink()
    again = Training.after(plan, 4, CPU, tmp_path)
    assert len(again.losses) == 2
    assert same_weights(again, straight)
    shutil.rmtree(tmp_path)
    anew = Training.after(plan, 4, CPU, tmp_path)
    assert len(anew.losses) == 4
    assert same_weights(anew, straight)
    assert not (tmp_path / "nothing").exists()


def test_moments_are_kept_with_the_weights(tmp_path):
    """Without them the next step would be the first of its kind."""
    begun = Training.after(PLAN, 2, CPU, tmp_path)
    begun.keep(tmp_path)
    forgetful = Training(PLAN, CPU, begun.ensemble)
    forgetful.advance(1)
    assert not same_weights(forgetful, Training.after(PLAN, 3, CPU, tmp_path))


def test_a_checkpoint_beyond_is_not_taken(tmp_path):
    long = Training.after(PLAN, 3, CPU, tmp_path)
    long.keep(tmp_path)
    short = Training.after(PLAN, 1, CPU, tmp_path)
    assert (short.epoch, len(short.losses)) == (1, 1)
    assert short.losses[0] == long.losses[0]
    assert Training.after(PLAN, 3, CPU, tmp_path).losses == []


def test_only_the_last_two_checkpoints_remain(tmp_path):
    other = replace(PLAN, seeds=(1, 2))
    Training.after(other, 1, CPU, tmp_path).keep(tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    training = Training.after(PLAN, 0, CPU, tmp_path)
    for epoch, kept in ((1, [1]), (2, [1, 2]), (3, [2, 3]), (5, [3, 5]), (6, [5, 6])):
        training.advance(epoch)
        training.keep(tmp_path)
        assert kept_epochs(tmp_path, PLAN.label, PLAN.digest()) == kept
    assert kept_epochs(tmp_path, other.label, other.digest()) == [1]
    assert len(list(tmp_path.iterdir())) == 4
    # One before them, as if it had been asked for later
    Training.after(PLAN, 4, CPU, tmp_path / "anew").keep(tmp_path)
    assert kept_epochs(tmp_path, PLAN.label, PLAN.digest()) == [4, 5, 6]
    # The last but one again, as after an interruption before its numbers were noted
    Training.after(PLAN, 5, CPU, tmp_path).keep(tmp_path)
    assert kept_epochs(tmp_path, PLAN.label, PLAN.digest()) == [4, 5, 6]


@pytest.mark.parametrize("kind", ["cut", "other seeds", "other epoch"])
def test_a_checkpoint_that_is_not_right_is_refused_and_left_as_it_is(kind, tmp_path):
    for plan in (PLAN, replace(PLAN, seeds=(6, 9))):
        for epoch in (1, 2):
            Training.after(plan, epoch, CPU, tmp_path).keep(tmp_path)
    path = checkpoint_path(tmp_path, PLAN.label, PLAN.digest(), 2)
    other = replace(PLAN, seeds=(6, 9)).digest() if kind == "other seeds" else PLAN.digest()
    source = checkpoint_path(tmp_path, PLAN.label, other, 1 if kind == "other epoch" else 2)
    content = source.read_bytes()[: -1 if kind == "cut" else None]
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match="is no checkpoint of this run, or damaged") as caught:
        Training.after(PLAN, 3, CPU, tmp_path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == content
    # As it says
    path.unlink()
    assert same_weights(
        Training.after(PLAN, 3, CPU, tmp_path), Training.after(PLAN, 3, CPU, tmp_path / "anew")
    )


def test_a_damaged_checkpoint_of_what_is_lifted_is_refused(tmp_path):
    plan = replace(PLAN, restriction="semantic")
    Training.after(plan, 1, CPU, tmp_path).keep(tmp_path)
    path = checkpoint_path(tmp_path, plan.label, plan.digest(), 1)
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(InvalidInput, match=str(path)):
        start_of(plan.lift(1), CPU, tmp_path)


def test_a_lifted_plan_begins_where_the_other_ended(tmp_path):
    plan = replace(PLAN, restriction="semantic")
    before = Training.after(plan, 2, CPU, tmp_path).ensemble
    lifted = plan.lift(2)
    start = start_of(lifted, CPU, tmp_path)
    assert (start.restriction, lifted.optimiser, lifted.seeds) == ("none", "sgd", plan.seeds)
    # The noise is of `count` normal numbers: token and position vectors, W_Q and W_K.
    count = (TASK.symbols + TASK.length) * 64 + 2 * 64**2
    for moved in distance(before, start):
        assert abs(moved - NOISE * math.sqrt(count)) < 4 * NOISE / math.sqrt(2)
    # Of the two runs each has its own.
    exact = before.unrestricted(0.0, (0, 0)).weights["query"]
    noise = (start.weights["query"] - exact) / NOISE
    assert abs(float((noise[0] * noise[1]).mean())) < 4 / 64
    assert float(noise.std()) == pytest.approx(1, abs=0.05)
    for name, weight in random_start(lifted, CPU).weights.items():
        assert torch.equal(weight, random_start(plan, CPU).weights[name])


def test_a_lifted_plan_with_a_restriction_is_refused():
    with pytest.raises(InvalidInput, match="none once it is lifted"):
        replace(PLAN.lift(1), restriction="semantic")


OTHERS = {
    "task": HistogramTask(length=4, symbols=6),
    "restriction": "semantic",
    "seeds": (5, 9),
    "sequences": 45,
    "sequences_seed": 1,
    "train_count": 20,
    "optimiser": "sgd",
    "lifted": PLAN,
    "lifted_epochs": 1,
}


def test_plans_differ_by_all_that_they_say():
    assert replace(PLAN).digest() == PLAN.digest()
    digests = {replace(PLAN, **{name: value}).digest() for name, value in OTHERS.items()}
    digests |= {PLAN.digest(), PLAN.lift(1).digest(), PLAN.lift(2).digest()}
    assert len(digests) == len(OTHERS) + 3
    assert OTHERS.keys() == set(Plan.__dataclass_fields__)


def test_labels_tell_what_is_trained():
    semantic = replace(PLAN, restriction="semantic")
    assert PLAN.label == "free"
    assert semantic.label == "semantic"
    assert semantic.lift(3).label == "semantic-lifted"
    assert replace(semantic.lift(3), train_count=30).label == "semantic-lifted-n30"


def test_seeds_for_different_purposes_and_runs_are_different():
    plan = replace(PLAN, seeds=tuple(range(50)))
    drawn = [seed for purpose in range(3) for seed in plan.sub_seeds(purpose)]
    assert len(set(drawn)) == 150
    assert plan.sub_seeds(1)[7] == replace(plan, seeds=(7,)).sub_seeds(1)[0]


def test_a_plan_draws_its_sequences():
    few = replace(MANY, train_count=20).draw()
    assert torch.equal(few.train, MANY.draw().train[:20])
    assert torch.equal(few.test, MANY.draw().test)
    other = replace(MANY, sequences_seed=1).draw()
    assert other.test.tolist() != MANY.draw().test.tolist()
    # Whatever its runs are
    assert torch.equal(replace(MANY, seeds=(1,)).draw().train, MANY.draw().train)


def test_distances_by_hand():
    first = ensemble("semantic", (1, 2))
    half = first.weights["symbols"].shape[-1] // 2
    changed = {name: weight.clone() for name, weight in first.weights.items()}
    # 3-4-12-13 in the first run, 5 in the second
    changed["symbols"][0, 2, 0] += 3
    changed["readout.bias"][0, 1] -= 4
    changed["key"][0, half - 1, 5] += 12
    changed["value"][1, -1, 0] += 5
    assert distance(first, first.with_weights(changed)) == pytest.approx([13, 5], rel=1e-5)
    # Of what a restriction does not use any change is none.
    changed["symbols"][:, :, half:] += 7
    changed["positions"][:, :, :half] += 7
    changed["query"][:, half:] += 7
    assert distance(first.with_weights(changed), first) == pytest.approx([13, 5], rel=1e-5)
    assert distance(first, first) == [0.0, 0.0]
    assert distance(first, first.unrestricted(0.0, (1, 2))) == [0.0, 0.0]


def test_without_restriction_every_weight_counts(double):
    first = ensemble("none", (1, 2))
    second = first.with_weights(scattered(first.weights, seed=3))
    for run, found in enumerate(distance(first, second)):
        squares = sum(
            float((second.weights[name][run] - first.weights[name][run]).square().sum())
            for name in first.weights
        )
        assert found == pytest.approx(math.sqrt(squares), rel=1e-12)
