"""The ridge side: overlaps from hats, by stationarity of the extremal form in the hats."""

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp

from symattn.symbolic import symbols as y
from symattn.symbolic.losses import extremal_form, ridge_denominator, ridge_source
from symattn.symbolic.overlaps import OrderParameters


def resolvent_symbol(p: OrderParameters) -> sp.ImmutableMatrix:
    """A symbol for D^-1, entry by entry, which keeps the equations short."""
    return y.symmetric("resolvent", p.hats.V.rows)


def source_symbol(p: OrderParameters) -> sp.ImmutableMatrix:
    """A symbol for B (`ridge_source`), entry by entry."""
    return y.symmetric("source", p.hats.V.rows)


def total_derivative(expression: sp.Expr, hat: sp.Symbol, p: OrderParameters) -> sp.Expr:
    """Derivative with respect to a hat of an expression in the hats, the resolvent and the source.

    The resolvent depends on V_hat, d D^-1 = -D^-1 dD D^-1; the source on the other hats.
    """
    resolvent = resolvent_symbol(p)
    moved = {
        **_by_entry(resolvent, -resolvent * ridge_denominator(p).diff(hat) * resolvent),
        **_by_entry(source_symbol(p), ridge_source(p).diff(hat)),
    }
    return expression.diff(hat) + sum(expression.diff(x) * dx for x, dx in moved.items())


def solve_each(
    equations: Sequence[sp.Expr], unknowns: Sequence[sp.Symbol]
) -> dict[sp.Symbol, sp.Expr]:
    """Solve equations = 0 where each is linear in exactly one of the unknowns.

    It keeps the factored form of the equations, which a general solver would expand.
    Raises ValueError if the equations do not have that form.
    """
    solution: dict[sp.Symbol, sp.Expr] = {}
    for equation in equations:
        inside = [x for x in unknowns if equation.has(x)]
        if len(inside) != 1 or equation.diff(inside[0]).has(*unknowns):
            raise ValueError(f"{equation} = 0 is not linear in exactly one of {unknowns}")
        (unknown,) = inside
        solution[unknown] = sp.factor_terms(-equation.subs(unknown, 0) / equation.diff(unknown))
    if set(solution) != set(unknowns):
        raise ValueError(f"the equations do not determine all of {unknowns}")
    return {unknown: solution[unknown] for unknown in unknowns}


def ridge_updates(p: OrderParameters) -> dict[sp.Symbol, sp.Expr]:
    """The overlaps in terms of the hats and of the symbols for D^-1 and B."""
    form = extremal_form(p, y.envelope, resolvent_symbol(p), source_symbol(p))
    return solve_each(
        [total_derivative(form, hat, p) for hat in p.hats.symbols], p.overlaps.symbols
    )


def _by_entry(symbols: sp.MatrixBase, values: sp.MatrixBase) -> dict[sp.Symbol, sp.Expr]:
    return dict(zip(symbols, values, strict=True))
