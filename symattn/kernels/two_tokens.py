"""The kernels of two tokens and rank one, in rotated coordinates."""

from __future__ import annotations

from collections.abc import Callable

import sympy as sp

from symattn.kernels import overlaps
from symattn.kernels.function import Kernel, Statement
from symattn.symbolic import channel, hats, losses
from symattn.symbolic import symbols as y
from symattn.symbolic.attention import rotated_positional_direction, two_token_weights
from symattn.symbolic.functions import logistic
from symattn.symbolic.overlaps import order_parameters
from symattn.symbolic.size import Size

FIELD = (y.u, y.v)
GRADIENT = (y.l_u, y.l_v)
HESSIAN = (y.l_uu, y.l_uv, y.l_vv)
LOSS_JET = (y.loss, *GRADIENT, *HESSIAN)


def _jet_symbols(weight: str) -> tuple[sp.Symbol, ...]:
    names = [weight, *(f"{weight}_{part}" for part in ("u", "v", "uu", "uv", "vv"))]
    return tuple(sp.Symbol(name, real=True) for name in names)


MEANS = sp.symbols("e_g2 e_gm e_div e_gh", real=True)
DET, ENERGY = sp.symbols("det energy", real=True)
STUDENT_JET = (*_jet_symbols("s11"), *_jet_symbols("s22"))


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


def _jet(expression: sp.Expr) -> list[sp.Expr]:
    return [expression, *channel.gradient(expression, FIELD), *channel.hessian(expression, FIELD)]


def _student_steps() -> tuple[list[Statement], list[Statement]]:
    """Named intermediate values of the student's jet, and the jet."""
    steps: list[Statement] = []
    results: list[Statement] = []
    for token, weight in zip(("11", "22"), two_token_weights(*FIELD), strict=True):
        value, slope, bend = sp.symbols(f"s{token} slope{token} bend{token}", real=True)
        logit = weight.args[0]
        # logistic' = p(logistic) with the polynomial p, hence logistic'' = p' p.
        polynomial = logistic(y.z).diff(y.z).subs(logistic(y.z), value)
        steps += [
            (value, weight),
            (slope, polynomial),
            (bend, slope * polynomial.diff(value)),
        ]
        outer = sp.Function("outer")
        chain = _jet(outer(logit))
        names = _jet_symbols(f"s{token}")
        for name, derivative in zip(names[1:], chain[1:], strict=True):
            results.append((name, _apply_chain(derivative, outer, slope, bend)))
        results.insert(len(results) - 5, (value, value))
    return steps, results


def _apply_chain(
    derivative: sp.Expr, outer: sp.Function, slope: sp.Symbol, bend: sp.Symbol
) -> sp.Expr:
    """Name the first and second derivative of the outer function of a composition."""

    def named(node: sp.Subs) -> sp.Expr:
        return {1: slope, 2: bend}[node.expr.derivative_count]

    return derivative.replace(lambda node: isinstance(node, sp.Subs), named)


def _loss_steps() -> tuple[list[Statement], list[Statement]]:
    """The mismatches S - T, and the loss and its derivatives in terms of the student's jet."""
    jets = {"11": STUDENT_JET[:6], "22": STUDENT_JET[6:]}
    functions = {token: sp.Function(f"weight{token}")(*FIELD) for token in jets}
    r11, r22 = sp.symbols("r11 r22", real=True)
    mismatch = {r11: functions["11"] - y.t11, r22: functions["22"] - y.t22}
    loss = _of_mismatch(channel.matrix_loss, r11, r22).xreplace(mismatch)
    names = {
        derivative: name
        for token, jet in jets.items()
        for derivative, name in zip(_jet(functions[token]), jet, strict=True)
    }
    steps = [(r11, y.s11 - y.t11), (r22, y.s22 - y.t22)]
    by_name = {value: name for name, value in steps}
    results = [
        (name, sp.factor_terms(derivative.xreplace(names).xreplace(by_name)))
        for name, derivative in zip(LOSS_JET, _jet(loss), strict=True)
    ]
    return steps, results


