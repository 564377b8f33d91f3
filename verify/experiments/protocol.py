"""The published training protocol, held against the minima that it approaches."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from symattn._typing import FloatArray
from symattn.model import AttentionModel
from verify.experiments import Results
from verify.experiments.published import SOURCE, Published, published
from verify.experiments.students import OBSERVABLES, Students, all_rows, parameters
from verify.predictions import Finding, Prediction
from verify.statistics import extrapolate
from verify.trained_sets import TrainedSets, training_units
from verify.units import Unit

_BRANCHES = ("semantic", "positional")
_METHODS = ("gradient descent", "minimise")
_OBSERVABLES = ("m", "theta", "train_loss", "test_error")


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocol:
    """Gradient descent of 5000 steps, and the minima of the same training sets.

    Attributes
    ----------
    name : str
    model : AttentionModel
    alphas : tuple of float
    dimension : int
    count : int
        Of training sets, two at least.
    """

    name: str
    model: AttentionModel
    alphas: tuple[float, ...]
    dimension: int
    count: int

    def units(self, seed: int) -> Sequence[Unit]:
        return [unit for method in _METHODS for unit in self._training(seed, method)]

    def finding(self, seed: int, results: Results) -> Finding:
        descended, minima = (
            Students(self.model, all_rows(results(u) for u in self._training(seed, method)))
            for method in _METHODS
        )
        predictions = []
        for branch in _BRANCHES:
            for alpha in self.alphas:
                ended, minimum = (
                    students.where(start=branch, alpha=alpha) for students in (descended, minima)
                )
                figures = published(self.model, self.dimension, branch, alpha)
                for name in _OBSERVABLES:
                    values, limits = (_in_order(s, name) for s in (ended, minimum))
                    predictions.append(self._ended(branch, alpha, name, values, figures))
                    predictions.append(self._less_minimum(branch, alpha, name, values, limits))
        return Finding(
            title="The published protocol and the minima",
            text=self._text(descended),
            predictions=tuple(predictions),
        )

    def _training(self, seed: int, method: str) -> list[TrainedSets]:
        """Both methods have the same training sets: their seeds come from the name alone."""
        return training_units(
            self.name,
            self.model,
            seed,
            {self.dimension: self.count},
            alphas=self.alphas,
            starts=_BRANCHES,
            method=method,
        )

    def _ended(
        self,
        branch: str,
        alpha: float,
        name: str,
        values: FloatArray,
        figures: Mapping[str, Published],
    ) -> Prediction:
        symbol, words = _named(name)
        return Prediction(
            name=f"{self.name}.{branch}.{name}@alpha={alpha:g}",
            statement=f"{words} after gradient descent from the {branch} start at alpha = "
            f"{alpha:g}, d = {self.dimension}",
            symbol=symbol,
            parameters=parameters(self.model, alpha),
            measured=extrapolate(values, np.full(values.size, self.dimension)),
            kind="shown",
            note=_beside(values, figures[name]) if name in figures else "",
        )

    def _less_minimum(
        self, branch: str, alpha: float, name: str, values: FloatArray, limits: FloatArray
    ) -> Prediction:
        symbol, words = _named(name)
        gap = values - limits
        return Prediction(
            name=f"{self.name}.{branch}.{name}.less-minimum@alpha={alpha:g}",
            statement=f"the same less that of the minimum of the same training set: {words}, "
            f"{branch}, alpha = {alpha:g}",
            symbol=symbol,
            parameters=parameters(self.model, alpha),
            measured=extrapolate(gap, np.full(gap.size, self.dimension)),
            kind="shown",
            note=f"mean of the minima: {limits.mean():.5g}",
        )

    def _text(self, descended: Students) -> tuple[str, ...]:
        norms = descended.column("gradient_norm")
        return (
            f"Gradient descent with step 0.15 was followed for 5000 steps, as in the {SOURCE}, on "
            f"{self.count} training sets at d = {self.dimension}; then the "
            "risk of the same training sets was minimised from the same starts to a gradient of "
            f"norm 1e-6. After the 5000 steps the norm is {np.median(norms):.1e} in the median and "
            f"{norms.max():.1e} at most. Where there are many minima, both ways may also end in "
            "different ones.",
            "m and theta are means of moduli, as in the public data, so that even what is 0 in the "
            "limit has a mean of order d^(-1/2). All numbers are at this d.",
            "The published data have a mean and a standard deviation over training sets, and not "
            "how many these were. The difference of the means is therefore given in units of "
            "sqrt(s^2 + s'^2), s and s' the published standard deviation and the one found here: "
            "that of the difference of one training set of each. Below 1 it would not be noticed "
            "with few training sets; a difference of 1 is much for means over many.",
        )


def _named(name: str) -> tuple[str, str]:
    symbol, words = OBSERVABLES[name]
    return (f"|{symbol}|", f"modulus of {words}") if name in ("m", "theta") else (symbol, words)


def _in_order(students: Students, name: str) -> FloatArray:
    """Moduli by training set, (N,), so that two methods can be compared one by one."""
    rows = sorted(students.rows, key=lambda row: int(row["seed"]))
    return np.abs(np.array([row[name] for row in rows], dtype=np.float64))


def _beside(values: FloatArray, figure: Published) -> str:
    """The published figure, and how far it is from what was measured."""
    own = float(values.std(ddof=1))
    distance = (float(values.mean()) - figure.mean) / math.hypot(own, figure.deviation)
    return (
        f"published: {figure.mean:.5g}, standard deviation {figure.deviation:.2g} ({SOURCE}); "
        f"found here: standard deviation {own:.2g}, difference {distance:+.2f} of both together"
    )
