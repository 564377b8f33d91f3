"""Means over standard normal variables: by product Gauss-Hermite rules where there are few."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

# Orders of the rule and of the coarser one that it is held against, by the number of variables.
_ORDERS = {2: (24, 20), 4: (12, 10), 6: (8, 7)}

# More variables: Sobol sequences, scrambled independently, whose spread shows the error.
_REPLICATES, _POINTS = 16, 2048

# torch's Sobol sequences are multiples of this; half a step more keeps them off 0.
_STEP = 2.0**-30

# So many points at a time: an integrand for many runs takes memory.
_BLOCK = 1024

# Nodes of less weight than this are left out; what they have in all is below 1e-5.
_LEAST_WEIGHT = 1e-10


class Mean(NamedTuple):
    """A mean, and its error by the distance to a coarser rule, or by the spread of sequences."""

    value: Tensor
    error: Tensor


def gaussian_mean(
    integrand: Callable[[Tensor], Tensor], shape: tuple[int, int], device: torch.device
) -> Mean:
    """The mean of a smooth function of independent standard normal variables.

    Parameters
    ----------
    integrand : callable
        From points, (N, *shape), to values, (.., N).
    shape : tuple of int
        Of the variables: tokens, components.
    """
    variables = math.prod(shape)
    if variables not in _ORDERS:
        sobol = [integrand(_sobol_points(k, shape, device)).mean(-1) for k in range(_REPLICATES)]
        stacked = torch.stack(sobol)
        return Mean(stacked.mean(dim=0), stacked.std(dim=0) / math.sqrt(_REPLICATES))
    fine, coarse = (_rule_mean(integrand, order, shape, device) for order in _ORDERS[variables])
    return Mean(fine, (fine - coarse).abs())


def _rule_mean(
    integrand: Callable[[Tensor], Tensor], order: int, shape: tuple[int, int], device: torch.device
) -> Tensor:
    variables = math.prod(shape)
    nodes, weights = np.polynomial.hermite_e.hermegauss(order)
    weights /= weights.sum()
    places = np.stack(np.meshgrid(*[nodes] * variables, indexing="ij"), axis=-1)
    products = np.stack(np.meshgrid(*[weights] * variables, indexing="ij"), axis=-1).prod(axis=-1)
    kept = products > _LEAST_WEIGHT
    points = torch.from_numpy(places[kept]).reshape(-1, *shape).to(device)
    shares = torch.from_numpy(products[kept] / products[kept].sum()).to(device)
    blocks = (slice(first, first + _BLOCK) for first in range(0, len(points), _BLOCK))
    return torch.stack([integrand(points[b]) @ shares[b] for b in blocks]).sum(dim=0)


def _sobol_points(replicate: int, shape: tuple[int, int], device: torch.device) -> Tensor:
    """Points of one sequence, (N, *shape), the same at every call."""
    engine = torch.quasirandom.SobolEngine(  # type: ignore[no-untyped-call]
        math.prod(shape), scramble=True, seed=replicate
    )
    uniform = engine.draw(_POINTS, dtype=torch.float64) + _STEP / 2
    points: Tensor = torch.special.ndtri(uniform)
    return points.reshape(_POINTS, *shape).to(device)
