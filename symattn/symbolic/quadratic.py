"""A quadratic loss k |x|^2/2 over replicas: every average is a Gaussian integral."""

from __future__ import annotations

import sympy as sp

from symattn.symbolic import symbols as y
from symattn.symbolic.channel import determinant


def log_average(mean: sp.MatrixBase, covariance: sp.MatrixBase) -> sp.Expr:
    """ln E exp(-beta k |x|^2/2) over x with a normal law; mean (N x 1), covariance (N x N)."""
    curvature = y.beta * y.stiffness
    spread = sp.eye(mean.rows) + curvature * covariance
    whole = determinant(spread)
    shifted = (mean.T * spread.adjugate() * mean)[0] / whole
    return -sp.log(whole) / 2 - curvature * shifted / 2


def log_partition(field: sp.Expr, chi: sp.Expr) -> sp.Expr:
    """ln E_z exp(-beta k (w + sqrt(chi) z)^2/2): one replica, at the field w that all share."""
    return log_mean(-y.beta * y.stiffness * (field + sp.sqrt(chi) * y.z) ** 2 / 2, y.z)


def log_of_replicas(mean: sp.Expr, variance: sp.Expr, chi: sp.Expr) -> sp.Expr:
    """ln of the mean over w of the n-th power of one replica's average, for symbolic n."""
    field = mean + sp.sqrt(variance) * y.z
    return log_mean(y.n * log_partition(y.w, chi).subs(y.w, field), y.z)


def log_mean(exponent: sp.Expr, z: sp.Symbol) -> sp.Expr:
    """ln E exp(exponent) over a standard normal z, for an exponent quadratic in z.

    Logarithms in the exponent are left as they stand.
    """
    constant, logarithms = sp.expand(exponent.subs(z, 0)).as_independent(sp.log, as_Add=True)
    narrowed = sp.factor(1 - sp.diff(exponent, z, 2))
    slope = sp.diff(exponent, z).subs(z, 0)
    return logarithms - sp.log(narrowed) / 2 + sp.factor(constant + slope**2 / (2 * narrowed))
