"""Curves of double tangents of psi: where the prox jumps, followed to quadrature accuracy.

A plane that touches psi(x) = |x|^2/2 + V loss(x) at two points X + D and X - D has there the same
slope w, and equal energies. In z = (X_u, X_v, D_u, D_v) these are three equations,

    [w(X + D) - w(X - D)]/2 = 0   (two),
    loss(X + D) - loss(X - D) - [grad loss(X + D) + grad loss(X - D)].D = 0,

so their solutions are curves. X is even and D odd in a parameter that vanishes at a cusp, where the
two points meet: the curve passes smoothly through D = 0, and a quadrature along it converges
exponentially right up to the cusp. The rows are divided by |D|, |D| and |D|^3, which keeps them of
order one near a cusp.

Panels of the curve carry Gauss-Legendre nodes: `nodes[k] = (z, dz/dp)` with a parameter p linear in
z, `weights[k]` the quadrature weight of dp.
"""

from __future__ import annotations

import math

import numpy as np

from symattn._jit import compiled
from symattn._typing import FloatArray, Mask
from symattn.kernels.generated.numba_l2_r1_t1 import channel
from symattn.quadrature._linear import solve_in_place, unit_null_vector
from symattn.quadrature._minima import ChannelAt, deepest_minimum, descend, slope, tilted_psi
from symattn.quadrature._raster import fill_panel

# how a curve ended
CUSP = 1
TRIPLE_POINT = 2
OUT_OF_SIGHT = 3
FAILED = 4

#: A third minimum this much lower (in units of psi) than the pair ends the curve at a triple point.
_LOWER = 1e-11
#: Largest distance of a node from the cubic through a panel's ends, relative to the panel.
_OFF_CUBIC = 0.01
#: Half distance of a pair below which rounding spoils its conditions; what such pairs sweep weighs
#: about its fifth power.
_TOO_CLOSE = 1e-3
#: A contact has split where det(I + V Hess loss) is below minus this. With c of order 100, curves
#: that overlap by (det^3/c)^(1/2) < 3e-7 in w are left undivided.
_SPLIT = 2e-4


@compiled
def _conditions(z: FloatArray, channel_at: ChannelAt, value: FloatArray, jac: FloatArray) -> None:
    """The scaled double-tangent conditions (`value[:3]`) and their derivative (`jac[:3, :]`)."""
    t11, t22, sigma, V = channel_at
    X_u, X_v, D_u, D_v = z[0], z[1], z[2], z[3]
    p, p_u, p_v, p_uu, p_uv, p_vv = channel(X_u + D_u, X_v + D_v, t11, t22, sigma)
    n, n_u, n_v, n_uu, n_uv, n_vv = channel(X_u - D_u, X_v - D_v, t11, t22, sigma)
    length = math.sqrt(D_u * D_u + D_v * D_v)
    once = 1.0 / length
    thrice = V / length**3
    value[0] = (D_u + 0.5 * V * (p_u - n_u)) * once
    value[1] = (D_v + 0.5 * V * (p_v - n_v)) * once
    value[2] = (p - n - (p_u + n_u) * D_u - (p_v + n_v) * D_v) * thrice
    half = 0.5 * V * once
    jac[0, 0] = half * (p_uu - n_uu)
    jac[0, 1] = half * (p_uv - n_uv)
    jac[1, 0] = jac[0, 1]
    jac[1, 1] = half * (p_vv - n_vv)
    jac[0, 2] = once + half * (p_uu + n_uu)
    jac[0, 3] = half * (p_uv + n_uv)
    jac[1, 2] = jac[0, 3]
    jac[1, 3] = once + half * (p_vv + n_vv)
    jac[2, 0] = (p_u - n_u - (p_uu + n_uu) * D_u - (p_uv + n_uv) * D_v) * thrice
    jac[2, 1] = (p_v - n_v - (p_uv + n_uv) * D_u - (p_vv + n_vv) * D_v) * thrice
    jac[2, 2] = -((p_uu - n_uu) * D_u + (p_uv - n_uv) * D_v) * thrice
    jac[2, 3] = -((p_uv - n_uv) * D_u + (p_vv - n_vv) * D_v) * thrice


