"""Triple points, where a third contact point ends a curve of double tangents."""

from __future__ import annotations

import math

import numpy as np

from symattn._jit import compiled
from symattn._typing import FloatArray
from symattn.kernels.generated.numba_l2_r1_t1 import channel
from symattn.quadrature._double_tangent import project, tangent_along
from symattn.quadrature._linear import solve_in_place
from symattn.quadrature._minima import ChannelAt, slope

#: A contact has split where det(I + V Hess loss) is below minus this. With c of order 100, curves
#: that overlap by (det^3/c)^(1/2) < 3e-7 in w are left undivided.
_SPLIT = 2e-4


@compiled
def triple_tangent(points: FloatArray, channel_at: ChannelAt) -> bool:
    """Newton on the plane that touches psi at three points, `points = (u, v) x 3`, in place."""
    t11, t22, sigma, V = channel_at
    jac = np.empty((6, 6))
    value = np.empty(6)
    w = np.empty((3, 2))
    hess = np.empty((3, 3))
    psi = np.empty(3)
    step = math.inf
    for _ in range(50):
        for k in range(3):
            u = points[2 * k]
            v = points[2 * k + 1]
            loss, l_u, l_v, l_uu, l_uv, l_vv = channel(u, v, t11, t22, sigma)
            w[k, 0] = u + V * l_u
            w[k, 1] = v + V * l_v
            hess[k, 0] = 1.0 + V * l_uu
            hess[k, 1] = V * l_uv
            hess[k, 2] = 1.0 + V * l_vv
            psi[k] = 0.5 * (u * u + v * v) + V * loss
        jac[:] = 0.0
        for k in range(2):
            o = k + 1
            du = points[0] - points[2 * o]
            dv = points[1] - points[2 * o + 1]
            value[2 * k] = w[0, 0] - w[o, 0]
            value[2 * k + 1] = w[0, 1] - w[o, 1]
            value[4 + k] = psi[0] - psi[o] - w[0, 0] * du - w[0, 1] * dv
            for i in range(2):
                for j in range(2):
                    jac[2 * k + i, j] = hess[0, i + j]
                    jac[2 * k + i, 2 * o + j] = -hess[o, i + j]
                jac[4 + k, i] = -(hess[0, i] * du + hess[0, i + 1] * dv)
                jac[4 + k, 2 * o + i] = w[0, i] - w[o, i]
        if not solve_in_place(jac, value):
            return False
        step = 0.0
        for j in range(6):
            step = max(step, abs(value[j]))
        if not step < 1e3:
            return False
        shrink = min(1.0, 0.3 / step) if step > 0.0 else 1.0
        for j in range(6):
            points[j] -= shrink * value[j]
        if step < 1e-13:
            return True
    return step < 1e-9


@compiled
def end_at_corner(
    points: FloatArray,
    z: FloatArray,
    unit: FloatArray,
    step: float,
    channel_at: ChannelAt,
    ahead: FloatArray,
    unit_ahead: FloatArray,
) -> bool:
    """Move `points` to a triple point, and `ahead` to its pair of the curve from z.

    False if there is none within the step.
    """
    if not triple_tangent(points, channel_at):
        return False
    progress = _pair_at_corner(points, z, unit, ahead)
    other = np.empty(4)
    for k in range(2):
        # of two contacts of one that has split, both on the curve, the first one met
        _exchange(points, k)
        sooner = _pair_at_corner(points, z, unit, other)
        if 0.0 <= sooner < progress and np.max(np.abs(other - ahead)) < step:
            progress = sooner
            ahead[:] = other
        else:
            _exchange(points, k)
    if progress < 0.0 or progress > 1.01 * step:
        return False
    tangent_along(ahead, unit, channel_at, unit_ahead)
    return True


@compiled
def _exchange(points: FloatArray, k: int) -> None:
    """Let the third contact point and the pair's k-th change places."""
    for j in range(2):
        points[2 * k + j], points[4 + j] = points[4 + j], points[2 * k + j]