def _of_mismatch(
    loss: Callable[[sp.MatrixBase], sp.Expr], first: sp.Expr, second: sp.Expr
) -> sp.Expr:
    """A loss of T - S in terms of the two free entries of T - S."""
    r11, r22 = sp.symbols("r11 r22", real=True)
    combined = sp.factor_terms(sp.expand(loss(channel.two_token_mismatch(r11, r22))))
    return combined.xreplace({r11: first, r22: second})


def kernels() -> list[Kernel]:
    """All kernels of two tokens and rank one."""
    student_steps, student_results = _student_steps()
    loss_steps, loss_results = _loss_steps()
    V = order_parameters(Size()).overlaps.V[0]
    inside = [pair for pair in student_results if pair[0] != pair[1]]
    a11, a22, t11, t22 = y.a11, y.a22, y.t11, y.t22
    target = [
        (1 - y.omega) * weight + y.omega * mixing
        for weight, mixing in zip(two_token_weights(y.u_star, y.v_star), (a11, a22), strict=True)
    ]
    hessian = channel.symmetric(HESSIAN, 2)
    susceptibility = sp.Matrix([[V]])
    field = channel.inverse_prox(sp.Matrix(FIELD), sp.Matrix(GRADIENT), susceptibility)
    jacobian = channel.prox_jacobian(hessian, susceptibility)
    energy = channel.energy(sp.Matrix([y.u - y.a, y.v - y.b]), susceptibility.inv(), y.loss)
    g = sp.Matrix([y.g_u, y.g_v])
    gg, div, gh = hats.integrands(
        g,
        sp.Matrix([y.a - y.a_mean, y.b - y.b_mean]),
        sp.Matrix([[1 / y.s**2]]),
        sp.Matrix([y.u_star, y.v_star]),
    )
    gm = g.dot(sp.Matrix(rotated_positional_direction()))
    test_loss = _of_mismatch(losses.test_loss, t11 - y.s11, t22 - y.s22)
    return [
        Kernel(
            "target",
            (y.u_star, y.v_star, y.omega, a11, a22),
            (),
            ((t11, target[0]), (t22, target[1])),
            TARGET_DOC,
        ),
        Kernel("student_jet", FIELD, tuple(student_steps), tuple(student_results), STUDENT_JET_DOC),
        Kernel(
            "loss_jet",
            (*STUDENT_JET, t11, t22, y.sigma),
            tuple(loss_steps),
            tuple(loss_results),
            LOSS_JET_DOC,
        ),
        Kernel(
            "channel",
            (*FIELD, t11, t22, y.sigma),
            (*student_steps, *inside, *loss_steps),
            tuple(loss_results),
            CHANNEL_DOC,
        ),
        Kernel(
            "inverse_prox",
            (*FIELD, *GRADIENT, *HESSIAN, V),
            (),
            ((y.a, field[0]), (y.b, field[1]), (DET, channel.determinant(jacobian))),
            INVERSE_PROX_DOC,
        ),
        Kernel(
            "energy",
            (*FIELD, y.a, y.b, y.loss, V),
            (),
            ((ENERGY, energy),),
            ENERGY_DOC,
        ),
        Kernel(
            "hat_integrands",
            (y.g_u, y.g_v, y.a, y.b, y.a_mean, y.b_mean, y.s, y.u_star, y.v_star),
            (),
            tuple(zip(MEANS, (gg[0], gm, div[0], gh[0]), strict=True)),
            HAT_INTEGRANDS_DOC,
        ),
        Kernel(
            "test_loss",
            (y.s11, y.s22, t11, t22, y.sigma),
            (),
            ((y.loss, test_loss),),
            TEST_LOSS_DOC,
        ),
        *overlaps.kernels(order_parameters(Size()), two_tokens=True),
    ]