@compiled
def tangent(z: FloatArray, channel_at: ChannelAt, out: FloatArray) -> None:
    """The unit tangent of the curve at z; its orientation is continuous along the curve."""
    value = np.empty(4)
    jac = np.empty((4, 4))
    _conditions(z, channel_at, value, jac)
    unit_null_vector(jac, out)


@compiled
def _project(z: FloatArray, row: FloatArray, level: float, channel_at: ChannelAt) -> int:
    """Newton from z onto the curve within the plane row.z = level; steps taken, or -1."""
    value = np.empty(4)
    jac = np.empty((4, 4))
    before = math.inf
    for it in range(12):
        _conditions(z, channel_at, value, jac)
        value[3] = -level
        for j in range(4):
            jac[3, j] = row[j]
            value[3] += row[j] * z[j]
        if not solve_in_place(jac, value):
            return -1
        step = 0.0
        for j in range(4):
            z[j] -= value[j]
            step = max(step, abs(value[j]))
        if not step < 1.0:
            return -1
        # rounding of the cubic condition grows like |D|^-3 towards a cusp
        noise = 1e-13 + 1e-16 / (z[2] * z[2] + z[3] * z[3]) ** 1.5
        if step < noise or (it >= 4 and step < 100.0 * noise and step > 0.3 * before):
            return it + 1
        before = step
    return -1


@compiled
def nearest_double_tangent(z: FloatArray, channel_at: ChannelAt) -> bool:
    """Move z to a nearby point of the curve by least-norm Newton steps; False if that fails."""
    value = np.empty(4)
    jac = np.empty((4, 4))
    row = np.empty(4)
    for _ in range(40):
        _conditions(z, channel_at, value, jac)
        unit_null_vector(jac, row)
        for j in range(4):
            jac[3, j] = row[j]
        value[3] = 0.0
        if not solve_in_place(jac, value):
            return False
        step = 0.0
        for j in range(4):
            step = max(step, abs(value[j]))
        if not step < 1e3:
            return False
        shrink = min(1.0, 0.3 / step) if step > 0.0 else 1.0
        for j in range(4):
            z[j] -= shrink * value[j]
        if step < 1e-11 + 1e-16 / (z[2] * z[2] + z[3] * z[3]) ** 1.5:
            return True
    return False


