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
from symattn._typing import FloatArray, IntArray, Mask
from symattn.kernels.generated.numba_l2_r1_t1 import (
    channel,
    density,
    envelope_curvature,
    field_law,
    inverse_prox,
    loss_jet,
    target,
)
from symattn.quadrature._columns import (
    BORDER,
    DOUBLED,
    FOLD,
    FOLD_MISMATCH,
    SEEDS,
    SEVERAL_MINIMA,
    SMOOTH_IMBALANCE,
    SMOOTH_RESPONSE,
    TRIANGLES,
    UNCOVERED,
)
from symattn.quadrature._integrands import add
from symattn.quadrature._jump_set import MOST_NODES, MOST_TRIPLE_POINTS, find_jump_set
from symattn.quadrature._jumped_region import subtract_jumps
from symattn.quadrature._minima import ChannelAt, slope

#: Where det(I + V Hess loss) is below this, 1/det is averaged over a cell of the x grid.
_SOFT = 0.5
#: Where the prox jumps, the diagonal weights of the target are kept this far apart.
_TIE = 1e-6


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
def _fill_table(
    grids: Grids,
    channel_at: ChannelAt,
    mean: tuple[float, float],
    near: float,
    psi: FloatArray,
    off: FloatArray,
) -> float:
    """`psi`, and w less its mean with its length in `off`, at the nodes of the table.

    Returned: the steepest slope of w, at least 1, where w comes as `near` as this to its mean.
    """
    t11, t22, sigma, V = channel_at
    n = grids.table.shape[0]
    steepest = 1.0
    for i in range(n):
        u = grids.origin + i * grids.pitch
        for j in range(n):
            v = grids.origin + j * grids.pitch
            jet = grids.table[i, j]
            loss, l_u, l_v, l_uu, l_uv, l_vv = loss_jet(
                jet[0], jet[1], jet[2], jet[3], jet[4], jet[5],
                jet[6], jet[7], jet[8], jet[9], jet[10], jet[11], t11, t22, sigma,
            )  # fmt: skip
            psi[i, j] = 0.5 * (u * u + v * v) + V * loss
            off[i, j, 0] = u + V * l_u - mean[0]
            off[i, j, 1] = v + V * l_v - mean[1]
            off[i, j, 2] = math.sqrt(off[i, j, 0] ** 2 + off[i, j, 1] ** 2)
            if off[i, j, 2] < near:
                middle = 1.0 + 0.5 * V * (l_uu + l_vv)
                spread = V * math.sqrt(0.25 * (l_uu - l_vv) ** 2 + l_uv * l_uv)
                steepest = max(steepest, abs(middle) + spread)
    return steepest


@compiled
def _cells_in_sight(off: FloatArray, radius: float) -> IntArray:
    """The cells (i, j) of the table in which w may come within the radius of its mean."""
    n = off.shape[0]
    cells = np.empty(((n - 1) * (n - 1), 2), np.int64)
    count = 0
    for i in range(n - 1):
        for j in range(n - 1):
            nearest = min(
                min(off[i, j, 2], off[i + 1, j, 2]),
                min(off[i, j + 1, 2], off[i + 1, j + 1, 2]),
            )
            variation = max(
                abs(off[i, j, 0] - off[i + 1, j + 1, 0]) + abs(off[i, j, 1] - off[i + 1, j + 1, 1]),
                abs(off[i + 1, j, 0] - off[i, j + 1, 0]) + abs(off[i + 1, j, 1] - off[i, j + 1, 1]),
            )
            if nearest - variation < radius:
                cells[count, 0] = i
                cells[count, 1] = j
                count += 1
    return cells[:count]


