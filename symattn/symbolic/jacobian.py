"""The Jacobian of the channel's side, hats from overlaps, for one direction.

The hats are the gradient of alpha E[M] in the overlaps, up to factors, so their Jacobian is a
Hessian: its symmetry gives most derivatives by V and m, and saves means.
"""

from __future__ import annotations

import sympy as sp

from symattn.symbolic import hats, law
from symattn.symbolic import symbols as y
from symattn.symbolic.coordinates import Coordinates
from symattn.symbolic.jets import Named
from symattn.symbolic.losses import extremal_form, train_loss_direct
from symattn.symbolic.overlaps import OrderParameters
from symattn.symbolic.ridge import resolvent_symbol, solve_each, source_symbol


def integrands(c: Coordinates) -> list[Named]:
    """|g|^2, g_1 - g_2, g.(w - mean)/s^2 and g.h* under the names of their means."""
    deviation, precision = sp.Matrix(y.deviation), sp.Matrix([[y.precision]])
    gg, div, gh = hats.integrands(c.g, deviation, precision, c.h)
    gm = c.g.T * hats.positional_direction(c)
    values = (gg[0], gm[0], div[0], gh[0])
    return list(zip(c.order_parameters.means.symbols, values, strict=True))


def slopes_taken(p: OrderParameters) -> list[tuple[sp.Symbol, sp.Symbol]]:
    """The means and overlaps whose derivatives are computed as means; symmetry gives the rest."""
    e_g2, e_gm, e_div, e_gh = p.means.symbols
    q, m, _, theta = p.overlaps.symbols
    return [
        *((e_g2, x) for x in (q, m, theta)),
        *((e_gm, x) for x in (q, m, theta)),
        *((e_gh, x) for x in (q, theta)),
        (e_div, q),
    ]


def slope_factors(c: Coordinates) -> list[sp.Expr]:
    """For each of `slopes_taken`: the factor that turns the integrand into the derivative's.

    The derivative of int N f dw has the integrand f d(ln N) + df, and df is there for Stein's form
    alone, which has s^-2 in it.
    """
    values = dict(integrands(c))
    factors = []
    for mean, overlap in slopes_taken(c.order_parameters):
        value = values[mean]
        explicit = law.slope(value, law.variance_slope(value), overlap, c)
        factors.append(law.score(overlap) + sp.cancel(explicit / value))
    return factors


def slope_symbol(name: sp.Symbol, overlap: sp.Symbol) -> sp.Symbol:
    """The symbol for the derivative of a mean or a hat by an overlap."""
    return sp.Symbol(f"{name.name}_by_{overlap.name}", real=True)


def known_slopes(p: OrderParameters) -> list[Named]:
    """The derivatives of means that are computed, and the symbols of what they are computed from.

    The derivative of E|g|^2 by V is -2 times the response.
    """
    e_g2, V = p.means.gg[0], p.overlaps.V[0]
    taken = [slope_symbol(*pair) for pair in slopes_taken(p)]
    return [*zip(taken, taken, strict=True), (slope_symbol(e_g2, V), -2 * y.response)]


def hats_jacobian(p: OrderParameters) -> dict[tuple[sp.Symbol, sp.Symbol], sp.Expr]:
    """d hat/d overlap for all pairs, from `known_slopes`.

    The second derivatives of alpha E[M] are solved for, one by one, from the derivatives of the
    hats that the means give; then all hats are differentiated as a gradient.
    """
    overlaps, hat_symbols = p.overlaps.symbols, p.hats.symbols
    envelope = sp.Function("envelope")(*overlaps)
    form = extremal_form(p, envelope, resolvent_symbol(p), source_symbol(p))
    gradient = solve_each([form.diff(x) for x in overlaps], hat_symbols)
    updates = hats.hat_updates(p)
    known = dict(known_slopes(p))
    found: dict[sp.Expr, sp.Expr] = {}

    def total_slope(hat: sp.Symbol, overlap: sp.Symbol) -> sp.Expr | None:
        """d hat/d overlap from the means, or None where a mean's derivative is not known."""
        formula = updates[hat]
        total = formula.diff(overlap)
        for mean in formula.free_symbols & set(p.means.symbols):
            if slope_symbol(mean, overlap) not in known:
                return None
            total += formula.diff(mean) * known[slope_symbol(mean, overlap)]
        for other in formula.free_symbols & set(hat_symbols):
            total += formula.diff(other) * gradient[other].diff(overlap)
        return total

    for hat in hat_symbols:
        for overlap in overlaps:
            total = total_slope(hat, overlap)
            if total is not None:
                equation = (gradient[hat].diff(overlap) - total).doit().subs(found)
                unknown = equation.atoms(sp.Derivative)
                found.update(solve_each([equation], list(unknown)))
    return {
        (hat, overlap): sp.factor_terms(gradient[hat].diff(overlap).subs(found))
        for hat in hat_symbols
        for overlap in overlaps
    }


def train_loss_direct_gradient(p: OrderParameters) -> dict[sp.Symbol, sp.Expr]:
    """d/d(q, m, V, theta) of alpha E[loss at the prox] + lambda q/(2 sigma^2), where hats hold.

    E[loss at the prox] = E[M] - V E|g|^2/2; the gradient of alpha E[M] is the hats', and
    alpha E|g|^2 = q_hat.
    """
    e_g2, V = p.means.gg[0], p.overlaps.V[0]
    form = extremal_form(p, sp.Integer(0), resolvent_symbol(p), source_symbol(p))
    penalty = train_loss_direct(p).subs(y.loss_at_prox, 0)
    known = dict(known_slopes(p))
    (q_hat,) = y.entries(p.hats.q)
    return {
        x: sp.expand(
            -form.diff(x)
            - V.diff(x) * q_hat / 2
            - y.alpha * V * known[slope_symbol(e_g2, x)] / 2
            + penalty.diff(x)
        )
        for x in p.overlaps.symbols
    }
