"""All pieces of the jump set that carry weight, found from where det(I + V Hess loss) < 0.

The region B of the x plane that the prox jumps over is swept by the segments between double-tangent
points and by the triangles of triple points. Every point of B's fold (det < 0) lies under a flat
piece of the convex hull of psi; so the search starts at the heaviest fold node that nothing covers
yet, finds the flat piece above it, follows the curve of double tangents both ways, opens the other
two curves at each triple point, and repeats until no fold node of any weight is left uncovered.
Mostly there is one piece, and the double tangent next to the minima on both sides of the heaviest
node is on it; only where that fails is the convex hull itself asked for. What is left is reported:
it is the part of the certificate that normalisation is blind to.
"""

from __future__ import annotations

import math

import numpy as np

from symattn._jit import compiled
from symattn._typing import FloatArray, IntArray, Mask
from symattn.quadrature._double_tangent import (
    excess_of_third,
    nearest_double_tangent,
    out_of_sight,
    tangent,
)
from symattn.quadrature._minima import ChannelAt, flanking_minima, hull_contacts, slope
from symattn.quadrature._panels import TOO_CLOSE
from symattn.quadrature._raster import DOUBLY, fill_triangle
from symattn.quadrature._trace import FAILED, TRIPLE_POINT, trace
from symattn.quadrature._triple_point import triple_tangent

MOST_NODES = 50_000
MOST_TRIPLE_POINTS = 60
_MOST_SEEDS = 60
#: How far off the line of two nodes a pair may lie, in units of their distance, to be on the curve.
_ON_CURVE = 0.05


@compiled
def _register_triple_point(
    points: FloatArray,
    arrived: int,
    channel_at: ChannelAt,
    triangles: FloatArray,
    count: int,
    done: IntArray,
    open_ends: FloatArray,
    open_slots: IntArray,
    n_open: int,
) -> int:
    """Store a triple point and open the curves that leave it; the new number of open ends.

    Slot v of a triple point is the curve of the pair without vertex v; slot `arrived` is done. A
    curve leaves in the direction in which vertex v's energy rises above the pair's.
    """
    triangles[count, :] = points
    z = np.empty(4)
    unit = np.empty(4)
    for v in range(3):
        done[count, v] = 1 if v == arrived else 0
        if v == arrived:
            continue
        i = (v + 1) % 3
        j = (v + 2) % 3
        for c in range(2):
            z[c] = 0.5 * (points[2 * i + c] + points[2 * j + c])
            z[2 + c] = 0.5 * (points[2 * i + c] - points[2 * j + c])
        tangent(z, channel_at, unit)
        small = 1e-6
        a, b, _ = slope(points[2 * i], points[2 * i + 1], channel_at)
        a_ahead, b_ahead, _ = slope(
            points[2 * i] + small * (unit[0] + unit[2]),
            points[2 * i + 1] + small * (unit[1] + unit[3]),
            channel_at,
        )
        fall = (points[2 * v] - points[2 * i]) * (a_ahead - a)
        fall += (points[2 * v + 1] - points[2 * i + 1]) * (b_ahead - b)
        open_ends[n_open, 0:4] = z
        open_ends[n_open, 4] = 1.0 if fall < 0.0 else -1.0
        open_slots[n_open, 0] = count
        open_slots[n_open, 1] = v
        n_open += 1
    return n_open


@compiled
def _known_triple_point(
    points: FloatArray, channel_at: ChannelAt, triangles: FloatArray, count: int
) -> int:
    a, b, _ = slope(points[0], points[1], channel_at)
    for k in range(count):
        known_a, known_b, _ = slope(triangles[k, 0], triangles[k, 1], channel_at)
        if (a - known_a) ** 2 + (b - known_b) ** 2 < 1e-14:
            return k
    return -1


