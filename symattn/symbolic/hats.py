"""The channel's side: integrands whose means are the hats, and the hats from those means."""

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp

from symattn.symbolic import symbols as y
from symattn.symbolic.losses import extremal_form
from symattn.symbolic.ridge import solve_each


def integrands(
    g: Sequence[sp.Expr],
    field: Sequence[sp.Expr],
    mean: Sequence[sp.Expr],
    spread: sp.Expr,
    h: Sequence[sp.Expr],
    positional: Sequence[sp.Expr],
) -> list[sp.Expr]:
    """|g|^2, g . dw/dm, g . (w - mean)/s^2 and g . h*, for w = mean + s xi.

    g is (x* - w)/V at the prox, mean and s belong to w given h*, positional is dw/dm. By Stein's
    lemma the mean of the third is E[div_w g].
    """
    mean_to_field = [w - centre for w, centre in zip(field, mean, strict=True)]
    return [
        _dot(g, g),
        _dot(g, positional),
        _dot(g, mean_to_field) / spread**2,
        _dot(g, h),
    ]


def _dot(left: Sequence[sp.Expr], right: Sequence[sp.Expr]) -> sp.Expr:
    return sum(x * y for x, y in zip(left, right, strict=True))


def hat_updates() -> dict[sp.Symbol, sp.Expr]:
    """Hats from the channel's expectations: stationarity of the extremal form in the overlaps.

    E[M] depends on V directly and on (q, m, theta) through the field
    w = mean + sqrt(q - theta^2/rho) xi. The envelope theorem gives dM/dw = -g and
    dM/dV = -|g|^2/2; Stein's lemma turns E[g . xi] into s E[div_w g].
    """
    rho = y.sigma**2
    spread = sp.sqrt(y.q - y.theta**2 / rho)
    # One direction stands for both tokens: h and xi are replaced by their products with g.
    field_of_g = y.m * sp.Symbol("g_along_m") + y.theta / rho * sp.Symbol("g_along_h")
    noise = spread * sp.Symbol("g_along_xi")
    expectations = {
        sp.Symbol("g_along_m"): y.e_gm,
        sp.Symbol("g_along_h"): y.e_gh,
        sp.Symbol("g_along_xi"): spread * y.e_div,
    }
    envelope_slope = {
        overlap: -(field_of_g + noise).diff(overlap).subs(expectations)
        for overlap in (y.q, y.m, y.theta)
    }
    envelope_slope[y.V] = -y.e_g2 / 2
    form = extremal_form(sp.Integer(0))
    stationarity = [
        sp.expand(y.alpha * envelope_slope[overlap] + form.diff(overlap)) for overlap in y.OVERLAPS
    ]
    # theta_hat is wanted in terms of V_hat, which saves a second use of the divergence.
    solution = solve_each(stationarity, list(y.HATS))
    in_theta = solution[y.theta_hat].subs(
        y.e_div, solve_each([y.V_hat - solution[y.V_hat]], [y.e_div])[y.e_div]
    )
    solution[y.theta_hat] = sp.factor_terms(sp.expand(in_theta))
    return {hat: solution[hat] for hat in y.HATS}
