"""Single curves of double tangents: their geometry, their ends, their symmetries."""

import numpy as np
import pytest

from symattn.quadrature._double_tangent import (
    CUSP,
    OUT_OF_SIGHT,
    TRIPLE_POINT,
    excess_of_third,
    nearest_double_tangent,
    out_of_sight,
    tangent,
    trace,
    triple_tangent,
)
from tests.quadrature import energy_by_hand as by_hand
from tests.quadrature.jump_sets import PITCH, RULE, determinant, grid

# symmetric under exchange, the arc ends at two cusps
SYMMETRIC = (0.75, 0.75, 0.5, 12.0)
TILTED = (0.80, 0.66, 0.5, 13.0)
# from TILTED's arc at w near 0, far from its ends
NEAR_ARC = {SYMMETRIC: (0.0, 0.05, 0.6, 0.0), TILTED: (0.0, 0.05, 0.6, 0.1)}


def table(channel):
    axis, _ = grid(6.0, 1)
    return by_hand.psi(axis[:, None], axis[None, :], channel), axis[0], PITCH


def start_on(channel):
    z = np.array(NEAR_ARC[channel])
    assert nearest_double_tangent(z, channel)
    return z


def traced(channel, z, direction, sight=(0.0, 0.0, 50.0), longest_step=0.2):
    """Nodes of one curve, how it ended, and the triple point it ended at."""
    psi, origin, pitch = table(channel)
    nodes, weights = np.empty((4000, 8)), np.empty(4000)
    mask = np.zeros(psi.shape, np.uint8)
    corner = np.full(6, np.nan)
    count, ending = trace(
        z, direction, longest_step, RULE, channel, sight, psi, origin, pitch, mask, 1, pitch,
        nodes, weights, 0, corner,
    )  # fmt: skip
    return nodes[:count], weights[:count], ending, corner


@pytest.mark.parametrize("channel", [SYMMETRIC, TILTED])
def test_a_start_nearby_is_moved_onto_the_curve(channel):
    z = start_on(channel)
    p, n = z[:2] + z[2:], z[:2] - z[2:]
    slopes = by_hand.slope(*p, channel), by_hand.slope(*n, channel)
    np.testing.assert_allclose(slopes[0], slopes[1], atol=1e-10)
    rise = by_hand.psi(*p, channel) - by_hand.psi(*n, channel)
    assert rise == pytest.approx((p - n) @ slopes[0], abs=1e-10)


@pytest.mark.parametrize("channel", [SYMMETRIC, TILTED])
def test_the_tangent_stays_on_the_curve_to_second_order(channel):
    z = start_on(channel)
    unit = np.empty(4)
    tangent(z, channel, unit)
    assert np.linalg.norm(unit) == pytest.approx(1.0)
    gaps = []
    for step in (1e-2, 5e-3):
        ahead = z + step * unit
        moved = ahead.copy()
        assert nearest_double_tangent(moved, channel)
        gaps.append(np.linalg.norm(moved - ahead))
    assert gaps[1] == pytest.approx(gaps[0] / 4.0, rel=0.1)


@pytest.mark.parametrize("direction", [1.0, -1.0])
@pytest.mark.parametrize("channel", [SYMMETRIC, TILTED])
def test_an_arc_ends_at_a_cusp_where_the_two_points_meet(channel, direction):
    nodes, _, ending, _ = traced(channel, start_on(channel), direction)
    assert ending == CUSP
    # the last panel runs to |D| = 0; at a cusp det(I + V Hess) vanishes
    last = nodes[-1]
    size = np.hypot(*last[2:4])
    assert size < 0.1
    assert abs(determinant(last[0], last[1], channel)) < 10.0 * size**2
    middle = determinant(*nodes[0, :2], channel)
    assert middle < -0.1


def test_a_curve_ends_at_a_triple_point_with_its_three_points():
    channel = (0.95, 0.94, 0.5, 12.0)
    z = np.array([0.0, 0.01, 1.0, 0.0])
    assert nearest_double_tangent(z, channel)
    _, _, ending, corner = traced(channel, z, 1.0)
    assert ending == TRIPLE_POINT
    points = corner.reshape(3, 2)
    slopes = np.array([by_hand.slope(*p, channel) for p in points])
    heights = [by_hand.psi(*p, channel) - p @ slopes[0] for p in points]
    np.testing.assert_allclose(slopes, np.broadcast_to(slopes[0], (3, 2)), atol=1e-10)
    np.testing.assert_allclose(heights, by_hand.deepest(*slopes[0], channel)[0], atol=1e-10)
    # from rough corners Newton leads back to the same point
    rough = corner + 0.01 * np.cos(np.arange(6.0))
    assert triple_tangent(rough, channel)
    np.testing.assert_allclose(rough, corner, atol=1e-10)


