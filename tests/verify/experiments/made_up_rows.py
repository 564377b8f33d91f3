"""Results of units with made-up numbers, as if students had been trained."""

import math

import numpy as np

from symattn.model import AttentionModel
from verify.theory import TheoryAt, ThresholdOf, loss_of_zero
from verify.trained_sets import TrainedSets

POINT = {
    "q": 0.05,
    "m": 0.25,
    "theta": 0.1,
    "train_loss": 0.003,
    "test_error": 0.002,
    "V_hat": 0.04,
    "jump_flux": -0.004,
    "stable": True,
    "errors": dict.fromkeys(("q", "m", "theta", "train_loss", "test_error"), 1e-6),
}
THRESHOLDS = {"alpha_c": 1.25, "spinodal_semantic": 0.8}


def controls(seed, dimension, alpha):
    """|Q*|^2/d - 1 and the loss of Q = 0, as random as those of a training set."""
    normal = np.random.default_rng(seed).standard_normal(2) / math.sqrt(dimension)
    limit = alpha * loss_of_zero(AttentionModel())
    return {"teacher": 1.4 * normal[0], "zero_loss": limit * (1 + 0.1 * normal[1])}


def along(cosine_semantic, cosine_positional, q, teacher):
    """Overlaps of a Q with these cosines with Q* and p_1, at rho = 1/4."""
    return {
        "q": q,
        "theta": cosine_semantic * math.sqrt(q * 0.25 * (1 + teacher)),
        "m": cosine_positional * math.sqrt(q / 0.25),
    }


def results(student):
    """The results of all units.

    student(seed, dimension, alpha, start, method, controls): the numbers of a trained one.
    """

    def result(unit):
        if isinstance(unit, TheoryAt):
            return {repr(alpha): POINT for alpha in unit.alphas}
        if isinstance(unit, ThresholdOf):
            return {"alpha": THRESHOLDS[unit.name], "error": 1e-6}
        assert isinstance(unit, TrainedSets)
        rows = []
        for seed in unit.seeds:
            for alpha in unit.alphas:
                known = controls(seed, unit.dimension, alpha)
                for start in unit.starts:
                    numbers = student(seed, unit.dimension, alpha, start, unit.method, known)
                    rows.append(
                        {
                            "seed": seed,
                            "dimension": unit.dimension,
                            "alpha": alpha,
                            "lam": unit.lams[0],
                            "start": start,
                            **known,
                            **numbers,
                        }
                    )
        return rows

    return result


def named(finding):
    """Predictions by name."""
    return {prediction.name: prediction for prediction in finding.predictions}
