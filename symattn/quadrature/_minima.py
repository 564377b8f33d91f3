"""Minima of the channel energy, and the convex hull of psi.

At fixed target weights the energy at w is (psi(x) - w.x + |w|^2/2)/V with

    psi(x) = |x|^2/2 + V loss(x),

so its global minimisers are the points where psi touches its convex hull, and w is the slope of
the supporting plane there. A point x that is nobody's global minimiser lies under a flat piece of
the hull: a segment between two contact points (the prox jumps from one to the other) or a triangle
(a triple point).

The parameters of the channel travel as one tuple `channel_at = (t11, t22, sigma, V)`.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np

from symattn._jit import compiled
from symattn._typing import FloatArray
from symattn.kernels.generated.numba_l2_r1_t1 import channel, inverse_prox

ChannelAt: TypeAlias = tuple[float, float, float, float]

#: The hull's supporting planes are improved until nothing lies lower than this.
_HULL_TOLERANCE = 1e-9
#: How far from a saddle its flanks begin.
_ASIDE = 0.02


@compiled
def tilted_psi(u: float, v: float, a: float, b: float, channel_at: ChannelAt) -> float:
    """psi(x) - w.x, the energy at w times V up to a constant in x."""
    t11, t22, sigma, V = channel_at
    return 0.5 * (u * u + v * v) + V * channel(u, v, t11, t22, sigma)[0] - a * u - b * v


@compiled
def slope(u: float, v: float, channel_at: ChannelAt) -> tuple[float, float, float]:
    """w(x), the slope of psi at x, and det(I + V Hess loss(x))."""
    t11, t22, sigma, V = channel_at
    _, l_u, l_v, l_uu, l_uv, l_vv = channel(u, v, t11, t22, sigma)
    return inverse_prox(u, v, l_u, l_v, l_uu, l_uv, l_vv, V)


@compiled
def descend(
    u: float, v: float, a: float, b: float, channel_at: ChannelAt
) -> tuple[float, float, float]:
    """A local minimum of psi(x) - w.x downhill of (u, v), by Newton steps on a convex model.

    Returned: its coordinates and the value there.
    """
    t11, t22, sigma, V = channel_at
    loss, l_u, l_v, l_uu, l_uv, l_vv = channel(u, v, t11, t22, sigma)
    value = 0.5 * (u * u + v * v) + V * loss - a * u - b * v
    damping = 0.0
    scale = 1.0 + abs(a) + abs(b)
    for _ in range(200):
        grad_u = u + V * l_u - a
        grad_v = v + V * l_v - b
        if abs(grad_u) + abs(grad_v) < 1e-13 * scale:
            break
        h_uu = 1.0 + V * l_uu
        h_uv = V * l_uv
        h_vv = 1.0 + V * l_vv
        lowest = 0.5 * (h_uu + h_vv) - math.sqrt(0.25 * (h_uu - h_vv) ** 2 + h_uv * h_uv)
        shift = damping
        if lowest < 0.0:
            # away from a saddle as fast as towards a minimum of the same curvature
            shift -= 2.0 * lowest
        h_uu += shift
        h_vv += shift
        det = h_uu * h_vv - h_uv * h_uv
        if det == 0.0:
            damping = max(2.0 * damping, 0.5)
            continue
        step_u = -(h_vv * grad_u - h_uv * grad_v) / det
        step_v = -(h_uu * grad_v - h_uv * grad_u) / det
        length = math.sqrt(step_u * step_u + step_v * step_v)
        if length > 0.5:
            step_u *= 0.5 / length
            step_v *= 0.5 / length
        new_u = u + step_u
        new_v = v + step_v
        loss, n_u, n_v, n_uu, n_uv, n_vv = channel(new_u, new_v, t11, t22, sigma)
        new_value = 0.5 * (new_u * new_u + new_v * new_v) + V * loss - a * new_u - b * new_v
        if new_value <= value + 1e-15 * (1.0 + abs(value)):
            u, v, value = new_u, new_v, new_value
            l_u, l_v, l_uu, l_uv, l_vv = n_u, n_v, n_uu, n_uv, n_vv
            damping = 0.3 * damping if damping > 1e-3 else 0.0
            if length < 1e-15:
                break
        else:
            damping = max(2.0 * damping, 0.5)
            if damping > 1e8:
                break
    return u, v, value


@compiled
def deepest_minimum(
    a: float, b: float, channel_at: ChannelAt, psi: FloatArray, origin: float, pitch: float
) -> tuple[float, float, float]:
    """The global minimiser of psi(x) - w.x, that is the prox at w, and the value there.

    `psi[i, j]` is psi at (origin + i pitch, origin + j pitch). Every local minimum of the table
    that could win is followed down to a true one. As loss >= 0, only x with
    |x - w|^2/2 <= energy already reached can win, which bounds the part of the table to search.
    """
    n = psi.shape[0]
    best_u, best_v, best = descend(a, b, a, b, channel_at)
    radius = math.sqrt(max(0.0, 2.0 * best + a * a + b * b)) + 2.0 * pitch
    first_i = max(1, int((a - radius - origin) / pitch))
    last_i = min(n - 2, int((a + radius - origin) / pitch) + 1)
    first_j = max(1, int((b - radius - origin) / pitch))
    last_j = min(n - 2, int((b + radius - origin) / pitch) + 1)
    low = math.inf
    low_i = 0
    low_j = 0
    for i in range(first_i, last_i + 1):
        tilt = a * (origin + i * pitch)
        for j in range(first_j, last_j + 1):
            value = psi[i, j] - tilt - b * (origin + j * pitch)
            if value < low:
                low, low_i, low_j = value, i, j
    if low_i > 0:
        # also from the entries around: two wells of one valley can share the lowest one
        for side in range(5):
            i = low_i + (side == 1) - (side == 2)
            j = low_j + (side == 3) - (side == 4)
            u, v, found = descend(origin + i * pitch, origin + j * pitch, a, b, channel_at)
            if found < best:
                best_u, best_v, best = u, v, found
    da = a * pitch
    db = b * pitch
    for i in range(first_i, last_i + 1):
        tilt = a * (origin + i * pitch)
        for j in range(first_j, last_j + 1):
            here = psi[i, j]
            if (
                here <= psi[i - 1, j] + da
                and here <= psi[i + 1, j] - da
                and here <= psi[i, j - 1] + db
                and here <= psi[i, j + 1] - db
                and (i != low_i or j != low_j)
            ):
                # the bottom lies below the table's lowest entry by a fraction of the second
                # differences: an eighth of their sum in a round well, more in a slanted one
                depth = psi[i - 1, j] + psi[i + 1, j] + psi[i, j - 1] + psi[i, j + 1] - 4.0 * here
                if here - tilt - b * (origin + j * pitch) - 0.5 * depth < best:
                    u, v, found = descend(origin + i * pitch, origin + j * pitch, a, b, channel_at)
                    if found < best:
                        best_u, best_v, best = u, v, found
    return best_u, best_v, best


@compiled
def flanking_minima(u: float, v: float, channel_at: ChannelAt, contacts: FloatArray) -> bool:
    """The local minima of psi(x) - w.x on both sides of its saddle at (u, v), w being the slope.

    Written to the first two rows of `contacts`; False if (u, v) is no saddle.
    """
    t11, t22, sigma, V = channel_at
    _, l_u, l_v, l_uu, l_uv, l_vv = channel(u, v, t11, t22, sigma)
    a, b, det = inverse_prox(u, v, l_u, l_v, l_uu, l_uv, l_vv, V)
    if det >= 0.0:
        return False
    # the direction in which psi curves down
    angle = 0.5 * math.atan2(2.0 * l_uv, l_uu - l_vv) + 0.5 * math.pi
    step_u = _ASIDE * math.cos(angle)
    step_v = _ASIDE * math.sin(angle)
    for k in range(2):
        side = 1.0 - 2.0 * k
        contacts[k, 0], contacts[k, 1], _ = descend(
            u + side * step_u, v + side * step_v, a, b, channel_at
        )
    return True


@compiled
def _barycentric(
    p: FloatArray, q: FloatArray, r: FloatArray, u: float, v: float
) -> tuple[float, float, float]:
    area = (q[0] - p[0]) * (r[1] - p[1]) - (r[0] - p[0]) * (q[1] - p[1])
    if abs(area) < 1e-14:
        return -1.0, -1.0, -1.0
    second = ((u - p[0]) * (r[1] - p[1]) - (r[0] - p[0]) * (v - p[1])) / area
    third = ((q[0] - p[0]) * (v - p[1]) - (u - p[0]) * (q[1] - p[1])) / area
    return 1.0 - second - third, second, third


@compiled
def hull_contacts(
    u: float,
    v: float,
    channel_at: ChannelAt,
    psi: FloatArray,
    origin: float,
    pitch: float,
    contacts: FloatArray,
) -> int:
    """The contact points of the flat piece of psi's convex hull above x = (u, v).

    Written to the rows of `contacts` (3 x 2, approximate); their number is returned: 2 for a
    segment, 3 for a triangle, 1 if x itself is a contact point, 0 if the search failed.

    A triangle with corners on the graph is pushed down: its plane's slope w gives the lowest point
    of psi(x) - w.x, which replaces the corner that keeps x inside and the plane lowest.
    """
    corners = np.empty((4, 3))
    far = 8.0 * abs(origin)
    for i in range(3):
        angle = 0.7 + 2.0 * math.pi * i / 3.0
        corners[i, 0] = far * math.cos(angle)
        corners[i, 1] = far * math.sin(angle)
        corners[i, 2] = tilted_psi(corners[i, 0], corners[i, 1], 0.0, 0.0, channel_at)
    for _ in range(200):
        p, q, r = corners[0], corners[1], corners[2]
        area = (q[0] - p[0]) * (r[1] - p[1]) - (r[0] - p[0]) * (q[1] - p[1])
        if area == 0.0:
            return 0
        a = ((q[2] - p[2]) * (r[1] - p[1]) - (r[2] - p[2]) * (q[1] - p[1])) / area
        b = ((q[0] - p[0]) * (r[2] - p[2]) - (r[0] - p[0]) * (q[2] - p[2])) / area
        level = p[2] - a * p[0] - b * p[1]
        low_u, low_v, low = deepest_minimum(a, b, channel_at, psi, origin, pitch)
        if low >= level - _HULL_TOLERANCE:
            break
        corners[3, 0] = low_u
        corners[3, 1] = low_v
        corners[3, 2] = low + a * low_u + b * low_v
        best = math.inf
        drop = -1
        for k in range(3):
            i = (k + 1) % 3
            j = (k + 2) % 3
            x, y, z = _barycentric(corners[i], corners[j], corners[3], u, v)
            if x >= -1e-12 and y >= -1e-12 and z >= -1e-12:
                height = x * corners[i, 2] + y * corners[j, 2] + z * corners[3, 2]
                if height < best:
                    best, drop = height, k
        if drop < 0:
            return 0
        corners[drop] = corners[3]
    share = _barycentric(corners[0], corners[1], corners[2], u, v)
    count = 0
    for i in range(3):
        if share[i] < 1e-4:
            continue
        fresh = True
        for j in range(count):
            if (contacts[j, 0] - corners[i, 0]) ** 2 + (contacts[j, 1] - corners[i, 1]) ** 2 < 1e-6:
                fresh = False
        if fresh:
            contacts[count, 0] = corners[i, 0]
            contacts[count, 1] = corners[i, 1]
            count += 1
    return count
