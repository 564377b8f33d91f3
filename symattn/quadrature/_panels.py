"""Panels of a curve of double tangents: the nodes that carry a quadrature along it.

Panels of the curve carry Gauss-Legendre nodes: `nodes[k] = (z, dz/dp)` with a parameter p linear in
z, `weights[k]` the quadrature weight of dp.
"""

from __future__ import annotations

import math

import numpy as np

from symattn._jit import compiled
from symattn._typing import FloatArray
from symattn.quadrature._double_tangent import excess_of_third, project, tangent
from symattn.quadrature._minima import ChannelAt

#: A third minimum this much lower (in units of psi) than the pair ends the curve at a triple point.
LOWER = 1e-11
#: Largest distance of a node from the cubic through a panel's ends, relative to the panel.
_OFF_CUBIC = 0.01
#: Half distance of a pair below which rounding spoils its conditions; what such pairs sweep weighs
#: about its fifth power.
TOO_CLOSE = 1e-3


@compiled
def _hermite(
    start: FloatArray,
    start_rate: FloatArray,
    end: FloatArray,
    end_rate: FloatArray,
    length: float,
    x: float,
    z: FloatArray,
    rate: FloatArray,
) -> None:
    """Value z and derivative `rate`, at the share x of a panel, of the cubic through its ends."""
    for j in range(4):
        z[j] = (
            (1.0 + 2.0 * x) * (1.0 - x) ** 2 * start[j]
            + x * (1.0 - x) ** 2 * length * start_rate[j]
            + x * x * (3.0 - 2.0 * x) * end[j]
            + x * x * (x - 1.0) * length * end_rate[j]
        )
        rate[j] = (
            6.0 * x * (1.0 - x) * (end[j] - start[j]) / length
            + (1.0 - x) * (1.0 - 3.0 * x) * start_rate[j]
            + x * (3.0 * x - 2.0) * end_rate[j]
        )


@compiled
def _sample_panel(
    start: FloatArray,
    start_rate: FloatArray,
    end: FloatArray,
    end_rate: FloatArray,
    row: FloatArray,
    p_start: float,
    p_end: float,
    rule: FloatArray,
    channel_at: ChannelAt,
    nodes: FloatArray,
    weights: FloatArray,
    first: int,
) -> bool:
    """Gauss-Legendre nodes on the panel p_start..p_end of p = row.z, predicted by a Hermite cubic.

    `rule` holds the abscissae on (-1, 1) and their weights in its two rows. Right before a cusp the
    cubic itself is taken: rounding would move a projected node further. False if a node is not
    found, or lies off the cubic: the panel is too long, or its ends are on different curves.
    """
    length = p_end - p_start
    unit = np.empty(4)
    predicted = np.empty(4)
    for i in range(rule.shape[1]):
        x = 0.5 * (1.0 + rule[0, i])
        z = nodes[first + i, 0:4]
        weights[first + i] = 0.5 * rule[1, i] * abs(length)
        _hermite(start, start_rate, end, end_rate, length, x, z, nodes[first + i, 4:8])
        if z[2] * z[2] + z[3] * z[3] < TOO_CLOSE**2:
            continue
        predicted[:] = z
        if project(z, row, p_start + length * x, channel_at) < 0:
            return False
        if np.max(np.abs(z - predicted)) > _OFF_CUBIC * abs(length):
            return False
        tangent(z, channel_at, unit)
        rate = row[0] * unit[0] + row[1] * unit[1] + row[2] * unit[2] + row[3] * unit[3]
        for j in range(4):
            nodes[first + i, 4 + j] = unit[j] / rate
    return True


@compiled
def panel_to(
    z: FloatArray,
    unit: FloatArray,
    ahead: FloatArray,
    unit_ahead: FloatArray,
    rule: FloatArray,
    channel_at: ChannelAt,
    nodes: FloatArray,
    weights: FloatArray,
    first: int,
) -> bool:
    """The panel from z to `ahead`, with these unit tangents, in the parameter along its chord."""
    row = ahead - z
    length = math.sqrt(row[0] ** 2 + row[1] ** 2 + row[2] ** 2 + row[3] ** 2)
    row /= length
    p_start, p_end, rate_start, rate_end = 0.0, 0.0, 0.0, 0.0
    for j in range(4):
        p_start += row[j] * z[j]
        p_end += row[j] * ahead[j]
        rate_start += row[j] * unit[j]
        rate_end += row[j] * unit_ahead[j]
    return _sample_panel(
        z, unit / rate_start, ahead, unit_ahead / rate_end, row, p_start, p_end,
        rule, channel_at, nodes, weights, first,
    )  # fmt: skip


@compiled
def close_at_cusp(
    z: FloatArray,
    unit: FloatArray,
    rule: FloatArray,
    channel_at: ChannelAt,
    psi: FloatArray,
    origin: float,
    pitch: float,
    nodes: FloatArray,
    weights: FloatArray,
    first: int,
    cusp: FloatArray,
) -> bool:
    """The last panel, from z to the cusp ahead, in the parameter p = D.e from |D| down to 0.

    False if there is none, or if a triple point comes first.
    """
    n = rule.shape[1]
    size = math.sqrt(z[2] * z[2] + z[3] * z[3])
    row = np.zeros(4)
    row[2] = z[2] / size
    row[3] = z[3] / size
    shrinking = row[2] * unit[2] + row[3] * unit[3]
    rate = unit / shrinking
    cusp[0] = z[0] - 0.5 * size * rate[0]
    cusp[1] = z[1] - 0.5 * size * rate[1]
    cusp[2] = 0.0
    cusp[3] = 0.0
    if not _sample_panel(
        z, rate, cusp, row, row, size, 0.0, rule, channel_at, nodes, weights, first
    ):
        return False
    for k in range(first, first + n):
        if not nodes[k, 2] * row[2] + nodes[k, 3] * row[3] > 0.0:
            return False
        if excess_of_third(nodes[k, 0:4], channel_at, psi, origin, pitch)[0] < -LOWER:
            return False
    # X is even in p: extrapolate it in p^2 from the two innermost nodes
    inner = first + n - 1
    p = nodes[inner, 2] * row[2] + nodes[inner, 3] * row[3]
    q = nodes[inner - 1, 2] * row[2] + nodes[inner - 1, 3] * row[3]
    share = p * p / (q * q - p * p)
    for j in range(2):
        cusp[j] = nodes[inner, j] - share * (nodes[inner - 1, j] - nodes[inner, j])
    return True
