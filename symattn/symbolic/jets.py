"""The loss with its first and second derivatives, in named steps that keep expressions short."""

from __future__ import annotations

import sympy as sp

from symattn.symbolic import attention, channel
from symattn.symbolic import symbols as y
from symattn.symbolic.coordinates import Coordinates
from symattn.symbolic.functions import logistic

Named = tuple[sp.Symbol, sp.Expr]


def student_jet(c: Coordinates) -> tuple[list[Named], list[Named]]:
    """S_11, S_22 with their derivatives in rotated coordinates: named steps, and the twelve values.

    The steps are the weight, and the first and second derivative of the logistic function there.
    """
    steps: list[Named] = []
    results: list[Named] = []
    weights = attention.student(c.tokens(c.x))
    for row in (0, 1):
        value, weight = c.weights[row, row], weights[row, row]
        token = value.name[1:]
        slope, bend = sp.symbols(f"slope{token} bend{token}", real=True)
        # logistic' = p(logistic) with the polynomial p, hence logistic'' = p' p.
        polynomial = logistic(y.z).diff(y.z).subs(logistic(y.z), value)
        steps += [(value, weight), (slope, polynomial), (bend, slope * polynomial.diff(value))]
        outer = sp.Function("outer")
        _, *derivatives = _jet(outer(weight.args[0]), c)
        name, *names = weight_jet(value)
        results.append((name, name))
        results += [
            (name, _with_named_outer(derivative, slope, bend))
            for name, derivative in zip(names, derivatives, strict=True)
        ]
    return steps, results


def weight_jet(weight: sp.Symbol) -> list[sp.Symbol]:
    """A weight's symbol and those of its derivatives: s11, s11_u, s11_v, s11_uu, s11_uv, s11_vv."""
    parts = ("u", "v", "uu", "uv", "vv")
    return [weight, *(sp.Symbol(f"{weight.name}_{part}", real=True) for part in parts)]


def loss_of_student_jet(c: Coordinates) -> tuple[list[Named], list[Named]]:
    """The loss and its derivatives in terms of the student's jet; the steps are S_ll - T_ll."""
    steps: list[Named] = []
    mismatch: list[sp.Expr] = []
    by_name: dict[sp.Expr, sp.Symbol] = {}
    for row in (0, 1):
        weight, target = c.weights[row, row], c.target[row, row]
        function = sp.Function(f"weight{row}")(*c.x)
        by_name.update(zip(_jet(function, c), weight_jet(weight), strict=True))
        steps.append((sp.Symbol(f"r{weight.name[1:]}", real=True), weight - target))
        mismatch.append(function - target)
    loss = channel.of_two_mismatches(channel.matrix_loss, *mismatch)
    residual = {value: name for name, value in steps}
    residual.update({sp.expand(-value): -name for name, value in steps})
    results = [
        (name, sp.factor_terms(derivative.xreplace(by_name).xreplace(residual)))
        for name, derivative in zip(loss_jet_symbols(c), _jet(loss, c), strict=True)
    ]
    return steps, results


def loss_jet_symbols(c: Coordinates) -> list[sp.Symbol]:
    """Symbols of the loss, its gradient and the upper triangle of its Hessian."""
    return [y.loss, *c.gradient, *channel.upper(c.hessian)]


def loss_of_weights(c: Coordinates) -> tuple[list[Named], list[Named]]:
    """The loss and its derivatives in token coordinates, in terms of the weights: steps and values.

    The chain rule goes through the logits z_lk = x_l . x_k. Steps are the first derivatives d_lk in
    the logits, and the second ones dd_l_km, which only mix logits of one row.
    """
    length = c.size.length
    free = y.square("logit", length)
    attended = attention.weights_of_logits(free)
    by_name = dict(zip(attended, c.weights, strict=True))
    logits = attention.logits(c.x)
    coordinates = list(c.x)
    steps: list[Named] = []
    first: list[sp.Symbol] = []
    loss = sp.Integer(0)
    curvature = sp.zeros(len(coordinates), len(coordinates))
    for row in range(length):
        row_loss = channel.matrix_loss((c.target - attended).row(row))
        loss += row_loss
        second = y.symmetric(f"dd_{row + 1}", length)
        for column, logit in enumerate(free.row(row)):
            slope = row_loss.diff(logit)
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
    bend = channel.symmetric_matrix(channel.hessian(linear, coordinates), len(coordinates))
    values = [_in_weights(loss, by_name), *gradient, *channel.upper(curvature + bend)]
    return steps, list(zip(loss_jet_symbols(c), values, strict=True))


def _jet(expression: sp.Expr, c: Coordinates) -> list[sp.Expr]:
    x = list(c.x)
    return [expression, *channel.gradient(expression, x), *channel.hessian(expression, x)]


def _with_named_outer(derivative: sp.Expr, slope: sp.Symbol, bend: sp.Symbol) -> sp.Expr:
    """Name the first and second derivative of the outer function of a composition."""

    def named(node: sp.Subs) -> sp.Expr:
        return {1: slope, 2: bend}[node.expr.derivative_count]

    return derivative.replace(lambda node: isinstance(node, sp.Subs), named)


def _in_weights(expression: sp.Expr, by_name: dict[sp.Expr, sp.Expr]) -> sp.Expr:
    return sp.factor_terms(expression.xreplace(by_name))
