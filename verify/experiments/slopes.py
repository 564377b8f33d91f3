"""Slopes of the training loss in lambda and in alpha against the identities of the theory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from symattn._typing import FloatArray
from symattn.model import AttentionModel
from verify.experiments import Results
from verify.experiments.students import Students, all_rows, parameters, sizes_in_words
from verify.predictions import Finding, Prediction
from verify.statistics import Estimate, extrapolate
from verify.theory import TheoryAt, judged, jump_share
from verify.trained_sets import TrainedSets, training_units
from verify.units import Unit

_LAMBDA_STEP = 0.02  # relative to lambda
_ALPHA_STEP = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Slopes:
    """Minima at two lambdas and two sample complexities about those of the model.

    Attributes
    ----------
    name : str
    model : AttentionModel
    alpha : float
    sizes : mapping
        Dimension to the number of training sets.
    branches : tuple of str
        Semantic, positional, or both.
    """

    name: str
    model: AttentionModel
    alpha: float
    sizes: Mapping[int, int]
    branches: tuple[str, ...] = ("semantic", "positional")

    def units(self, seed: int) -> Sequence[Unit]:
        return [*self._theory().values(), *self._over_lambda(seed), *self._over_alpha(seed)]

    def finding(self, seed: int, results: Results) -> Finding:
        over_lambda = Students(self.model, all_rows(results(u) for u in self._over_lambda(seed)))
        over_alpha = Students(self.model, all_rows(results(u) for u in self._over_alpha(seed)))
        predictions = []
        for branch, unit in self._theory().items():
            points = results(unit)
            predictions += [
                self._in_lambda(branch, over_lambda.where(start=branch), points),
                self._in_alpha(branch, over_alpha.where(start=branch), points),
            ]
        text = (
            "In the theory d eps_t/d lambda = q/(2 sigma^2). Layers trained at lambda "
            f"{100 * _LAMBDA_STEP:g} % below and above, on the same training set, have the slope "
            "on the left. In alpha a training set is continued: the secant of its training losses "
            f"from alpha - {_ALPHA_STEP:g} to alpha + {_ALPHA_STEP:g} is that of the theory's. "
            f"Both are at alpha = {self.alpha:g} on {sizes_in_words(self.sizes)}, "
            f"extrapolated to infinite d.",
        )
        return Finding(
            title=f"Slopes of the training loss at lambda = {self.model.lam:g}",
            text=text,
            predictions=tuple(predictions),
        )

    def _over_lambda(self, seed: int) -> list[TrainedSets]:
        return training_units(
            self.name,
            self.model,
            seed,
            self.sizes,
            alphas=(self.alpha,),
            starts=self.branches,
            lams=self._lams(),
        )

    def _over_alpha(self, seed: int) -> list[TrainedSets]:
        return training_units(
            self.name, self.model, seed, self.sizes, alphas=self._alphas(), starts=self.branches
        )

    def _theory(self) -> dict[str, TheoryAt]:
        low, high = self._alphas()
        alphas = (high, self.alpha, low)
        return {b: TheoryAt(model=self.model, alphas=alphas, branch=b) for b in self.branches}

    def _lams(self) -> tuple[float, float]:
        step = _LAMBDA_STEP * self.model.lam
        return self.model.lam - step, self.model.lam + step

    def _alphas(self) -> tuple[float, float]:
        return self.alpha - _ALPHA_STEP, self.alpha + _ALPHA_STEP

    def _in_lambda(self, branch: str, students: Students, points: Mapping[str, Any]) -> Prediction:
        below, above = (students.where(lam=lam) for lam in self._lams())
        low, high = self._lams()
        below, above, left = _both_in_state(below, above, branch)
        slopes = _secants(below, above, high - low)
        point = points[repr(self.alpha)]
        absent = "absent" in point
        kind, note = judged(point, branch)
        scale = 1 / (2 * self.model.rho)
        # With steps h = 0.02 lambda the central difference is off by h^2/6 times the third
        # derivative of eps_t. That is q''/(2 sigma^2), and 0.5 to 3 is q'' lambda^2/q; 6 is safe.
        spread = 0.0 if absent else _LAMBDA_STEP**2 * point["q"]
        return Prediction(
            name=f"{self.name}.{branch}.slope-in-lambda@alpha={self.alpha:g}",
            statement=f"slope of the {branch} training loss in lambda, q/(2 sigma^2)",
            symbol="d eps_t/d lambda",
            parameters=parameters(self.model, self.alpha),
            predicted=None if absent else scale * point["q"],
            predicted_error=0.0 if absent else scale * (point["errors"]["q"] + spread),
            measured=below.limit_of(slopes),
            kind=kind,
            note="; ".join(part for part in (left, note) if part),
            jump_share=jump_share(point),
        )

    def _in_alpha(self, branch: str, students: Students, points: Mapping[str, Any]) -> Prediction:
        low, high = self._alphas()
        smaller, larger = (students.where(alpha=a) for a in (low, high))
        smaller, larger, left = _both_in_state(smaller, larger, branch)
        ends = [points[repr(a)] for a in (low, high)]
        kinds, notes = zip(*(judged(end, branch) for end in ends), strict=True)
        absent = any("absent" in point for point in ends)
        width = high - low
        return Prediction(
            name=f"{self.name}.{branch}.slope-in-alpha@alpha={self.alpha:g}",
            statement=f"secant of the {branch} training loss from alpha = {low:g} to {high:g}",
            symbol="d eps_t/d alpha",
            parameters=parameters(self.model, self.alpha),
            predicted=None if absent else (ends[1]["train_loss"] - ends[0]["train_loss"]) / width,
            predicted_error=0.0
            if absent
            else sum(point["errors"]["train_loss"] for point in ends) / width,
            measured=_limit_of_secants(smaller, larger, width),
            kind="shown" if "shown" in kinds else "two-sided",
            note="; ".join(part for part in (left, *dict.fromkeys(notes)) if part),
            jump_share=jump_share(ends[0]),
        )


def _both_in_state(
    first: Students, second: Students, branch: str
) -> tuple[Students, Students, str]:
    """Those of the training sets that are in the state in both runs, and what was left out."""
    seeds = {row["seed"] for row in first.in_state(branch).rows}
    seeds &= {row["seed"] for row in second.in_state(branch).rows}
    lost = len(first.rows) - len(seeds)
    note = f"{lost} of {len(first.rows)} training sets left the state, and do not count"
    return first.of_sets(seeds), second.of_sets(seeds), note if lost else ""


def _secants(first: Students, second: Students, width: float) -> FloatArray:
    """The slope of every training set's loss between two settings, (N,)."""
    return np.asarray((second.column("train_loss") - first.column("train_loss")) / width)


def _limit_of_secants(smaller: Students, larger: Students, width: float) -> Estimate:
    """The limit of secants in alpha, where the losses of Q = 0 at both ends are controls."""
    controls = np.column_stack([larger.controls(), smaller.controls()[:, 1]])
    return extrapolate(
        _secants(smaller, larger, width),
        larger.column("dimension"),
        controls,
        seeds=[row["seed"] for row in larger.rows],
    )
