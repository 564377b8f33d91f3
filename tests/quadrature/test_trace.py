"""Single curves of double tangents: their geometry, their ends, their symmetries."""

import numpy as np
import pytest

from symattn.quadrature._double_tangent import tangent
from symattn.quadrature._trace import CUSP, OUT_OF_SIGHT, TRIPLE_POINT
from tests.quadrature import energy_by_hand as by_hand
from tests.quadrature.curves import CORNERED, SYMMETRIC, TILTED, start_on, traced
from tests.quadrature.jump_sets import determinant


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
    _, _, ending, corner = traced(CORNERED, start_on(CORNERED), 1.0)
    assert ending == TRIPLE_POINT
    points = corner.reshape(3, 2)
    slopes = np.array([by_hand.slope(*p, CORNERED) for p in points])
    heights = [by_hand.psi(*p, CORNERED) - p @ slopes[0] for p in points]
    np.testing.assert_allclose(slopes, np.broadcast_to(slopes[0], (3, 2)), atol=1e-10)
    np.testing.assert_allclose(heights, by_hand.deepest(*slopes[0], CORNERED)[0], atol=1e-10)


def test_a_curve_that_leaves_the_disc_of_the_weight_is_left():
    nodes, _, ending, _ = traced(SYMMETRIC, start_on(SYMMETRIC), 1.0, sight=(0.0, 0.0, 0.1))
    assert ending == OUT_OF_SIGHT
    _, _, far, _ = traced(SYMMETRIC, start_on(SYMMETRIC), 1.0)
    assert far == CUSP
    w = by_hand.slope(*(nodes[-1, :2] + nodes[-1, 2:4]), SYMMETRIC)
    assert np.hypot(*w) > 0.1


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
