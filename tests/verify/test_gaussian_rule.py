"""Means over normal variables against moments in closed form."""

import math

import pytest
import torch

from symattn.errors import InvalidInput
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


def test_other_numbers_of_variables_are_refused():
    with pytest.raises(InvalidInput, match="2, 4 or 6"):
        gaussian_mean(lambda z: z.sum(dim=(1, 2)), (4, 2), CPU)