@compiled
def _is_on_known_curve(z: FloatArray, nodes: FloatArray, count: int) -> bool:
    """Whether the pair z = (X, D) lies on the line through two neighbouring nodes of a curve.

    On the line within a twentieth of their distance, and no further from them than that distance:
    the nodes of a panel are that close to straight, and other curves are further away. X - D and
    X + D may have changed places.
    """
    for k in range(count - 1):
        for sign in (1.0, -1.0):
            square = 0.0
            along = 0.0
            distance2 = 0.0
            for j in range(4):
                flip = 1.0 if j < 2 else sign
                step = nodes[k + 1, j] - nodes[k, j]
                off = flip * z[j] - nodes[k, j]
                square += step * step
                along += step * off
                distance2 += off * off
            if along < -square or along > 2.0 * square:
                continue
            if distance2 * square - along * along < (_ON_CURVE * square) ** 2:
                return True
    return False


@compiled
def _tangent_pair(
    contacts: FloatArray,
    channel_at: ChannelAt,
    psi: FloatArray,
    origin: float,
    pitch: float,
    z: FloatArray,
) -> bool:
    """Put the pair of contact points of a double tangent near two points into z.

    False if there is none, or it is not on the convex hull.
    """
    for c in range(2):
        z[c] = 0.5 * (contacts[0, c] + contacts[1, c])
        z[2 + c] = 0.5 * (contacts[0, c] - contacts[1, c])
    return (
        math.hypot(z[2], z[3]) > TOO_CLOSE
        and nearest_double_tangent(z, channel_at)
        and math.hypot(z[2], z[3]) > TOO_CLOSE
        and excess_of_third(z, channel_at, psi, origin, pitch)[0] >= -1e-9
    )


@compiled
def _pair_beside(
    u: float,
    v: float,
    channel_at: ChannelAt,
    psi: FloatArray,
    origin: float,
    pitch: float,
    contacts: FloatArray,
    z: FloatArray,
) -> bool:
    """Put the pair on the convex hull near the minima on both sides of a saddle into z."""
    return flanking_minima(u, v, channel_at, contacts) and _tangent_pair(
        contacts, channel_at, psi, origin, pitch, z
    )


