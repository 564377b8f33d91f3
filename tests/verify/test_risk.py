"""The risk from Gram matrices against autograd through the layer itself."""

from dataclasses import replace

import pytest
import torch

from symattn import AttentionModel
from tests.verify.draws import random_weights
from verify.layer import AttentionLayer, inputs_and_labels, layer_risk
from verify.risk import Risk
from verify.samples import draw_samples

MIXING = {
    2: ((0.3, 0.7), (0.8, 0.2)),
    3: ((0.2, 0.3, 0.5), (0.6, 0.3, 0.1), (0.1, 0.1, 0.8)),
}


def by_autograd(samples, weights, lam, count, index):
    """Risk and gradient, by rows as in `weights`, of one run by the plain layer."""
    x, y = inputs_and_labels(samples, index)
    layer = AttentionLayer(weights.T, samples.encoding)
    risk = layer_risk(layer, x[:count], y[:count], lam)
    risk.backward()
    return risk.detach(), layer.Q.grad.T


@pytest.mark.parametrize("length", [2, 3])
@pytest.mark.parametrize("rank", [1, 2])
def test_value_and_gradient_are_those_of_the_layer(length, rank):
    model = AttentionModel(
        length=length, student_rank=rank, target_rank=3 - rank, mixing=MIXING[length], sigma=0.8
    )
    samples = draw_samples(model, 12, 30, [1, 2])
    risk = Risk(
        samples=samples,
        lam=torch.tensor([0.01, 0.5, 2.0], dtype=torch.float64),
        counts=torch.tensor([30, 17, 1]),
    )
    weights = random_weights(2, 3, rank, 12)
    value, gradient = risk.value_and_gradient(weights)
    for b in range(2):
        for k in range(3):
            expected = by_autograd(
                samples, weights[b, k], float(risk.lam[k]), int(risk.counts[k]), b
            )
            torch.testing.assert_close(value[b, k], expected[0], rtol=1e-12, atol=0)
            torch.testing.assert_close(gradient[b, k], expected[1], rtol=1e-11, atol=1e-12)


def test_the_default_takes_the_penalty_and_all_samples():
    samples = draw_samples(AttentionModel(lam=0.7), 12, 9, [0])
    risk = Risk.of(samples, 2)
    assert risk.lam.tolist() == [0.7, 0.7]
    assert risk.counts.tolist() == [9, 9]


def test_single_precision_costs_digits_of_the_fields_alone():
    """With tokens that single precision holds, risks differ by the rounding of the products."""
    model = AttentionModel()
    single = draw_samples(model, 200, 300, [1], precision=torch.float32)
    double = replace(single, tokens=single.tokens.double())
    weights = random_weights(1, 2, 1, 200)
    value, gradient = Risk.of(single, 2).value_and_gradient(weights)
    expected = Risk.of(double, 2).value_and_gradient(weights)
    assert value.dtype == gradient.dtype == torch.float64
    torch.testing.assert_close(value, expected[0], rtol=1e-6, atol=0)
    torch.testing.assert_close(gradient, expected[1], rtol=1e-4, atol=1e-6)
    assert not torch.equal(value, expected[0])


def test_samples_beyond_the_count_play_no_part():
    """The same as a training set that ends there."""
    model = AttentionModel()
    weights = random_weights(1, 1, 1, 20)
    long = Risk(
        samples=draw_samples(model, 20, 40, [1]),
        lam=torch.tensor([0.1], dtype=torch.float64),
        counts=torch.tensor([25]),
    )
    short = replace(long, samples=draw_samples(model, 20, 25, [1]))
    for found, expected in zip(
        long.value_and_gradient(weights), short.value_and_gradient(weights), strict=True
    ):
        torch.testing.assert_close(found, expected, rtol=1e-13, atol=1e-15)
