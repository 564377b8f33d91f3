"""The fitted linear map against least squares on the sentences, and its limit."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from symattn import AttentionModel, linear_baseline
from verify.layer import inputs_and_labels
from verify.linear_map import fit_linear_map
from verify.samples import draw_samples

TWO_TOKENS = AttentionModel(sigma=0.9, mixing=((0.3, 0.7), (0.8, 0.2)))
THREE_TOKENS = AttentionModel(
    length=3,
    target_rank=2,
    sigma=0.7,
    mixing=((0.2, 0.3, 0.5), (0.6, 0.3, 0.1), (0.1, 0.1, 0.8)),
)


@pytest.mark.parametrize("model", [TWO_TOKENS, THREE_TOKENS], ids=["L = 2", "L = 3"])
def test_map_and_training_loss_are_those_of_least_squares(model):
    d, counts = 20, torch.tensor([25, 8])
    samples = draw_samples(model, d, 25, [1, 2])
    fitted = fit_linear_map(samples, counts)
    for b in range(2):
        x, y = inputs_and_labels(samples, b)
        for k, count in enumerate(counts.tolist()):
            rows, targets = (
                t[:count].transpose(1, 2).reshape(-1, model.length).numpy() for t in (x, y)
            )
            W, squares, _, _ = np.linalg.lstsq(rows, targets, rcond=None)
            np.testing.assert_allclose(fitted.W[b, k], W.T, rtol=1e-10, atol=1e-12)
            expected = squares.sum() / (2 * d**2)
            assert float(fitted.train_loss[b, k]) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("model", [TWO_TOKENS, THREE_TOKENS], ids=["L = 2", "L = 3"])
def test_test_error_is_that_of_fresh_sentences(model):
    d, count = 8, 200_000
    samples = draw_samples(model, d, count, [1])
    fitted = fit_linear_map(samples, torch.tensor([5]))
    x, y = inputs_and_labels(samples, 0)
    errors = (y - fitted.W[0, 0] @ x).square().sum(dim=(1, 2)) / (2 * d)
    value, error = float(fitted.test_error.value), float(fitted.test_error.error)
    spread = math.hypot(float(errors.std()) / math.sqrt(count), error)
    assert value == pytest.approx(float(errors.mean()), abs=4 * spread)
    assert error < 1e-3 * value


def test_a_large_training_set_gives_the_linear_baseline():
    """W has L^2 numbers to fit, so at n = d its losses are off by 1/d at the teacher's norm."""
    model, d = AttentionModel(), 2000
    samples = draw_samples(model, d, d, [1])
    fitted = fit_linear_map(samples, torch.tensor([d]))
    # A teacher of another norm gives h* another variance, and x the same.
    norm = float(samples.teacher.square().sum()) / d
    baseline = linear_baseline(replace(model, sigma=model.sigma * math.sqrt(norm)))
    np.testing.assert_allclose(fitted.W[0, 0], baseline.W, atol=5e-3)
    test_error = baseline.test_error / norm
    assert float(fitted.test_error.value) == pytest.approx(test_error, rel=3e-3)
    # of n samples whose losses vary by about twice their mean
    assert float(fitted.train_loss) == pytest.approx(test_error, rel=4 * 2 / math.sqrt(d))
