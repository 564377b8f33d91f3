"""The linear positional baseline: the best map f_W(x) = W x."""

from __future__ import annotations

import sympy as sp

from symattn.symbolic import losses
from symattn.symbolic import symbols as y
from symattn.symbolic.functions import expectation


def linear_positional(target: sp.MatrixBase) -> tuple[sp.Matrix, sp.Expr]:
    """W and its test error, in terms of means of entries of T and of their squares.

    target: T (L x L). The test error (1/2) E Tr (T - W) rho_Sigma (T - W)^T is stationary in W.
    """
    weights = y.square("W", target.rows)
    error = expectation(losses.test_loss(target - weights), y.entries(target))
    best = {x: sp.solve(error.diff(x), x)[0] for x in weights}
    least = sp.expand(error.xreplace(best))
    return sp.Matrix(weights.xreplace(best)), sp.factor_terms(least)
