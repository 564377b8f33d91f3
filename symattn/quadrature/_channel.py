"""Expectations over w at one h*: inverse-prox sum over the x plane, less what the prox jumps over.

With w(x) = x + V grad loss(x) and N the density of w given h*,

    E_w[phi(prox)] = int_G det(I + V Hess loss) N(w(x)) phi(x) dx,

where G holds the global minimisers. The integral over the whole plane is a trapezoidal sum that
converges exponentially; the integral over the complement B (see `_jump_set`) is a smooth sum over
the segments and triangles that sweep it, and is subtracted. No minimisation is done at any node.

The derivatives by q, m and theta come from the same sum, with the derivatives of log N as weights;
they need no derivative of the integrands, so they hold across jumps.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from symattn._jit import compiled
from symattn._typing import FloatArray
from symattn.kernels.generated.numba_l2_r1_t1 import (
    channel,
    density,
    envelope,
    envelope_curvature,
    field_law,
    hat_integrands,
    inverse_prox,
    jump,
    loss_jet,
    response,
    scores,
    slope_integrands,
    target,
)
from symattn.quadrature._columns import (
    BORDER,
    CHORD_GAP,
    DM_G_MEAN,
    DM_G_SQUARED,
    DOUBLED,
    DQ_G_DIV,
    DQ_G_MEAN,
    DQ_G_SQUARED,
    DQ_G_TARGET,
    DTHETA_G_MEAN,
    DTHETA_G_SQUARED,
    DTHETA_G_TARGET,
    ENVELOPE,
    FOLD,
    FOLD_MISMATCH,
    G_DIV,
    G_MEAN,
    G_SQUARED,
    G_TARGET,
    JUMP_LENGTH,
    JUMP_NORM,
    LOSS,
    NORM,
    RESPONSE,
    SEEDS,
    SEVERAL_MINIMA,
    SMOOTH_IMBALANCE,
    SMOOTH_RESPONSE,
    TRIANGLES,
    UNCOVERED,
)
from symattn.quadrature._jump_set import MOST_NODES, MOST_TRIPLE_POINTS, find_jump_set
from symattn.quadrature._minima import ChannelAt, slope, tilted_psi


class Grids(NamedTuple):
    """What the integral over w at every h* is resolved by.

    Attributes
    ----------
    cut_off : float
        Radius of the disc of w that is kept, in standard deviations of w.
    spacing : float
        Of the x grid, in units of s over the steepest slope of w.
    longest_step : float
        Along a jump curve.
    table : array, shape (n, n, 12)
        `student_jet` at the nodes origin + pitch i in u and v.
    origin, pitch : float
    curve_rule, segment_rule : array, shape (2, nodes)
        Gauss-Legendre abscissae on (-1, 1) and weights: along a jump curve, and across it.
    """

    cut_off: float
    spacing: float
    longest_step: float
    table: FloatArray
    origin: float
    pitch: float
    curve_rule: FloatArray
    segment_rule: FloatArray


#: Segments and triangles are cut so that w moves by about this many standard deviations a piece.
_PIECE = 8.0
#: How far w moves is seen at this many points of a line, and may be more by this factor.
_SAMPLES = 17
_MARGIN = 1.3
#: Where det(I + V Hess loss) is below this, 1/det is averaged over a cell of the x grid.
_SOFT = 0.5
#: Where the prox jumps, the diagonal weights of the target are kept this far apart.
_TIE = 1e-6


@compiled
def _add(
    row: FloatArray,
    measure: float,
    jet: tuple[float, float, float, float, float, float],
    w: tuple[float, float, float],
    V: float,
    given: tuple[float, float, float, float, float],
    theta: float,
    sigma: float,
) -> float:
    """Add `measure * det * N(w)` times every integrand to `row`; the product is returned.

    `given` = (a_mean, b_mean, s, u_star, v_star).
    """
    loss, l_u, l_v, l_uu, l_uv, l_vv = jet
    a, b, det = w
    a_mean, b_mean, s, u_star, v_star = given
    regular = measure * density(a, b, a_mean, b_mean, s)
    weight = regular * det
    g2, g_mean, g_div, g_target = hat_integrands(
        -l_u, -l_v, a, b, a_mean, b_mean, s, u_star, v_star
    )
    by_q, by_m, by_theta = scores(a, b, a_mean, b_mean, s, u_star, v_star, theta, sigma)
    row[NORM] += weight
    row[ENVELOPE] += weight * envelope(-l_u, -l_v, loss, V)
    row[G_SQUARED] += weight * g2
    row[G_MEAN] += weight * g_mean
    row[G_DIV] += weight * g_div
    row[G_TARGET] += weight * g_target
    row[LOSS] += weight * loss
    slopes = slope_integrands(g2, g_mean, g_div, g_target, by_q, by_m, by_theta, s)
    row[DQ_G_SQUARED] += weight * slopes[0]
    row[DM_G_SQUARED] += weight * slopes[1]
    row[DTHETA_G_SQUARED] += weight * slopes[2]
    row[DQ_G_MEAN] += weight * slopes[3]
    row[DM_G_MEAN] += weight * slopes[4]
    row[DTHETA_G_MEAN] += weight * slopes[5]
    row[DQ_G_TARGET] += weight * slopes[6]
    row[DTHETA_G_TARGET] += weight * slopes[7]
    row[DQ_G_DIV] += weight * slopes[8]
    row[RESPONSE] += regular * response(l_u, l_v, l_uu, l_uv, l_vv, V)
    return weight


@compiled
def _mean_inverse(u: float, v: float, det: float, size: float, channel_at: ChannelAt) -> float:
    """Mean of 1/det(I + V Hess loss) over the cell of this size about (u, v), det linearised.

    Over a disc of radius R, 1/(c + g.y) has the mean 2/(c + sqrt(c^2 - g^2 R^2)); where det
    vanishes within the disc, as next to a cusp, its value at the limit c = g R is taken.
    """
    half = 0.5 * size
    slope_u = slope(u + half, v, channel_at)[2] - slope(u - half, v, channel_at)[2]
    slope_v = slope(u, v + half, channel_at)[2] - slope(u, v - half, channel_at)[2]
    reach = math.sqrt((slope_u * slope_u + slope_v * slope_v) / math.pi)
    if det <= reach:
        return 2.0 / reach
    return 2.0 / (det + math.sqrt(det * det - reach * reach))


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
) -> tuple[float, float, float]:
    """Subtract the integrands at one point of B, measure counted positive; psi and w there."""
    t11, t22, sigma, V = channel_at
    jet = channel(u, v, t11, t22, sigma)
    w = inverse_prox(u, v, jet[1], jet[2], jet[3], jet[4], jet[5], V)
    weight = _add(row, -measure, jet, w, V, given, theta, sigma)
    report[JUMP_NORM] += weight
    if w[2] < 0.0:
        report[FOLD_MISMATCH] += weight
    return 0.5 * (u * u + v * v) + V * jet[0], w[0], w[1]


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
    path: FloatArray,
) -> float:
    """Subtract what the segment of one node of a jump curve sweeps; |X + D - (X - D)|.

    The segment is cut so that w moves by a few s on a piece; pieces out of sight are left out.
    """
    a_mean, b_mean, s, _, _ = given
    X, D, dX, dD = node[0:2], node[2:4], node[4:6], node[6:8]
    samples = path.shape[0]
    spacing = 2.0 / (samples - 1)
    moved = _MARGIN * _variation(X - D, spacing * D, channel_at, path)
    pieces = max(1, math.ceil(moved * (samples - 1) / (_PIECE * s)))
    a, b, _ = slope(X[0] + D[0], X[1] + D[1], channel_at)
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
            psi, _, _ = _add_at(
                row, report, weight * rule[1, i] / pieces * swept, u, v, channel_at, given, theta
            )
            report[CHORD_GAP] = min(report[CHORD_GAP], psi - a * u - b * v - chord)
    return 2.0 * math.hypot(D[0], D[1])


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
    path: FloatArray,
) -> None:
    """Subtract the triangle of a triple point, cut like a segment.

    With p, q, r its corners, x = p + x (q - p) + x y (r - q) for x and y in (0, 1).
    """
    a_mean, b_mean, s, _, _ = given
    p, q, r = corners[0:2], corners[2:4], corners[4:6]
    area = abs((q[0] - p[0]) * (r[1] - p[1]) - (r[0] - p[0]) * (q[1] - p[1]))
    samples = path.shape[0]
    moved = 0.0
    for k in range(samples):
        share = k / (samples - 1)
        across = (q + share * (r - q) - p) / (samples - 1)
        moved = max(moved, _variation(p, across, channel_at, path))
        along = share * (r - q) / (samples - 1)
        moved = max(moved, _variation(p + share * (q - p), along, channel_at, path))
    moved *= _MARGIN
    pieces = max(1, math.ceil(moved * (samples - 1) / (_PIECE * s)))
    reach = math.sqrt(2.0) * moved * (samples - 1) / pieces
    for first in range(pieces):
        for second in range(pieces):
            x = (first + 0.5) / pieces
            y = (second + 0.5) / pieces
            middle = p + x * (q - p) + x * y * (r - q)
            a, b, _ = slope(middle[0], middle[1], channel_at)
            if math.hypot(a - a_mean, b - b_mean) > radius + reach:
                continue
            for i in range(rule.shape[1]):
                x = (first + 0.5 * (1.0 + rule[0, i])) / pieces
                for j in range(rule.shape[1]):
                    y = (second + 0.5 * (1.0 + rule[0, j])) / pieces
                    _add_at(
                        row, report,
                        area * x * 0.25 * rule[1, i] * rule[1, j] / (pieces * pieces),
                        p[0] + x * (q[0] - p[0]) + x * y * (r[0] - q[0]),
                        p[1] + x * (q[1] - p[1]) + x * y * (r[1] - q[1]),
                        channel_at, given, theta,
                    )  # fmt: skip


@compiled
def _subtract_jumps(
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
        length = _subtract_segment(
            row, report, channel_at, given, theta, radius, rule, nodes[k], weights[k], path
        )
        # line integrals over the jump curve in the w plane
        X_u, X_v, D_u, D_v, dX_u, dX_v, dD_u, dD_v = nodes[k]
        a, b, _ = slope(X_u + D_u, X_v + D_v, channel_at)
        _, _, _, l_uu, l_uv, l_vv = channel(X_u + D_u, X_v + D_v, t11, t22, sigma)
        rate_u = dX_u + dD_u
        rate_v = dX_v + dD_v
        rate_a = rate_u + V * (l_uu * rate_u + l_uv * rate_v)
        rate_b = rate_v + V * (l_uv * rate_u + l_vv * rate_v)
        line = weights[k] * math.hypot(rate_a, rate_b) * density(a, b, a_mean, b_mean, s)
        report[JUMP_LENGTH] += line * length
        row[RESPONSE] += line * jump(X_u, X_v, D_u, D_v, a, b, V)[1]
    for k in range(triangles.shape[0]):
        _subtract_triangle(row, report, channel_at, given, theta, radius, rule, triangles[k], path)


@compiled
def _count_minima(a: float, b: float, psi: FloatArray, origin: float, pitch: float) -> int:
    """How many local minima psi(x) - w.x has in the table."""
    n = psi.shape[0]
    da = a * pitch
    db = b * pitch
    found = 0
    for i in range(1, n - 1):
        for j in range(1, n - 1):
            here = psi[i, j]
            if (
                here < psi[i - 1, j] + da
                and here <= psi[i + 1, j] - da
                and here < psi[i, j - 1] + db
                and here <= psi[i, j + 1] - db
                and here < psi[i - 1, j - 1] + da + db
                and here <= psi[i + 1, j + 1] - da - db
                and here < psi[i - 1, j + 1] + da - db
                and here <= psi[i + 1, j - 1] - da + db
            ):
                found += 1
    return found


@compiled
def expectations_given_target(
    u_star: float,
    v_star: float,
    parameters: tuple[float, float, float, float],
    overlaps: tuple[float, float, float, float],
    grids: Grids,
    diagnose: bool,
    row: FloatArray,
    report: FloatArray,
) -> None:
    """Fill `row` and `report` (columns as in `_columns`) for h* = (u_star, v_star).

    parameters: (sigma, omega, a11, a22). overlaps: (q, m, V, theta). With `diagnose`, the columns
    that only describe the result are filled where something jumps, too.
    """
    sigma, omega, a11, a22 = parameters
    q, m, V, theta = overlaps
    cut_off, spacing, longest_step, table, origin, pitch, curve_rule, segment_rule = grids
    t11, t22 = target(u_star, v_star, omega, a11, a22)
    if abs(t11 - t22) < _TIE and V * sigma * sigma * (t11 + t22 - 1.0) > 1.0:
        # with equal weights psi is symmetric and four minima can tie, which is no triple point;
        # the means are even in t11 - t22, so they change by its square
        t11 += 0.5 * _TIE
        t22 -= 0.5 * _TIE
    channel_at = (t11, t22, sigma, V)
    a_mean, b_mean, s = field_law(q, m, theta, u_star, v_star, sigma)
    given = (a_mean, b_mean, s, u_star, v_star)
    radius = cut_off * s
    row[:] = 0.0
    report[:] = 0.0

    n = table.shape[0]
    y_a = np.empty((n, n))
    y_b = np.empty((n, n))
    distance = np.empty((n, n))
    psi = np.empty((n, n))
    steepest = 1.0
    for i in range(n):
        u = origin + i * pitch
        for j in range(n):
            v = origin + j * pitch
            jet = table[i, j]
            loss, l_u, l_v, l_uu, l_uv, l_vv = loss_jet(
                jet[0], jet[1], jet[2], jet[3], jet[4], jet[5],
                jet[6], jet[7], jet[8], jet[9], jet[10], jet[11], t11, t22, sigma,
            )  # fmt: skip
            psi[i, j] = 0.5 * (u * u + v * v) + V * loss
            y_a[i, j] = u + V * l_u - a_mean
            y_b[i, j] = v + V * l_v - b_mean
            distance[i, j] = math.sqrt(y_a[i, j] ** 2 + y_b[i, j] ** 2)
            if distance[i, j] < 1.2 * radius:
                middle = 1.0 + 0.5 * V * (l_uu + l_vv)
                spread = V * math.sqrt(0.25 * (l_uu - l_vv) ** 2 + l_uv * l_uv)
                steepest = max(steepest, abs(middle) + spread)
    division = max(1, math.ceil(pitch * steepest / (spacing * s)))
    fine = pitch / division
    measure = fine * fine

    # cells of the table in which w may come within the radius
    cells = np.empty(((n - 1) * (n - 1), 2), np.int64)
    n_cells = 0
    for i in range(n - 1):
        for j in range(n - 1):
            nearest = min(
                min(distance[i, j], distance[i + 1, j]),
                min(distance[i, j + 1], distance[i + 1, j + 1]),
            )
            variation = max(
                abs(y_a[i, j] - y_a[i + 1, j + 1]) + abs(y_b[i, j] - y_b[i + 1, j + 1]),
                abs(y_a[i + 1, j] - y_a[i, j + 1]) + abs(y_b[i + 1, j] - y_b[i, j + 1]),
            )
            if nearest - variation < radius:
                cells[n_cells, 0] = i
                cells[n_cells, 1] = j
                n_cells += 1

    fold = np.empty((1024, 2), np.int64)
    fold_weight = np.empty(1024)
    n_fold = 0
    folded = 0.0
    for c in range(n_cells):
        on_rim = (
            cells[c, 0] == 0 or cells[c, 1] == 0 or cells[c, 0] == n - 2 or cells[c, 1] == n - 2
        )
        for i in range(cells[c, 0] * division, (cells[c, 0] + 1) * division):
            u = origin + i * fine
            for j in range(cells[c, 1] * division, (cells[c, 1] + 1) * division):
                v = origin + j * fine
                jet6 = channel(u, v, t11, t22, sigma)
                w = inverse_prox(u, v, jet6[1], jet6[2], jet6[3], jet6[4], jet6[5], V)
                if (w[0] - a_mean) ** 2 + (w[1] - b_mean) ** 2 > radius * radius:
                    continue
                weight = _add(row, measure, jet6, w, V, given, theta, sigma)
                if on_rim:
                    report[BORDER] += abs(weight)
                if weight < 0.0:
                    if n_fold == fold_weight.shape[0]:
                        fold = np.concatenate((fold, np.empty_like(fold)))
                        fold_weight = np.concatenate((fold_weight, np.empty_like(fold_weight)))
                    fold[n_fold, 0] = i
                    fold[n_fold, 1] = j
                    fold_weight[n_fold] = -weight
                    folded -= weight
                    n_fold += 1
                elif n_fold == 0:
                    _, _, square = envelope_curvature(jet6[3], jet6[4], jet6[5], V)
                    report[SMOOTH_RESPONSE] += square * weight

    mask = np.zeros((1, 1), np.uint8)
    if n_fold > 0:
        mask = np.zeros(((n - 1) * division + 1, (n - 1) * division + 1), np.uint8)
        nodes = np.empty((MOST_NODES, 8))
        weights = np.empty(MOST_NODES)
        triangles = np.empty((MOST_TRIPLE_POINTS, 6))
        n_nodes, n_triangles, seeds, uncovered, doubled = find_jump_set(
            channel_at, (a_mean, b_mean, radius), curve_rule, longest_step, psi,
            origin, pitch, mask, fine, fold[:n_fold], fold_weight[:n_fold],
            1e-3 * math.exp(-0.5 * cut_off * cut_off), nodes, weights, triangles,
        )  # fmt: skip
        _subtract_jumps(
            row, report, channel_at, given, theta, radius, segment_rule, nodes[:n_nodes],
            weights[:n_nodes], triangles[:n_triangles],
        )  # fmt: skip
        report[FOLD_MISMATCH] = abs(report[FOLD_MISMATCH] - folded)
        report[UNCOVERED] = uncovered
        report[DOUBLED] = doubled
        report[SEEDS] = seeds
        report[TRIANGLES] = n_triangles
        if report[FOLD_MISMATCH] > max(0.3 * folded, 1e-4):
            # a piece was taken twice, or lost: nothing here can be trusted
            report[UNCOVERED] = folded
        report[FOLD] = folded

    if diagnose and n_fold > 0:
        report[SMOOTH_RESPONSE] = 0.0
        report[SMOOTH_IMBALANCE] = 0.0
        for c in range(n_cells):
            for i in range(cells[c, 0] * division, (cells[c, 0] + 1) * division):
                u = origin + i * fine
                for j in range(cells[c, 1] * division, (cells[c, 1] + 1) * division):
                    if mask[i, j] != 0:
                        continue
                    v = origin + j * fine
                    jet6 = channel(u, v, t11, t22, sigma)
                    w = inverse_prox(u, v, jet6[1], jet6[2], jet6[3], jet6[4], jet6[5], V)
                    y2 = (w[0] - a_mean) ** 2 + (w[1] - b_mean) ** 2
                    if y2 > radius * radius or w[2] <= 0.0:
                        continue
                    weight = measure * w[2] * density(w[0], w[1], a_mean, b_mean, s)
                    _, _, square = envelope_curvature(jet6[3], jet6[4], jet6[5], V)
                    square *= weight
                    if w[2] < _SOFT:
                        square *= w[2] * _mean_inverse(u, v, w[2], fine, channel_at)
                    report[SMOOTH_RESPONSE] += square
                    report[SMOOTH_IMBALANCE] += square * (1 - 2 * ((i + j) % 2))
        # P(several minima) = sum over saddles, each counted 1/(saddles at the same w)
        stride = max(1, n_fold // 400)
        if report[SEEDS] <= 1.0 and report[TRIANGLES] == 0.0:
            report[SEVERAL_MINIMA] = report[FOLD]
        else:
            for k in range(0, n_fold, stride):
                a, b, _ = slope(origin + fold[k, 0] * fine, origin + fold[k, 1] * fine, channel_at)
                minima = _count_minima(a, b, psi, origin, pitch)
                report[SEVERAL_MINIMA] += stride * fold_weight[k] / max(1, minima - 1)


@compiled
def expectations_given_targets(
    points: FloatArray,
    parameters: tuple[float, float, float, float],
    overlaps: tuple[float, float, float, float],
    grids: Grids,
    diagnose: bool,
    rows: FloatArray,
    reports: FloatArray,
) -> None:
    """`expectations_given_target` for every (u_star, v_star) in `points` (n x 2)."""
    for k in range(points.shape[0]):
        expectations_given_target(
            points[k, 0], points[k, 1], parameters, overlaps, grids, diagnose, rows[k], reports[k]
        )