@compiled
def excess_of_third(
    z: FloatArray, channel_at: ChannelAt, psi: FloatArray, origin: float, pitch: float
) -> tuple[float, float, float]:
    """Depth of the deepest minimum at the pair's slope relative to the pair, and its place.

    Negative: the pair is not on the convex hull.
    """
    p_u, p_v, n_u, n_v = z[0] + z[2], z[1] + z[3], z[0] - z[2], z[1] - z[3]
    a, b, _ = slope(p_u, p_v, channel_at)
    pair = 0.5 * (tilted_psi(p_u, p_v, a, b, channel_at) + tilted_psi(n_u, n_v, a, b, channel_at))
    u, v, low = deepest_minimum(a, b, channel_at, psi, origin, pitch)
    # near the end of a curve a third minimum can hide within a cell of the table
    for side in range(-1, 2):
        near_u, near_v, near = descend(z[0] - side * z[3], z[1] + side * z[2], a, b, channel_at)
        if near < low:
            u, v, low = near_u, near_v, near
    return low - pair, u, v


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
def out_of_sight(
    z: FloatArray, channel_at: ChannelAt, a_mean: float, b_mean: float, radius: float
) -> bool:
    """Whether no point of the segment maps into the disc of w that carries the weight.

    The image is sampled; between two samples it may stray from their chord by a quarter of it.
    """
    before_a = 0.0
    before_b = 0.0
    for k in range(33):
        tau = -1.0 + k / 16.0
        a, b, _ = slope(z[0] + tau * z[2], z[1] + tau * z[3], channel_at)
        a -= a_mean
        b -= b_mean
        if k > 0:
            da = a - before_a
            db = b - before_b
            length2 = da * da + db * db
            along = 0.0
            if length2 > 0.0:
                along = min(1.0, max(0.0, -(before_a * da + before_b * db) / length2))
            nearest = math.sqrt((before_a + along * da) ** 2 + (before_b + along * db) ** 2)
            if nearest < radius + 0.25 * math.sqrt(length2):
                return False
        before_a = a
        before_b = b
    return True


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
        for j in range(4):
            z[j] = (
                (1.0 + 2.0 * x) * (1.0 - x) ** 2 * start[j]
                + x * (1.0 - x) ** 2 * length * start_rate[j]
                + x * x * (3.0 - 2.0 * x) * end[j]
                + x * x * (x - 1.0) * length * end_rate[j]
            )
        if z[2] * z[2] + z[3] * z[3] < _TOO_CLOSE**2:
            for j in range(4):
                nodes[first + i, 4 + j] = (
                    6.0 * x * (1.0 - x) * (end[j] - start[j]) / length
                    + (1.0 - x) * (1.0 - 3.0 * x) * start_rate[j]
                    + x * (3.0 * x - 2.0) * end_rate[j]
                )
            weights[first + i] = 0.5 * rule[1, i] * abs(length)
            continue
        predicted[:] = z
        if _project(z, row, p_start + length * x, channel_at) < 0:
            return False
        if np.max(np.abs(z - predicted)) > _OFF_CUBIC * abs(length):
            return False
        tangent(z, channel_at, unit)
        rate = row[0] * unit[0] + row[1] * unit[1] + row[2] * unit[2] + row[3] * unit[3]
        for j in range(4):
            nodes[first + i, 4 + j] = unit[j] / rate
        weights[first + i] = 0.5 * rule[1, i] * abs(length)
    return True