@compiled
def _sum_over_plane(
    row: FloatArray,
    report: FloatArray,
    grids: Grids,
    division: int,
    cells: IntArray,
    channel_at: ChannelAt,
    given: tuple[float, float, float, float, float],
    theta: float,
    radius: float,
) -> tuple[IntArray, FloatArray]:
    """Add the trapezoidal sum over the cells, each divided so many times to either side.

    Returned: the (i, j) of the nodes with det < 0 in the divided grid, and minus their weights.
    SMOOTH_RESPONSE is filled as long as there are none.
    """
    t11, t22, sigma, V = channel_at
    a_mean, b_mean = given[0], given[1]
    fine = grids.pitch / division
    measure = fine * fine
    last = grids.table.shape[0] - 2
    fold = np.empty((1024, 2), np.int64)
    fold_weight = np.empty(1024)
    n_fold = 0
    for c in range(cells.shape[0]):
        on_rim = cells[c, 0] == 0 or cells[c, 1] == 0 or cells[c, 0] == last or cells[c, 1] == last
        for i in range(cells[c, 0] * division, (cells[c, 0] + 1) * division):
            u = grids.origin + i * fine
            for j in range(cells[c, 1] * division, (cells[c, 1] + 1) * division):
                v = grids.origin + j * fine
                jet = channel(u, v, t11, t22, sigma)
                w = inverse_prox(u, v, jet[1], jet[2], jet[3], jet[4], jet[5], V)
                if (w[0] - a_mean) ** 2 + (w[1] - b_mean) ** 2 > radius * radius:
                    continue
                weight = add(row, measure, jet, w, V, given, theta, sigma)
                if on_rim:
                    report[BORDER] += abs(weight)
                if weight < 0.0:
                    if n_fold == fold_weight.shape[0]:
                        fold = np.concatenate((fold, np.empty_like(fold)))
                        fold_weight = np.concatenate((fold_weight, np.empty_like(fold_weight)))
                    fold[n_fold, 0] = i
                    fold[n_fold, 1] = j
                    fold_weight[n_fold] = -weight
                    n_fold += 1
                elif n_fold == 0:
                    _, _, square = envelope_curvature(jet[3], jet[4], jet[5], V)
                    report[SMOOTH_RESPONSE] += square * weight
    return fold[:n_fold], fold_weight[:n_fold]


@compiled
def _take_jumps_away(
    row: FloatArray,
    report: FloatArray,
    grids: Grids,
    division: int,
    channel_at: ChannelAt,
    given: tuple[float, float, float, float, float],
    theta: float,
    psi: FloatArray,
    fold: IntArray,
    fold_weight: FloatArray,
) -> Mask:
    """Find the jump set from the fold, subtract what the prox jumps over, and report on it.

    Returned: the mask of the region jumped over, in the divided grid.
    """
    a_mean, b_mean, s, _, _ = given
    radius = grids.cut_off * s
    side = (psi.shape[0] - 1) * division + 1
    mask = np.zeros((side, side), np.uint8)
    nodes = np.empty((MOST_NODES, 8))
    weights = np.empty(MOST_NODES)
    triangles = np.empty((MOST_TRIPLE_POINTS, 6))
    n_nodes, n_triangles, seeds, uncovered, doubled = find_jump_set(
        channel_at, (a_mean, b_mean, radius), grids.curve_rule, grids.longest_step, psi,
        grids.origin, grids.pitch, mask, grids.pitch / division, fold, fold_weight,
        1e-3 * math.exp(-0.5 * grids.cut_off * grids.cut_off), nodes, weights, triangles,
    )  # fmt: skip
    subtract_jumps(
        row, report, channel_at, given, theta, radius, grids.segment_rule, nodes[:n_nodes],
        weights[:n_nodes], triangles[:n_triangles],
    )  # fmt: skip
    folded = fold_weight.sum()
    report[FOLD] = folded
    report[FOLD_MISMATCH] = abs(report[FOLD_MISMATCH] - folded)
    report[UNCOVERED] = uncovered
    report[DOUBLED] = doubled
    report[SEEDS] = seeds
    report[TRIANGLES] = n_triangles
    if report[FOLD_MISMATCH] > max(0.3 * folded, 1e-4):
        # a piece was taken twice, or lost: nothing here can be trusted
        report[UNCOVERED] = folded
    return mask


