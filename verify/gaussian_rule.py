"""Means over a few standard normal variables by product Gauss-Hermite rules."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from symattn.errors import InvalidInput

# Orders of the rule and of the coarser one that it is held against, by the number of variables.
_ORDERS = {2: (24, 20), 4: (12, 10), 6: (8, 7)}

# Nodes of less weight than this are left out; what they have in all is below 1e-5.
_LEAST_WEIGHT = 1e-10


class Mean(NamedTuple):
    """A mean, and the distance to that of a coarser rule, of equal shapes."""

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
        Of the variables: tokens, components; 2, 4 or 6 in all.

    Raises
    ------
    InvalidInput
        For another number of variables.
    """
    variables = math.prod(shape)
    if variables not in _ORDERS:
        allowed = "2, 4 or 6 in all, L times the ranks"
        raise InvalidInput.of("number of variables", variables, allowed)
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
    return integrand(points) @ shares
