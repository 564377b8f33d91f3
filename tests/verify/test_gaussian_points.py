"""Means over the points against moments of the normal law."""

import math

import pytest
import torch

from verify.gaussian_points import POINTS, gaussian_points, mean_of_replicates

CPU = torch.device("cpu")


def test_moments():
    z = torch.stack([gaussian_points(k, (2, 3), CPU) for k in range(8)])
    assert z.shape == (8, POINTS, 2, 3)
    samples = z.reshape(-1, 6)
    torch.testing.assert_close(samples.mean(dim=0), torch.zeros(6).double(), atol=1e-3, rtol=0)
    covariance = samples.T @ samples / len(samples)
    torch.testing.assert_close(covariance, torch.eye(6).double(), atol=5e-3, rtol=0)
    assert float((samples**4).mean()) == pytest.approx(3, rel=5e-3)


def test_points_are_the_same_at_every_call_and_differ_between_replicates():
    assert torch.equal(gaussian_points(3, (2, 2), CPU), gaussian_points(3, (2, 2), CPU))
    assert not torch.equal(gaussian_points(3, (2, 2), CPU), gaussian_points(4, (2, 2), CPU))


def test_standard_errors_are_those_of_the_means():
    """32 means of independent groups of replicates deviate from E z_1^2 z_2^2 = 1 as claimed."""
    deviations = []
    for group in range(32):
        points = [gaussian_points(16 * group + k, (2, 2), CPU) for k in range(16)]
        mean = mean_of_replicates([(z[:, 0, 0] * z[:, 1, 1]).square().mean() for z in points])
        deviations.append(float((mean.value - 1) / mean.standard_error))
    # Student's t with 15 degrees of freedom has the variance 15/13, and the fourth moment 4.8
    spread = math.sqrt((4.8 - (15 / 13) ** 2) / 32)
    square = sum(x**2 for x in deviations) / 32
    assert square == pytest.approx(15 / 13, abs=3 * spread)
