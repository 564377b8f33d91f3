"""Units of work that measure how stiff Q = 0 is towards the positions, without any training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from symattn.model import AttentionModel
from verify.device import Device
from verify.memory import Row, rows_of_sets
from verify.response import Hessian, risk_hessian
from verify.risk import Risk
from verify.samples import Samples
from verify.trained_sets import measured_controls
from verify.units import divided, training_seeds, unit_key


@dataclass(frozen=True, slots=True, kw_only=True)
class ZeroStiffness:
    """The stiffness of the risk at Q = 0 along p_1 at several sample complexities.

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
        The first alpha d samples of a training set are used.
    """

    experiment: str
    model: AttentionModel
    dimension: int
    seeds: tuple[int, ...]
    alphas: tuple[float, ...]

    @property
    def key(self) -> str:
        everything = [self.model.to_dict(), self.dimension, self.seeds, self.alphas]
        return unit_key(f"{self.experiment} at Q = 0", f"d={self.dimension}", everything)

    @property
    def cost(self) -> float:
        return len(self.seeds) * sum(4e-10 * (1 + a) * self.dimension**3 for a in self.alphas)

    def run(self, device: Device) -> list[dict[str, Any]]:
        """One row a training set and alpha: seed, dimension, alpha, stiffness and the controls.

        `regular` is False where directions orthogonal to p_1 are unstable: then the stiffness has
        passed through infinity, and its sign says nothing.

        Raises
        ------
        ComputationFailed
            When memory does not suffice.
        """
        count = round(max(self.alphas) * self.dimension)
        return rows_of_sets(
            self._rows, self.model, self.dimension, count, self.seeds, device, runs=len(self.alphas)
        )

    def _rows(self, samples: Samples) -> list[Row]:
        runs = len(self.alphas)
        risk = Risk(
            samples=samples,
            lam=samples.teacher.new_full((runs,), self.model.lam),
            counts=torch.tensor(
                [round(a * self.dimension) for a in self.alphas], device=samples.teacher.device
            ),
        )
        zero = samples.teacher.new_zeros((len(samples.seeds), runs, 1, self.dimension))
        controls = measured_controls(risk)
        rows = []
        for b, seed in enumerate(samples.seeds):
            for k, alpha in enumerate(self.alphas):
                hessian = risk_hessian(risk, zero, seed=b, run=k)
                stiffness = hessian.stiffness_along(samples.encoding[0])
                rows.append(
                    {
                        "seed": seed,
                        "dimension": self.dimension,
                        "alpha": alpha,
                        "stiffness": stiffness,
                        "regular": _is_regular(hessian, stiffness),
                        **{name: float(value[b, k]) for name, value in controls.items()},
                    }
                )
        return rows


def _is_regular(hessian: Hessian, stiffness: float) -> bool:
    # By Haynsworth's theorem the Hessian has as many negative eigenvalues as its part orthogonal
    # to p_1, and one more where the stiffness, its Schur complement, is negative.
    return int((hessian.eigenvalues < 0).sum()) == int(stiffness < 0)


def stiffness_units(
    experiment: str,
    model: AttentionModel,
    seed: int,
    sizes: Mapping[int, int],
    *,
    alphas: Sequence[float],
) -> list[ZeroStiffness]:
    """The units of an experiment: for every dimension in `sizes` so many training sets."""
    units = []
    for dimension, count in sizes.items():
        whole = ZeroStiffness(
            experiment=experiment,
            model=model,
            dimension=dimension,
            seeds=training_seeds(seed, experiment, dimension, count),
            alphas=tuple(alphas),
        )
        units += divided(whole)
    return units
