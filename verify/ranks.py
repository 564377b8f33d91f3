"""Units of work that train students of rank one and two on the same training sets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from symattn.model import AttentionModel
from verify.device import Device
from verify.generalization import generalization_error
from verify.memory import Row, rows_of_sets
from verify.overlaps import measured_overlaps
from verify.risk import Risk
from verify.samples import Samples
from verify.trained_sets import measured_controls, require_minima, start_weights
from verify.training import Trained, minimise
from verify.units import unit_key

RANKS = (1, 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranks:
    """Minima of students of both ranks from the same kinds of start.

    Attributes
    ----------
    experiment : str
        That it belongs to.
    model : AttentionModel
        Of target rank 1; its student rank plays no part.
    dimension : int
        d.
    seeds : tuple of int
        Of the training sets.
    alpha : float
    starts : tuple of str
        As `verify.trained_sets.start_weights` names them.
    """

    experiment: str
    model: AttentionModel
    dimension: int
    seeds: tuple[int, ...]
    alpha: float
    starts: tuple[str, ...]

    @property
    def key(self) -> str:
        everything = [
            self.model.to_dict(),
            self.dimension,
            self.seeds,
            self.alpha,
            self.starts,
            RANKS,
        ]
        return unit_key(self.experiment, f"d={self.dimension}", everything)

    @property
    def cost(self) -> float:
        return len(self.seeds) * (1e-6 * self.alpha * self.dimension**2 + 0.1)

    def run(self, device: Device) -> list[dict[str, Any]]:
        """One row a run: seed, dimension, alpha, rank, start, and `numbers_of_rank`.

        Raises
        ------
        ComputationFailed
            When a run does not come to a minimum, or memory does not suffice.
        """
        return rows_of_sets(
            self._rows,
            self.model,
            self.dimension,
            self._count,
            self.seeds,
            device,
            runs=len(self.starts),
        )

    @property
    def _count(self) -> int:
        return round(self.alpha * self.dimension)

    def _ranked(self, rank: int) -> AttentionModel:
        return replace(self.model, student_rank=rank)

    def _rows(self, drawn: Samples) -> list[Row]:
        rows = []
        for rank in RANKS:
            samples = replace(drawn, model=self._ranked(rank))
            risk = Risk.of(samples, len(self.starts))
            starts = [start_weights(samples, name) for name in self.starts]
            trained = minimise(risk, torch.stack(starts, dim=1))
            require_minima(f"{self.experiment}, rank {rank}", samples, trained)
            numbers = numbers_of_rank(risk, trained)
            rows += [
                {
                    "seed": seed,
                    "dimension": self.dimension,
                    "alpha": self.alpha,
                    "rank": rank,
                    "start": start,
                    **{name: float(value[b, k]) for name, value in numbers.items()},
                }
                for b, seed in enumerate(drawn.seeds)
                for k, start in enumerate(self.starts)
            ]
        return rows


def numbers_of_rank(risk: Risk, trained: Trained) -> Mapping[str, Tensor]:
    """What is kept of trained students of any rank at t = 1, each number (B, K).

    A rotation of the columns of Q changes nothing, and these numbers do not change with it: `q`,
    the trace of the overlap matrix; `m` and `theta`, the norms over columns of p_1.Q/sqrt(d) and
    sigma^2 Q.Q*/d; and with `_1`, `_2`, .. after them, the same along the eigenvectors of q, that
    of the largest eigenvalue first. Then losses, and the controls as in
    `verify.trained_sets.measured_controls`.
    """
    s: Samples = risk.samples
    d = s.dimension
    overlaps = measured_overlaps(s, trained.weights)
    eigenvalues, axes = torch.linalg.eigh(overlaps.q)
    theta = (axes.transpose(-2, -1) @ overlaps.theta).squeeze(-1)
    m = (overlaps.m[:, :, :1] @ axes).squeeze(-2)
    rank = eigenvalues.shape[-1]
    numbers = {
        "q": eigenvalues.sum(dim=-1),
        "m": m.norm(dim=-1),
        "theta": theta.norm(dim=-1),
        "train_loss": trained.risk / d,
        "test_error": generalization_error(s, trained.weights).value,
        **measured_controls(risk),
    }
    for axis in range(rank):
        place = rank - 1 - axis
        numbers[f"q_{axis + 1}"] = eigenvalues[..., place]
        numbers[f"m_{axis + 1}"] = m[..., place].abs()
        numbers[f"theta_{axis + 1}"] = theta[..., place].abs()
    return numbers
