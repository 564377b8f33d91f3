"""Means over normal variables against moments in closed form."""

import math

import pytest
import torch

from verify.gaussian_rule import gaussian_mean

CPU = torch.device("cpu")


@pytest.mark.parametrize("shape", [(2, 1), (2, 2), (2, 3)])
def test_moments(shape):
    def fourth_moments(z):
        return torch.stack([z[:, 0, 0] ** 4, (z[:, 0, 0] * z[:, 1, -1]) ** 2, z[:, 1, 0]])

    mean = gaussian_mean(fourth_moments, shape, CPU)
    expected = torch.tensor([3.0, 1.0, 0.0], dtype=torch.float64)
    torch.testing.assert_close(mean.value, expected, atol=2e-3, rtol=0)


@pytest.mark.parametrize("shape", [(2, 1), (2, 2), (2, 3)])
@pytest.mark.parametrize("frequency", [0.5, 1.5])
def test_the_error_holds_for_a_characteristic_function(shape, frequency):
    """E cos(k (z_1 + .. + z_n)) = exp(-k^2 n/2)."""
    mean = gaussian_mean(lambda z: torch.cos(frequency * z.sum(dim=(1, 2))), shape, CPU)
    truth = math.exp(-(frequency**2) * math.prod(shape) / 2)
    # What is cut off the rule is no part of the difference of two of them.
    assert abs(float(mean.value) - truth) <= float(mean.error) + 1e-5


@pytest.mark.parametrize("shape", [(2, 1), (2, 2), (2, 3)])
def test_an_integrand_is_given_few_points_at_a_time(shape, monkeypatch):
    """And the mean is that of all of them at once."""
    counts = []

    def integrand(z):
        counts.append(len(z))
        return torch.stack([torch.exp(0.3 * z.sum(dim=(1, 2))), z[:, 0, 0] ** 2])

    blocks = gaussian_mean(integrand, shape, CPU)
    assert max(counts) <= 1024
    assert (len(counts) > 2) == (shape != (2, 1))
    monkeypatch.setattr("verify.gaussian_rule._BLOCK", 10**6)
    counts.clear()
    at_once = gaussian_mean(integrand, shape, CPU)
    assert len(counts) == 2
    torch.testing.assert_close(blocks.value, at_once.value, rtol=1e-12, atol=0)


def test_standard_errors_of_many_variables():
    """Twelve variables: E exp(k.z) = exp(|k|^2/2) for several k, within five standard errors."""
    k = torch.linspace(-0.3, 0.3, 12, dtype=torch.float64).reshape(3, 4)
    scales = torch.tensor([0.3, 1.0, 2.0], dtype=torch.float64)
    mean = gaussian_mean(
        lambda z: torch.exp(scales[:, None] * (z * k).sum(dim=(1, 2))), (3, 4), CPU
    )
    truth = torch.exp(scales**2 * (k**2).sum() / 2)
    assert bool(((mean.value - truth).abs() < 5 * mean.error).all())
    assert bool((mean.error < 1e-2 * truth).all())
