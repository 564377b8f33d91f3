"""The Gaussian law of w given h*: its mean, its density, and how both move with the overlaps."""

from __future__ import annotations

import sympy as sp

from symattn.symbolic import symbols as y
from symattn.symbolic.coordinates import Coordinates
from symattn.symbolic.jets import Named


def field_mean(c: Coordinates) -> sp.Matrix:
    """E[w_l | h*] = m_l + theta rho^-1 h*_l, one row a token; in rotated rows where those are used.

    The covariance is `OrderParameters.conditional_covariance`.
    """
    p = c.order_parameters
    return c.rotated(p.overlaps.m) + c.h * p.regression.T


def distance2() -> sp.Expr:
    """|w - E[w | h*]|^2 in the symbols for the difference."""
    return sum(x**2 for x in y.deviation)


def log_density() -> sp.Expr:
    """ln N(w; mean, s^2) for one direction, in the symbols for |w - mean|^2 and s^-2."""
    normalisation = sp.Rational(len(y.deviation), 2) * sp.log(y.precision / (2 * sp.pi))
    return normalisation - y.precision * y.distance2 / 2


def variance_slope(expression: sp.Expr) -> sp.Expr:
    """Derivative by s^2 of an expression in s^-2."""
    return sp.factor(-(y.precision**2) * expression.diff(y.precision))


def slope(expression: sp.Expr, by_variance: sp.Expr, overlap: sp.Symbol, c: Coordinates) -> sp.Expr:
    """Derivative by q, m or theta of an expression in w - mean and s^-2, at fixed w.

    by_variance: its derivative by s^2.
    """
    (variance,) = c.order_parameters.conditional_covariance
    moved = zip(y.deviation, field_mean(c).diff(overlap), strict=True)
    through_mean = sum(-expression.diff(x) * mean for x, mean in moved)
    return sp.factor_terms(through_mean + by_variance * variance.diff(overlap))


def scores(c: Coordinates) -> list[Named]:
    """The derivatives of ln N by q, m and theta.

    As dN/dq is dN/d(s^2), the other two are written with the first.
    """
    overlaps = c.order_parameters.overlaps
    (q,), (m,), (theta,) = (y.entries(x) for x in (overlaps.q, overlaps.m, overlaps.theta))
    density = log_density()
    in_deviation = density.xreplace({y.distance2: distance2()})
    return [
        (score(q), slope(density, variance_slope(density), q, c)),
        *((score(x), slope(in_deviation, score(q), x, c)) for x in (m, theta)),
    ]


def score(overlap: sp.Symbol) -> sp.Symbol:
    """The symbol for the derivative of ln N by an overlap."""
    return sp.Symbol(f"score_{overlap.name}", real=True)
