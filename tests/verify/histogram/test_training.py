"""Training against a plain loop over separate modules, and however often it was interrupted."""

import math
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import safe_open
from scipy import stats
from torch.nn import functional

from symattn.errors import InvalidInput
from tests.verify.histogram.made_up import CPU, TASK, ensemble, scattered
from verify.histogram import training as module_under_test
from verify.histogram.checkpoints import Checkpoint, checkpoint_path, kept_epochs
from verify.histogram.ensemble import Ensemble
from verify.histogram.task import HistogramTask
from verify.histogram.training import BATCH, NOISE, Plan, Training, distance, random_start

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
    training = Training(plan, start)
    for steps in (1, 6):
        training.advance(steps)
        for run in range(2):
            module, losses = by_a_plain_loop(plan, start, run, steps * [sequences])
            assert [of[run] for of in training.losses] == pytest.approx(losses, rel=1e-9)
            moved_alike(training, start, run, module)


@pytest.mark.parametrize(("optimiser", "count"), [("adam", None), ("sgd", None), ("adam", 70)])
def test_batches_have_every_sequence_of_a_run_once_in_an_epoch(optimiser, count, double, batches):
    plan = replace(MANY, optimiser=optimiser, train_count=count)
    train, start = plan.draw().train, random_start(plan, CPU)
    everything = [sorted(map(tuple, train[torch.tensor(own)].tolist())) for own in plan.chosen()]
    [size] = {len(own) for own in everything}
    assert size == (count or len(train))
    assert (everything[0] == everything[1]) == (count is None)
    training = Training(plan, start)
    training.advance(3)
    per_epoch = math.ceil(size / 32)
    assert per_epoch == 3
    assert len(batches) == 3 * per_epoch
    orders = []
    for run in range(2):
        own = [batch[run] for batch in batches]
        assert {len(batch) for batch in own} == {32, size % 32}
        for epoch in range(3):
            passed = torch.cat(own[epoch * per_epoch : (epoch + 1) * per_epoch])
            orders.append(list(map(tuple, passed.tolist())))
            assert sorted(orders[-1]) == everything[run]
        module, losses = by_a_plain_loop(plan, start, run, own)
        moved_alike(training, start, run, module)
        # The mean over all sequences, of which the last batch has fewer
        for epoch in range(3):
            of_epoch = range(epoch * per_epoch, (epoch + 1) * per_epoch)
            mean = sum(losses[i] * len(own[i]) for i in of_epoch) / size
            assert training.losses[epoch][run] == pytest.approx(mean, rel=1e-9)
    # Every epoch of every run in an order of its own
    assert len(set(map(tuple, orders))) == 6


@pytest.mark.parametrize("count", [None, 40])
def test_no_run_depends_on_the_others(count, double):
    several = replace(MANY, train_count=count)
    together = Training(several, random_start(several, CPU))
    together.advance(2)
    for run, seed in enumerate(MANY.seeds):
        plan = replace(several, seeds=(seed,))
        alone = Training(plan, random_start(plan, CPU))
        alone.advance(2)
        for name, weight in together.ensemble.weights.items():
            torch.testing.assert_close(
                weight[run], alone.ensemble.weights[name][0], rtol=1e-9, atol=1e-11
            )


def test_training_leaves_its_start_as_it_is():
    start = random_start(PLAN, CPU)
    before = {name: weight.clone() for name, weight in start.weights.items()}
    training = Training(PLAN, start)
    now = training.ensemble
    training.advance(2)
    assert training.start is start
    assert all(torch.equal(start.weights[name], weight) for name, weight in before.items())
    assert all(weight.dtype == torch.float32 for weight in now.weights.values())
    assert not any(weight.requires_grad for weight in now.weights.values())


@pytest.mark.parametrize("restriction", ["positional", "semantic"])
def test_what_is_masked_stays_as_it_was_drawn(restriction):
    plan = replace(PLAN, restriction=restriction)
    start = random_start(plan, CPU)
    training = Training(plan, start)
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
    training = Training(plan, random_start(plan, CPU))
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
    straight = Training.after(plan, 4, CPU, tmp_path / "straight")
    assert len(straight.losses) == 4
    begun = Training.after(plan, 2, CPU, tmp_path)
    gone_on = Training.after(plan, 4, CPU, tmp_path)
    assert len(gone_on.losses) == 2
    assert same_weights(gone_on, straight)
    assert gone_on.losses == straight.losses[2:]
    assert gone_on.test() == straight.test()
    assert not same_weights(gone_on, begun)
    # Its checkpoint is deleted, or all of them are.
    checkpoint_path(tmp_path, plan.label, plan.digest(), 4).unlink()
    again = Training.after(plan, 4, CPU, tmp_path)
    assert len(again.losses) == 2
    assert same_weights(again, straight)
    shutil.rmtree(tmp_path)
    anew = Training.after(plan, 4, CPU, tmp_path)
    assert len(anew.losses) == 4
    assert same_weights(anew, straight)


