"""Attention weights of the student and of the target, S = softmax(x x^T) and T, row by row."""

from __future__ import annotations

import sympy as sp

from symattn.symbolic.functions import logistic, softmax


def logits(x: sp.MatrixBase) -> sp.Matrix:
    """x x^T for fields x (L x r): entry (l, k) is the logit of token l attending to token k."""
    return sp.Matrix(x * x.T)


def weights_of_logits(z: sp.MatrixBase) -> sp.Matrix:
    """softmax over each row of the logits z (L x L).

    With two tokens a row has one free entry: S_ll is the logistic function of a difference of
    logits and the other entry is 1 - S_ll.
    """
    length = z.rows
    if length == 2:
        s11, s22 = (
            logistic(sp.factor_terms(sp.expand(z[row, row] - z[row, 1 - row]))) for row in (0, 1)
        )
        return sp.Matrix([[s11, 1 - s11], [1 - s22, s22]])
    return sp.Matrix(length, length, lambda row, column: softmax(column + 1, *z.row(row)))


def student(x: sp.MatrixBase) -> sp.Matrix:
    """S[x] = softmax(x x^T), softmax over rows, for fields x (L x r)."""
    return weights_of_logits(logits(x))


def target(h: sp.MatrixBase, omega: sp.Expr, mixing: sp.MatrixBase) -> sp.Matrix:
    """T[h] = (1 - omega) softmax(h h^T) + omega A for fields h (L x t) and mixing matrix A."""
    return sp.Matrix((1 - omega) * student(h) + omega * mixing)


def token_coordinates(difference: sp.Expr, mean: sp.Expr) -> sp.Matrix:
    """(x_1, x_2) from the rotated u = (x_1 - x_2)/sqrt 2, v = (x_1 + x_2)/sqrt 2, as L x 1."""
    return sp.Matrix([mean + difference, mean - difference]) / sp.sqrt(2)


def rotated_positional_direction() -> list[sp.Expr]:
    """dw/dm in rotated coordinates: the means of w_1, w_2 are +m, -m, so m moves u by sqrt 2."""
    difference, mean = sp.symbols("difference mean")
    coordinates = token_coordinates(difference, mean)
    solution = sp.solve(list(coordinates - sp.Matrix([1, -1])), [difference, mean])
    return [solution[difference], solution[mean]]


def two_token_weights(difference: sp.Expr, mean: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
    """(S_11, S_22) in rotated coordinates: logistic(u (u + v)) and logistic(u (u - v))."""
    weights = student(token_coordinates(difference, mean))
    return weights[0, 0], weights[1, 1]
