"""Double tangents of psi: where the prox jumps.

A plane that touches psi(x) = |x|^2/2 + V loss(x) at two points X + D and X - D has there the same
slope w, and equal energies. In z = (X_u, X_v, D_u, D_v) these are three equations,

    [w(X + D) - w(X - D)]/2 = 0   (two),
    loss(X + D) - loss(X - D) - [grad loss(X + D) + grad loss(X - D)].D = 0,

so their solutions are curves. X is even and D odd in a parameter that vanishes at a cusp, where the
two points meet: the curve passes smoothly through D = 0, and a quadrature along it converges
exponentially right up to the cusp. The rows are divided by |D|, |D| and |D|^3, which keeps them of
order one near a cusp.
"""

from __future__ import annotations

import math

import numpy as np

from symattn._jit import compiled
from symattn._typing import FloatArray
from symattn.kernels.generated.numba_l2_r1_t1 import channel
from symattn.quadrature._linear import solve_in_place, unit_null_vector
from symattn.quadrature._minima import ChannelAt, deepest_minimum, descend, slope, tilted_psi


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
def tangent_along(
    z: FloatArray, along: FloatArray, channel_at: ChannelAt, out: FloatArray
) -> float:
    """The unit tangent at z on the side of the unit vector `along`; cosine of their angle."""
    tangent(z, channel_at, out)
    turn = 0.0
    for j in range(4):
        turn += along[j] * out[j]
    if turn < 0.0:
        out *= -1.0
    return abs(turn)


@compiled
def project(z: FloatArray, row: FloatArray, level: float, channel_at: ChannelAt) -> int:
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
