"""Units of work that train students and keep their overlaps and losses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from symattn.errors import ComputationFailed
from symattn.model import AttentionModel
from verify.device import Device
from verify.generalization import generalization_error
from verify.linear_map import fit_linear_map
from verify.memory import Row, rows_of_sets
from verify.overlaps import measured_overlaps
from verify.risk import Risk
from verify.samples import Samples
from verify.training import (
    Trained,
    adam,
    gradient_descent,
    minimise,
    positional_start,
    random_start,
    semantic_start,
)
from verify.units import divided, training_seeds, unit_key


class _Method(Protocol):
    def __call__(self, risk: Risk, start: Tensor) -> Trained: ...


_METHODS: Mapping[str, _Method] = {
    "minimise": minimise,
    "gradient descent": gradient_descent,
    "adam": adam,
}
_PASSES = {"minimise": 100, "gradient descent": 5000, "adam": 2500}

# The scale of noise about a start, in units of the entries of Q*.
_NOISE = 0.4


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedSets:
    """Students of rank one trained on several training sets of one dimension.

    On every training set there is one run for each combination of alpha, lambda and start; a run
    with a smaller alpha has the first alpha d samples.

    Attributes
    ----------
    experiment : str
        That it belongs to.
    model : AttentionModel
    dimension : int
        d.
    seeds : tuple of int
        Of the training sets.
    alphas : tuple of float
    starts : tuple of str
        `semantic`, `positional`, `random`; with ` k` after it, number k of several with noise.
    lams : tuple of float
        In place of the model's lambda.
    method : str
        `minimise`, `gradient descent` or `adam`.
    """

    experiment: str
    model: AttentionModel
    dimension: int
    seeds: tuple[int, ...]
    alphas: tuple[float, ...]
    starts: tuple[str, ...]
    lams: tuple[float, ...]
    method: str = "minimise"

    @property
    def key(self) -> str:
        everything = [
            self.model.to_dict(),
            self.dimension,
            self.seeds,
            self.alphas,
            self.starts,
            self.lams,
            self.method,
        ]
        return unit_key(f"{self.experiment}", f"d={self.dimension}", everything)

    @property
    def cost(self) -> float:
        runs = len(self.alphas) * len(self.starts) * len(self.lams)
        passes = _PASSES[self.method]
        per_pass = max(self.alphas) * self.dimension**2 * (1 + 0.15 * runs) * 1.5e-9 + 2e-4
        return len(self.seeds) * (passes * per_pass + 1e-7 * self.dimension**2)

    def run(self, device: Device) -> list[dict[str, Any]]:
        """One row a run: seed, dimension, alpha, lambda, start, and `measured_numbers`.

        Raises
        ------
        ComputationFailed
            When a run of `minimise` does not come to a minimum, or memory does not suffice.
        """
        runs = len(self.alphas) * len(self.starts) * len(self.lams)
        count = self._count(max(self.alphas))
        return rows_of_sets(
            self._rows, self.model, self.dimension, count, self.seeds, device, runs=runs
        )

    def _count(self, alpha: float) -> int:
        return round(alpha * self.dimension)

    def _rows(self, samples: Samples) -> list[Row]:
        labels = [(a, lam, s) for a in self.alphas for lam in self.lams for s in self.starts]
        risk = Risk(
            samples=samples,
            lam=samples.teacher.new_tensor([lam for _, lam, _ in labels]),
            counts=torch.tensor(
                [self._count(a) for a, _, _ in labels], device=samples.teacher.device
            ),
        )
        by_start = {name: start_weights(samples, name) for name in self.starts}
        trained = _METHODS[self.method](
            risk, torch.stack([by_start[name] for _, _, name in labels], dim=1)
        )
        if self.method == "minimise":
            require_minima(self.experiment, samples, trained)
        numbers = measured_numbers(risk, trained)
        return [
            {
                "seed": seed,
                "dimension": self.dimension,
                "alpha": alpha,
                "lam": lam,
                "start": start,
                **{name: value[b][k] for name, value in numbers.items()},
            }
            for b, seed in enumerate(samples.seeds)
            for k, (alpha, lam, start) in enumerate(labels)
        ]


def start_weights(samples: Samples, name: str) -> Tensor:
    """The start of this name, (B, r, d): `semantic`, `positional`, `random`, or these with ` k`.

    `positional 3` is the positional start with noise of standard deviation 0.4, number 3 of it;
    `random 3` is number 3 of the random ones, of standard deviation 0.1.
    """
    kind, _, number = name.partition(" ")
    if kind == "random":
        return random_start(samples, stream=int(number or 0))
    start = {"semantic": semantic_start, "positional": positional_start}[kind](samples)
    return start + random_start(samples, _NOISE, int(number)) if number else start


def require_minima(experiment: str, samples: Samples, trained: Trained) -> None:
    """Raise ComputationFailed unless every run came to a minimum, naming one that did not."""
    for b, k in torch.nonzero(~trained.converged).tolist():
        raise ComputationFailed(
            f"{experiment}: training set {samples.seeds[b]} at d = {samples.dimension}, run {k}, "
            f"stopped at a gradient of norm {float(trained.gradient_norm[b, k]):.2g} after "
            f"{int(trained.evaluations[b, k])} evaluations; try another --seed"
        )


def measured_numbers(risk: Risk, trained: Trained) -> dict[str, list[list[float]]]:
    """What is kept of trained students of rank one, each number by training set and run.

    Overlaps, losses, the norm of the gradient; `linear_test_error` of the linear map fitted to the
    same samples; and `measured_controls`.
    """
    s = risk.samples
    d = s.dimension
    overlaps = measured_overlaps(s, trained.weights).scalars()
    test_error = generalization_error(s, trained.weights)
    numbers = {
        "q": overlaps.q,
        "m": overlaps.m,
        "theta": overlaps.theta,
        "train_loss": trained.risk / d,
        "test_error": test_error.value,
        "test_error_error": test_error.error,
        "linear_test_error": fit_linear_map(s, risk.counts).test_error.value,
        "gradient_norm": trained.gradient_norm,
        **measured_controls(risk),
    }
    return {name: value.tolist() for name, value in numbers.items()}


def measured_controls(risk: Risk) -> dict[str, Tensor]:
    """What training sets differ in whatever is trained on them, (B, K) each.

    `teacher` = |Q*|^2/d - 1, and `zero_loss`, the training loss of Q = 0.
    """
    s = risk.samples
    runs = (len(s.seeds), len(risk.lam))
    fields = s.teacher.new_zeros((*runs, 1, s.model.length, s.count))
    teacher = s.teacher.square().sum(dim=(1, 2)) / s.dimension - 1
    return {
        "zero_loss": risk.losses(fields)[0].sum(dim=-1) / s.dimension,
        "teacher": teacher.unsqueeze(1).expand(runs),
    }


def training_units(
    experiment: str,
    model: AttentionModel,
    seed: int,
    sizes: Mapping[int, int],
    *,
    alphas: Sequence[float],
    starts: Sequence[str],
    lams: Sequence[float] = (),
    method: str = "minimise",
) -> list[TrainedSets]:
    """The units of an experiment: for every dimension in `sizes` so many training sets.

    A unit is a group of training sets that takes some seconds.
    """
    units = []
    for dimension, count in sizes.items():
        seeds = training_seeds(seed, experiment, dimension, count)
        whole = TrainedSets(
            experiment=experiment,
            model=model,
            dimension=dimension,
            seeds=seeds,
            alphas=tuple(alphas),
            starts=tuple(starts),
            lams=tuple(lams) or (model.lam,),
            method=method,
        )
        units += divided(whole)
    return units
