"""Planted results of units: what an experiment is to find is known."""

import numpy as np

from tests.verify.experiments.made_up_rows import along
from verify.theory import TheoryAt, ThresholdOf, loss_of_zero


def planted_results(*, theory, rows):
    """Results of units: `theory` of those of the theory, and `rows(unit)` of the others."""

    def results(unit):
        if isinstance(unit, TheoryAt | ThresholdOf):
            return theory
        return rows(unit)

    return results


# With Q* and p_1.
_COSINES = {"semantic": (0.8, 0.1), "positional": (0.1, 0.7)}


def planted_row(model, dimension, seed, alpha, state=None, **labels):
    """Labels and controls of one training set; the controls scatter as they do in truth.

    A row with a start has overlaps of that branch, or of `state`, where one is named.
    """
    teacher = np.random.default_rng(seed).standard_normal() / dimension**0.5
    loss = np.random.default_rng([seed, round(1000 * alpha)]).standard_normal() / dimension**0.5
    row = {
        "seed": seed,
        "dimension": dimension,
        "alpha": alpha,
        "teacher": teacher,
        "zero_loss": alpha * loss_of_zero(model) * (1 + loss),
        **labels,
    }
    if state is not None or "start" in labels:
        row |= along(*_COSINES[state or labels["start"]], 0.05, teacher)
    return row


def scattered(model, row, limit, noise):
    """A number of known limit that the controls of `row` move, with a bias and some noise."""
    settings = [round(1e6 * row[name]) for name in ("alpha", "lam") if name in row]
    own = noise * np.random.default_rng([row["seed"], *settings]).standard_normal()
    d, zero = row["dimension"], row["zero_loss"] - row["alpha"] * loss_of_zero(model)
    return limit * (1 + 3 / d + 2 * row["teacher"]) + 0.7 * zero + own / d**0.5
