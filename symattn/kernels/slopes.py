"""Kernels of two tokens: the law of w, how g responds, and integrands of derivatives of means."""

from __future__ import annotations

import sympy as sp

from symattn.kernels.function import Kernel, Statement
from symattn.symbolic import channel, jacobian, law, response
from symattn.symbolic import symbols as y
from symattn.symbolic.coordinates import Coordinates

FIELD_LAW_DOC = """Mean (a, b) of w given h*, and its standard deviation s per component.

a_mean = sqrt(2) m + theta u_star/rho,  b_mean = theta v_star/rho,  s^2 = q - theta^2/rho,
rho = sigma^2. u_star, v_star: rotated components of h*.
"""

DENSITY_DOC = """N(w): the normal density of w = (a, b) given h*, in the plane."""

SCORES_DOC = """Derivatives of ln N(w) by q, m and theta at fixed w = (a, b).

a_mean, b_mean, s: as from `field_law`; rho = sigma^2.
"""

SLOPE_INTEGRANDS_DOC = """Integrands of the derivatives of means by overlaps.

The first four arguments are what `hat_integrands` returns, the next three what `scores` does.
The derivative of E f is E[f dlnN], for Stein's form of div_w g with that of its s added.
Returned: derivatives of E|g|^2 by q, m, theta, of E[g_1 - g_2] by q, m, theta, of E[g.h*] by
q, theta, and of E[div_w g] by q.
"""

ENVELOPE_DOC = """The Moreau envelope M = loss + V |g|^2/2 at the prox; loss: the loss there."""

ENVELOPE_CURVATURE_DOC = """det(I + V H), Tr K and |K|_F^2 with K = H (I + V H)^-1 = -dg/dw.

K is the Hessian of the envelope in w, H that of the loss at the prox, with entries l_uu, l_uv,
l_vv. kappa: K times the determinant.
"""

RESPONSE_DOC = """det(I + V H) g^T K g = -det(I + V H) (d|g|^2/dV)/2 at fixed w.

K as in `envelope_curvature`; l_u, l_v: the gradient of the loss at the prox, which is -g.
"""

JUMP_DOC = """Length of a jump of the prox at w = (a, b), and what it adds to the response.

The prox jumps between X - D and X + D. Returned: 2 |D|, and for each unit of N(w) dS along the
curve of jumps the part of -(d E|g|^2/dV)/2 that comes from the curve's motion with V:
-V (jump of |g|^2)^2/(4 |jump of x|).
"""


def kernels(c: Coordinates) -> list[Kernel]:
    """The kernels of two tokens and rank one that derivatives of the hats are made from."""
    p = c.order_parameters
    (V,), (q,), (theta,) = (y.entries(x) for x in (p.overlaps.V, p.overlaps.q, p.overlaps.theta))
    (m,) = y.entries(p.overlaps.m)
    (variance,) = p.conditional_covariance
    hessian = channel.upper(c.hessian)
    det, trace, square = sp.symbols("det trace_k square_k", real=True)
    kappa = tuple(response.scaled_curvature(c))
    jump_g2, *jump = response.jump(c)
    given = (*c.w, *c.w_mean, y.s)
    slopes = [jacobian.slope_symbol(*pair) for pair in jacobian.slopes_taken(p)]
    means = [mean for mean, _ in jacobian.slopes_taken(p)]
    scores = law.scores(c)
    return [
        Kernel(
            "field_law",
            (q, m, theta, *c.h, y.sigma),
            (),
            (*zip(c.w_mean, law.field_mean(c), strict=True), (y.s, sp.sqrt(variance))),
            FIELD_LAW_DOC,
        ),
        Kernel(
            "density",
            given,
            tuple(_deviation(c)),
            ((sp.Symbol("density"), sp.exp(law.log_density())),),
            DENSITY_DOC,
        ),
        Kernel(
            "scores",
            (*given, *c.h, theta, y.sigma),
            tuple(_deviation(c)),
            tuple(scores),
            SCORES_DOC,
        ),
        Kernel(
            "slope_integrands",
            (*p.means.symbols, *(name for name, _ in scores), y.s),
            ((y.precision, y.s**-2),),
            tuple(
                (name, mean * factor)
                for name, mean, factor in zip(slopes, means, jacobian.slope_factors(c), strict=True)
            ),
            SLOPE_INTEGRANDS_DOC,
        ),
        Kernel(
            "envelope",
            (*c.g, y.loss, V),
            (),
            ((y.envelope, channel.envelope_at_prox(c.g, p.overlaps.V, y.loss)),),
            ENVELOPE_DOC,
        ),
        Kernel(
            "envelope_curvature",
            (*hessian, V),
            kappa,
            (
                (det, channel.determinant(channel.prox_jacobian(c.hessian, p.overlaps.V))),
                (trace, response.curvature_trace(det)),
                (square, response.curvature_square(det)),
            ),
            ENVELOPE_CURVATURE_DOC,
        ),
        Kernel(
            "response",
            (*c.gradient, *hessian, V),
            kappa,
            ((y.response, response.scaled_response(c)),),
            RESPONSE_DOC,
        ),
        Kernel("jump", (*y.middle, *y.half, *c.w, V), (jump_g2,), tuple(jump), JUMP_DOC),
    ]


def _deviation(c: Coordinates) -> list[Statement]:
    """What the density and its derivatives are written with."""
    return [
        *zip(y.deviation, c.w - c.w_mean, strict=True),
        (y.distance2, law.distance2()),
        (y.precision, y.s**-2),
    ]
