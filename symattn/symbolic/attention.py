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
    """S[x] = softmax(x x^T), softmax over rows, for fields x (L x r).

    For two tokens in rotated coordinates S_11 = logistic(u (u + v)), S_22 = logistic(u (u - v)).
    """
    return weights_of_logits(logits(x))


def target(semantic: sp.MatrixBase, omega: sp.Expr, mixing: sp.MatrixBase) -> sp.Matrix:
    """T[h] = (1 - omega) softmax(h h^T) + omega A; semantic is the softmax, mixing is A."""
    return sp.Matrix((1 - omega) * semantic + omega * mixing)
