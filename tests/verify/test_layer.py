"""The plain layer against its definition, written out for one sentence."""

import math

import numpy as np
import pytest
import torch

from symattn import AttentionModel
from tests.verify.draws import random_weights
from verify.layer import AttentionLayer, inputs_and_labels, layer_risk
from verify.samples import draw_samples, positional_encoding


@pytest.mark.parametrize(("length", "rank"), [(2, 1), (2, 3), (4, 2)])
def test_output_is_attention_of_tokens_with_positions(length, rank):
    d = 9
    Q, x = random_weights(d, rank), random_weights(5, length, d, seed=1)
    encoding = positional_encoding(length, d)
    output = AttentionLayer(Q, encoding)(x)
    for one, found in zip(x.numpy(), output.detach().numpy(), strict=True):
        z = one + encoding.numpy()
        for l in range(length):  # noqa: E741
            weights = [math.exp(z[l] @ Q.numpy() @ (Q.numpy().T @ z[k]) / d) for k in range(length)]
            expected = sum(w * row for w, row in zip(weights, z, strict=True)) / sum(weights)
            np.testing.assert_allclose(found[l], expected, rtol=1e-12)


def test_a_zero_layer_averages_the_tokens():
    """softmax(0) is uniform and the positions sum to 0."""
    x = random_weights(3, 4, 8)
    output = AttentionLayer(torch.zeros(8, 1).double(), positional_encoding(4, 8))(x)
    torch.testing.assert_close(output, x.mean(dim=1, keepdim=True).expand_as(x))


def test_the_weights_are_trained_and_the_positions_are_not():
    layer = AttentionLayer(torch.zeros(6, 2), positional_encoding(2, 6))
    assert [name for name, _ in layer.named_parameters()] == ["Q"]
    assert set(layer.state_dict()) == {"Q", "encoding"}


def test_labels_are_the_targets_of_the_inputs():
    """At omega = 1, y = A x; the risk of a layer is that of its misfit and of its weights."""
    mixing = ((0.3, 0.7), (0.8, 0.2))
    samples = draw_samples(AttentionModel(omega=1.0, mixing=mixing), 10, 7, [2, 3])
    x, y = inputs_and_labels(samples, 1)
    assert x.shape == y.shape == (7, 2, 10)
    torch.testing.assert_close(x[4] + samples.encoding, samples.tokens[1, :, 4])
    torch.testing.assert_close(y, torch.tensor(mixing, dtype=torch.float64) @ x)
    layer = AttentionLayer(torch.ones(10, 1).double(), samples.encoding)
    expected = (
        sum(((b - layer(a)) ** 2).sum() for a, b in zip(x, y, strict=True)) / 20 + 0.3 / 2 * 10
    )
    torch.testing.assert_close(layer_risk(layer, x, y, 0.3), expected)
