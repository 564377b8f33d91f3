"""A curve of double tangents, followed to its end at quadrature accuracy."""

from __future__ import annotations

import math

import numpy as np

from symattn._jit import compiled
from symattn._typing import FloatArray, Mask
from symattn.quadrature._double_tangent import (
    excess_of_third,
    out_of_sight,
    project,
    tangent,
    tangent_along,
)
from symattn.quadrature._minima import ChannelAt
from symattn.quadrature._panels import LOWER, close_at_cusp, panel_to
from symattn.quadrature._raster import fill_panel
from symattn.quadrature._triple_point import end_at_corner, passes_swallowtail

# how a curve ended
CUSP = 1
TRIPLE_POINT = 2
OUT_OF_SIGHT = 3
FAILED = 4


@compiled
def _step_ahead(
    z: FloatArray,
    unit: FloatArray,
    step: float,
    channel_at: ChannelAt,
    ahead: FloatArray,
    unit_ahead: FloatArray,
) -> tuple[int, float]:
    """The point `ahead` of the curve a step from z along `unit`, and the unit tangent there.

    Returned: the Newton iterations that it took, and the cosine of the angle between the tangents;
    a cosine of 0 where there is no such point, or on the other side of a cusp.
    """
    level = 0.0
    for j in range(4):
        ahead[j] = z[j] + step * unit[j]
        level += unit[j] * ahead[j]
    iterations = project(ahead, unit, level, channel_at)
    if iterations < 0:
        return iterations, 0.0
    if ahead[2] * z[2] + ahead[3] * z[3] < 0.01 * (z[2] * z[2] + z[3] * z[3]):
        return iterations, 0.0
    return iterations, tangent_along(ahead, unit, channel_at, unit_ahead)


@compiled
def _put_contacts(z: FloatArray, third_u: float, third_v: float, points: FloatArray) -> None:
    """The pair z and a third minimum as three contact points."""
    for j in range(2):
        points[j] = z[j] + z[2 + j]
        points[2 + j] = z[j] - z[2 + j]
    points[4] = third_u
    points[5] = third_v


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
        if near_cusp and close_at_cusp(
            z, unit, rule, channel_at, psi, origin, pitch, nodes, weights, count, ahead
        ):
            fill_panel(mask, owner, origin, mask_pitch, z, nodes, count, count + n, ahead)
            return count + n, CUSP
        if step < 1e-4:
            return count, FAILED
        iterations, turn = _step_ahead(z, unit, step, channel_at, ahead, unit_ahead)
        if turn < 0.9:
            step *= 0.5
            continue
        at_corner = False
        excess, third_u, third_v = excess_of_third(ahead, channel_at, psi, origin, pitch)
        if excess < -LOWER:
            _put_contacts(ahead, third_u, third_v, points)
            if not end_at_corner(points, z, unit, step, channel_at, ahead, unit_ahead):
                step *= 0.5
                continue
            at_corner = True
            if np.max(np.abs(ahead - z)) < 1e-12:
                corner[:] = points
                return count, TRIPLE_POINT
        if not panel_to(z, unit, ahead, unit_ahead, rule, channel_at, nodes, weights, count):
            step *= 0.5
            continue
        if not at_corner and passes_swallowtail(z, ahead, nodes, count, n, channel_at, points):
            if not end_at_corner(points, z, unit, step, channel_at, ahead, unit_ahead) or not (
                panel_to(z, unit, ahead, unit_ahead, rule, channel_at, nodes, weights, count)
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
