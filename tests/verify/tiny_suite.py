"""A suite that takes no time: experiments with units that note down that they were done."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from verify.experiments import Results
from verify.predictions import Finding, Prediction
from verify.statistics import extrapolate
from verify.units import Chain, Unit, in_order, training_seeds, unit_key


@dataclass(frozen=True, kw_only=True)
class Noted:
    """A normal random number of mean `mean` for each seed; a line in `notes` when it is done."""

    seed: int
    mean: float
    notes: Path
    seconds: float = 0.0

    @property
    def key(self) -> str:
        return unit_key("noted", f"mean={self.mean}", [self.seed, self.mean])

    @property
    def cost(self) -> float:
        return 1.0

    def run(self, device: Any) -> dict[str, float]:
        time.sleep(self.seconds)
        with self.notes.open("a") as file:
            file.write(f"{self.key}\n")
        return {"value": self.mean + float(np.random.default_rng(self.seed).standard_normal())}


@dataclass(frozen=True, kw_only=True)
class Tiny:
    """Predicts the mean of its units' numbers."""

    name: str
    mean: float
    predicted: float
    notes: Path
    count: int = 6
    seconds: float = 0.0
    chained: bool = False

    def units(self, seed: int) -> Sequence[Unit | Chain]:
        seeds = training_seeds(seed, "tiny", 10, self.count)
        units = [
            Noted(seed=s, mean=self.mean, notes=self.notes, seconds=self.seconds) for s in seeds
        ]
        return [Chain(tuple(units))] if self.chained else units

    def finding(self, seed: int, results: Results) -> Finding:
        units = (unit for piece in self.units(seed) for unit in in_order(piece))
        values = [results(unit)["value"] for unit in units]
        prediction = Prediction(
            name=f"{self.name}.mean",
            statement="the mean",
            symbol="x",
            predicted=self.predicted,
            measured=extrapolate(values, [10] * len(values)),
        )
        return Finding(title=self.name, text=(), predictions=(prediction,))
