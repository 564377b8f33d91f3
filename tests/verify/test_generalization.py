"""Test errors of given weights against fresh sentences, and against the theory at large d."""

import math
from dataclasses import replace

import pytest
import torch

from symattn import AttentionModel, Overlaps
from symattn.quadrature.generalization_error import mean_test_loss
from tests.verify.draws import random_weights
from verify.generalization import generalization_error
from verify.layer import AttentionLayer, inputs_and_labels
from verify.samples import draw_samples

TWO_TOKENS = AttentionModel(sigma=0.9, mixing=((0.3, 0.7), (0.8, 0.2)))
THREE_TOKENS = AttentionModel(
    length=3,
    student_rank=2,
    target_rank=2,
    sigma=0.7,
    mixing=((0.2, 0.3, 0.5), (0.6, 0.3, 0.1), (0.1, 0.1, 0.8)),
)


@pytest.mark.parametrize("model", [TWO_TOKENS, THREE_TOKENS], ids=["L = 2", "L = 3"])
def test_error_is_that_of_fresh_sentences(model):
    """At d = 15, where what lies along Q, Q* and p is a large part of x."""
    d, count = 15, 100_000
    samples = draw_samples(model, d, count, [1, 2])
    weights = 0.8 * random_weights(2, 2, model.student_rank, d)
    # at Q = Q* the directions are not independent
    weights[:, 1] = samples.teacher[:, : model.student_rank]
    found = generalization_error(samples, weights)
    for b in range(2):
        x, y = inputs_and_labels(samples, b)
        for k in range(2):
            with torch.no_grad():
                output = AttentionLayer(weights[b, k].T, samples.encoding)(x)
            errors = (y - output).square().sum(dim=(1, 2)) / (2 * d)
            spread = math.hypot(float(errors.std()) / math.sqrt(count), float(found.error[b, k]))
            assert float(found.value[b, k]) == pytest.approx(float(errors.mean()), abs=4 * spread)
            assert spread < 0.01 * float(found.value[b, k])


@pytest.mark.parametrize(
    "overlaps",
    [Overlaps(0.094, 0.0, 16.0, 0.135), Overlaps(0.05, 0.255, 13.0, 0.0)],
    ids=["semantic", "positional"],
)
def test_error_tends_to_that_of_the_theory(overlaps):
    """At the same overlaps exactly it differs by what p adds, which is of order 1/d."""
    model = AttentionModel()
    small, large = 5_000, 20_000
    at_small, at_large = (float(_error_with(model, overlaps, d)) for d in (small, large))
    limit = (large * at_large - small * at_small) / (large - small)
    expected = mean_test_loss(model, overlaps, 1e-8).value
    assert limit == pytest.approx(expected, rel=1e-4)


def _error_with(model, overlaps, d):
    drawn = draw_samples(model, d, 1, [1])
    p_1 = drawn.encoding[0]
    frame = torch.linalg.qr(torch.stack([p_1, drawn.teacher[0, 0], random_weights(d)]).T).Q.T
    _, semantic, noise = math.sqrt(d) * frame
    samples = replace(drawn, teacher=semantic.reshape(1, 1, d))
    along = overlaps.theta / model.rho
    left = overlaps.q / model.rho - overlaps.m**2 - along**2
    Q = overlaps.m * math.sqrt(d) * p_1 + along * semantic + math.sqrt(left) * noise
    return generalization_error(samples, Q.reshape(1, 1, 1, d)).value
