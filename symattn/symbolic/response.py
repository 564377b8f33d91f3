"""How g moves with w and with V: the Hessian of the envelope, and what a jump adds."""

from __future__ import annotations

import sympy as sp

from symattn.symbolic import channel
from symattn.symbolic import symbols as y
from symattn.symbolic.coordinates import Coordinates
from symattn.symbolic.jets import Named


def scaled_curvature(c: Coordinates) -> list[Named]:
    """kappa = det(I + V H) K with K = H (I + V H)^-1 = -dg/dw, the Hessian of the envelope in w.

    H is the Hessian of the loss at the prox. kappa is a polynomial, finite where K is not.
    """
    V = c.order_parameters.overlaps.V
    product = c.hessian * channel.prox_jacobian(c.hessian, V).adjugate()
    values = [sp.collect(sp.expand(x), V[0]) for x in channel.upper(product)]
    return list(zip(channel.upper(_kappa()), values, strict=True))


def curvature_trace(det: sp.Expr) -> sp.Expr:
    """Tr K = -div_w g; det stands for det(I + V H)."""
    return _kappa().trace() / det


def curvature_square(det: sp.Expr) -> sp.Expr:
    """|K|_F^2 = |dg/dw|_F^2."""
    return sum(entry**2 for entry in _kappa()) / det**2


def scaled_response(c: Coordinates) -> sp.Expr:
    """det(I + V H) g^T K g: the response -(d|g|^2/dV)/2 at fixed w, times the determinant.

    Written with the gradient of the loss, which is -g.
    """
    return sp.expand((c.gradient.T * _kappa() * c.gradient)[0])


def jump(c: Coordinates) -> list[Named]:
    """What a jump of the prox between X - D and X + D adds to the response, and what that needs.

    The symbols are the jump of |g|^2, the length of the jump of x, and the part of
    -(d E|g|^2/dV)/2 for each unit of N(w) dS along the curve of jumps.
    """
    V = c.order_parameters.overlaps.V[0]
    middle, half = sp.Matrix(y.middle), sp.Matrix(y.half)
    g_ahead, g_behind = ((middle + sign * half - c.w) / V for sign in (1, -1))
    # |g|^2 - |g'|^2 = (g - g').(g + g')
    difference, total = ((g_ahead + sign * g_behind).applyfunc(sp.factor_terms) for sign in (-1, 1))
    # The curve is where the two envelopes are equal. With dM/dw = -g and dM/dV = -|g|^2/2 their
    # difference has the slope |jump of x|/V across the curve, and -(jump of |g|^2)/2 in V.
    across = y.jump_x / V
    speed = y.jump_g2 / 2 / across
    return [
        (y.jump_g2, sp.factor_terms((difference.T * total)[0])),
        (y.jump_x, 2 * sp.sqrt((half.T * half)[0])),
        (y.jump_response, -speed * y.jump_g2 / 2),
    ]


def _kappa() -> sp.ImmutableMatrix:
    return channel.symmetric_matrix([y.kappa_uu, y.kappa_uv, y.kappa_vv], 2)