@compiled
def find_jump_set(
    channel_at: ChannelAt,
    sight: tuple[float, float, float],
    rule: FloatArray,
    longest_step: float,
    psi: FloatArray,
    origin: float,
    pitch: float,
    mask: Mask,
    mask_pitch: float,
    fold: IntArray,
    fold_weight: FloatArray,
    least_weight: float,
    nodes: FloatArray,
    weights: FloatArray,
    triangles: FloatArray,
) -> tuple[int, int, int, float, float]:
    """Cover the fold; fill `nodes`, `weights` (curves) and `triangles`.

    `fold` holds the (i, j) of grid nodes with det < 0 in the mask's grid, `fold_weight` the signed
    integral's weight of each. Returned: how many curve nodes, how many triangles, how many seeds
    were tried, the weight of the fold that stayed uncovered (all of it if a curve was lost), and
    that of what two unconnected pieces cover.
    """
    count = 0
    n_triangles = 0
    seeds = 0
    n_fold = fold_weight.shape[0]
    tried = np.zeros(n_fold, np.uint8)
    done = np.zeros((MOST_TRIPLE_POINTS, 3), np.int64)
    open_ends = np.empty((3 * MOST_TRIPLE_POINTS, 5))
    open_slots = np.empty((3 * MOST_TRIPLE_POINTS, 2), np.int64)
    contacts = np.empty((3, 2))
    points = np.empty(6)
    z = np.empty(4)
    failed = False
    shortcut = True
    while seeds < _MOST_SEEDS:
        seed = -1
        for k in range(n_fold):
            if (
                tried[k] == 0
                and fold_weight[k] > least_weight
                and mask[fold[k, 0], fold[k, 1]] == 0
                and (seed < 0 or fold_weight[k] > fold_weight[seed])
            ):
                seed = k
        if seed < 0:
            break
        tried[seed] = 1
        seeds += 1
        owner = min(seeds, DOUBLY - 1)
        n_open = 0
        u = origin + fold[seed, 0] * mask_pitch
        v = origin + fold[seed, 1] * mask_pitch
        beside = shortcut and _pair_beside(u, v, channel_at, psi, origin, pitch, contacts, z)
        shortcut = False
        if beside:
            n_contacts = 2
        else:
            n_contacts = hull_contacts(u, v, channel_at, psi, origin, pitch, contacts)
            if n_contacts == 2 and not _tangent_pair(contacts, channel_at, psi, origin, pitch, z):
                continue
        if n_contacts == 2:
            if _is_on_known_curve(z, nodes, count):
                # the piece is there, and the grid's outline of it misses this node
                mask[fold[seed, 0], fold[seed, 1]] = owner
                continue
            for k in range(2):
                open_ends[k, 0:4] = z
                open_ends[k, 4] = 1.0 - 2.0 * k
                open_slots[k, 0] = -1
            n_open = 2
        elif n_contacts == 3:
            points[:] = contacts.ravel()
            if (
                not triple_tangent(points, channel_at)
                or _known_triple_point(points, channel_at, triangles, n_triangles) >= 0
                or n_triangles >= MOST_TRIPLE_POINTS
            ):
                continue
            n_open = _register_triple_point(
                points, -1, channel_at, triangles, n_triangles, done, open_ends, open_slots, n_open
            )
            fill_triangle(
                mask, owner, origin, mask_pitch,
                points[0], points[1], points[2], points[3], points[4], points[5],
            )  # fmt: skip
            n_triangles += 1
        while n_open > 0:
            n_open -= 1
            # the seed's own ends first, or a loop of curves could come back to it along one
            pick = 0 if open_slots[0, 0] < 0 else n_open
            home, slot = open_slots[pick, 0], open_slots[pick, 1]
            z[:] = open_ends[pick, 0:4]
            direction = open_ends[pick, 4]
            open_ends[pick, :] = open_ends[n_open, :]
            open_slots[pick, :] = open_slots[n_open, :]
            if home >= 0:
                if done[home, slot] != 0:
                    continue
                done[home, slot] = 1
                if out_of_sight(z, channel_at, sight[0], sight[1], sight[2]):
                    continue
            count, ending = trace(
                z, direction, longest_step, rule, channel_at, sight, psi, origin, pitch,
                mask, owner, mask_pitch, nodes, weights, count, points,
            )  # fmt: skip
            if ending == FAILED:
                failed = True
            if ending != TRIPLE_POINT:
                continue
            known = _known_triple_point(points, channel_at, triangles, n_triangles)
            if known >= 0:
                for v in range(3):
                    apart = (triangles[known, 2 * v] - points[4]) ** 2
                    apart += (triangles[known, 2 * v + 1] - points[5]) ** 2
                    if apart < 1e-12:
                        done[known, v] = 1
            elif n_triangles < MOST_TRIPLE_POINTS:
                n_open = _register_triple_point(
                    points, 2, channel_at, triangles, n_triangles, done, open_ends, open_slots,
                    n_open,
                )  # fmt: skip
                fill_triangle(
                    mask, owner, origin, mask_pitch,
                    points[0], points[1], points[2], points[3], points[4], points[5],
                )  # fmt: skip
                n_triangles += 1
        if beside and (failed or mask[fold[seed, 0], fold[seed, 1]] == 0):
            # the piece above the node is another one: begin again with that
            seeds = 0
            tried[seed] = 0
            mask[:] = 0
            count = 0
            n_triangles = 0
            failed = False
    uncovered = 0.0
    doubled = 0.0
    for k in range(n_fold):
        if failed or mask[fold[k, 0], fold[k, 1]] == 0:
            uncovered += fold_weight[k]
        if mask[fold[k, 0], fold[k, 1]] == DOUBLY:
            doubled += fold_weight[k]
    return count, n_triangles, seeds, uncovered, doubled
