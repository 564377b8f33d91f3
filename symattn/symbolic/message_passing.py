"""State evolution of approximate message passing for the model, without replicas.

One row of x_l + p_l is a token; Q has one row a dimension. An iteration is

    w_l   = (x_l + p_l) Q/sqrt(d) - V g_l(before)       for every sample and token,
    Gamma = sum (x_l + p_l)^T g_l/sqrt(d) + sigma^2 Q V_hat,   Q = Gamma D^-1,

with g = V^-1 (x* - w) and D = lambda + sigma^2 V_hat. The terms with V and V_hat are Onsager's.
"""

from __future__ import annotations

import sympy as sp

from symattn.symbolic import ridge
from symattn.symbolic import symbols as y
from symattn.symbolic.coordinates import Coordinates
from symattn.symbolic.overlaps import OrderParameters


def target_divergence(p: OrderParameters) -> sp.ImmutableMatrix:
    """The symbol for E sum_l dg_l/dh*_l at fixed w (r x t)."""
    return y.rectangular("e_dh", *p.overlaps.theta.shape)


def effective_field(
    field: sp.MatrixBase, force: sp.MatrixBase, susceptibility: sp.MatrixBase
) -> sp.Matrix:
    """w = field - V g: the field without what the sample itself did to it, one row a token."""
    return sp.Matrix(field - force * susceptibility)


def effective_gradient(
    descent: sp.MatrixBase, estimate: sp.MatrixBase, p: OrderParameters
) -> sp.Matrix:
    """Gamma = descent + sigma^2 Q V_hat; descent is minus the gradient of the samples' losses."""
    return sp.Matrix(descent + y.sigma**2 * estimate * p.hats.V)


def denoised(gradient: sp.MatrixBase, p: OrderParameters) -> sp.Matrix:
    """Q = Gamma D^-1, which minimises Tr Q D Q^T/2 - Tr Gamma Q^T; in the symbols for D^-1."""
    return sp.Matrix(gradient * ridge.resolvent_symbol(p))


def hats(p: OrderParameters) -> dict[sp.Symbol, sp.Expr]:
    """What the law of Gamma consists of: noise q_hat, and signals m_hat and theta_hat; and V_hat.

    Gamma = sqrt(d) sum_l p_l m_hat_l^T + sigma^2 Q* theta_hat^T + noise of covariance
    sigma^2 q_hat. Integrating by parts over the tokens, a sum over samples of x_l g_l^T/sqrt(d) has
    the mean alpha sigma^2 (Q E[dg/dw]^T + Q* E[dg/dh*]^T); V_hat = -alpha E[dg/dw] takes off Q.
    """
    pairs = (
        (p.hats.q, p.means.gg),
        (p.hats.m, p.means.g),
        (p.hats.V, -p.means.div),
        (p.hats.theta, target_divergence(p)),
    )
    found = {}
    for symbols, means in pairs:
        for hat in y.entries(symbols):
            entry = next(k for k in range(len(symbols)) if symbols[k].has(hat))
            found[hat] = y.alpha * means[entry] / symbols[entry].coeff(hat)
    return found


def stein(p: OrderParameters) -> sp.Matrix:
    """E sum_l dg_l/dh*_l from E sum_l g_l h*_l^T and the divergence in w.

    E[g h*^T] = E[dg/dh*] rho + E[dg/dw] theta, by parts over (h*, w).
    """
    return sp.Matrix((p.means.gh - p.means.div * p.overlaps.theta) * p.rho.inv())


def overlaps(p: OrderParameters) -> dict[sp.Symbol, sp.Expr]:
    """Overlaps of Q = Gamma D^-1, from products of the vectors in Gamma's law.

    p_l, Q*/sqrt(d) and the noise are orthogonal to one another, with products G, I and
    sigma^2 q_hat.
    """
    length, t = p.gram.rows, p.rho.rows
    resolvent = sp.Matrix(ridge.resolvent_symbol(p))
    rank = resolvent.rows
    products = sp.diag(sp.Matrix(p.gram), sp.eye(t), y.sigma**2 * sp.Matrix(p.hats.q))
    estimate = sp.Matrix.vstack(p.hats.m, y.sigma**2 * p.hats.theta.T, sp.eye(rank)) * resolvent
    with_all = products * estimate
    pairs = (
        (p.overlaps.q, y.sigma**2 * estimate.T * with_all),
        (p.overlaps.m, with_all[:length, :]),
        (p.overlaps.V, y.sigma**2 * denoised(sp.eye(rank), p)),
        (p.overlaps.theta, y.sigma**2 * with_all[length : length + t, :].T),
    )
    found: dict[sp.Symbol, sp.Expr] = {}
    for symbols, values in pairs:
        for overlap, value in zip(symbols, values, strict=True):
            if overlap.is_Symbol:
                found.setdefault(overlap, sp.factor_terms(value))
    return found


def saddle_point(p: OrderParameters) -> dict[sp.Symbol, sp.Expr]:
    """The fixed-point equations of message passing, in the channel means of the replica side."""
    by_parts = dict(zip(target_divergence(p), stein(p), strict=True))
    from_channel = {
        hat: sp.factor_terms(value.xreplace(by_parts)) for hat, value in hats(p).items()
    }
    return {**from_channel, **overlaps(p)}


def perturbation_growth(c: Coordinates, mean_square: sp.Expr) -> sp.Expr:
    """By how much an iteration multiplies the mean square of a small random change of Q (r = 1).

    mean_square: E|K|_F^2. A change of w with variance 1 a token changes g by -K, Gamma by noise of
    variance sigma^2 alpha E|K|_F^2, Q by that over D, and w by sigma^2 times the square of that.
    """
    gradient = y.sigma**2 * y.alpha * mean_square
    response = y.V
    return sp.cancel(y.sigma**2 * gradient * (response / y.sigma**2) ** 2)
