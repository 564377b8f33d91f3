"""The kernels of any small number of tokens and directions, in token coordinates."""

from __future__ import annotations

import sympy as sp

from symattn.kernels import overlaps
from symattn.kernels.function import Kernel, Statement
from symattn.symbolic import attention, channel, hats, losses
from symattn.symbolic import symbols as y
from symattn.symbolic.overlaps import order_parameters
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
    length, r, t = size.length, size.student_rank, size.target_rank
    p = order_parameters(size)
    x, w, w_mean, g = (y.fields(name, length, r) for name in ("x", "w", "w_mean", "g"))
    h = y.fields("h", length, t)
    mixing, weights, target = (y.square(name, length) for name in ("a", "s", "t"))
    labels = [name.name.removeprefix("x_") for name in x]
    gradient = y.fields("l", length, r)
    hessian = sp.Matrix(
        length * r,
        length * r,
        lambda i, j: sp.Symbol(f"l_{labels[min(i, j)]}_{labels[max(i, j)]}", real=True),
    )
    student_steps, student = _student(x)
    target_steps, semantic = _student(h)
    susceptibility = p.overlaps.V
    det = sp.Symbol("det", real=True)
    minor_steps, determinant = channel.minors(
        channel.prox_jacobian(hessian, susceptibility), "minor"
    )
    field = channel.inverse_prox(x, gradient, susceptibility)
    covariance = y.symmetric("cov", r, positive=True)
    gg, div, gh = hats.integrands(g, w - w_mean, channel.inverse(covariance), h)
    energy = sp.Symbol("energy", real=True)
    return [
        Kernel(
            "student",
            tuple(x),
            tuple(student_steps),
            tuple(zip(weights, student, strict=True)),
            STUDENT_DOC,
        ),
        Kernel(
            "target",
            (*h, y.omega, *mixing),
            tuple(target_steps),
            tuple(zip(target, (1 - y.omega) * semantic + y.omega * mixing, strict=True)),
            TARGET_DOC,
        ),
        Kernel(
            "channel",
            (*x, *target, y.sigma),
            *_channel(x, target, [y.loss, *gradient, *y.entries(hessian)]),
            CHANNEL_DOC,
        ),
        Kernel(
            "inverse_prox",
            (*x, *gradient, *y.entries(hessian), *y.entries(susceptibility)),
            tuple(minor_steps),
            (*zip(w, field, strict=True), (det, determinant)),
            INVERSE_PROX_DOC,
        ),
        Kernel(
            "energy",
            (*x, *w, y.loss, *y.entries(susceptibility)),
            (),
            ((energy, channel.energy(x - w, channel.inverse(susceptibility), y.loss)),),
            ENERGY_DOC,
        ),
        Kernel(
            "hat_integrands",
            (*g, *w, *w_mean, *y.entries(covariance), *h),
            (),
            (
                *zip(y.entries(p.means.gg), _upper(gg), strict=True),
                *zip(y.entries(p.means.div), _upper((div + div.T) / 2), strict=True),
                *zip(p.means.gh, gh, strict=True),
            ),
            HAT_INTEGRANDS_DOC,
        ),
        Kernel(
            "test_loss",
            (*weights, *target, y.sigma),
            (),
            ((y.loss, losses.test_loss(target - weights)),),
            TEST_LOSS_DOC,
        ),
        *overlaps.kernels(p, two_tokens=False),
    ]


def _student(x: sp.MatrixBase) -> tuple[list[Statement], sp.Matrix]:
    """Named steps to the attention weights of x, and the weights in terms of them."""
    length = x.rows
    named = y.square("s", length)
    if length == 2:
        weights = attention.student(x)
        diagonal = [(named[k, k], weights[k, k]) for k in (0, 1)]
        return diagonal, weights.xreplace({value: name for name, value in diagonal})
    logits = attention.logits(x)
    products = y.symmetric("z", length)
    steps = list(zip(y.entries(products), _upper(logits), strict=True))
    for row in range(length):
        # The largest logit of a row is subtracted before exp, which then cannot overflow.
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


def _channel(
    x: sp.MatrixBase, target: sp.MatrixBase, names: list[sp.Symbol]
) -> tuple[tuple[Statement, ...], tuple[Statement, ...]]:
    """Steps and results of the loss, its gradient and its Hessian, through the logits.

    First the derivatives with respect to the logits of each row, as polynomials in the weights;
    then those of the logits x_l . x_k with respect to x.
    """
    length = x.rows
    steps, weights = _student(x)
    free = y.square("logit", length)
    attended = attention.weights_of_logits(free)
    by_name = dict(zip(attended, weights, strict=True))
    logits = attention.logits(x)
    coordinates = list(x)
    losses_of_rows = []
    first: list[sp.Symbol] = []
    curvature = sp.zeros(len(coordinates), len(coordinates))
    for row in range(length):
        loss = channel.matrix_loss((target - attended).row(row))
        losses_of_rows.append(loss)
        second = y.symmetric(f"dd_{row + 1}", length)
        for column, logit in enumerate(free.row(row)):
            slope = loss.diff(logit)
            first.append(sp.Symbol(f"d_{row + 1}{column + 1}", real=True))
            steps.append((first[-1], _in_weights(slope, by_name)))
            steps += [
                (second[column, other], _in_weights(slope.diff(free[row, other]), by_name))
                for other in range(column, length)
            ]
        jacobian = logits.row(row).jacobian(coordinates)
        curvature += jacobian.T * second * jacobian
    linear = sum(slope * logit for slope, logit in zip(first, logits, strict=True))
    gradient = channel.gradient(linear, coordinates)
    bend = channel.symmetric(channel.hessian(linear, coordinates), len(coordinates))
    values = [_in_weights(sum(losses_of_rows), by_name), *gradient, *_upper(curvature + bend)]
    return tuple(steps), tuple(zip(names, values, strict=True))


def _in_weights(expression: sp.Expr, by_name: dict[sp.Expr, sp.Expr]) -> sp.Expr:
    return sp.factor_terms(expression.xreplace(by_name))


def _upper(matrix: sp.MatrixBase) -> list[sp.Expr]:
    return [matrix[i, j] for i in range(matrix.rows) for j in range(i, matrix.cols)]
