"""Where the prox jumps far from the origin, for two tokens in rotated coordinates.

For large |v| both weights are functions of z = u v alone, S_11 = logistic(z) = 1 - S_22: the loss
has a valley at z of order 1, that is at u near 0, and a plateau on either side of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp

from symattn.symbolic import channel, law, zero_point
from symattn.symbolic import symbols as y
from symattn.symbolic.coordinates import Coordinates


@dataclass(frozen=True)
class Valley:
    """The loss for large |v|: height + stiffness (S_11 - bottom)^2."""

    bottom: sp.Expr
    stiffness: sp.Expr
    height: sp.Expr

    def loss(self, weight: sp.Expr) -> sp.Expr:
        """The loss where S_11 = 1 - S_22 = weight."""
        return self.height + self.stiffness * (weight - self.bottom) ** 2

    @property
    def place(self) -> sp.Expr:
        """z = u v at the bottom, where logistic(z) = bottom."""
        return sp.log(sp.expand(2 * self.bottom) / sp.expand(2 - 2 * self.bottom))


def valley(c: Coordinates) -> Valley:
    """The loss on S_11 = 1 - S_22, its square completed, in tau and delta."""
    weight = c.weights[0, 0]
    loss = channel.of_two_mismatches(
        channel.matrix_loss, c.target[0, 0] - weight, c.target[1, 1] - (1 - weight)
    )
    square, linear, constant = sp.Poly(zero_point.in_target_parts(loss), weight).all_coeffs()
    return Valley(
        bottom=sp.cancel(-linear / (2 * square)),
        stiffness=square,
        height=sp.cancel(constant - linear**2 / (4 * square)),
    )


def sheets(c: Coordinates) -> tuple[sp.Expr, sp.Expr]:
    """Where the prox jumps for large b > 0: a at the sheet with a > 0, and at that with a < 0.

    In the valley u = place/b costs (a - u)^2/(2 V); on the plateau the prox stays at w, and the
    loss is stiffness (1 - bottom)^2 higher, or stiffness bottom^2. To first order in 1/b.
    """
    found = valley(c)
    scale = sp.sqrt(2 * y.V * found.stiffness)
    shift = found.place / y.b
    above, below = (sp.factor_terms(scale * x) for x in (1 - found.bottom, -found.bottom))
    return above + shift, below + shift


def sheet_weight() -> sp.Expr:
    """The density of w, integrated along a sheet at a = `sheet`, given h*."""
    density = sp.exp(law.log_density().xreplace({y.precision: y.s**-2}))
    across, along = y.deviation
    line = density.xreplace({y.distance2: across**2 + along**2})
    integral = sp.simplify(sp.integrate(line, (along, -sp.oo, sp.oo)))
    return integral.xreplace({across: y.sheet - y.a_mean})
