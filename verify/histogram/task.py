"""Sequences of symbols, and how often each symbol occurs in its sequence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from symattn.errors import InvalidInput

#: The share of sequences that are for training.
TRAINED = 0.7


@dataclass(frozen=True, slots=True, kw_only=True)
class HistogramTask:
    """Count, at every position, the occurrences of its symbol.

    Attributes
    ----------
    length : int
        L, symbols in a sequence.
    symbols : int
        T, different symbols.

    Raises
    ------
    InvalidInput
        Unless both are whole numbers of at least 2.
    """

    length: int = 10
    symbols: int = 15

    def __post_init__(self) -> None:
        for name in ("length", "symbols"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 2:
                raise InvalidInput.of(name, value, "a whole number >= 2")

    @property
    def classes(self) -> int:
        """Outputs of a classifier: the counts 0 to L, of which 0 never occurs."""
        return self.length + 1

    def counts(self, sequences: Tensor) -> Tensor:
        """How often the symbol at each position occurs: of shape (..., L) as the sequences."""
        return (sequences.unsqueeze(-1) == sequences.unsqueeze(-2)).sum(dim=-1)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sequences:
    """Sequences to train on, and others to test on.

    Attributes
    ----------
    task : HistogramTask
    train, test : Tensor of int64, (n, L)
        Symbols, 0 to T - 1; no sequence is there twice.
    """

    task: HistogramTask
    train: Tensor
    test: Tensor

    @classmethod
    def draw(cls, task: HistogramTask, count: int, *, seed: int) -> Sequences:
        """`count` sequences of independent, uniform symbols; of equal ones only one is kept.

        `TRAINED` of them are for training.

        Raises
        ------
        InvalidInput
            When training or testing would be left without a sequence.
        """
        random = np.random.default_rng(seed)
        drawn = random.integers(task.symbols, size=(count, task.length))
        different = random.permutation(np.unique(drawn, axis=0))
        split = int(TRAINED * len(different))
        if split == 0:
            raise InvalidInput.of("count", count, "enough for a sequence of either kind")
        sequences = torch.from_numpy(different)
        return cls(task=task, train=sequences[:split], test=sequences[split:])

    def majority(self) -> float:
        """The accuracy, on the test set, of naming the commonest count of the training set."""
        commonest = torch.bincount(self.task.counts(self.train).flatten()).argmax()
        return float((self.task.counts(self.test) == commonest).double().mean())

    def to(self, device: torch.device) -> Sequences:
        """The same sequences on a device."""
        return Sequences(task=self.task, train=self.train.to(device), test=self.test.to(device))
