"""Laplace's method for the channel: the envelope and its corrections in 1/beta."""

from __future__ import annotations

import sympy as sp

from symattn.symbolic import symbols as y
from symattn.symbolic.channel import determinant, prox_jacobian
from symattn.symbolic.moments import mean_of_polynomial


def fluctuations(hessian: sp.MatrixBase, V: sp.MatrixBase) -> sp.Expr:
    """c_1 = ln det(I + V Hess loss)/2 for all components of the fields of a sample."""
    return sp.log(determinant(prox_jacobian(hessian, V))) / 2


def expansion(V: sp.Symbol) -> tuple[sp.Expr, sp.Expr, sp.Expr]:
    """M, c_1 and c_2 in -ln(E_z exp(-beta loss(w + sqrt(V/beta) z)))/beta = M + c_1/beta + ...

    In terms of the loss and its derivatives at the prox x*, where x* - w = -V loss'.
    """
    first, second, third, fourth = y.loss_slopes
    curvature = 1 / V + second
    envelope = y.loss + V * first**2 / 2
    # With x = x* + z/sqrt(beta) the energy's cubic term is of order beta^-1/2, its quartic 1/beta.
    cubic, quartic = -third * y.z**3 / 6, -fourth * y.z**4 / 24
    correction = -mean_of_polynomial(quartic + cubic**2 / 2, y.z, 1 / curvature)
    return envelope, sp.log(sp.expand(V * curvature)) / 2, sp.factor(correction)