@pytest.mark.parametrize("lift", [False, True])
def test_what_had_to_be_trained_is_kept(lift, tmp_path):
    """Also of what is lifted, so that neither is trained once more."""
    semantic = replace(PLAN, restriction="semantic")
    plan = semantic.lift(2) if lift else semantic
    assert Training.after(plan, 0, CPU, tmp_path).epoch == 0
    wanted = [(semantic, [2])] if lift else []
    for epoch in (0, 3):
        training = Training.after(plan, epoch, CPU, tmp_path)
        for other, epochs in (*wanted, (plan, [epoch] if epoch else [])):
            assert kept_epochs(tmp_path, other.label, other.digest()) == epochs
        assert len(list(tmp_path.iterdir())) == len(wanted) + (epoch > 0)
    content = {path: path.read_bytes() for path in tmp_path.iterdir()}
    again = Training.after(plan, 3, CPU, tmp_path)
    assert (again.epoch, again.losses) == (3, [])
    assert same_weights(again, training)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == content


def test_moments_are_kept_with_the_weights(tmp_path):
    """Without them the next step would be the first of its kind."""
    begun = Training.after(PLAN, 2, CPU, tmp_path)
    forgetful = Training(PLAN, begun.ensemble)
    forgetful.epoch = 2
    forgetful.advance(3)
    gone_on = Training.after(PLAN, 3, CPU, tmp_path)
    assert forgetful.losses == gone_on.losses
    # By so much as Adam's first step is longer than what it does with a mean of gradients.
    assert min(distance(forgetful.ensemble, gone_on.ensemble)) > 1e-2


def test_a_checkpoint_beyond_is_not_taken(tmp_path):
    long = Training.after(PLAN, 3, CPU, tmp_path)
    short = Training.after(PLAN, 1, CPU, tmp_path)
    assert (short.epoch, len(short.losses)) == (1, 1)
    assert short.losses[0] == long.losses[0]
    assert Training.after(PLAN, 3, CPU, tmp_path).losses == []


def test_only_the_last_two_checkpoints_remain(tmp_path):
    other = replace(PLAN, seeds=(1, 2))
    Training.after(other, 1, CPU, tmp_path)
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


def tampered(kind, path, other):
    """What could be in a checkpoint's place, with a right checksum but for the first two."""
    content = path.read_bytes()
    if kind == "cut":
        return content[:-1]
    if kind == "another number":
        return content[:-1] + bytes([content[-1] ^ 1])
    if kind.startswith("of other"):
        return other.read_bytes()
    with safe_open(path, framework="pt") as file:
        label = file.metadata()
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    del label["sha256"]
    if kind == "without a moment":
        del tensors["exp_avg_sq.query"]
    elif kind == "misshapen":
        tensors["step.query"] = tensors["step.query"].expand(2)
    else:
        label[kind] = {"epoch": "1", "code": 16 * "0", "device": "cuda"}[kind]
    Checkpoint(label=label, tensors=tensors).write(path)
    return path.read_bytes()


@pytest.mark.parametrize(
    "kind",
    [
        "cut",
        "another number",
        "of other seeds",
        "of other epochs",
        "without a moment",
        "misshapen",
        "epoch",
        "code",
        "device",
    ],
)
def test_a_checkpoint_that_is_not_right_is_refused_and_left_as_it_is(kind, tmp_path):
    plan = replace(PLAN, seeds=(6, 9)) if kind == "of other seeds" else PLAN
    for epoch in (1, 2):
        Training.after(PLAN, epoch, CPU, tmp_path)
        Training.after(plan, epoch, CPU, tmp_path)
    epoch = 1 if kind == "of other epochs" else 2
    other = checkpoint_path(tmp_path, plan.label, plan.digest(), epoch)
    path = checkpoint_path(tmp_path, PLAN.label, PLAN.digest(), 2)
    content = tampered(kind, path, other)
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


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A copy of the package's files that are taken for it."""
    copied = tmp_path / "package"
    shutil.copytree(Path(module_under_test.__file__).parent, copied)
    with monkeypatch.context() as patch:
        patch.setattr(module_under_test, "__file__", str(copied / "training.py"))
        yield copied
    module_under_test._code.cache_clear()


@pytest.mark.parametrize("changed", ["nothing", "task.py", "ensemble.py", "new.py", "torch"])
def test_a_checkpoint_of_other_code_is_refused(changed, package, tmp_path, monkeypatch):
    """What the weights are depends on all files of the package, and on torch."""
    kept = tmp_path / "kept"
    Training.after(PLAN, 1, CPU, kept)
    if changed == "torch":
        monkeypatch.setattr(torch, "__version__", "0.1")
    elif changed != "nothing":
        with (package / changed).open("a") as file:
            file.write("# changed\n")
    module_under_test._code.cache_clear()
    if changed == "nothing":
        assert Training.after(PLAN, 1, CPU, kept).losses == []
        return
    with pytest.raises(InvalidInput, match="is no checkpoint of this run"):
        Training.after(PLAN, 1, CPU, kept)


