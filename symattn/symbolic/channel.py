"""The channel: quadratic loss of the attention weights, energy, prox map and its determinant.

All functions take a flat list of coordinates, so they serve token and rotated coordinates alike:
the energy only needs |x - w|, which a rotation keeps.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import sympy as sp


def matrix_loss(weights: sp.Matrix, target: sp.Matrix, sigma: sp.Expr) -> sp.Expr:
    """(sigma^2 / 2) |T - S|_F^2: the loss of a sample per dimension, as d -> infinity."""
    mismatch = target - weights
    return sigma**2 / 2 * sum(entry**2 for entry in mismatch)


def two_token_loss(
    s11: sp.Expr, s22: sp.Expr, t11: sp.Expr, t22: sp.Expr, sigma: sp.Expr
) -> sp.Expr:
    """`matrix_loss` for two tokens, where a row's two mismatches are equal and opposite."""
    weights = sp.Matrix([[s11, 1 - s11], [1 - s22, s22]])
    target = sp.Matrix([[t11, 1 - t11], [1 - t22, t22]])
    free = sp.symbols("mismatch_1 mismatch_2")
    general = matrix_loss(weights, target, sigma)
    reduced = sp.expand(general.subs({t11: s11 + free[0], t22: s22 + free[1]}))
    return sp.factor_terms(reduced).subs({free[0]: t11 - s11, free[1]: t22 - s22})


def gradient(expression: sp.Expr, coordinates: Sequence[sp.Symbol]) -> list[sp.Expr]:
    """First derivatives, in the order of the coordinates."""
    return [sp.diff(expression, x) for x in coordinates]


def hessian(expression: sp.Expr, coordinates: Sequence[sp.Symbol]) -> list[sp.Expr]:
    """Upper triangle of the second derivatives, row by row."""
    return [
        sp.diff(expression, x, y) for i, x in enumerate(coordinates) for y in coordinates[i:]
    ]


def symmetric(upper: Sequence[sp.Expr], order: int) -> sp.Matrix:
    """The symmetric matrix whose upper triangle, row by row, is given."""
    entries = dict(
        zip([(i, j) for i in range(order) for j in range(i, order)], upper, strict=True)
    )
    return sp.Matrix(order, order, lambda i, j: entries[min(i, j), max(i, j)])


def inverse_prox(
    coordinates: Sequence[sp.Expr], loss_gradient: Sequence[sp.Expr], susceptibility: sp.Matrix
) -> list[sp.Expr]:
    """w(x) = x + V grad loss(x): stationarity of the energy, solved for w.

    susceptibility is V on all coordinates (block diagonal over tokens).
    """
    step = susceptibility * sp.Matrix(list(loss_gradient))
    return [x + dx for x, dx in zip(coordinates, step, strict=True)]


def determinant(matrix: sp.Matrix) -> sp.Expr:
    """Determinant by expansion along rows, every minor formed once.

    Free of division and of any search for simplifications, so its cost is known beforehand.
    """
    order = matrix.rows
    minors: dict[tuple[int, ...], sp.Expr] = {(): sp.Integer(1)}
    for row in range(order):
        minors = {
            columns: sum(
                (-1) ** (row + place) * matrix[row, column] * minors[columns[:place] + columns[place + 1 :]]
                for place, column in enumerate(columns)
            )
            for columns in combinations(range(order), row + 1)
        }
    return minors[tuple(range(order))]


def energy(
    coordinates: Sequence[sp.Expr],
    field: Sequence[sp.Expr],
    loss: sp.Expr,
    susceptibility: sp.Expr,
) -> sp.Expr:
    """|x - w|^2 / (2 V) + loss for a scalar V; its minimum over x is the Moreau envelope."""
    distance2 = sum((x - w) ** 2 for x, w in zip(coordinates, field, strict=True))
    return distance2 / (2 * susceptibility) + loss
