"""Linear algebra of a few unknowns, compiled: cheaper here than a call into LAPACK."""

from __future__ import annotations

import math

from symattn._jit import compiled
from symattn._typing import FloatArray


@compiled
def solve_in_place(matrix: FloatArray, right: FloatArray) -> bool:
    """Solve `matrix @ x = right` by Gaussian elimination with partial pivoting.

    Both arguments are overwritten, `right` with the solution. False if the matrix is singular.
    """
    n = right.shape[0]
    for k in range(n):
        pivot = k
        for i in range(k + 1, n):
            if abs(matrix[i, k]) > abs(matrix[pivot, k]):
                pivot = i
        if not abs(matrix[pivot, k]) > 0.0:
            return False
        if pivot != k:
            for j in range(n):
                matrix[k, j], matrix[pivot, j] = matrix[pivot, j], matrix[k, j]
            right[k], right[pivot] = right[pivot], right[k]
        for i in range(k + 1, n):
            factor = matrix[i, k] / matrix[k, k]
            if factor != 0.0:
                for j in range(k, n):
                    matrix[i, j] -= factor * matrix[k, j]
                right[i] -= factor * right[k]
    for k in range(n - 1, -1, -1):
        rest = right[k]
        for j in range(k + 1, n):
            rest -= matrix[k, j] * right[j]
        right[k] = rest / matrix[k, k]
    return True


@compiled
def _minor(rows: FloatArray, i: int, j: int, k: int) -> float:
    return (
        rows[0, i] * (rows[1, j] * rows[2, k] - rows[1, k] * rows[2, j])
        - rows[0, j] * (rows[1, i] * rows[2, k] - rows[1, k] * rows[2, i])
        + rows[0, k] * (rows[1, i] * rows[2, j] - rows[1, j] * rows[2, i])
    )


@compiled
def unit_null_vector(rows: FloatArray, out: FloatArray) -> None:
    """The unit vector orthogonal to the three first rows of `rows` (3 x 4), by cofactors.

    Its orientation is continuous in the rows as long as they stay independent.
    """
    out[0] = _minor(rows, 1, 2, 3)
    out[1] = -_minor(rows, 0, 2, 3)
    out[2] = _minor(rows, 0, 1, 3)
    out[3] = -_minor(rows, 0, 1, 2)
    norm = math.sqrt(out[0] ** 2 + out[1] ** 2 + out[2] ** 2 + out[3] ** 2)
    for j in range(4):
        out[j] /= norm
