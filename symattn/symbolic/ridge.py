"""The ridge side: stationarity of the training loss, in its extremal form, in the hats."""

from __future__ import annotations

import sympy as sp

from symattn.symbolic import symbols as y
from symattn.symbolic.losses import extremal_form


def solve_each(equations: list[sp.Expr], unknowns: list[sp.Symbol]) -> dict[sp.Symbol, sp.Expr]:
    """Solve equations = 0 where each is linear in exactly one of the unknowns.

    Raises ValueError if they do not have that form. Keeps the factored form of the equations,
    which a general solver would expand.
    """
    solution: dict[sp.Symbol, sp.Expr] = {}
    for equation in equations:
        inside = [x for x in unknowns if equation.has(x)]
        if len(inside) != 1 or equation.diff(inside[0]).has(*unknowns):
            raise ValueError(f"{equation} = 0 is not linear in exactly one of {unknowns}")
        (unknown,) = inside
        solution[unknown] = -equation.subs(unknown, 0) / equation.diff(unknown)
    if len(solution) != len(unknowns):
        raise ValueError(f"the equations do not determine all of {unknowns}")
    return solution


def ridge_updates() -> dict[sp.Symbol, sp.Expr]:
    """Overlaps (q, m, V, theta) from the hats: stationarity of the extremal form in the hats."""
    form = extremal_form()
    stationarity = [form.diff(hat) for hat in y.HATS]
    solution = solve_each(stationarity, list(y.OVERLAPS))
    return {overlap: solution[overlap] for overlap in y.OVERLAPS}
