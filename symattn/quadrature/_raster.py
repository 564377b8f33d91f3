"""Which nodes of the x grid the jump set's pieces cover, and whether two pieces cover one.

A mask holds 0 where nothing covers, the number of the owner (1 to 254) where one does, and 255
where owners overlap.
"""

from __future__ import annotations

import math

from symattn._jit import compiled
from symattn._typing import FloatArray, Mask

DOUBLY = 255


@compiled
def fill_triangle(
    mask: Mask,
    owner: int,
    origin: float,
    pitch: float,
    p_u: float,
    p_v: float,
    q_u: float,
    q_v: float,
    r_u: float,
    r_v: float,
) -> None:
    """Mark `mask[i, j]` at the nodes (origin + i pitch, origin + j pitch) in the triangle pqr."""
    area = (q_u - p_u) * (r_v - p_v) - (r_u - p_u) * (q_v - p_v)
    if area == 0.0:
        return
    rows, columns = mask.shape
    first_i = max(0, math.ceil((min(p_u, q_u, r_u) - origin) / pitch - 1e-9))
    last_i = min(rows - 1, math.floor((max(p_u, q_u, r_u) - origin) / pitch + 1e-9))
    least_v = min(p_v, q_v, r_v)
    most_v = max(p_v, q_v, r_v)
    # the shares of q and r in a point grow with v at these rates
    by_q = -(r_u - p_u) / area
    by_r = (q_u - p_u) / area
    for i in range(first_i, last_i + 1):
        u = origin + i * pitch - p_u
        of_q = u * (r_v - p_v) / area
        of_r = -u * (q_v - p_v) / area
        low, high = _where_positive(of_q, by_q, least_v - p_v, most_v - p_v)
        low, high = _where_positive(of_r, by_r, low, high)
        low, high = _where_positive(1.0 - of_q - of_r, -by_q - by_r, low, high)
        first_j = max(0, math.ceil((low + p_v - origin) / pitch - 1e-9))
        last_j = min(columns - 1, math.floor((high + p_v - origin) / pitch + 1e-9))
        for j in range(first_j, last_j + 1):
            mask[i, j] = owner if mask[i, j] == 0 or mask[i, j] == owner else DOUBLY


@compiled
def _where_positive(value: float, rate: float, low: float, high: float) -> tuple[float, float]:
    """The part of (low, high) in which value + rate v is not negative; its ends may be crossed."""
    if rate > 0.0:
        return max(low, -value / rate), high
    if rate < 0.0:
        return low, min(high, -value / rate)
    if value < 0.0:
        return 1.0, 0.0
    return low, high


@compiled
def _fill_between(
    mask: Mask, owner: int, origin: float, pitch: float, y: FloatArray, z: FloatArray
) -> None:
    fill_triangle(
        mask, owner, origin, pitch,
        y[0] + y[2], y[1] + y[3], y[0] - y[2], y[1] - y[3], z[0] + z[2], z[1] + z[3],
    )  # fmt: skip
    fill_triangle(
        mask, owner, origin, pitch,
        y[0] - y[2], y[1] - y[3], z[0] + z[2], z[1] + z[3], z[0] - z[2], z[1] - z[3],
    )  # fmt: skip


@compiled
def fill_panel(
    mask: Mask,
    owner: int,
    origin: float,
    pitch: float,
    start: FloatArray,
    nodes: FloatArray,
    first: int,
    last: int,
    end: FloatArray,
) -> None:
    """Cover the strip swept by the hull's segments from `start` through nodes[first:last] to `end`.

    A segment is z = (X_u, X_v, D_u, D_v): it runs from X - D to X + D.
    """
    _fill_between(mask, owner, origin, pitch, start, nodes[first])
    for k in range(first, last - 1):
        _fill_between(mask, owner, origin, pitch, nodes[k], nodes[k + 1])
    _fill_between(mask, owner, origin, pitch, nodes[last - 1], end)
