"""Units of work that train one minimum a training set and keep its response and its hats."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from symattn.model import AttentionModel
from verify.device import Device
from verify.forces import measured_hats
from verify.memory import Row, rows_of_sets
from verify.overlaps import measured_overlaps
from verify.response import risk_hessian
from verify.risk import Risk
from verify.samples import Samples
from verify.trained_sets import measured_controls, require_minima, start_weights
from verify.training import minimise
from verify.units import divided, training_seeds, unit_key


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedResponses:
    """The minimum from one start on several training sets, with its Hessian and its forces.

    Attributes
    ----------
    experiment : str
        That it belongs to.
    model : AttentionModel
        With L = 2 and r = t = 1.
    dimension : int
        d.
    seeds : tuple of int
        Of the training sets.
    alpha : float
    start : str
        `semantic` or `positional`.
    """

    experiment: str
    model: AttentionModel
    dimension: int
    seeds: tuple[int, ...]
    alpha: float
    start: str

    @property
    def key(self) -> str:
        everything = [self.model.to_dict(), self.dimension, self.seeds, self.alpha, self.start]
        return unit_key(f"{self.experiment} {self.start}", f"d={self.dimension}", everything)

    @property
    def cost(self) -> float:
        training = 100 * (1.5e-9 * self.alpha * self.dimension**2 + 2e-4)
        hessian = 4e-10 * (1 + self.alpha) * self.dimension**3
        return len(self.seeds) * (training + hessian)

    def run(self, device: Device) -> list[dict[str, Any]]:
        """One row a training set.

        Its seed, dimension, alpha and start; the overlaps; V, V_hat and replicon of the Hessian;
        q_hat, m_hat, theta_hat and envelope of the forces; and the controls.

        Raises
        ------
        ComputationFailed
            When a run does not come to a minimum, or memory does not suffice.
        """
        count = round(self.alpha * self.dimension)
        return rows_of_sets(
            self._rows, self.model, self.dimension, count, self.seeds, device, runs=1
        )

    def _rows(self, samples: Samples) -> list[Row]:
        risk = Risk.of(samples, 1)
        trained = minimise(risk, start_weights(samples, self.start).unsqueeze(1))
        require_minima(self.experiment, samples, trained)
        responses = [
            risk_hessian(risk, trained.weights, seed=b, run=0).response()
            for b in range(len(samples.seeds))
        ]
        V, V_hat, replicon = (
            samples.teacher.new_tensor([[getattr(r, name)] for r in responses])
            for name in ("V", "V_hat", "replicon")
        )
        hats = measured_hats(risk, trained.weights, V, V_hat)
        numbers = {
            "V": V,
            "V_hat": V_hat,
            "replicon": replicon,
            **hats._asdict(),
            **measured_overlaps(samples, trained.weights).scalars()._asdict(),
            **measured_controls(risk),
        }
        return [
            {
                "seed": seed,
                "dimension": self.dimension,
                "alpha": self.alpha,
                "start": self.start,
                **{name: float(value[b, 0]) for name, value in numbers.items()},
            }
            for b, seed in enumerate(samples.seeds)
        ]


def response_units(
    experiment: str,
    model: AttentionModel,
    seed: int,
    sizes: Mapping[int, int],
    *,
    alpha: float,
    start: str,
) -> list[TrainedResponses]:
    """The units of an experiment: for every dimension in `sizes` so many training sets."""
    units = []
    for dimension, count in sizes.items():
        whole = TrainedResponses(
            experiment=experiment,
            model=model,
            dimension=dimension,
            seeds=training_seeds(seed, experiment, dimension, count),
            alpha=alpha,
            start=start,
        )
        units += divided(whole)
    return units
