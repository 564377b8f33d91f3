"""How many minima a state has, and whether its lowest one is what the theory describes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from symattn.errors import ComputationFailed
from symattn.model import AttentionModel
from verify.experiments import Results
from verify.experiments.states import state
from verify.experiments.students import (
    OBSERVABLES,
    Students,
    all_rows,
    parameters,
    sizes_in_words,
)
from verify.predictions import Figure, Finding, Prediction
from verify.report.landscape import landscape_figure
from verify.statistics import Estimate, extrapolate
from verify.theory import TheoryAt, jump_share, trust
from verify.trained_sets import TrainedSets, training_units
from verify.units import Unit

_BRANCHES = ("positional", "semantic")
_COMPARED = ("q", "m", "train_loss")

# Losses at a gradient of norm 1e-6 are exact to many more digits than this.
_SAME = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class SeveralMinima:
    """Minima from several starts with noise about those of both branches, at one alpha.

    Attributes
    ----------
    name : str
    model : AttentionModel
    alpha : float
    sizes : mapping
        Dimension to the number of training sets.
    noisy : int
        Starts with noise on each branch, beside the one without.
    """

    name: str
    model: AttentionModel
    alpha: float
    sizes: Mapping[int, int]
    noisy: int

    def units(self, seed: int) -> Sequence[Unit]:
        return [*self._theory().values(), *self._training(seed)]

    def finding(self, seed: int, results: Results) -> Finding:
        rows = all_rows(results(unit) for unit in self._training(seed))
        theory = {b: results(u)[repr(self.alpha)] for b, u in self._theory().items()}
        minima = {branch: self._minima(rows, branch) for branch in _BRANCHES}
        found = minima["positional"]
        if not found:
            raise ComputationFailed(
                f"{self.name}: no training set has a positional minimum; try larger dimensions"
            )
        lowest = Students(self.model, [of_set[0] for of_set in found.values()])
        plain = Students(
            self.model,
            [
                row
                for row in rows
                if row["start"] == "positional" and state(row, self.model.rho) == "positional"
            ],
        )
        predictions = [
            *(self._lowest(name, lowest, theory["positional"]) for name in _COMPARED),
            *(self._plain(name, plain) for name in _COMPARED),
            *(self._count(branch, minima[branch], d) for branch in _BRANCHES for d in self.sizes),
            *(self._spread(found, d) for d in self.sizes),
        ]
        return Finding(
            title=f"Several minima of one state at alpha = {self.alpha:g}",
            text=self._text(minima, theory),
            predictions=tuple(predictions),
            figures=(self._figure(minima, theory),),
        )

    def _training(self, seed: int) -> list[TrainedSets]:
        starts = [b if k == 0 else f"{b} {k}" for b in _BRANCHES for k in range(self.noisy + 1)]
        return training_units(
            self.name, self.model, seed, self.sizes, alphas=(self.alpha,), starts=starts
        )

    def _theory(self) -> dict[str, TheoryAt]:
        return {b: TheoryAt(model=self.model, alphas=(self.alpha,), branch=b) for b in _BRANCHES}

    def _minima(
        self, rows: Sequence[Mapping[str, Any]], branch: str
    ) -> dict[tuple[int, int], list[Mapping[str, Any]]]:
        """By training set: its different minima in the branch's state from the branch's starts."""
        by_set: dict[tuple[int, int], list[Mapping[str, Any]]] = {}
        for row in rows:
            if row["start"].split()[0] == branch and state(row, self.model.rho) == branch:
                by_set.setdefault(_set_of(row), []).append(row)
        return {key: different_minima(found) for key, found in by_set.items()}

    def _lowest(self, observable: str, lowest: Students, point: Mapping[str, Any]) -> Prediction:
        symbol, words = OBSERVABLES[observable]
        absent = "absent" in point
        note = f"the lowest of {self.noisy + 1} starts need not be the lowest of all"
        if not absent and trust(point):
            note += "; " + trust(point)
        return Prediction(
            name=f"{self.name}.lowest.{observable}",
            statement=f"{words} of the lowest positional minimum found",
            symbol=symbol,
            parameters=parameters(self.model, self.alpha),
            predicted=None if absent else point[observable],
            predicted_error=0.0 if absent else point["errors"][observable],
            measured=_limit(lowest, observable),
            kind="shown",
            note="no positional fixed point is found here" if absent else note,
            jump_share=jump_share(point),
        )

    def _plain(self, observable: str, plain: Students) -> Prediction:
        symbol, words = OBSERVABLES[observable]
        return Prediction(
            name=f"{self.name}.plain.{observable}",
            statement=f"{words} of the minimum from the positional start without noise",
            symbol=symbol,
            parameters=parameters(self.model, self.alpha),
            measured=_limit(plain, observable),
            kind="shown",
            note="to be held against the lowest one above",
        )

    def _count(
        self,
        branch: str,
        minima: Mapping[tuple[int, int], Sequence[Mapping[str, Any]]],
        dimension: int,
    ) -> Prediction:
        return self._mean(
            f"{branch}.count@d={dimension}",
            f"different {branch} minima of one training set at d = {dimension}, "
            f"from {self.noisy + 1} starts",
            "number",
            [len(found) for (d, _), found in minima.items() if d == dimension],
            dimension,
        )

    def _spread(
        self, minima: Mapping[tuple[int, int], Sequence[Mapping[str, Any]]], dimension: int
    ) -> Prediction:
        losses = [
            np.array([row["train_loss"] for row in found])
            for (d, _), found in minima.items()
            if d == dimension
        ]
        return self._mean(
            f"positional.spread@d={dimension}",
            f"loss of the highest positional minimum of a training set at d = {dimension}, "
            "relative to its lowest, less 1",
            "spread",
            [float(loss.max() / loss.min()) - 1 for loss in losses],
            dimension,
        )

    def _mean(
        self, name: str, statement: str, symbol: str, values: Sequence[float], dimension: int
    ) -> Prediction:
        """A mean over training sets of one dimension, where they differ."""
        differ = len(set(values)) > 1
        return Prediction(
            name=f"{self.name}.{name}",
            statement=statement,
            symbol=symbol,
            parameters=parameters(self.model, self.alpha),
            measured=extrapolate(values, [dimension] * len(values)) if differ else None,
            kind="shown",
            note=""
            if differ
            else f"{values[0]:g} on each of {len(values)} training sets"
            if values
            else "there is none",
        )

    def _text(
        self,
        minima: Mapping[str, Mapping[tuple[int, int], Sequence[Mapping[str, Any]]]],
        theory: Mapping[str, Mapping[str, Any]],
    ) -> tuple[str, ...]:
        shares = [
            f"{100 * abs(point['jump_flux'] / point['V_hat']):.2g} % on the {branch} branch"
            for branch, point in theory.items()
            if "absent" not in point
        ]
        sets = sum(self.sizes.values())
        lacking = sets - len(minima["positional"])
        return (
            "Students were trained to a gradient of norm 1e-6 from the start of either branch, and "
            f"from {self.noisy} starts with noise of standard deviation 0.4 about each, on "
            f"{sizes_in_words(self.sizes)}. Minima whose losses "
            "differ by more than 1e-6 of them count as different ones, and those that left the "
            "state of their start do not count.",
            "The theory is that of replica symmetry: it takes a state to have one minimum, so that "
            "all starts near enough lead to the same overlaps. A proximal map that jumps "
            "contradicts it, and its jumps' part of V_hat says how much: "
            f"{', '.join(shares) or 'unknown here'}. Where replica symmetry is broken there are "
            "many minima of different overlaps. What the theory approximates is the lowest of "
            "them, and training from one start ends in a higher one. The lowest one found is "
            "therefore held against the theory, with the one from the start without noise beside "
            "it; with more starts it would lie lower still.",
            *[f"Of {sets} training sets {lacking} had no positional minimum, and are left out."]
            * bool(lacking),
        )

    def _figure(
        self,
        minima: Mapping[str, Mapping[tuple[int, int], Sequence[Mapping[str, Any]]]],
        theory: Mapping[str, Mapping[str, Any]],
    ) -> Figure:
        own = {"positional": "m", "semantic": "theta"}
        points = {}
        for branch, by_set in minima.items():
            pairs = [(row, found[0]) for found in by_set.values() for row in found]
            points[branch] = (
                [row["train_loss"] / low["train_loss"] - 1 for row, low in pairs],
                [abs(row[own[branch]]) for row, _ in pairs],
                [row is low for row, low in pairs],
            )
        predicted = {b: p[own[b]] for b, p in theory.items() if "absent" not in p}
        return Figure(
            name=f"{self.name}-minima",
            caption="Overlap against training loss of all the minima found, each a point: the loss "
            "relative to the lowest one of the same training set. Overlaps scatter over the "
            "training sets too; the line is the theory, for infinite d.",
            drawing=landscape_figure(points, predicted),
        )


def different_minima(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """One row for each of the different losses, rising; equal up to 1e-6 of them is the same."""
    kept: list[Mapping[str, Any]] = []
    for row in sorted(rows, key=lambda row: float(row["train_loss"])):
        if not kept or row["train_loss"] > kept[-1]["train_loss"] * (1 + _SAME):
            kept.append(row)
    return kept


def _limit(students: Students, observable: str) -> Estimate:
    """The limit of its modulus: the sign of Q is arbitrary."""
    return students.limit_of(np.abs(students.column(observable)))


def _set_of(row: Mapping[str, Any]) -> tuple[int, int]:
    return row["dimension"], row["seed"]
