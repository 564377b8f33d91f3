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
    first_j = max(0, math.ceil((min(p_v, q_v, r_v) - origin) / pitch - 1e-9))
    last_j = min(columns - 1, math.floor((max(p_v, q_v, r_v) - origin) / pitch + 1e-9))
    for i in range(first_i, last_i + 1):
        u = origin + i * pitch - p_u
        for j in range(first_j, last_j + 1):
            v = origin + j * pitch - p_v
            second = (u * (r_v - p_v) - (r_u - p_u) * v) / area
            third = ((q_u - p_u) * v - u * (q_v - p_v)) / area
            if second >= -1e-9 and third >= -1e-9 and second + third <= 1.0 + 1e-9:
                mask[i, j] = owner if mask[i, j] == 0 or mask[i, j] == owner else DOUBLY


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
