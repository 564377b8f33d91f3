"""The channel's side: integrands whose means are needed, and the hats from those means."""

from __future__ import annotations

import sympy as sp

from symattn.symbolic import symbols as y
from symattn.symbolic.coordinates import Coordinates
from symattn.symbolic.losses import extremal_form
from symattn.symbolic.overlaps import OrderParameters
from symattn.symbolic.ridge import resolvent_symbol, solve_each, source_symbol


def integrands(
    g: sp.MatrixBase,
    deviation: sp.MatrixBase,
    precision: sp.MatrixBase,
    h: sp.MatrixBase,
) -> tuple[sp.Matrix, sp.Matrix, sp.Matrix]:
    """sum_l g_l g_l^T, sum_l g_l (w_l - E[w_l | h*])^T C^-1 and sum_l g_l h*_l^T.

    g = V^-1 (x* - w) at the prox; C is the covariance of w_l given h*, precision its inverse. By
    Stein's lemma the mean of the second is the mean of sum_l dg_l/dw_l.
    """
    return g.T * g, g.T * deviation * precision, g.T * h


def positional_direction(c: Coordinates) -> sp.Matrix:
    """dw/dm where one overlap m stands for all tokens: the integrand of m_hat is g . dw/dm."""
    (m,) = y.entries(c.order_parameters.overlaps.m)
    return c.rotated(c.order_parameters.overlaps.m).diff(m)


def envelope_slope(p: OrderParameters, overlap: sp.Symbol) -> sp.Expr:
    """d E[M]/d overlap in terms of means over the channel.

    E[M] depends on V directly, dM/dV = -g g^T/2, and on the other overlaps through the Gaussian law
    of w given h*: slope -E g_l in its means, and -E[dg/dw]/2 in its covariance.
    """
    means = p.means
    return -(
        _dot(means.gg, p.overlaps.V.diff(overlap)) / 2
        + _dot(means.g, p.overlaps.m.diff(overlap))
        + _dot(means.gh, p.regression.diff(overlap))
        + _dot(means.div, p.conditional_covariance.diff(overlap)) / 2
    )


def hat_updates(p: OrderParameters) -> dict[sp.Symbol, sp.Expr]:
    """The hats in terms of means over the channel, by stationarity in the overlaps.

    theta_hat is written with V_hat, so that the divergence is used once.
    """
    form = extremal_form(p, sp.Integer(0), resolvent_symbol(p), source_symbol(p))

    def stationarity(overlaps: tuple[sp.Symbol, ...]) -> list[sp.Expr]:
        return [
            sp.expand(y.alpha * envelope_slope(p, overlap) + form.diff(overlap))
            for overlap in overlaps
        ]

    response = solve_each(stationarity(y.entries(p.overlaps.q)), y.entries(p.hats.V))
    divergence = solve_each(
        [hat - value for hat, value in response.items()], y.entries(p.means.div)
    )
    semantic = [
        sp.expand(equation.subs(divergence))
        for equation in stationarity(y.entries(p.overlaps.theta))
    ]
    solution = {
        **response,
        **solve_each(stationarity(y.entries(p.overlaps.V)), y.entries(p.hats.q)),
        **solve_each(stationarity(y.entries(p.overlaps.m)), y.entries(p.hats.m)),
        **solve_each(semantic, y.entries(p.hats.theta)),
    }
    return {hat: solution[hat] for hat in p.hats.symbols}


def _dot(left: sp.MatrixBase, right: sp.MatrixBase) -> sp.Expr:
    return sum(x * y for x, y in zip(left, right, strict=True))
