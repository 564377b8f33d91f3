"""The symbols of fields, weights and derivatives of a size, in the coordinates that suit it."""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp

from symattn.symbolic import symbols as y
from symattn.symbolic.channel import symmetric_matrix, two_token_mismatch
from symattn.symbolic.overlaps import OrderParameters, order_parameters
from symattn.symbolic.size import Size


@dataclass(frozen=True)
class Coordinates:
    """Fields with one row a token: x, w, its mean given h*, g = V^-1 (x* - w), and h*.

    Two tokens of rank one use rotated rows: row 1 is (first - second)/sqrt 2, row 2 is
    (first + second)/sqrt 2. The covariance of w given h* is the same in both.

    gradient, hessian: symbols for the derivatives of the loss in x.
    weights, target: symbols for S and T; in the rotated case only the diagonals are free.
    mixing: symbols for A, likewise.
    """

    size: Size
    order_parameters: OrderParameters
    x: sp.ImmutableMatrix
    w: sp.ImmutableMatrix
    w_mean: sp.ImmutableMatrix
    g: sp.ImmutableMatrix
    h: sp.ImmutableMatrix
    gradient: sp.ImmutableMatrix
    hessian: sp.ImmutableMatrix
    weights: sp.ImmutableMatrix
    target: sp.ImmutableMatrix
    mixing: sp.ImmutableMatrix
    covariance: sp.ImmutableMatrix

    @property
    def mismatch(self) -> sp.Matrix:
        """T - S in the free symbols."""
        return sp.Matrix(self.target - self.weights)

    def rotated(self, tokens: sp.MatrixBase) -> sp.Matrix:
        """Rows that belong to tokens, in these coordinates."""
        return sp.Matrix(ROTATION * tokens if self.size.is_rotated else tokens)

    def tokens(self, rows: sp.MatrixBase) -> sp.Matrix:
        """Rows in these coordinates, turned into rows that belong to tokens."""
        return sp.Matrix(ROTATION.T * rows if self.size.is_rotated else rows)


ROTATION = sp.ImmutableMatrix([[1, -1], [1, 1]]) / sp.sqrt(2)


def coordinates(size: Size) -> Coordinates:
    """The symbols of a size: rotated for two tokens of rank one, by token otherwise."""
    p = order_parameters(size)
    if size.is_rotated:
        column = sp.ImmutableMatrix
        return Coordinates(
            size=size,
            order_parameters=p,
            x=column([y.u, y.v]),
            w=column([y.a, y.b]),
            w_mean=column([y.a_mean, y.b_mean]),
            g=column([y.g_u, y.g_v]),
            h=column([y.u_star, y.v_star]),
            gradient=column([y.l_u, y.l_v]),
            hessian=symmetric_matrix([y.l_uu, y.l_uv, y.l_vv], 2),
            weights=_rows_of_sum_one(y.s11, y.s22),
            target=_rows_of_sum_one(y.t11, y.t22),
            mixing=_rows_of_sum_one(y.a11, y.a22),
            covariance=sp.ImmutableMatrix([[y.s**2]]),
        )
    length, r = size.length, size.student_rank
    x, w, w_mean, g, gradient = (
        y.fields(name, length, r) for name in ("x", "w", "w_mean", "g", "l")
    )
    labels = [name.name.removeprefix("x_") for name in x]
    return Coordinates(
        size=size,
        order_parameters=p,
        x=x,
        w=w,
        w_mean=w_mean,
        g=g,
        h=y.fields("h", length, size.target_rank),
        gradient=gradient,
        hessian=sp.ImmutableMatrix(
            len(labels),
            len(labels),
            lambda i, j: sp.Symbol(f"l_{labels[min(i, j)]}_{labels[max(i, j)]}", real=True),
        ),
        weights=y.square("s", length),
        target=y.square("t", length),
        mixing=y.square("a", length),
        covariance=y.symmetric("cov", r, positive=True),
    )


def _rows_of_sum_one(first: sp.Symbol, second: sp.Symbol) -> sp.ImmutableMatrix:
    return sp.ImmutableMatrix(sp.Matrix([[0, 1], [1, 0]]) + two_token_mismatch(first, second))
