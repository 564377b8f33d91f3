"""The kernels of any small number of tokens and directions, in token coordinates."""

from __future__ import annotations

import sympy as sp

from symattn.kernels import overlaps
from symattn.kernels.function import Kernel, Statement
from symattn.symbolic import attention, channel, hats, jets, losses
from symattn.symbolic import symbols as y
from symattn.symbolic.coordinates import coordinates
from symattn.symbolic.size import Size

STUDENT_DOC = """Attention weights S[x] = softmax(x x^T) of the fields x, row by row."""

TARGET_DOC = """Target T[h*] = (1 - omega) softmax(h* h*^T) + omega A, row by row.

a: the row-stochastic matrix A.
"""

CHANNEL_DOC = """The loss (sigma^2/2) |T - S[x]|_F^2 with its gradient and Hessian in x.

t: the target T, row by row. Returned: the loss, its first derivatives in the order of x, and
the upper triangle of the second derivatives, row by row.
"""

INVERSE_PROX_DOC = """w(x) = x + (grad loss) V and its Jacobian determinant det(I + V Hess loss).

l: first and second derivatives of the loss, as `channel` returns them. Returned: w, and the
determinant.
"""

ENERGY_DOC = """sum_l (x_l - w_l)^T V^-1 (x_l - w_l)/2 + loss, minimised by the prox.

loss: the loss at x. The minimum over x is the Moreau envelope M(w; h*).
"""

HAT_INTEGRANDS_DOC = """The integrands of the hats, summed over tokens; g = V^-1 (x* - w).

w_mean: mean of w given h*; cov: its covariance q - theta rho^-1 theta^T for each token.
Returned: g g^T (upper triangle), the symmetric part of g (w - mean)^T cov^-1 (upper triangle),
whose mean is E[dg/dw] by Stein's lemma, and g h*^T.
"""

TEST_LOSS_DOC = """(1/2) Tr (T - S) rho (T - S)^T with rho = sigma^2 I; the test error is its mean.

s: the student's weights at the field w; t: the target.
"""


def kernels(size: Size) -> list[Kernel]:
    """All kernels of a size."""
    c = coordinates(size)
    p = c.order_parameters
    student_steps, student = _stable_student(c.x)
    semantic_steps, semantic = _stable_student(c.h)
    loss_steps, loss_jet = jets.loss_of_weights(c)
    by_value = dict(zip(c.weights, student, strict=True))
    inside = [(name, value.xreplace(by_value)) for name, value in loss_steps]
    results = [(name, value.xreplace(by_value)) for name, value in loss_jet]
    target = attention.target(semantic, y.omega, c.mixing)
    susceptibility = y.entries(p.overlaps.V)
    det, energy = sp.symbols("det energy", real=True)
    field = channel.inverse_prox(c.x, c.gradient, p.overlaps.V)
    minors, determinant = channel.minors(channel.prox_jacobian(c.hessian, p.overlaps.V), "minor")
    gg, div, gh = hats.integrands(c.g, c.w - c.w_mean, channel.inverse(c.covariance), c.h)
    return [
        Kernel(
            "student",
            tuple(c.x),
            tuple(student_steps),
            tuple(zip(c.weights, student, strict=True)),
            STUDENT_DOC,
        ),
        Kernel(
            "target",
            (*c.h, y.omega, *c.mixing),
            tuple(semantic_steps),
            tuple(zip(c.target, target, strict=True)),
            TARGET_DOC,
        ),
        Kernel(
            "channel",
            (*c.x, *c.target, y.sigma),
            (*student_steps, *inside),
            tuple(results),
            CHANNEL_DOC,
        ),
        Kernel(
            "inverse_prox",
            (*c.x, *c.gradient, *channel.upper(c.hessian), *susceptibility),
            tuple(minors),
            (*zip(c.w, field, strict=True), (det, determinant)),
            INVERSE_PROX_DOC,
        ),
        Kernel(
            "energy",
            (*c.x, *c.w, y.loss, *susceptibility),
            (),
            ((energy, channel.energy(c.x - c.w, channel.inverse(p.overlaps.V), y.loss)),),
            ENERGY_DOC,
        ),
        Kernel(
            "hat_integrands",
            (*c.g, *c.w, *c.w_mean, *y.entries(c.covariance), *c.h),
            (),
            (
                *zip(y.entries(p.means.gg), channel.upper(gg), strict=True),
                *zip(y.entries(p.means.div), channel.upper((div + div.T) / 2), strict=True),
                *zip(p.means.gh, gh, strict=True),
            ),
            HAT_INTEGRANDS_DOC,
        ),
        Kernel(
            "test_loss",
            (*c.weights, *c.target, y.sigma),
            (),
            ((y.loss, losses.test_loss(c.mismatch)),),
            TEST_LOSS_DOC,
        ),
        *overlaps.kernels(p, two_tokens=False),
    ]


def _stable_student(x: sp.MatrixBase) -> tuple[list[Statement], sp.Matrix]:
    """Named steps to the attention weights of x, and the weights in terms of them.

    The largest logit of a row is subtracted before exp, which then cannot overflow.
    """
    length = x.rows
    named = y.square("s", length)
    if length == 2:
        weights = attention.student(x)
        diagonal = [(named[k, k], weights[k, k]) for k in (0, 1)]
        return diagonal, weights.xreplace({value: name for name, value in diagonal})
    products = y.symmetric("z", length)
    steps = list(zip(y.entries(products), channel.upper(attention.logits(x)), strict=True))
    for row in range(length):
        largest, total = sp.symbols(f"largest_{row + 1} total_{row + 1}", real=True)
        powers = [sp.Symbol(f"e_{row + 1}{column + 1}", real=True) for column in range(length)]
        steps.append((largest, sp.Max(*products.row(row))))
        steps += [
            (power, sp.exp(z - largest)) for power, z in zip(powers, products.row(row), strict=True)
        ]
        steps.append((total, sum(powers)))
        steps += [
            (weight, power / total) for weight, power in zip(named.row(row), powers, strict=True)
        ]
    return steps, sp.Matrix(named)
