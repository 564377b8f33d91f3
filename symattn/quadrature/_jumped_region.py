"""Integrals over the region B that the prox jumps over, from the pieces that sweep it.

Segments between double-tangent points and triangles of triple points, see `_jump_set`, carry smooth
sums; the curves carry the line integrals over the jump set.
"""

from __future__ import annotations

import math

import numpy as np

from symattn._jit import compiled
from symattn._typing import FloatArray
from symattn.kernels.generated.numba_l2_r1_t1 import (
    channel,
    density,
    inverse_prox,
    jump,
)
from symattn.quadrature._columns import (
    CHORD_GAP,
    FOLD_MISMATCH,
    JUMP_LENGTH,
    JUMP_NORM,
    RESPONSE,
)
from symattn.quadrature._integrands import add
from symattn.quadrature._minima import ChannelAt, slope, tilted_psi

#: Segments and triangles are cut so that w moves by about this many standard deviations a piece.
_PIECE = 8.0
#: How far w moves is seen at this many points of a line, and may be more by this factor.
_SAMPLES = 17
_MARGIN = 1.3
#: Triangles are cut into four so many times at least, and at most.
_FEWEST_CUTS = 1
_MOST_CUTS = 10


@compiled
def _add_at(
    row: FloatArray,
    report: FloatArray,
    measure: float,
    u: float,
    v: float,
    channel_at: ChannelAt,
    given: tuple[float, float, float, float, float],
    theta: float,
) -> float:
    """Subtract the integrands at one point of B, measure counted positive; psi there."""
    t11, t22, sigma, V = channel_at
    jet = channel(u, v, t11, t22, sigma)
    w = inverse_prox(u, v, jet[1], jet[2], jet[3], jet[4], jet[5], V)
    weight = add(row, -measure, jet, w, V, given, theta, sigma)
    report[JUMP_NORM] += weight
    if w[2] < 0.0:
        report[FOLD_MISMATCH] += weight
    return 0.5 * (u * u + v * v) + V * jet[0]


@compiled
def _variation(x: FloatArray, step: FloatArray, channel_at: ChannelAt, path: FloatArray) -> float:
    """How far w moves at most from one to the next of the points x + k step, put into `path`."""
    most = 0.0
    for k in range(path.shape[0]):
        path[k, 0], path[k, 1], _ = slope(x[0] + k * step[0], x[1] + k * step[1], channel_at)
        if k > 0:
            moved = math.hypot(path[k, 0] - path[k - 1, 0], path[k, 1] - path[k - 1, 1])
            most = max(most, moved)
    return most


