"""The marked grid nodes against the definition of a triangle."""

import numpy as np
import pytest

from symattn.quadrature._raster import DOUBLY, fill_panel, fill_triangle

ORIGIN, PITCH, SIZE = -2.0, 0.05, 81


def depth_in(corners, u, v):
    """Least signed distance of (u, v) to the sides, positive inside."""
    corners = np.asarray(corners, dtype=float)
    if np.linalg.det(np.column_stack([corners, np.ones(3)])) < 0.0:
        corners = corners[::-1]
    least = np.full(np.shape(u), np.inf)
    for (pu, pv), (qu, qv) in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        cross = (qu - pu) * (v - pv) - (qv - pv) * (u - pu)
        least = np.minimum(least, cross / np.hypot(qu - pu, qv - pv))
    return least


def grid():
    axis = ORIGIN + PITCH * np.arange(SIZE)
    return np.meshgrid(axis, axis, indexing="ij")


def test_a_triangle_marks_the_nodes_inside_and_no_others():
    rng = np.random.default_rng(0)
    u, v = grid()
    for _ in range(50):
        # also partly or wholly outside the grid
        corners = rng.uniform(-2.6, 2.6, size=(3, 2))
        mask = np.zeros((SIZE, SIZE), np.uint8)
        fill_triangle(mask, 1, ORIGIN, PITCH, *corners.ravel())
        depth = depth_in(corners, u, v)
        assert mask[depth > 1e-7].all()
        assert not mask[depth < -1e-7].any()


def test_nodes_on_the_boundary_belong_to_the_triangle():
    mask = np.zeros((5, 5), np.uint8)
    fill_triangle(mask, 1, 0.0, 1.0, 0.0, 0.0, 4.0, 0.0, 0.0, 4.0)
    np.testing.assert_array_equal(mask, np.flipud(np.tri(5)))


def test_a_triangle_without_area_marks_nothing():
    mask = np.zeros((5, 5), np.uint8)
    fill_triangle(mask, 1, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 3.0, 3.0)
    assert not mask.any()


@pytest.mark.parametrize("flip", [1.0, -1.0])
def test_a_panel_marks_the_strip_between_its_segments(flip):
    # segments X +- D with X on the u axis from -1.5 to 1.5 and D = +-(0, half): a trapezium
    def segment(x, half):
        return np.array([x, 0.0, 0.0, flip * half])

    nodes = np.zeros((4, 8))
    nodes[1, :4] = segment(-0.4, 0.6)
    nodes[2, :4] = segment(0.7, 0.9)
    mask = np.zeros((SIZE, SIZE), np.uint8)
    start, end = segment(-1.5, 0.3), segment(1.5, 1.2)
    fill_panel(mask, 1, ORIGIN, PITCH, start, nodes, 1, 3, end)
    u, v = grid()
    half = np.interp(u, [-1.5, -0.4, 0.7, 1.5], [0.3, 0.6, 0.9, 1.2])
    depth = np.minimum(1.5 - np.abs(u), half - np.abs(v))
    assert mask[depth > 1e-7].all()
    assert not mask[depth < -1e-7].any()


def test_nodes_of_two_owners_are_told_from_those_of_one():
    mask = np.zeros((7, 7), np.uint8)
    first, second = (0.0, 0.0, 4.0, 0.0, 0.0, 4.0), (4.0, 4.0, 4.0, 0.0, 0.0, 4.0)
    fill_triangle(mask, 1, 0.0, 1.0, *first)
    fill_triangle(mask, 1, 0.0, 1.0, *first)
    assert set(np.unique(mask)) == {0, 1}
    fill_triangle(mask, 2, 0.0, 1.0, *second)
    shared = mask == DOUBLY
    # the diagonal belongs to both
    np.testing.assert_array_equal(np.argwhere(shared).sum(axis=1), np.full(5, 4))
    fill_triangle(mask, 3, 0.0, 1.0, *first)
    assert (mask[:5, :5][np.flipud(np.tri(5)).astype(bool)] == DOUBLY).all()
    assert (mask == 2).sum() == 10
