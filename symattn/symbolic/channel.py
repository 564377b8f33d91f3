"""The channel: quadratic loss of the attention weights, energy, prox map and its determinant.

All functions serve token and rotated coordinates alike: the energy only needs the distance of x
and w, which a rotation keeps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

import sympy as sp

from symattn.symbolic import symbols as y


def matrix_loss(mismatch: sp.MatrixBase) -> sp.Expr:
    """(sigma^2/2) |T - S|_F^2: the loss of a sample per dimension, as d -> infinity.

    mismatch: T - S.
    """
    return y.sigma**2 / 2 * sum(entry**2 for entry in mismatch)


def two_token_mismatch(first: sp.Expr, second: sp.Expr) -> sp.Matrix:
    """T - S for two tokens: its rows sum to 0, so the diagonal is all of it."""
    return sp.Matrix([[first, -first], [-second, second]])


def of_two_mismatches(
    loss: Callable[[sp.MatrixBase], sp.Expr], first: sp.Expr, second: sp.Expr
) -> sp.Expr:
    """A loss of T - S for two tokens, in terms of the diagonal of T - S."""
    r11, r22 = sp.symbols("r11 r22", real=True)
    combined = sp.factor_terms(sp.expand(loss(two_token_mismatch(r11, r22))))
    return combined.xreplace({r11: first, r22: second})


def gradient(expression: sp.Expr, coordinates: Sequence[sp.Symbol]) -> list[sp.Expr]:
    """First derivatives, in the order of the coordinates."""
    return [sp.diff(expression, x) for x in coordinates]


def hessian(expression: sp.Expr, coordinates: Sequence[sp.Symbol]) -> list[sp.Expr]:
    """Upper triangle of the second derivatives, row by row."""
    return [sp.diff(expression, x, y) for i, x in enumerate(coordinates) for y in coordinates[i:]]


def symmetric_matrix(values: Sequence[sp.Expr], order: int) -> sp.ImmutableMatrix:
    """The symmetric matrix whose upper triangle, row by row, is given."""
    places = [(i, j) for i in range(order) for j in range(i, order)]
    entries = dict(zip(places, values, strict=True))
    return sp.ImmutableMatrix(order, order, lambda i, j: entries[min(i, j), max(i, j)])


def upper(matrix: sp.MatrixBase) -> list[sp.Expr]:
    """The upper triangle of a square matrix, row by row."""
    return [matrix[i, j] for i in range(matrix.rows) for j in range(i, matrix.cols)]


def inverse_prox(
    x: sp.MatrixBase, loss_gradient: sp.MatrixBase, susceptibility: sp.MatrixBase
) -> sp.Matrix:
    """w(x) = x + (grad loss) V, one row a token: stationarity of the energy, solved for w."""
    return x + loss_gradient * susceptibility


def prox_jacobian(hessian: sp.MatrixBase, susceptibility: sp.MatrixBase) -> sp.Matrix:
    """dw/dx = I + (I_L (x) V) Hess loss, on coordinates ordered by token."""
    tokens = hessian.rows // susceptibility.rows
    response = sp.kronecker_product(sp.eye(tokens), sp.Matrix(susceptibility))
    return sp.eye(hessian.rows) + response * hessian


def minors(matrix: sp.MatrixBase, name: str) -> tuple[list[tuple[sp.Symbol, sp.Expr]], sp.Expr]:
    """Determinant by expansion along rows: named minors of the first rows, and the last expansion.

    Free of division and of any search for simplifications, so its cost is known beforehand.
    """
    order = matrix.rows
    steps: list[tuple[sp.Symbol, sp.Expr]] = []
    known: dict[tuple[int, ...], sp.Expr] = {(): sp.Integer(1)}
    for row in range(order):
        expanded = {
            columns: sum(
                (-1) ** (row + place) * matrix[row, column] * known[_without(columns, place)]
                for place, column in enumerate(columns)
            )
            for columns in combinations(range(order), row + 1)
        }
        if row in (0, order - 1):
            known = expanded
            continue
        known = {
            columns: sp.Symbol(f"{name}_{''.join(str(c + 1) for c in columns)}", real=True)
            for columns in expanded
        }
        steps += [(known[columns], expanded[columns]) for columns in expanded]
    return steps, known[tuple(range(order))]


def determinant(matrix: sp.MatrixBase) -> sp.Expr:
    """Determinant by expansion along rows, written out."""
    steps, result = minors(matrix, "minor")
    known: dict[sp.Symbol, sp.Expr] = {}
    for name, value in steps:
        known[name] = value.xreplace(known)
    return result.xreplace(known)


def inverse(matrix: sp.MatrixBase) -> sp.Matrix:
    """The inverse of a small symmetric matrix as cofactors over the determinant."""
    order = matrix.rows
    if order == 1:
        return sp.Matrix([[1 / matrix[0, 0]]])
    whole = determinant(matrix)
    return sp.Matrix(
        order,
        order,
        lambda i, j: (-1) ** (i + j) * determinant(matrix.minor_submatrix(i, j)) / whole,
    )


def energy(deviation: sp.MatrixBase, precision: sp.MatrixBase, loss: sp.Expr) -> sp.Expr:
    """sum_l (x_l - w_l)^T V^-1 (x_l - w_l)/2 + loss; its minimum over x is the Moreau envelope.

    deviation: x - w, one row a token; precision: V^-1.
    """
    return sp.factor_terms((deviation * precision * deviation.T).trace()) / 2 + loss


def envelope_at_prox(g: sp.MatrixBase, susceptibility: sp.MatrixBase, loss: sp.Expr) -> sp.Expr:
    """loss + sum_l g_l^T V g_l/2: the energy at the prox, where x* - w = g V.

    g: one row a token; loss: the loss at the prox.
    """
    return sp.factor_terms((g * susceptibility * g.T).trace()) / 2 + loss


def _without(columns: tuple[int, ...], place: int) -> tuple[int, ...]:
    return columns[:place] + columns[place + 1 :]