@compiled
def _subtract_segment(
    row: FloatArray,
    report: FloatArray,
    channel_at: ChannelAt,
    given: tuple[float, float, float, float, float],
    theta: float,
    radius: float,
    rule: FloatArray,
    node: FloatArray,
    weight: float,
    a: float,
    b: float,
    path: FloatArray,
) -> None:
    """Subtract what the segment of one node of a jump curve sweeps; (a, b) is w at its ends.

    The segment is cut so that w moves by a few s on a piece; pieces out of sight are left out.
    """
    a_mean, b_mean, s, _, _ = given
    X, D, dX, dD = node[0:2], node[2:4], node[4:6], node[6:8]
    samples = path.shape[0]
    spacing = 2.0 / (samples - 1)
    moved = _MARGIN * _variation(X - D, spacing * D, channel_at, path)
    pieces = max(1, math.ceil(moved * (samples - 1) / (_PIECE * s)))
    chord = tilted_psi(X[0] + D[0], X[1] + D[1], a, b, channel_at)
    for piece in range(pieces):
        first = (samples - 1) * piece // pieces
        last = min(samples - 1, (samples - 1) * (piece + 1) // pieces + 1)
        nearest = math.inf
        for k in range(first, last + 1):
            nearest = min(nearest, math.hypot(path[k, 0] - a_mean, path[k, 1] - b_mean))
        if nearest > radius + moved:
            continue
        for i in range(rule.shape[1]):
            tau = -1.0 + (2.0 * piece + 1.0 + rule[0, i]) / pieces
            swept = abs((dX[0] + tau * dD[0]) * D[1] - (dX[1] + tau * dD[1]) * D[0])
            u = X[0] + tau * D[0]
            v = X[1] + tau * D[1]
            psi = _add_at(
                row, report, weight * rule[1, i] / pieces * swept, u, v, channel_at, given, theta
            )
            report[CHORD_GAP] = min(report[CHORD_GAP], psi - a * u - b * v - chord)


@compiled
def _sight_and_extent(
    corners: FloatArray,
    channel_at: ChannelAt,
    given: tuple[float, float, float, float, float],
    radius: float,
) -> tuple[bool, bool]:
    """Whether w may come into sight on the triangle, and whether it moves too far there for a rule.

    w is seen at the corners and in the middles of the sides.
    """
    a_mean, b_mean, s, _, _ = given
    seen = np.empty((6, 2))
    nearest = math.inf
    for k in range(6):
        i = 2 * (k % 3)
        j = i if k < 3 else 2 * ((k + 1) % 3)
        seen[k, 0], seen[k, 1], _ = slope(
            0.5 * (corners[i] + corners[j]), 0.5 * (corners[i + 1] + corners[j + 1]), channel_at
        )
        nearest = min(nearest, math.hypot(seen[k, 0] - a_mean, seen[k, 1] - b_mean))
    moved = 0.0
    for k in range(3):
        for end in (k, (k + 1) % 3, 3 + (k + 1) % 3):
            moved = max(
                moved, math.hypot(seen[3 + k, 0] - seen[end, 0], seen[3 + k, 1] - seen[end, 1])
            )
    moved *= _MARGIN
    return nearest < radius + moved, 2.0 * moved > _PIECE * s


@compiled
def _subtract_triangle(
    row: FloatArray,
    report: FloatArray,
    channel_at: ChannelAt,
    given: tuple[float, float, float, float, float],
    theta: float,
    radius: float,
    rule: FloatArray,
    corners: FloatArray,
) -> None:
    """Subtract the triangle of a triple point.

    It is cut into four similar ones again and again, until w moves by a few s on each; those out of
    sight are left out. With p, q, r its corners, x = p + x (q - p) + x y (r - q) for x and y in
    (0, 1).
    """
    left = np.empty((3 * _MOST_CUTS + 1, 6))
    cuts = np.zeros(3 * _MOST_CUTS + 1, np.int64)
    left[0] = corners
    count = 1
    while count > 0:
        count -= 1
        p_u, p_v, q_u, q_v, r_u, r_v = left[count]
        depth = cuts[count]
        seen, long = _sight_and_extent(left[count], channel_at, given, radius)
        if depth >= _FEWEST_CUTS and not seen:
            continue
        if depth < _FEWEST_CUTS or (long and depth < _MOST_CUTS):
            pq_u, qr_u, rp_u = 0.5 * (p_u + q_u), 0.5 * (q_u + r_u), 0.5 * (r_u + p_u)
            pq_v, qr_v, rp_v = 0.5 * (p_v + q_v), 0.5 * (q_v + r_v), 0.5 * (r_v + p_v)
            left[count] = (p_u, p_v, pq_u, pq_v, rp_u, rp_v)
            left[count + 1] = (pq_u, pq_v, q_u, q_v, qr_u, qr_v)
            left[count + 2] = (rp_u, rp_v, qr_u, qr_v, r_u, r_v)
            left[count + 3] = (qr_u, qr_v, rp_u, rp_v, pq_u, pq_v)
            cuts[count : count + 4] = depth + 1
            count += 4
            continue
        area = abs((q_u - p_u) * (r_v - p_v) - (r_u - p_u) * (q_v - p_v))
        for i in range(rule.shape[1]):
            x = 0.5 * (1.0 + rule[0, i])
            for j in range(rule.shape[1]):
                y = 0.5 * (1.0 + rule[0, j])
                _add_at(
                    row, report, area * x * 0.25 * rule[1, i] * rule[1, j],
                    p_u + x * (q_u - p_u) + x * y * (r_u - q_u),
                    p_v + x * (q_v - p_v) + x * y * (r_v - q_v),
                    channel_at, given, theta,
                )  # fmt: skip


@compiled
def subtract_jumps(
    row: FloatArray,
    report: FloatArray,
    channel_at: ChannelAt,
    given: tuple[float, float, float, float, float],
    theta: float,
    radius: float,
    rule: FloatArray,
    nodes: FloatArray,
    weights: FloatArray,
    triangles: FloatArray,
) -> None:
    """Subtract the integrals over B, and add the line integrals over the jump set."""
    t11, t22, sigma, V = channel_at
    a_mean, b_mean, s, _, _ = given
    path = np.empty((_SAMPLES, 2))
    for k in range(nodes.shape[0]):
        X_u, X_v, D_u, D_v, dX_u, dX_v, dD_u, dD_v = nodes[k]
        a, b, _ = slope(X_u + D_u, X_v + D_v, channel_at)
        _subtract_segment(
            row, report, channel_at, given, theta, radius, rule, nodes[k], weights[k], a, b, path
        )
        # line integrals over the jump curve in the w plane
        _, _, _, l_uu, l_uv, l_vv = channel(X_u + D_u, X_v + D_v, t11, t22, sigma)
        rate_u = dX_u + dD_u
        rate_v = dX_v + dD_v
        rate_a = rate_u + V * (l_uu * rate_u + l_uv * rate_v)
        rate_b = rate_v + V * (l_uv * rate_u + l_vv * rate_v)
        line = weights[k] * math.hypot(rate_a, rate_b) * density(a, b, a_mean, b_mean, s)
        length, jump_response = jump(X_u, X_v, D_u, D_v, a, b, V)
        report[JUMP_LENGTH] += line * length
        row[RESPONSE] += line * jump_response
    for k in range(triangles.shape[0]):
        _subtract_triangle(row, report, channel_at, given, theta, radius, rule, triangles[k])