def test_a_damaged_checkpoint_of_what_is_lifted_is_refused(tmp_path):
    plan = replace(PLAN, restriction="semantic")
    Training.after(plan, 1, CPU, tmp_path)
    path = checkpoint_path(tmp_path, plan.label, plan.digest(), 1)
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(InvalidInput, match=str(path)):
        Training.after(plan.lift(1), 0, CPU, tmp_path)


@pytest.mark.parametrize("count", [None, 40])
@pytest.mark.parametrize("restriction", ["none", "semantic"])
def test_gradients_are_those_of_each_run_by_itself(restriction, count, double, monkeypatch):
    """Of the mean loss of all sequences that it is trained on, in all weights of a module."""
    plan = replace(MANY, restriction=restriction, train_count=count)
    training = Training(plan, random_start(plan, CPU))
    training.advance(2)
    found, train = training.gradient_norms(), plan.draw().train
    for run, chosen in enumerate(plan.chosen()):
        module = training.ensemble.module(run)
        cross_entropy(module, train[torch.tensor(chosen)]).backward()
        squares = sum(float(weight.grad.square().sum()) for weight in module.parameters())
        assert found[run] == pytest.approx(math.sqrt(squares), rel=1e-10)
    assert found[0] != pytest.approx(found[1], rel=1e-3)
    # However many are looked at a time, also where they do not come out even
    monkeypatch.setattr(module_under_test, "_TESTED", 11)
    assert plan.chosen().shape[1] % 11
    assert training.gradient_norms() == pytest.approx(found, rel=1e-11)


def test_looking_at_gradients_changes_nothing():
    looked, other = (Training(MANY, random_start(MANY, CPU)) for _ in range(2))
    for training in (looked, other):
        training.advance(1)
    assert all(norm > 1e-3 for norm in looked.gradient_norms())
    for training in (looked, other):
        training.advance(2)
    assert same_weights(looked, other)


def test_a_lifted_plan_begins_where_the_other_ended(tmp_path):
    plan = replace(PLAN, restriction="semantic")
    before = Training.after(plan, 2, CPU, tmp_path).ensemble
    lifted = plan.lift(2)
    training = Training.after(lifted, 0, CPU, tmp_path)
    start = training.start
    assert distance(start, training.ensemble) == [0.0, 0.0]
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
    """Whatever its runs are, and however many of them each is trained on."""
    drawn = MANY.draw()
    for plan in (replace(MANY, seeds=(1,)), replace(MANY, train_count=20)):
        assert torch.equal(plan.draw().train, drawn.train)
        assert torch.equal(plan.draw().test, drawn.test)
    other = replace(MANY, sequences_seed=1).draw()
    assert other.test.tolist() != drawn.test.tolist()


def test_without_a_number_all_runs_are_trained_on_everything():
    chosen = replace(MANY, seeds=(1, 2, 3)).chosen()
    assert chosen.tolist() == 3 * [list(range(len(MANY.draw().train)))]


def test_every_run_has_sequences_of_its_own():
    there, runs, count = len(MANY.draw().train), 400, 20
    plan = replace(MANY, seeds=tuple(range(runs)), train_count=count)
    chosen = plan.chosen()
    assert chosen.shape == (runs, count)
    assert all(len(set(own)) == count for own in chosen.tolist())
    # Every place as often as another: counts of draws without replacement, whose sum is fixed
    often = np.bincount(chosen.flatten(), minlength=there)
    assert len(often) == there
    share = count / there
    square = np.sum((often - runs * share) ** 2) / (runs * share * (1 - share))
    assert stats.chi2.sf(square * (there - 1) / there, there - 1) > 1e-3
    # What neighbours have in common is hypergeometric.
    common = [len(set(a) & set(b)) for a, b in zip(chosen[::2], chosen[1::2], strict=True)]
    law = stats.hypergeom(there, count, count)
    assert abs(np.mean(common) - law.mean()) < 4 * law.std() / math.sqrt(len(common))
    # Of a run's own seed
    assert replace(plan, seeds=(7,)).chosen().tolist() == [chosen[7].tolist()]


def test_all_sequences_can_be_asked_for_and_no_more():
    there = len(PLAN.draw().train)
    for own in replace(PLAN, train_count=there).chosen().tolist():
        assert sorted(own) == list(range(there))
    for count in (there + 1, 0, -1):
        plan = replace(PLAN, train_count=count)
        start = random_start(plan, CPU)
        for refuse in (plan.chosen, lambda plan=plan, start=start: Training(plan, start)):
            with pytest.raises(InvalidInput, match=f"from 1 to {there}") as caught:
                refuse()
            assert caught.value.parameter == "train_count"


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