@compiled
def _pair_at_corner(points: FloatArray, z: FloatArray, unit: FloatArray, pair: FloatArray) -> float:
    """Put the first two contact points into `pair` as (X, D); how far along `unit` from z it is."""
    for j in range(2):
        pair[j] = 0.5 * (points[j] + points[2 + j])
        pair[2 + j] = 0.5 * (points[j] - points[2 + j])
    if pair[2] * z[2] + pair[3] * z[3] < 0.0:
        pair[2:4] *= -1.0
    progress = 0.0
    for j in range(4):
        progress += (pair[j] - z[j]) * unit[j]
    return progress


@compiled
def _determinant(z: FloatArray, side: float, channel_at: ChannelAt) -> float:
    """det(I + V Hess loss) at the contact X + side D."""
    return slope(z[0] + side * z[2], z[1] + side * z[3], channel_at)[2]


@compiled
def passes_swallowtail(
    z: FloatArray,
    ahead: FloatArray,
    nodes: FloatArray,
    first: int,
    n: int,
    channel_at: ChannelAt,
    points: FloatArray,
) -> bool:
    """Whether a contact is no minimum on a part of the panel from z to `ahead`, and clearly so.

    There the contact has split in two. Where t runs along the curve and the contact's determinant
    is c (t^2 - t_0^2), w moves by c (t^2 - t_0^2) (1, const t) dt, so the curve crosses itself in
    the w plane at t = +-3^(1/2) t_0. The crossing is a triple point; its approximate contact points
    go to `points`, the pair met first in front.
    """
    row = ahead - z
    square = row[0] ** 2 + row[1] ** 2 + row[2] ** 2 + row[3] ** 2
    place = np.empty(3)
    value = np.empty(3)
    at = np.empty(4)
    for side in (1.0, -1.0):
        middle = 0
        least = math.inf
        for k in range(n):
            det = _determinant(nodes[first + k, 0:4], side, channel_at)
            if det < least:
                least = det
                middle = k
        if least > 1.0:
            continue
        middle = min(max(middle, 1), n - 2)
        start = nodes[first + middle, 0:4]
        for k in range(3):
            at[:] = nodes[first + middle - 1 + k, 0:4]
            place[k] = ((at - z) * row).sum() / square
            value[k] = _determinant(at, side, channel_at)
        origin = place[1]
        # the lowest point of a parabola through three points, which then replaces the furthest
        for _ in range(4):
            left = (value[1] - value[0]) / (place[1] - place[0])
            right = (value[2] - value[1]) / (place[2] - place[1])
            bend = (right - left) / (place[2] - place[0])
            lowest = 0.5 * (place[0] + place[1]) - 0.5 * left / bend
            if not (bend > 0.0 and 0.0 <= lowest <= 1.0):
                break
            at[:] = start + (lowest - origin) * row
            if project(at, row, ((z + lowest * row) * row).sum(), channel_at) < 0:
                break
            det = _determinant(at, side, channel_at)
            if det < -_SPLIT:
                reach = math.sqrt(-3.0 * det / bend)
                for k in range(2):
                    x = lowest + (2 * k - 1) * reach
                    at[:] = start + (x - origin) * row
                    if project(at, row, ((z + x * row) * row).sum(), channel_at) < 0:
                        return False
                    points[4 * k] = at[0] + side * at[2]
                    points[4 * k + 1] = at[1] + side * at[3]
                    points[2] = at[0] - side * at[2]
                    points[3] = at[1] - side * at[3]
                return True
            furthest = 0 if lowest - place[0] > place[2] - lowest else 2
            place[furthest], value[furthest] = lowest, det
            order = np.argsort(place)
            place[:] = place[order]
            value[:] = value[order]
            if min(place[1] - place[0], place[2] - place[1]) < 1e-3:
                break
    return False
