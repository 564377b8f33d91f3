"""The kernels of two tokens and rank one, in rotated coordinates."""

from __future__ import annotations

import sympy as sp

from symattn.kernels import overlaps, rest, slopes
from symattn.kernels.function import Kernel
from symattn.symbolic import attention, channel, hats, jets, losses
from symattn.symbolic import symbols as y
from symattn.symbolic.coordinates import coordinates
from symattn.symbolic.size import Size

TARGET_DOC = """Diagonal of the target T[h*] = (1 - omega) softmax(h* h*^T) + omega A.

u_star, v_star: rotated components of h*; a11, a22: diagonal of the row-stochastic A.
Each row of T sums to 1, so (t11, t22) is all of T.
"""

STUDENT_JET_DOC = """S_11 = logistic(u (u + v)) and S_22 = logistic(u (u - v)) with derivatives.

u, v: rotated components of the student's field x. Returned: s11, s11_u, s11_v, s11_uu, s11_uv,
s11_vv, then the same of s22.
"""

LOSS_JET_DOC = """The loss sigma^2 ((t11 - s11)^2 + (t22 - s22)^2) with its derivatives.

The first twelve arguments are what `student_jet` returns. Returned: loss, l_u, l_v, l_uu, l_uv,
l_vv.
"""

CHANNEL_DOC = """`loss_jet` of `student_jet`, fused: the loss at the field (u, v) with derivatives.

loss = sigma^2 ((t11 - S_11)^2 + (t22 - S_22)^2). Returned: loss, l_u, l_v, l_uu, l_uv, l_vv.
"""

INVERSE_PROX_DOC = """w(x) = x + V grad loss(x) and its determinant det(I + V Hess loss(x)).

Returned: the rotated components a, b of w, and the determinant.
"""

ENERGY_DOC = """|x - w|^2/(2 V) + loss(x); its minimum over x is the Moreau envelope M(w; h*).

u, v: rotated components of x; a, b: those of w; loss: the loss at x.
"""

HAT_INTEGRANDS_DOC = """The integrands |g|^2, g_1 - g_2, g.(w - mean)/s^2 and g.h* of the hats.

g_u, g_v: rotated components of g = (x* - w)/V; a_mean, b_mean: mean of w given h*; s: its
standard deviation per component, s^2 = q - theta^2/rho. By Stein's lemma the mean of the third
integrand is E[div_w g].
"""

TEST_LOSS_DOC = """(1/2) Tr (T - S) rho (T - S)^T with rho = sigma^2 I; the test error is its mean.

s11, s22: the student's weights at the field w; t11, t22: those of the target.
"""


def kernels() -> list[Kernel]:
    """All kernels of two tokens and rank one."""
    c = coordinates(Size())
    p = c.order_parameters
    V = p.overlaps.V[0]
    diagonal = [(0, 0), (1, 1)]
    free_weights, free_target, free_mixing = (
        [matrix[place] for place in diagonal] for matrix in (c.weights, c.target, c.mixing)
    )
    target = attention.target(attention.student(c.tokens(c.h)), y.omega, c.mixing)
    student_steps, student_jet = jets.student_jet(c)
    loss_steps, loss_jet = jets.loss_of_student_jet(c)
    weight_jets = [name for name, _ in student_jet]
    inside = [(name, value) for name, value in student_jet if name != value]
    hessian = channel.upper(c.hessian)
    det, energy = sp.symbols("det energy", real=True)
    field = channel.inverse_prox(c.x, c.gradient, p.overlaps.V)
    jacobian = channel.prox_jacobian(c.hessian, p.overlaps.V)
    gg, div, gh = hats.integrands(c.g, c.w - c.w_mean, channel.inverse(c.covariance), c.h)
    gm = (c.g.T * hats.positional_direction(c))[0]
    mismatch = [c.mismatch[place] for place in diagonal]
    test_loss = channel.of_two_mismatches(losses.test_loss, *mismatch)
    return [
        Kernel(
            "target",
            (*c.h, y.omega, *free_mixing),
            (),
            tuple((name, target[place]) for name, place in zip(free_target, diagonal, strict=True)),
            TARGET_DOC,
        ),
        Kernel(
            "student_jet", tuple(c.x), tuple(student_steps), tuple(student_jet), STUDENT_JET_DOC
        ),
        Kernel(
            "loss_jet",
            (*weight_jets, *free_target, y.sigma),
            tuple(loss_steps),
            tuple(loss_jet),
            LOSS_JET_DOC,
        ),
        Kernel(
            "channel",
            (*c.x, *free_target, y.sigma),
            (*student_steps, *inside, *loss_steps),
            tuple(loss_jet),
            CHANNEL_DOC,
        ),
        Kernel(
            "inverse_prox",
            (*c.x, *c.gradient, *hessian, V),
            (),
            (*zip(c.w, field, strict=True), (det, channel.determinant(jacobian))),
            INVERSE_PROX_DOC,
        ),
        Kernel(
            "energy",
            (*c.x, *c.w, y.loss, V),
            (),
            ((energy, channel.energy(c.x - c.w, channel.inverse(p.overlaps.V), y.loss)),),
            ENERGY_DOC,
        ),
        Kernel(
            "hat_integrands",
            (*c.g, *c.w, *c.w_mean, y.s, *c.h),
            (),
            tuple(zip(p.means.symbols, (gg[0], gm, div[0], gh[0]), strict=True)),
            HAT_INTEGRANDS_DOC,
        ),
        Kernel(
            "test_loss",
            (*free_weights, *free_target, y.sigma),
            (),
            ((y.loss, test_loss),),
            TEST_LOSS_DOC,
        ),
        *slopes.kernels(c),
        *rest.kernels(c),
        *overlaps.kernels(p, two_tokens=True),
    ]
