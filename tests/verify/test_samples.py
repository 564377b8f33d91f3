"""Training sets against sentences written out, one at a time."""

import math

import numpy as np
import pytest
import torch

from symattn import AttentionModel, InvalidInput
from verify.samples import draw_samples, positional_encoding

THREE_TOKENS = AttentionModel(
    length=3,
    student_rank=2,
    target_rank=2,
    omega=0.4,
    sigma=0.7,
    mixing=((0.2, 0.3, 0.5), (0.6, 0.3, 0.1), (0.1, 0.1, 0.8)),
)


def label(model, teacher, x):
    """y = T[x Q*/sqrt(d)] x of one sentence in numpy."""
    h = x @ teacher.T / math.sqrt(x.shape[1])
    weights = np.exp(h @ h.T)
    weights /= weights.sum(axis=1, keepdims=True)
    return ((1 - model.omega) * weights + model.omega * np.array(model.mixing)) @ x


@pytest.mark.parametrize("precision", [torch.float64, torch.float32])
@pytest.mark.parametrize("model", [AttentionModel(), THREE_TOKENS], ids=["L = 2", "L = 3"])
def test_gram_matrices_are_those_of_the_sentences(model, precision):
    d = 40
    samples = draw_samples(model, d, 20, [3, 4], precision=precision)
    p = samples.encoding.numpy()
    for b in range(2):
        for mu in range(20):
            z = samples.tokens[b, :, mu].double().numpy()
            x = z - p
            y = label(model, samples.teacher[b].numpy(), x)
            for name, expected in {
                "gram": z @ z.T / d,
                "inputs": x @ x.T / d,
                "mixed": x @ z.T / d,
                "correlation": y @ z.T / d,
            }.items():
                found = getattr(samples, name)[b, :, :, mu].numpy()
                np.testing.assert_allclose(found, expected, atol=1e-13, err_msg=name)
            assert float(samples.power[b, mu]) == pytest.approx((y**2).sum() / d, rel=1e-12)
            h = x @ samples.teacher[b].numpy().T / math.sqrt(d)
            np.testing.assert_allclose(samples.target_fields[b, :, :, mu].numpy().T, h, atol=1e-13)


def test_a_seed_means_one_training_set():
    together = draw_samples(THREE_TOKENS, 30, 700, [5, 6, 7])
    alone = draw_samples(THREE_TOKENS, 30, 300, [6])
    assert torch.equal(alone.tokens[0], together.tokens[1, :, :300])
    assert torch.equal(alone.teacher[0], together.teacher[1])
    torch.testing.assert_close(alone.power[0], together.power[1, :300], rtol=1e-13, atol=0)
    assert not torch.equal(together.tokens[0], together.tokens[1])


def test_another_target_keeps_the_inputs():
    moved = draw_samples(AttentionModel(omega=0.3), 30, 50, [1]).with_target(0.8)
    drawn = draw_samples(AttentionModel(omega=0.8), 30, 50, [1])
    assert moved.model == drawn.model
    for name in ("tokens", "teacher", "gram", "correlation", "power"):
        assert torch.equal(getattr(moved, name), getattr(drawn, name)), name


def test_what_is_drawn_is_normal():
    """Moments of 3 million entries, each within five standard deviations."""
    model = AttentionModel(sigma=0.5)
    samples = draw_samples(model, 500, 1500, [1, 2])
    x = (samples.tokens - samples.encoding.unsqueeze(1)) / model.sigma
    for entries in (x.flatten(), samples.teacher.flatten()):
        n = len(entries)
        for power, (moment, variance) in {1: (0, 1), 2: (1, 2), 3: (0, 15), 4: (3, 96)}.items():
            spread = math.sqrt(variance / n)
            assert float((entries**power).mean()) == pytest.approx(moment, abs=5 * spread)
    # tokens of a sentence, and neighbouring sentences, are independent
    n = x[:, 0].numel()
    assert abs(float((x[:, 0] * x[:, 1]).mean())) < 5 / math.sqrt(n)
    assert abs(float((x[:, :, :-1] * x[:, :, 1:]).mean())) < 5 / math.sqrt(2 * n)


@pytest.mark.parametrize("length", [2, 3, 4, 5])
def test_positions_are_a_regular_simplex(length):
    p = positional_encoding(length, 31)
    expected = length / (length - 1) * (np.eye(length) - 1 / length)
    np.testing.assert_allclose((p @ p.T).numpy(), expected, atol=1e-14)
    np.testing.assert_allclose(p.sum(dim=0).numpy(), 0, atol=1e-14)


def test_two_positions_are_opposite_and_constant():
    p = positional_encoding(2, 25)
    np.testing.assert_allclose(p.numpy(), [[0.2] * 25, [-0.2] * 25], rtol=1e-14)


def test_bad_input_is_refused():
    with pytest.raises(InvalidInput, match=r"^dimension = 2 "):
        draw_samples(THREE_TOKENS, 2, 10, [0])
    with pytest.raises(InvalidInput, match=r"^count = 0 "):
        draw_samples(AttentionModel(), 10, 0, [0])
    with pytest.raises(InvalidInput, match=r"^spectrum = "):
        draw_samples(AttentionModel(spectrum=[(1.0, (0.2, 0.3))]), 10, 10, [0])