@compiled
def _sum_smooth_response(
    report: FloatArray,
    grids: Grids,
    division: int,
    cells: IntArray,
    channel_at: ChannelAt,
    given: tuple[float, float, float, float, float],
    radius: float,
    mask: Mask,
) -> None:
    """SMOOTH_RESPONSE and SMOOTH_IMBALANCE over the plane without the region jumped over."""
    t11, t22, sigma, V = channel_at
    a_mean, b_mean, s, _, _ = given
    fine = grids.pitch / division
    measure = fine * fine
    report[SMOOTH_RESPONSE] = 0.0
    report[SMOOTH_IMBALANCE] = 0.0
    for c in range(cells.shape[0]):
        for i in range(cells[c, 0] * division, (cells[c, 0] + 1) * division):
            u = grids.origin + i * fine
            for j in range(cells[c, 1] * division, (cells[c, 1] + 1) * division):
                if mask[i, j] != 0:
                    continue
                v = grids.origin + j * fine
                jet = channel(u, v, t11, t22, sigma)
                w = inverse_prox(u, v, jet[1], jet[2], jet[3], jet[4], jet[5], V)
                y2 = (w[0] - a_mean) ** 2 + (w[1] - b_mean) ** 2
                if y2 > radius * radius or w[2] <= 0.0:
                    continue
                _, _, square = envelope_curvature(jet[3], jet[4], jet[5], V)
                square *= measure * w[2] * density(w[0], w[1], a_mean, b_mean, s)
                if w[2] < _SOFT:
                    square *= w[2] * _mean_inverse(u, v, w[2], fine, channel_at)
                report[SMOOTH_RESPONSE] += square
                report[SMOOTH_IMBALANCE] += square * (1 - 2 * ((i + j) % 2))


@compiled
def _sum_several_minima(
    report: FloatArray,
    grids: Grids,
    division: int,
    channel_at: ChannelAt,
    psi: FloatArray,
    fold: IntArray,
    fold_weight: FloatArray,
) -> None:
    """SEVERAL_MINIMA as a sum over saddles, each counted 1/(saddles at the same w)."""
    if report[SEEDS] <= 1.0 and report[TRIANGLES] == 0.0:
        report[SEVERAL_MINIMA] = report[FOLD]
        return
    fine = grids.pitch / division
    stride = max(1, fold.shape[0] // 400)
    for k in range(0, fold.shape[0], stride):
        a, b, _ = slope(
            grids.origin + fold[k, 0] * fine, grids.origin + fold[k, 1] * fine, channel_at
        )
        minima = _count_minima(a, b, psi, grids.origin, grids.pitch)
        report[SEVERAL_MINIMA] += stride * fold_weight[k] / max(1, minima - 1)


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
    t11, t22 = target(u_star, v_star, omega, a11, a22)
    if abs(t11 - t22) < _TIE and V * sigma * sigma * (t11 + t22 - 1.0) > 1.0:
        # with equal weights psi is symmetric and four minima can tie, which is no triple point;
        # the means are even in t11 - t22, so they change by its square
        t11 += 0.5 * _TIE
        t22 -= 0.5 * _TIE
    channel_at = (t11, t22, sigma, V)
    a_mean, b_mean, s = field_law(q, m, theta, u_star, v_star, sigma)
    given = (a_mean, b_mean, s, u_star, v_star)
    radius = grids.cut_off * s
    row[:] = 0.0
    report[:] = 0.0

    n = grids.table.shape[0]
    psi = np.empty((n, n))
    off = np.empty((n, n, 3))
    steepest = _fill_table(grids, channel_at, (a_mean, b_mean), 1.2 * radius, psi, off)
    division = max(1, math.ceil(grids.pitch * steepest / (grids.spacing * s)))
    cells = _cells_in_sight(off, radius)
    fold, fold_weight = _sum_over_plane(
        row, report, grids, division, cells, channel_at, given, theta, radius
    )
    if fold.shape[0] == 0:
        return
    mask = _take_jumps_away(
        row, report, grids, division, channel_at, given, theta, psi, fold, fold_weight
    )
    if diagnose:
        _sum_smooth_response(report, grids, division, cells, channel_at, given, radius, mask)
        _sum_several_minima(report, grids, division, channel_at, psi, fold, fold_weight)


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
