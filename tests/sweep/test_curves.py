"""Zeros along lines and on grids, against functions whose zeros are known."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from symattn import InvalidInput
from symattn.sweep.curves import zero_curve, zero_set

X = np.linspace(-2.0, 2.0, 21)
Y = np.linspace(-1.5, 1.5, 16)
AT_X, AT_Y = np.meshgrid(X, Y)


def test_a_straight_line_has_its_zero_to_rounding():
    for zero in (-1.93, 0.1, 1.999):
        assert zero_curve(X, 3.0 * (X - zero)) == pytest.approx([zero], abs=1e-13)
        assert zero_curve(X, zero - X) == pytest.approx([zero], abs=1e-13)


@pytest.mark.parametrize("positive", [np.exp, np.cosh, lambda x: 1.0 / (3.0 + x)])
def test_a_positive_factor_moves_no_zero(positive):
    for zero in (-1.25, 0.13, 0.77):
        # Monotone cubics are of third order where the function is monotone.
        assert zero_curve(X, (X - zero) * positive(X)) == pytest.approx([zero], abs=0.2**3)


def test_all_zeros_are_found():
    fine = np.linspace(0.5, 13.0, 120)
    assert zero_curve(fine, np.sin(fine)) == pytest.approx(np.pi * np.arange(1, 5), abs=1e-3)


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=12))
def test_there_is_one_zero_for_each_change_of_sign_and_it_is_where_that_is(values):
    zeros = zero_curve(np.arange(len(values)), np.array(values))
    signed = [i for i, value in enumerate(values) if value != 0]
    changes = [(i, j) for i, j in pairwise(signed) if values[i] * values[j] < 0]
    assert len(zeros) == len(changes)
    for zero, (i, j) in zip(zeros, changes, strict=True):
        assert i < zero < j


@pytest.mark.parametrize(
    ("values", "zeros"),
    [
        ([-1, 0, 1], [1]),
        ([1, 0, 1], []),
        ([-1, 0, -1], []),
        ([0, 1, 2], []),
        ([-1, -2, 0], []),
        ([0, 0, 0], []),
        ([-1, 0, 0, 1], [2]),
    ],
)
def test_a_point_where_it_is_0_is_a_zero_if_the_sign_changes_there(values, zeros):
    assert zero_curve(np.arange(len(values)), np.array(values)).tolist() == zeros


def test_nothing_is_interpolated_over_a_gap():
    nan = np.nan
    values = np.array([-3.0, -1.0, nan, 1.0, -1.0, nan, nan, -1.0, nan])
    assert zero_curve(np.arange(9), values) == pytest.approx([3.5])
    assert zero_curve(np.arange(3), np.full(3, nan)).size == 0


@pytest.mark.parametrize(
    ("x", "values"),
    [([0, 1, 1], [1, 2, 3]), ([1, 0], [1, 2]), ([0, 1], [1, 2, 3]), ([[0, 1]], [[0, 1]])],
)
def test_what_is_no_line_is_refused(x, values):
    with pytest.raises(InvalidInput):
        zero_curve(np.array(x), np.array(values))


@pytest.mark.parametrize("slope", [0.0, 0.45, -1.7])
def test_a_straight_curve_is_one_piece_from_edge_to_edge(slope):
    [steep] = zero_set(X, Y, 2.0 * (AT_X - 0.07 - slope / 3 * AT_Y))
    [flat] = zero_set(X, Y, 2.0 * (AT_Y - 0.07 - slope / 3 * AT_X))
    assert steep[:, 0] == pytest.approx(0.07 + slope / 3 * steep[:, 1], abs=1e-13)
    assert flat[:, 1] == pytest.approx(0.07 + slope / 3 * flat[:, 0], abs=1e-13)
    assert sorted(steep[[0, -1], 1]) == [Y[0], Y[-1]]
    assert sorted(flat[[0, -1], 0]) == [X[0], X[-1]]
    for along in (steep[:, 1], flat[:, 0]):
        assert np.all(np.diff(along) >= 0) or np.all(np.diff(along) <= 0)


def test_a_circle_is_one_closed_piece():
    [circle] = zero_set(X, Y, AT_X**2 + AT_Y**2 - 1.0)
    assert circle[0].tolist() == circle[-1].tolist()
    assert np.hypot(*circle.T) == pytest.approx(np.ones(len(circle)), abs=1e-3)
    angles = np.unwrap(np.arctan2(circle[:, 1], circle[:, 0]))
    assert abs(angles[-1] - angles[0]) == pytest.approx(2 * np.pi)
    assert np.all(np.diff(angles) > 0) or np.all(np.diff(angles) < 0)


@pytest.mark.parametrize("level", [1e-3, -1e-3])
def test_a_saddle_is_joined_the_right_way(level):
    # No point of this grid is at 0: all sides of the cell in the middle are crossed.
    x = np.linspace(-1.9, 1.9, 20)
    at_x, at_y = np.meshgrid(x, x)
    branches = zero_set(x, x, at_x * at_y - level)
    assert len(branches) == 2
    for branch in branches:
        assert branch.prod(axis=1) == pytest.approx(np.full(len(branch), level), abs=1e-13)
        assert np.ptp(np.sign(branch), axis=0).tolist() == [0, 0]


def test_a_curve_ends_where_there_are_no_numbers():
    values = AT_X - 0.07
    values[7] = np.nan
    below, above = sorted(zero_set(X, Y, values), key=lambda piece: piece[:, 1].max())
    assert (below[:, 1].max(), above[:, 1].min()) == (Y[6], Y[8])
    assert zero_set(X, Y, np.full_like(values, np.nan)) == []


def test_a_curve_goes_on_through_three_corners_of_a_cell():
    ends = np.array([0.0, 1.0])
    [piece] = zero_set(ends, ends, np.array([[1.0, -1.0], [-1.0, np.nan]]))
    assert sorted(piece.tolist()) == [[0.0, 0.5], [0.5, 0.0]]


def test_what_is_no_grid_is_refused():
    for x, y, values in ((X, Y, AT_X[0]), (X, Y[:-1], AT_X), (X[::-1], Y, AT_X), (X, Y, AT_X.T)):
        with pytest.raises(InvalidInput):
            zero_set(x, y, values)