def test_a_curve_that_leaves_the_disc_of_the_weight_is_left():
    nodes, _, ending, _ = traced(SYMMETRIC, start_on(SYMMETRIC), 1.0, sight=(0.0, 0.0, 0.1))
    assert ending == OUT_OF_SIGHT
    _, _, far, _ = traced(SYMMETRIC, start_on(SYMMETRIC), 1.0)
    assert far == CUSP
    w = by_hand.slope(*(nodes[-1, :2] + nodes[-1, 2:4]), SYMMETRIC)
    assert np.hypot(*w) > 0.1


@pytest.mark.parametrize("width", [1.0, 0.1, 0.02])
def test_a_segment_that_crosses_the_disc_is_in_sight(width):
    # w along a segment, by a scan so fine that no crossing is missed; V large, so w moves fast
    rng = np.random.default_rng(0)
    channel = (0.9, 0.9, 0.5, 40.0)
    crossings = 0
    for _ in range(200):
        z = np.concatenate([rng.normal(size=2) * 0.3, rng.normal(size=2)])
        tau = np.linspace(-1.0, 1.0, 20_001)
        w = by_hand.slope(z[0] + tau * z[2], z[1] + tau * z[3], channel)
        a, b = rng.normal(size=2) * 0.5
        nearest = np.hypot(w[0] - a, w[1] - b).min()
        if nearest < 0.9 * width:
            crossings += 1
            assert not out_of_sight(z, channel, a, b, width), (z, a, b)
    assert crossings > 3


MIRRORS = {
    # x -> -x, by which w -> -w: the other point of the pair takes its place
    "reflection": (lambda t: t, np.array([-1.0, -1.0, -1.0, -1.0])),
    # the tokens exchanged: u -> -u
    "exchange": (lambda t: (t[1], t[0], *t[2:]), np.array([-1.0, 1.0, -1.0, 1.0])),
    "both": (lambda t: (t[1], t[0], *t[2:]), np.array([1.0, -1.0, 1.0, -1.0])),
}


@pytest.mark.parametrize("name", MIRRORS)
def test_the_mirror_image_of_a_curve_is_the_curve_of_the_mirror_image(name):
    mirrored_channel, signs = MIRRORS[name]
    mirrored = mirrored_channel(TILTED)
    z = start_on(TILTED)
    unit, mirrored_unit = np.empty(4), np.empty(4)
    tangent(z, TILTED, unit)
    tangent(signs * z, mirrored, mirrored_unit)
    turn = np.sign(mirrored_unit @ (signs * unit))
    nodes, weights, ending, _ = traced(TILTED, z, 1.0)
    image, image_weights, image_ending, _ = traced(mirrored, signs * z, turn)
    assert ending == image_ending == CUSP
    np.testing.assert_allclose(image[:, :4], nodes[:, :4] * signs, atol=1e-9)
    np.testing.assert_allclose(image_weights, weights, rtol=1e-9)


def test_the_third_minimum_is_measured_against_the_pair():
    channel = (0.95, 0.94, 0.5, 12.0)
    z = np.array([0.0, 0.01, 1.0, 0.0])
    assert nearest_double_tangent(z, channel)
    # past the triple point the same two wells still tie, but a third lies lower
    undercut = 0
    for X_v in np.linspace(0.1, 1.3, 13):
        z[1] = X_v
        z[[0, 2, 3]] = 0.0, 0.6, 0.0
        if not nearest_double_tangent(z, channel) or np.hypot(*z[2:]) < 0.05:
            continue
        p, n = z[:2] + z[2:], z[:2] - z[2:]
        a, b = by_hand.slope(*p, channel)
        level = by_hand.psi(*p, channel) - p @ [a, b]
        expected = by_hand.deepest(a, b, channel)[0] - level
        found, u, v = excess_of_third(z, channel, *table(channel))
        assert found == pytest.approx(expected, abs=1e-10)
        if expected < -1e-6:
            undercut += 1
            assert by_hand.psi(u, v, channel) - a * u - b * v < level
            assert min(np.hypot(*(p - [u, v])), np.hypot(*(n - [u, v]))) > 0.05
    assert undercut >= 1
