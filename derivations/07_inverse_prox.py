"""The inverse prox map: explicit, with its determinant, and the slopes of the envelope."""

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp
from mpmath import matrix, mp, mpf

from symattn.symbolic import channel, definition
from symattn.symbolic import symbols as y
from symattn.symbolic.checks import (
    Case,
    Outcome,
    Values,
    agree,
    curvatures,
    filled,
    flat,
    sample,
    slopes,
)
from symattn.symbolic.coordinates import Coordinates, coordinates
from symattn.symbolic.derivation import Chapter, Check, Equation, Step
from symattn.symbolic.latex import formula
from symattn.symbolic.points import ChannelPoint
from symattn.symbolic.size import Size

stiffness = sp.Symbol("stiffness", positive=True)


def chapter(size: Size) -> Chapter:
    c = coordinates(size)
    return Chapter(
        "The inverse prox",
        r"The prox $w \mapsto x^\star$ needs a minimisation and may jump; its inverse is explicit "
        "and smooth. Where no critical point but the global minimum carries weight, means over $w$ "
        "are integrals over $x$ with the determinant below.",
        (_map(c), _determinant(c), _at_prox(c), _envelope(c)),
    )


def _map(c: Coordinates) -> Step:
    field = channel.inverse_prox(c.x, c.gradient, c.order_parameters.overlaps.V)

    def case(seed: int) -> Case:
        # The slope is V^-1 (x - w) + grad loss: V times its value at w = 0 is the w wanted.
        point = ChannelPoint.with_derivatives(c, seed)
        at_zero = slopes(lambda *x: point.energy(x, [mpf(0)] * len(x)), point.x)
        return point.values, flat(_rows(at_zero, point.V.rows) * point.V)

    return Step(
        key="map",
        title="The field that a critical point belongs to",
        statement=r"If $x$ is a critical point of $\mathcal{E}(\cdot\,; w)$ then "
        r"$w = x + V\nabla\ell(x)$:",
        equations=tuple(
            Equation(formula(name), value) for name, value in zip(c.w, field, strict=True)
        ),
        reason=r"$V^{-1}(x - w) + \nabla\ell(x) = 0$, solved for $w$.",
        check=Check(
            "the $w$ at which differences of the energy in $x$ vanish, to 40 digits.",
            lambda formulas: agree(formulas, case, points=2),
        ),
    )


def _determinant(c: Coordinates) -> Step:
    minors, last = channel.minors(
        channel.prox_jacobian(c.hessian, c.order_parameters.overlaps.V), "minor"
    )
    names = [name for name, _ in minors]

    def case(seed: int) -> Case:
        point = ChannelPoint.with_derivatives(c, seed)
        size = len(point.x)
        bends = curvatures(lambda *x: point.energy(x, [mpf(0)] * size), point.x)
        hessian = matrix(size, size)
        places = [(i, j) for i in range(size) for j in range(i, size)]
        for (i, j), bend in zip(places, bends, strict=True):
            hessian[i, j] = hessian[j, i] = bend
        return point.values, [mp.det(hessian) * mp.det(point.V) ** c.size.length]

    def test(formulas: Sequence[sp.Expr]) -> Outcome:
        known: dict[sp.Symbol, sp.Expr] = {}
        for name, value in zip(names, formulas[:-1], strict=True):
            known[name] = value.xreplace(known)
        return agree([formulas[-1].xreplace(known)], case, points=2)

    equations = [Equation(formula(name), value) for name, value in minors]
    return Step(
        key="determinant",
        title="Its determinant",
        statement=r"$\det(\partial w/\partial x) = \det(I + V\,\mathrm{Hess}\,\ell)$"
        + (r", by minors $\Delta$ of the first rows:" if minors else ", written out:"),
        equations=(*equations, Equation(r"\det\frac{\partial w}{\partial x}", last)),
        reason="Differentiate the map; expand along rows, which needs no simplification.",
        check=Check(
            r"numerical determinant of the energy's Hessian by differences, times $\det V$ for "
            "each token, to 40 digits.",
            test,
        ),
    )


def _at_prox(c: Coordinates) -> Step:
    V = c.order_parameters.overlaps.V

    def case(seed: int) -> Case:
        point = ChannelPoint(c, seed)
        values = {**point.values, **sample(tuple(c.g), seed)}
        moved = [values[g] for g in c.g]
        w = matrix(point.x) - matrix(flat(_rows(moved, point.V.rows) * point.V))
        return values, [point.energy(point.x, list(w))]

    return Step(
        key="envelope_value",
        title="The envelope at the prox",
        statement=r"With $g = V^{-1}(x^\star - w)$ and the loss at the prox:",
        equations=(Equation("M", channel.envelope_at_prox(c.g, V, y.loss)),),
        reason=r"$x^\star - w = V g$ in the energy.",
        check=Check(
            "the energy of the tokens, with the loss by definition, at $x$ and $w = x - V g$, to "
            "40 digits.",
            lambda formulas: agree(formulas, case),
        ),
    )


def _envelope(c: Coordinates) -> Step:
    V = c.order_parameters.overlaps.V
    in_V = {x: -(c.g * V.diff(x) * c.g.T).trace() / 2 for x in y.entries(V)}
    slope = {**{w: -g for w, g in zip(c.w, c.g, strict=True)}, **in_V}
    moving = list(slope)

    def case(seed: int) -> Case:
        # For the loss k |x - y|^2/2 the prox is w - V (V + I/k)^-1 (w - y).
        values = sample((*moving, *c.w_mean, stiffness), seed)
        rank = V.rows

        def residual_and_curvature(point: Values) -> tuple[matrix, matrix]:
            response = filled(V, point) + mp.eye(rank) / point[stiffness]
            return filled(c.w - c.w_mean, point), response**-1

        def envelope(*moved: mpf) -> mpf:
            point = {**values, **dict(zip(moving, moved, strict=True))}
            residual, curvature = residual_and_curvature(point)
            return definition.trace(residual * curvature * residual.T) / 2

        residual, curvature = residual_and_curvature(values)
        values.update(zip(c.g, flat(-residual * curvature), strict=True))
        return values, slopes(envelope, [values[x] for x in moving])

    return Step(
        key="envelope",
        title="Slopes of the envelope",
        statement=r"With $g = V^{-1}(x^\star - w)$ at the prox:",
        equations=tuple(
            Equation(rf"\frac{{\partial M}}{{\partial {formula(x)}}}", value)
            for x, value in slope.items()
        ),
        reason=r"Envelope theorem: $x^\star$ is stationary, so only the explicit dependence of the "
        "energy on $w$ and $V$ counts.",
        assumptions=("The prox is unique at this $w$; where it jumps, $M$ has a kink.",),
        check=Check(
            "differences of the envelope of a quadratic loss, where prox and envelope are known in "
            "closed form, to 40 digits.",
            lambda formulas: agree(formulas, case),
        ),
    )


def _rows(flat_values: Sequence[mpf], width: int) -> matrix:
    return matrix([list(flat_values[i : i + width]) for i in range(0, len(flat_values), width)])
