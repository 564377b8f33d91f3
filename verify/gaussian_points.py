"""Points for means over standard normal variables: Sobol sequences, scrambled independently.

Each scrambled sequence gives an unbiased mean, with far less spread than independent points where
the integrand is smooth. Several of them, independent of each other, show how large the spread is.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

REPLICATES, POINTS = 16, 2048

# torch's Sobol sequences are multiples of this; half a step more keeps them off 0.
_STEP = 2.0**-30


class Mean(NamedTuple):
    """An estimated mean and the standard deviation of the estimate, of equal shapes."""

    value: Tensor
    standard_error: Tensor


def gaussian_points(replicate: int, shape: tuple[int, ...], device: torch.device) -> Tensor:
    """Points of one sequence, each an array of independent standard normal variables.

    The same at every call: `replicate`, from 0 on, is the seed. Returned: (POINTS, \\*shape).
    """
    engine = torch.quasirandom.SobolEngine(  # type: ignore[no-untyped-call]
        math.prod(shape), scramble=True, seed=replicate
    )
    uniform = engine.draw(POINTS, dtype=torch.float64) + _STEP / 2
    points: Tensor = torch.special.ndtri(uniform)
    return points.reshape(POINTS, *shape).to(device)


def mean_of_replicates(replicates: list[Tensor]) -> Mean:
    """The mean of independent estimates of the same number, and its standard error."""
    stacked = torch.stack(replicates)
    return Mean(stacked.mean(dim=0), stacked.std(dim=0) / math.sqrt(len(replicates)))