@compiled
def _close_at_cusp(
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
        if excess_of_third(nodes[k, 0:4], channel_at, psi, origin, pitch)[0] < -_LOWER:
            return False
    # X is even in p: extrapolate it in p^2 from the two innermost nodes
    inner = first + n - 1
    p = nodes[inner, 2] * row[2] + nodes[inner, 3] * row[3]
    q = nodes[inner - 1, 2] * row[2] + nodes[inner - 1, 3] * row[3]
    share = p * p / (q * q - p * p)
    for j in range(2):
        cusp[j] = nodes[inner, j] - share * (nodes[inner - 1, j] - nodes[inner, j])
    return True


@compiled
def _panel_to(
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
def _end_at_corner(
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
    for j in range(2):
        ahead[j] = 0.5 * (points[j] + points[2 + j])
        ahead[2 + j] = 0.5 * (points[j] - points[2 + j])
    if ahead[2] * z[2] + ahead[3] * z[3] < 0.0:
        ahead[2:4] *= -1.0
    progress = 0.0
    for j in range(4):
        progress += (ahead[j] - z[j]) * unit[j]
    if progress < 0.0 or progress > 1.01 * step:
        return False
    tangent(ahead, channel_at, unit_ahead)
    turn = 0.0
    for j in range(4):
        turn += unit[j] * unit_ahead[j]
    if turn < 0.0:
        unit_ahead *= -1.0
    return True


@compiled
def _determinant(z: FloatArray, side: float, channel_at: ChannelAt) -> float:
    """det(I + V Hess loss) at the contact X + side D."""
    return slope(z[0] + side * z[2], z[1] + side * z[3], channel_at)[2]


@compiled
def _passes_swallowtail(
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
            if _project(at, row, ((z + lowest * row) * row).sum(), channel_at) < 0:
                break
            det = _determinant(at, side, channel_at)
            if det < -_SPLIT:
                reach = math.sqrt(-3.0 * det / bend)
                for k in range(2):
                    x = lowest + (2 * k - 1) * reach
                    at[:] = start + (x - origin) * row
                    if _project(at, row, ((z + x * row) * row).sum(), channel_at) < 0:
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


@compiled
def trace(
    start: FloatArray,
    direction: float,
    longest_step: float,
    rule: FloatArray,
    channel_at: ChannelAt,
    sight: tuple[float, float, float],
    psi: FloatArray,
    origin: float,
    pitch: float,
    mask: Mask,
    owner: int,
    mask_pitch: float,
    nodes: FloatArray,
    weights: FloatArray,
    count: int,
    corner: FloatArray,
) -> tuple[int, int]:
    """Follow the curve from `start` along `direction` (+1 or -1) times its tangent.

    Nodes are appended from index `count`; the strip between the pairs is marked in `mask` as
    covered by `owner`. Stops at a cusp, at a triple point (its three contact points are put into
    `corner`), or when two panels on end lie out of sight of the disc `sight = (a_mean, b_mean,
    radius)`. Returned: the new count and how it ended.
    """
    n = rule.shape[1]
    z = start.copy()
    ahead = np.empty(4)
    unit = np.empty(4)
    unit_ahead = np.empty(4)
    points = np.empty(6)
    tangent(z, channel_at, unit)
    unit *= direction
    step = longest_step
    hidden = 0
    for _ in range(2000):
        if count + n > nodes.shape[0]:
            return count, FAILED
        size = math.sqrt(z[2] ** 2 + z[3] ** 2)
        shrinking = (z[2] * unit[2] + z[3] * unit[3]) / size
        near_cusp = shrinking < -0.2 and size < min(0.5, -2.0 * shrinking * longest_step)
        if near_cusp and _close_at_cusp(
            z, unit, rule, channel_at, psi, origin, pitch, nodes, weights, count, ahead
        ):
            fill_panel(mask, owner, origin, mask_pitch, z, nodes, count, count + n, ahead)
            return count + n, CUSP
        if step < 1e-4:
            return count, FAILED
        level = 0.0
        for j in range(4):
            ahead[j] = z[j] + step * unit[j]
            level += unit[j] * ahead[j]
        iterations = _project(ahead, unit, level, channel_at)
        turn = 0.0
        if iterations > 0:
            tangent(ahead, channel_at, unit_ahead)
            for j in range(4):
                turn += unit[j] * unit_ahead[j]
            if turn < 0.0:
                turn = -turn
                unit_ahead *= -1.0
        if turn < 0.9 or ahead[2] * z[2] + ahead[3] * z[3] < 0.01 * size * size:
            step *= 0.5
            continue
        at_corner = False
        excess, third_u, third_v = excess_of_third(ahead, channel_at, psi, origin, pitch)
        if excess < -_LOWER:
            points[0] = ahead[0] + ahead[2]
            points[1] = ahead[1] + ahead[3]
            points[2] = ahead[0] - ahead[2]
            points[3] = ahead[1] - ahead[3]
            points[4] = third_u
            points[5] = third_v
            if not _end_at_corner(points, z, unit, step, channel_at, ahead, unit_ahead):
                step *= 0.5
                continue
            at_corner = True
            if np.max(np.abs(ahead - z)) < 1e-12:
                corner[:] = points
                return count, TRIPLE_POINT
        if not _panel_to(z, unit, ahead, unit_ahead, rule, channel_at, nodes, weights, count):
            step *= 0.5
            continue
        if not at_corner and _passes_swallowtail(z, ahead, nodes, count, n, channel_at, points):
            if not _end_at_corner(points, z, unit, step, channel_at, ahead, unit_ahead) or not (
                _panel_to(z, unit, ahead, unit_ahead, rule, channel_at, nodes, weights, count)
            ):
                step *= 0.5
                continue
            at_corner = True
        fill_panel(mask, owner, origin, mask_pitch, z, nodes, count, count + n, ahead)
        count += n
        if at_corner:
            corner[:] = points
            return count, TRIPLE_POINT
        z[:] = ahead
        unit[:] = unit_ahead
        if out_of_sight(z, channel_at, sight[0], sight[1], sight[2]):
            hidden += 1
            if hidden >= 2:
                return count, OUT_OF_SIGHT
        else:
            hidden = 0
        if iterations <= 4 and turn > 0.98:
            step = min(1.4 * step, longest_step)
        elif turn < 0.95:
            step *= 0.7
    return count, FAILED
