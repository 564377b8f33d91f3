"""Up to which V the prox of w = 0 stays at x = 0, against minimisation at many targets."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from symattn import ASYMMETRIC, AttentionModel
from symattn.weak_learning._regularity import regular_up_to


def energy(x, target, V, sigma):
    """|x|^2/(2 V) + loss(x) - loss(0) from the definition, with rows of T that sum to 1."""

    def loss(x):
        logits = np.outer(x, x)
        weights = np.exp(logits - logits.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        return sigma**2 / 2 * np.sum((target - weights) ** 2)

    return (x @ x) / (2 * V) + loss(np.asarray(x)) - loss(np.zeros(2))


def lowest(model, V):
    """The lowest energy over x and over targets of large and random h*."""
    source = np.random.default_rng(1)
    best = math.inf
    fields = [(40, -40), (-40, 40), (40, 40), (40, 0), (0, 40), *source.normal(0, 3, (20, 2))]
    for h in fields:
        weights = np.exp(np.outer(h, h) - np.max(np.outer(h, h), axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        target = (1 - model.omega) * weights + model.omega * np.array(model.mixing)
        for start in source.normal(0, 1.0, (12, 2)):
            found = minimize(energy, start, (target, V, model.sigma), method="Nelder-Mead")
            best = min(best, found.fun)
    return best


@pytest.mark.parametrize(
    "model",
    [
        AttentionModel(),
        AttentionModel(omega=0.8, mixing=ASYMMETRIC, sigma=0.7),
        AttentionModel(omega=0.05, sigma=1.3),
    ],
    ids=str,
)
def test_a_lower_minimum_appears_there_and_not_before(model):
    V = regular_up_to(model)
    assert lowest(model, 0.99 * V) > -1e-9
    assert lowest(model, 1.03 * V) < -1e-9


def test_a_target_below_uniform_attention_is_always_regular():
    model = AttentionModel(omega=1.0, mixing=((0.4, 0.6), (0.6, 0.4)))
    assert regular_up_to(model) == math.inf
