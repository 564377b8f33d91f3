"""Quadrature over h* ~ N(0, rho I), split where the jump set through w = 0 is born.

By the symmetry x -> -x the prox begins to jump at w = 0 when det(I + V Hess loss) at x = 0 turns
negative, which is the case where

    V sigma^2 tau + (V sigma^2 delta)^2/4 > 1,   tau = t11 + t22 - 1,  delta = t11 - t22.

Every expectation given h* has a jump in its third derivative across that curve of the h* plane and
is smooth on either side, as far as jumps with weight go. So the rule is Gauss-Legendre in u_star on
the panels between the curve's points, and trapezoidal in v_star.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from symattn._jit import compiled
from symattn._typing import FloatArray
from symattn.kernels.generated.numba_l2_r1_t1 import channel, inverse_prox, target

_SCAN = 256
_BISECTIONS = 60


@compiled
def _determinant_at_rest(
    u_star: float, v_star: float, parameters: tuple[float, float, float, float], V: float
) -> float:
    """det(I + V Hess loss) at x = 0."""
    sigma, omega, a11, a22 = parameters
    t11, t22 = target(u_star, v_star, omega, a11, a22)
    _, l_u, l_v, l_uu, l_uv, l_vv = channel(0.0, 0.0, t11, t22, sigma)
    return inverse_prox(0.0, 0.0, l_u, l_v, l_uu, l_uv, l_vv, V)[2]


@compiled
def onset_points(
    low: float, high: float, v_star: float, parameters: tuple[float, float, float, float], V: float
) -> FloatArray:
    """The u_star in (low, high), ascending, at which the prox begins to jump at w = 0."""
    found = np.empty(_SCAN)
    count = 0
    step = (high - low) / _SCAN
    before = _determinant_at_rest(low, v_star, parameters, V)
    for k in range(_SCAN):
        left = low + k * step
        right = left + step
        after = _determinant_at_rest(right, v_star, parameters, V)
        if (before < 0.0) != (after < 0.0):
            for _ in range(_BISECTIONS):
                middle = 0.5 * (left + right)
                if (_determinant_at_rest(middle, v_star, parameters, V) < 0.0) == (before < 0.0):
                    left = middle
                else:
                    right = middle
            found[count] = 0.5 * (left + right)
            count += 1
        before = after
    return found[:count]


def target_rule(
    parameters: tuple[float, float, float, float],
    V: float,
    half_width: float,
    rows: int,
    columns: int,
    order: int,
    *,
    exchange: bool,
    reflection: bool,
) -> tuple[FloatArray, FloatArray]:
    """Points (n x 2: u_star, v_star) and weights of the rule for E over h*.

    parameters: (sigma, omega, a11, a22). half_width: of the square that is kept, in standard
    deviations of h*. rows: trapezoidal nodes in 0 < v_star < half_width. columns: the same in
    u_star, where it needs no panels. order: Gauss-Legendre nodes on a panel in u_star as wide as
    the half width; narrower ones get fewer. exchange: the integrands do not change under
    v_star -> -v_star. reflection: nor under h* -> -h*.
    """
    scale = parameters[0]
    edge = half_width * scale
    step = edge / rows
    # half-steps keep off h* at which both tokens' weights are equal, where psi is symmetric and
    # four of its minima can tie
    row_numbers = np.arange(0 if exchange else -rows, rows) + 0.5
    points = []
    weights = []
    for row in row_numbers:
        v_star = row * step
        row_weight = step / (scale * math.sqrt(2.0 * math.pi))
        row_weight *= math.exp(-0.5 * (v_star / scale) ** 2)
        if exchange:
            row_weight *= 2.0
        low = 0.0 if reflection else -edge
        if reflection:
            row_weight *= 2.0
        cuts = [low, *onset_points(low, edge, v_star, parameters, V), edge]
        if len(cuts) == 2:
            u_step = edge / columns
            u_star = u_step * (np.arange(0 if reflection else -columns, columns) + 0.5)
            w = np.full(len(u_star), u_step)
        else:
            panels = [_gauss(left, right, edge, order) for left, right in pairwise(cuts)]
            u_star, w = (np.concatenate(parts) for parts in zip(*panels, strict=True))
        points.append(np.column_stack([u_star, np.full(len(u_star), v_star)]))
        density = np.exp(-0.5 * (u_star / scale) ** 2) / (scale * math.sqrt(2.0 * math.pi))
        weights.append(row_weight * w * density)
    all_points = np.concatenate(points)
    all_weights = np.concatenate(weights)
    keep = all_weights > math.exp(-0.5 * half_width**2) * 1e-3 * all_weights.max()
    return np.ascontiguousarray(all_points[keep]), all_weights[keep]


def _gauss(left: float, right: float, edge: float, order: int) -> tuple[FloatArray, FloatArray]:
    """Gauss-Legendre nodes and weights on (left, right)."""
    width = right - left
    x, w = np.polynomial.legendre.leggauss(max(4, math.ceil(order * math.sqrt(width / edge))))
    return left + 0.5 * width * (1.0 + x), 0.5 * width * w
