"""Units of work that train transformers of the histogram task for some epochs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch

from verify.device import Device
from verify.histogram.ensemble import Ensemble
from verify.histogram.mechanism import mechanisms
from verify.histogram.task import TRAINED
from verify.histogram.training import BATCH, Plan, Training, distance, random_start
from verify.units import unit_key

#: Sequences whose attention matrices are shown, as in arXiv 2402.03902.
EXAMPLES = (
    (1, 1, 2, 2, 3, 3, 1, 1, 1, 1),
    (11, 12, 3, 12, 12, 12, 0, 7, 7, 1),
    (14, 13, 12, 11, 10, 9, 8, 7, 6, 5),
)

# Seconds of a run for one step of 32 sequences, of two cores.
_SECONDS_OF_A_STEP = 0.6e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """The epochs of a plan from `first` to `last`, from checkpoint to checkpoint.

    Attributes
    ----------
    experiment : str
        That it belongs to.
    plan : Plan
    first, last : int
        Epochs done before and after.
    kept : Path
        Directory of the checkpoints. Nothing depends on where it is.
    """

    experiment: str
    plan: Plan
    first: int
    last: int
    kept: Path = field(compare=False)

    @property
    def key(self) -> str:
        description = f"{self.plan.label} to epoch {self.last}"
        return unit_key(self.experiment, description, [asdict(self.plan), self.first, self.last])

    @property
    def cost(self) -> float:
        count = self.plan.train_count or TRAINED * self.plan.sequences
        steps = (self.last - self.first) * math.ceil(count / BATCH)
        return len(self.plan.seeds) * steps * _SECONDS_OF_A_STEP

    def run(self, device: Device) -> list[dict[str, Any]]:
        """One row a run, of its state after the last epoch.

        Its number of epochs, mean training loss of the last, test loss and accuracy, norm of the
        gradient of the training loss, distance of the weights from where the plan began and from
        the random ones, and its mechanism. The first row has the attention matrices of `EXAMPLES`
        to four decimals, where they are sequences of the task.

        Raises
        ------
        InvalidInput
            When a checkpoint is damaged.
        ComputationFailed
            When one cannot be written.
        """
        where = torch.device(device.kind)
        training = Training.after(self.plan, self.first, where, self.kept)
        training.advance(self.last)
        training.keep(self.kept)
        now, tested = training.ensemble, training.test()
        moved = distance(now, training.start)
        from_random = distance(now, random_start(self.plan, where))
        norms = training.gradient_norms()
        examples = _examples(now)
        found = mechanisms(self.plan.task, now.attention, seed=self.plan.seeds[0])
        return [
            {
                "seed": seed,
                "epoch": self.last,
                "train_loss": training.losses[-1][run],
                "test_loss": tested[run][0],
                "test_accuracy": tested[run][1],
                "moved": moved[run],
                "from_random": from_random[run],
                "gradient_norm": norms[run],
                "mechanism": {**asdict(mechanism), "rest": mechanism.rest},
                "examples": examples if run == 0 else None,
            }
            for run, (seed, mechanism) in enumerate(zip(self.plan.seeds, found, strict=True))
        ]


def _examples(ensemble: Ensemble) -> list[list[list[float]]] | None:
    task, sequences = ensemble.task, torch.tensor(EXAMPLES, device=ensemble.device)
    if sequences.shape[1] != task.length or int(sequences.max()) >= task.symbols:
        return None
    matrices = ensemble.attention(sequences)[0].double()
    rounded: list[list[list[float]]] = torch.round(matrices, decimals=4).tolist()
    return rounded


def segments(experiment: str, plan: Plan, epochs: Sequence[int], kept: Path) -> Iterator[Segment]:
    """Training until each of these numbers of epochs, in order."""
    for first, last in pairwise((0, *epochs)):
        yield Segment(experiment=experiment, plan=plan, first=first, last=last, kept=kept)
