"""Planted results of units: what an experiment is to find is known."""

import numpy as np

from verify.theory import TheoryAt, ThresholdOf, loss_of_zero


def planted_results(*, theory, rows):
    """Results of units: `theory` of those of the theory, and `rows(unit)` of the others."""

    def results(unit):
        if isinstance(unit, TheoryAt | ThresholdOf):
            return theory
        return rows(unit)

    return results


def planted_row(model, dimension, seed, alpha, **labels):
    """Labels and controls of one training set; the controls scatter as they do in truth."""
    teacher = np.random.default_rng(seed).standard_normal() / dimension**0.5
    loss = np.random.default_rng([seed, round(1000 * alpha)]).standard_normal() / dimension**0.5
    return {
        "seed": seed,
        "dimension": dimension,
        "alpha": alpha,
        "teacher": teacher,
        "zero_loss": alpha * loss_of_zero(model) * (1 + loss),
        **labels,
    }


def scattered(model, row, limit, noise):
    """A number of known limit that the controls of `row` move, with a bias and some noise."""
    settings = [round(1e6 * row[name]) for name in ("alpha", "lam") if name in row]
    own = noise * np.random.default_rng([row["seed"], *settings]).standard_normal()
    d, zero = row["dimension"], row["zero_loss"] - row["alpha"] * loss_of_zero(model)
    return limit * (1 + 3 / d + 2 * row["teacher"]) + 0.7 * zero + own / d**0.5
