"""Linear algebra of a few unknowns against numpy's."""

import numpy as np
import pytest

from symattn.quadrature._linear import solve_in_place, unit_null_vector


@pytest.mark.parametrize("size", [1, 2, 4, 6])
def test_solutions_are_numpys(size):
    rng = np.random.default_rng(size)
    for _ in range(50):
        matrix, right = rng.normal(size=(size, size)), rng.normal(size=size)
        expected = np.linalg.solve(matrix, right)
        error = 1e-15 * np.linalg.cond(matrix) * np.abs(expected).max()
        assert solve_in_place(matrix, right)
        np.testing.assert_allclose(right, expected, atol=10.0 * error)


def test_a_zero_on_the_diagonal_is_pivoted_around():
    matrix = np.array([[0.0, 2.0, 0.0], [0.0, 0.0, 4.0], [8.0, 0.0, 0.0]])
    right = np.array([2.0, 8.0, 24.0])
    assert solve_in_place(matrix, right)
    np.testing.assert_array_equal(right, [3.0, 1.0, 2.0])


@pytest.mark.parametrize("bad", [0.0, np.nan])
def test_a_singular_matrix_is_refused(bad):
    assert not solve_in_place(np.array([[1.0, 1.0], [1.0, 1.0 + bad]]), np.ones(2))


def test_the_null_vector_is_that_of_the_singular_value_decomposition():
    rng = np.random.default_rng(0)
    found = np.empty(4)
    for _ in range(50):
        rows = rng.normal(size=(4, 4))
        unit_null_vector(rows, found)
        expected = np.linalg.svd(rows[:3])[2][3]
        assert abs(found @ expected) == pytest.approx(1.0, abs=1e-13)
        assert np.linalg.norm(found) == pytest.approx(1.0, abs=1e-14)
        # oriented such that (found, rows) is a right-handed frame
        assert np.linalg.det(np.vstack([found, rows[:3]])) > 0.0
