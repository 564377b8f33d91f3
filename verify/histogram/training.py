"""Training transformers of the histogram task, many runs as one batch, resumable at every epoch."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from symattn.errors import InvalidInput
from verify.histogram.checkpoints import Checkpoint, checkpoint_path, kept_epochs
from verify.histogram.ensemble import Ensemble
from verify.histogram.task import HistogramTask, Sequences

Optimiser: TypeAlias = Literal["adam", "sgd"]

#: The published settings.
BATCH, RATE, BETAS, EPSILON = 32, 1e-3, (0.9, 0.98), 1e-9
#: Of the normal numbers that are added when the restriction is lifted.
NOISE = 1e-3

# Different random numbers of one seed
_INITIAL, _ORDER, _LIFTED, _CHOSEN = range(4)
# Sequences that test errors are computed of at a time.
_TESTED = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is trained, and how.

    Attributes
    ----------
    task : HistogramTask
    restriction : str
        One of `verify.histogram.transformer.RESTRICTIONS`.
    seeds : tuple of int
        One for each run: of its initial weights and the order of its batches.
    sequences, sequences_seed : int
        How many are drawn, for all runs, and their seed; of those that differ the share `TRAINED`
        is for training.
    train_count : int or None
        If given, only so many of these, others for each run.
    optimiser : str
        `adam` or `sgd`, both with step 0.001 and batches of 32.
    lifted : Plan or None
        If given, the weights begin where that plan ended, without its restriction (see
        `Ensemble.unrestricted`), instead of random ones.
    lifted_epochs : int
        After so many epochs of it.
    """

    task: HistogramTask
    restriction: str = "none"
    seeds: tuple[int, ...]
    sequences: int = 50_000
    sequences_seed: int = 0
    train_count: int | None = None
    optimiser: Optimiser = "adam"
    lifted: Plan | None = None
    lifted_epochs: int = 0

    def __post_init__(self) -> None:
        if self.lifted is not None and self.restriction != "none":
            raise InvalidInput.of("restriction", self.restriction, "none once it is lifted")

    def lift(self, epochs: int) -> Plan:
        """Going on without the restriction, by gradient descent, after so many epochs of this."""
        return replace(self, restriction="none", optimiser="sgd", lifted=self, lifted_epochs=epochs)

    @property
    def label(self) -> str:
        """A name for files."""
        name = "free" if self.restriction == "none" else self.restriction
        if self.lifted is not None:
            name = f"{self.lifted.restriction}-lifted"
        return name if self.train_count is None else f"{name}-n{self.train_count}"

    def sub_seeds(self, purpose: int) -> list[int]:
        """Seeds of random numbers for a purpose, one for each run."""
        entropies = [np.random.SeedSequence((seed, purpose)) for seed in self.seeds]
        return [int(entropy.generate_state(1)[0]) for entropy in entropies]

    def digest(self) -> str:
        """Of all that it says."""
        text = json.dumps(asdict(self), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def draw(self) -> Sequences:
        """The sequences that are there to train on, and those to test on."""
        return _drawn(self.task, self.sequences, self.sequences_seed)

    def chosen(self) -> NDArray[np.int64]:
        """Places of the sequences that each run is trained on, (R, n)."""
        there = len(self.draw().train)
        if self.train_count is None:
            return np.broadcast_to(np.arange(there), (len(self.seeds), there))
        if not 1 <= self.train_count <= there:
            raise InvalidInput.of("train_count", self.train_count, f"from 1 to {there}")
        draws = (np.random.default_rng((seed, _CHOSEN)) for seed in self.seeds)
        return np.stack([draw.permutation(there)[: self.train_count] for draw in draws])


@lru_cache(maxsize=2)
def _drawn(task: HistogramTask, count: int, seed: int) -> Sequences:
    return Sequences.draw(task, count, seed=seed)


class Training:
    """Runs of one plan on a device, after a number of epochs.

    The same plan, device, number of epochs and, on a processor, number of threads give the same
    weights, however often they were kept in a file in between. They are in single precision.

    Attributes
    ----------
    plan : Plan
    start : Ensemble
        Before the first epoch.
    epoch : int
        Epochs done.
    losses : list of list of float
        Mean training loss of each epoch done by this object, of each run.
    """

    def __init__(self, plan: Plan, start: Ensemble) -> None:
        """Before the first epoch, from the weights `start`, which are left as they are.

        Raises
        ------
        InvalidInput
            When there are not as many sequences as the plan wants to train on.
        """
        device = start.device
        self.plan = plan
        self.start = start
        self.epoch = 0
        self.losses: list[list[float]] = []
        self._data = plan.draw().to(device)
        self._counts = plan.task.counts(self._data.train)
        self._chosen = plan.chosen()
        self._weights = {
            name: weight.detach().clone().requires_grad_() for name, weight in start.weights.items()
        }
        self._ensemble = start.with_weights(self._weights)
        parameters = list(self._weights.values())
        self._optimiser: torch.optim.Optimizer = (
            torch.optim.Adam(parameters, lr=RATE, betas=BETAS, eps=EPSILON, fused=True)
            if plan.optimiser == "adam"
            else torch.optim.SGD(parameters, lr=RATE, fused=True)
        )

    @classmethod
    def after(cls, plan: Plan, epoch: int, device: torch.device, kept: Path) -> Training:
        """After so many epochs: from the last checkpoint in `kept` that is not beyond, or anew.

        What had to be trained is kept there.

        Raises
        ------
        InvalidInput
            When that checkpoint is damaged, or of other code or another device.
        ComputationFailed
            When one cannot be written.
        """
        if plan.lifted is None:
            start = random_start(plan, device)
        else:
            before = cls.after(plan.lifted, plan.lifted_epochs, device, kept)
            start = before.ensemble.unrestricted(NOISE, plan.sub_seeds(_LIFTED))
        training = cls(plan, start)
        done = [e for e in kept_epochs(kept, plan.label, plan.digest()) if 0 < e <= epoch]
        if done:
            training._load(kept, done[-1])
        if training.epoch < epoch:
            training.advance(epoch)
            training.keep(kept)
        return training

    @property
    def ensemble(self) -> Ensemble:
        """The transformers as they are now."""
        return self._ensemble.with_weights(
            {name: weight.detach().clone() for name, weight in self._weights.items()}
        )

    def advance(self, epoch: int) -> None:
        """Train until so many epochs are done."""
        while self.epoch < epoch:
            self.losses.append(self._one_epoch())
            self.epoch += 1

    @torch.no_grad()
    def test(self) -> list[tuple[float, float]]:
        """Cross-entropy and accuracy of each run on the test set, means over its positions."""
        loss = accuracy = torch.zeros(len(self._ensemble), dtype=torch.float64)
        for sequences in torch.split(self._data.test, _TESTED):
            counts = self._data.task.counts(sequences)
            logits = self._ensemble.logits(sequences)
            wanted = counts.expand(logits.shape[:-1])
            each = _losses(logits, wanted)
            right = logits.argmax(dim=-1) == wanted
            loss = loss + each.double().sum(dim=1).cpu()
            accuracy = accuracy + right.double().sum(dim=(1, 2)).cpu()
        count = self._data.test.numel()
        return list(zip((loss / count).tolist(), (accuracy / count).tolist(), strict=True))

    def keep(self, kept: Path) -> None:
        """Write a checkpoint, and delete those but the last before it: that one may be needed.

        Raises
        ------
        ComputationFailed
            When it cannot be written.
        """
        plan, label = self.plan.digest(), self.plan.label
        before = [e for e in kept_epochs(kept, label, plan) if e < self.epoch]
        tensors = dict(self._weights)
        for name, weight in self._weights.items():
            for moment in _MOMENTS[self.plan.optimiser]:
                tensors[f"{moment}.{name}"] = self._optimiser.state[weight][moment]
        Checkpoint(label=self._label(self.epoch), tensors=tensors).write(
            checkpoint_path(kept, label, plan, self.epoch)
        )
        for epoch in before[:-1]:
            checkpoint_path(kept, label, plan, epoch).unlink(missing_ok=True)

    def gradient_norms(self) -> list[float]:
        """The norm of the gradient of each run's mean training loss, in all weights."""
        weights = list(self._weights.values())
        count = self._chosen.shape[1]
        places = torch.from_numpy(np.ascontiguousarray(self._chosen)).to(self._counts.device)
        total = [torch.zeros_like(weight) for weight in weights]
        for chosen in torch.split(places, _TESTED, dim=1):
            losses = _losses(self._ensemble.logits(self._data.train[chosen]), self._counts[chosen])
            means = losses.sum() / (count * self.plan.task.length)
            for sum_, part in zip(total, torch.autograd.grad(means, weights), strict=True):
                sum_ += part
        squares = torch.stack([torch.square(part).flatten(1).sum(dim=1) for part in total])
        norms: list[float] = torch.sqrt(squares.sum(dim=0)).tolist()
        return norms

    def _label(self, epoch: int) -> dict[str, str]:
        return {
            "plan": self.plan.digest(),
            "epoch": str(epoch),
            "code": _code(),
            "device": self._counts.device.type,
        }

    def _load(self, kept: Path, epoch: int) -> None:
        path = checkpoint_path(kept, self.plan.label, self.plan.digest(), epoch)
        moments = _MOMENTS[self.plan.optimiser]
        shapes = {name: weight.shape for name, weight in self._weights.items()}
        for name, weight in self._weights.items():
            for moment in moments:
                shapes[f"{moment}.{name}"] = torch.Size() if moment == "step" else weight.shape
        tensors = Checkpoint.read(path, self._label(epoch), shapes).tensors
        with torch.no_grad():
            for name, weight in self._weights.items():
                weight.copy_(tensors[name])
                self._optimiser.state[weight] = {
                    moment: tensors[f"{moment}.{name}"].to(weight.device) for moment in moments
                }
        self.epoch = epoch

    def _one_epoch(self) -> list[float]:
        """One pass over the sequences, in an order of its own for every run; the mean losses."""
        train = self._data.train
        orders = [
            np.random.default_rng((seed, _ORDER, self.epoch)).permutation(chosen)
            for seed, chosen in zip(self.plan.seeds, self._chosen, strict=True)
        ]
        order = torch.from_numpy(np.stack(orders)).to(train.device)
        total = torch.zeros(len(orders), device=train.device)
        for chosen in torch.split(order, BATCH, dim=1):
            logits = self._ensemble.logits(train[chosen])
            means = _losses(logits, self._counts[chosen]).mean(dim=1)
            self._optimiser.zero_grad()
            # The gradient of a run's mean is its own: no other depends on its weights.
            torch.autograd.backward(means.sum())
            self._optimiser.step()
            total += means.detach() * chosen.shape[1]
        means_of_runs: list[float] = (total / order.shape[1]).tolist()
        return means_of_runs


def _losses(logits: Tensor, counts: Tensor) -> Tensor:
    """Cross-entropy of every position: (R, B, L, classes) and (R, B, L) to (R, B L)."""
    each = functional.cross_entropy(logits.flatten(0, 2), counts.flatten(), reduction="none")
    return each.view(len(logits), -1)


_MOMENTS = {"adam": ("step", "exp_avg", "exp_avg_sq"), "sgd": ()}


def random_start(plan: Plan, device: torch.device) -> Ensemble:
    """The transformers before any training, also of what was lifted."""
    if plan.lifted is not None:
        return random_start(plan.lifted, device)
    return Ensemble.draw(plan.task, plan.restriction, plan.sub_seeds(_INITIAL), device)


def distance(first: Ensemble, second: Ensemble) -> list[float]:
    """Euclidean distance of all weights of each run, those of `Ensemble.folded`."""
    a, b = first.folded(), second.folded()
    squares = [torch.square(a[name] - b[name]).flatten(1).sum(dim=1) for name in a]
    distances: list[float] = torch.sqrt(torch.stack(squares).sum(dim=0)).tolist()
    return distances


@lru_cache(maxsize=1)
def _code() -> str:
    """What weights depend on besides the plan and the device: this package's code, and torch."""
    digest = hashlib.sha256(torch.__version__.encode())
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
