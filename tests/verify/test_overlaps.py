"""Overlaps of weights that are made with known ones."""

import math

import numpy as np
import pytest
import torch

from symattn import AttentionModel, InvalidInput
from tests.verify.draws import random_weights
from verify.overlaps import measured_overlaps
from verify.samples import draw_samples


def test_overlaps_of_a_layer_that_is_all_position_or_all_meaning():
    samples = draw_samples(AttentionModel(sigma=0.7), 60, 1, [1, 2])
    d = 60
    positional = 0.3 * math.sqrt(d) * samples.encoding[0]
    weights = torch.stack([positional.expand(2, d), -2.0 * samples.teacher[:, 0]], dim=1)
    q, m, theta = measured_overlaps(samples, weights.unsqueeze(2)).scalars()
    norms = (samples.teacher[:, 0] ** 2).sum(dim=1) / d
    teacher_m = samples.teacher[:, 0] @ samples.encoding[0] / math.sqrt(d)
    close = {"rtol": 1e-12, "atol": 1e-14}
    torch.testing.assert_close(q[:, 0], torch.full((2,), 0.49 * 0.09, dtype=torch.float64), **close)
    torch.testing.assert_close(m[:, 0], torch.full((2,), 0.3, dtype=torch.float64), **close)
    torch.testing.assert_close(theta[:, 0], 0.49 * 0.3 * teacher_m, **close)
    torch.testing.assert_close(q[:, 1], 0.49 * 4 * norms, **close)
    torch.testing.assert_close(m[:, 1], -2 * teacher_m, **close)
    torch.testing.assert_close(theta[:, 1], -0.49 * 2 * norms, **close)


def test_overlaps_of_any_size_are_matrices():
    model = AttentionModel(
        length=3, student_rank=2, target_rank=4, mixing=((0.2, 0.3, 0.5),) * 3, sigma=0.4
    )
    samples = draw_samples(model, 15, 1, [7])
    weights = random_weights(1, 2, 2, 15)
    found = measured_overlaps(samples, weights)
    Q, Q_star = weights[0, 1].T.numpy(), samples.teacher[0].T.numpy()
    np.testing.assert_allclose(found.q[0, 1], 0.16 * Q.T @ Q / 15, rtol=1e-12)
    np.testing.assert_allclose(found.theta[0, 1], 0.16 * Q.T @ Q_star / 15, rtol=1e-12)
    np.testing.assert_allclose(
        found.m[0, 1], samples.encoding.numpy() @ Q / math.sqrt(15), rtol=1e-12
    )
    with pytest.raises(InvalidInput, match=r"^length = 3"):
        found.scalars()


@pytest.mark.parametrize(("name", "ranks"), [("student_rank", (2, 1)), ("target_rank", (1, 2))])
def test_numbers_are_for_rank_one(name, ranks):
    model = AttentionModel(student_rank=ranks[0], target_rank=ranks[1])
    samples = draw_samples(model, 8, 1, [0])
    with pytest.raises(InvalidInput, match=rf"^{name} = 2"):
        measured_overlaps(samples, random_weights(1, 1, ranks[0], 8)).scalars()
