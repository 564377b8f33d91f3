"""The kernel of the zero point: integrands of its response and of its three instabilities."""

from __future__ import annotations

from symattn.kernels.function import Kernel
from symattn.symbolic import symbols as y
from symattn.symbolic import zero_point
from symattn.symbolic.coordinates import Coordinates

REST_INTEGRANDS_DOC = """Integrands over h* at Q = 0, and their derivatives by V.

trace: Tr K with K = H (I + V H)^-1; positional, semantic, bulk: the slopes of m', theta' and q'
after one step of the state evolution in m, theta and q before it, each over alpha V, with
rho = sigma^2. det: det(I + V H). t11, t22: the target at h* = (u_star, v_star), rotated.
"""


def kernels(c: Coordinates) -> list[Kernel]:
    """The kernel of two tokens and rank one."""
    curvature = zero_point.curvature(c)
    return [
        Kernel(
            "rest_integrands",
            (c.target[0, 0], c.target[1, 1], *c.h, y.sigma, y.V),
            (*zero_point.target_parts(c), (y.det, zero_point.determinant(c)), *curvature),
            (
                (y.det, zero_point.determinant(c)),
                *zero_point.growth_integrands(c),
                *zero_point.growth_integrand_slopes(c),
            ),
            REST_INTEGRANDS_DOC,
        )
    ]
