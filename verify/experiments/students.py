"""Measured students as a table, and the limits d -> infinity of what was measured on them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from symattn._typing import FloatArray
from symattn.model import AttentionModel
from verify.experiments.states import state
from verify.statistics import Estimate, extrapolate
from verify.theory import loss_of_zero

#: Observable to its symbol and its name in sentences.
OBSERVABLES: Mapping[str, tuple[str, str]] = {
    "q": ("q", "overlap q"),
    "m": ("m", "overlap m"),
    "theta": ("theta", "overlap theta"),
    "train_loss": ("eps_t", "training loss"),
    "test_error": ("eps_g", "test error"),
}

#: What is not 0 by symmetry on a branch.
OF_BRANCH: Mapping[str, tuple[str, ...]] = {
    "semantic": ("q", "theta", "train_loss", "test_error"),
    "positional": ("q", "m", "train_loss", "test_error"),
}

#: Symbols in figures.
TEX: Mapping[str, str] = {
    "q": "$q$",
    "m": "$m$",
    "theta": r"$\theta$",
    "V": "$V$",
    "train_loss": r"$\epsilon_t$",
    "test_error": r"$\epsilon_g$",
}


class Students:
    """Rows of measured students of one model, each with the dimension, alpha and start it is of."""

    def __init__(self, model: AttentionModel, rows: Iterable[Mapping[str, Any]]) -> None:
        self.model = model
        self.rows = list(rows)

    def where(self, **labels: Any) -> Students:
        """Those with these labels, such as alpha, start or lam."""
        rows = [r for r in self.rows if all(r[name] == value for name, value in labels.items())]
        return Students(self.model, rows)

    def column(self, name: str) -> FloatArray:
        """A number of all of them, (N,)."""
        return np.array([row[name] for row in self.rows], dtype=np.float64)

    def controls(self) -> FloatArray:
        """Control variates, (N, 2): |Q*|^2/d - 1, and the loss of Q = 0 less its limit."""
        limit = self.column("alpha") * loss_of_zero(self.model)
        return np.stack([self.column("teacher"), self.column("zero_loss") - limit], axis=1)

    def limit(self, observable: str) -> Estimate:
        """The observable's limit d -> infinity, with the controls."""
        return self.limit_of(self.column(observable))

    def limit_of(self, values: FloatArray) -> Estimate:
        """The limit of numbers made of one number a student, in the order of the rows."""
        return extrapolate(
            values, self.column("dimension"), self.controls(), seeds=[r["seed"] for r in self.rows]
        )

    def in_state(self, branch: str) -> Students:
        """Those that are in the branch's state."""
        rows = [row for row in self.rows if state(row, self.model.rho) == branch]
        return Students(self.model, rows)

    def of_sets(self, seeds: Iterable[int]) -> Students:
        """Those of the training sets with these seeds."""
        wanted = set(seeds)
        return Students(self.model, [row for row in self.rows if row["seed"] in wanted])

    def lowest(self, branch: str) -> Students:
        """Of each training set and alpha the run of lowest training loss in the branch's state."""
        best: dict[tuple[int, float], Mapping[str, Any]] = {}
        for row in self.in_state(branch).rows:
            place = (row["seed"], row["alpha"])
            if place not in best or row["train_loss"] < best[place]["train_loss"]:
                best[place] = row
        return Students(self.model, best.values())

    def sets_with(self, alphas: Sequence[float]) -> set[int]:
        """Seeds of the training sets that have a row at each of these sample complexities."""
        by_seed: dict[int, set[float]] = {}
        for row in self.rows:
            by_seed.setdefault(row["seed"], set()).add(row["alpha"])
        return {seed for seed, found in by_seed.items() if found.issuperset(alphas)}

    def without_controls(self, observable: str) -> FloatArray:
        """The observable less what the controls explain of it, (N,), for a figure."""
        values, controls = self.column(observable), self.controls()
        inverse = 1 / self.column("dimension")
        several = np.unique(inverse).size > 1
        parts = [np.ones_like(inverse), *([inverse] if several else []), *controls.T]
        design = np.stack(parts, axis=1)
        weights = np.sqrt(1 / inverse)[:, None]
        fitted = np.linalg.lstsq(design * weights, values * weights[:, 0], rcond=None)[0]
        explained: FloatArray = controls @ fitted[-controls.shape[1] :]
        return values - explained


def parameters(model: AttentionModel, alpha: float) -> dict[str, float | str]:
    """What a prediction holds for."""
    rows = ", ".join("[" + ", ".join(f"{x:g}" for x in row) + "]" for row in model.mixing)
    return {
        "omega": model.omega,
        "lambda": model.lam,
        "sigma": float(model.sigma or 0.0),
        "A": f"[{rows}]",
        "alpha": alpha,
    }


def sizes_in_words(sizes: Mapping[int, int]) -> str:
    """The number of training sets at each d, as a phrase: 8 training sets at d = 500 and 4 at .."""
    parts = [f"{count} at d = {d}" for d, count in sorted(sizes.items())]
    parts[0] = parts[0].replace(" at", " training sets at", 1)
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1]


def all_rows(results: Iterable[Sequence[Mapping[str, Any]]]) -> list[Mapping[str, Any]]:
    """The rows of several units."""
    return [row for rows in results for row in rows]
