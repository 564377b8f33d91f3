"""The channel: loss of a sample, its derivatives, and the energy that a sample adds."""

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp
from mpmath import mpf

from symattn.symbolic import channel, definition, jets
from symattn.symbolic import symbols as y
from symattn.symbolic.checks import Case, Values, agree, at_random, filled
from symattn.symbolic.coordinates import Coordinates, coordinates
from symattn.symbolic.derivation import Chapter, Check, Equation, Step
from symattn.symbolic.latex import formula
from symattn.symbolic.points import ChannelPoint
from symattn.symbolic.size import Size


def chapter(size: Size) -> Chapter:
    c = coordinates(size)
    return Chapter(
        "The channel",
        "What one sample contributes: its loss as a function of the field $x$ that the student "
        "gives it, and the cost of moving the field there from $w$.",
        (_loss(c), *_parts(c), *_derivatives(c), _energy(c)),
    )


def _loss(c: Coordinates) -> Step:
    if c.size.is_rotated:
        value = channel.of_two_mismatches(channel.matrix_loss, c.mismatch[0, 0], c.mismatch[1, 1])
    else:
        value = channel.matrix_loss(c.mismatch)
    symbols = (*y.entries(c.weights), *y.entries(c.target), y.sigma)

    def over_signs(values: Values) -> list[mpf]:
        return [definition.mean_square(filled(c.mismatch, values), values[y.sigma]) / 2]

    return Step(
        key="loss",
        title="The loss of a sample",
        statement=r"$|y - f_Q(x)|^2/(2d)$ tends to $\ell = \frac12\mathrm{Tr}\,(T-S)\,\rho_\Sigma"
        r"\,(T-S)^\top$ with $\rho_\Sigma = \sigma^2 I$:",
        equations=(Equation(r"\ell", value),),
        reason="The limit $d \\to \\infty$ of (@reduction).",
        check=Check(
            r"mean of $|(T-S)\,z|^2/2$ over tokens $z$ of variance $\sigma^2$, as a sum over "
            "signs, to 40 digits.",
            lambda formulas: agree(formulas, at_random(symbols, over_signs)),
        ),
    )


def _parts(c: Coordinates) -> tuple[Step, ...]:
    """Steps for the named parts of the loss's derivatives."""
    if not c.size.is_rotated:
        steps, _ = jets.loss_of_weights(c)
        return (
            _by_differences(
                c,
                key="logits",
                title="Derivatives in the logits",
                statement=r"With $z_{lk} = x_l\cdot x_k$ taken as independent, "
                r"$P_{lk} = \partial\ell/\partial z_{lk}$ and $P^{(l)}_{km} = "
                r"\partial^2\ell/\partial z_{lk}\partial z_{lm}$; rows do not mix.",
                named=steps,
                reason=r"$\partial S_{lk}/\partial z_{lm} = S_{lk}(\delta_{km} - S_{lm})$.",
            ),
        )
    steps, results = jets.student_jet(c)
    slopes = [pair for pair in steps if pair[0] not in list(c.weights)]
    moved = [pair for pair in results if pair[0] != pair[1]]
    return (
        _by_differences(
            c,
            key="weights",
            title="Derivatives of the weights",
            statement="$S'$ and $S''$ are derivatives of the logistic function at the weight's "
            "logit; indices after a comma are derivatives in $u$ and $v$:",
            named=[*slopes, *moved],
            reason=r"$\varsigma' = \varsigma(1-\varsigma)$, hence $\varsigma'' = "
            r"\varsigma'(1-2\varsigma)$, and the chain rule through $u(u\pm v)$.",
        ),
    )


def _derivatives(c: Coordinates) -> tuple[Step, ...]:
    residuals: list[jets.Named] = []
    if c.size.is_rotated:
        residuals, results = jets.loss_of_student_jet(c)
    else:
        _, results = jets.loss_of_weights(c)
    count = len(c.gradient)
    through = "the weights" if c.size.is_rotated else r"the logits $x_l\cdot x_k$"
    return (
        _by_differences(
            c,
            key="gradient",
            title="Gradient of the loss",
            statement=r"First derivatives of $\ell$ in the coordinates of $x$"
            + (", with the residuals $R = S - T$:" if residuals else ":"),
            named=[*residuals, *results[1 : 1 + count]],
            reason=f"Chain rule through {through}.",
        ),
        _by_differences(
            c,
            key="hessian",
            title="Hessian of the loss",
            statement="Second derivatives:",
            named=results[1 + count :],
            reason=f"Chain rule through {through}, twice.",
        ),
    )


def _by_differences(
    c: Coordinates,
    *,
    key: str,
    title: str,
    statement: str,
    named: Sequence[tuple[sp.Symbol, sp.Expr]],
    reason: str,
) -> Step:
    """A step whose left sides are derivatives that differences of the definition give."""
    names = [name for name, _ in named]

    def case(seed: int) -> Case:
        values = ChannelPoint.with_derivatives(c, seed).values
        return values, [values[name] for name in names]

    return Step(
        key=key,
        title=title,
        statement=statement,
        equations=tuple(Equation(formula(name), value) for name, value in named),
        reason=reason,
        check=Check(
            "differences of the weights and of the loss, both by definition, at 50 digits; they "
            "agree to 40.",
            lambda formulas: agree(formulas, case, points=2),
        ),
    )


def _energy(c: Coordinates) -> Step:
    V = c.order_parameters.overlaps.V
    value = channel.energy(c.x - c.w, channel.inverse(V), y.loss)

    def case(seed: int) -> Case:
        point = ChannelPoint(c, seed)
        return point.values, [point.energy(point.x, [point.values[w] for w in c.w])]

    return Step(
        key="energy",
        title="Energy, Moreau envelope and prox",
        statement=r"With response $V$ the sample moves the field from $w$ to the minimiser "
        r"$x^\star$ (the prox) of the energy $\mathcal{E}(x; w)$; the minimum is the Moreau "
        "envelope $M(w)$.",
        equations=(Equation(r"\mathcal{E}(x; w)", value),),
        reason="At zero temperature the sample's weight is dominated by the best field, at the "
        "cost of $|x-w|^2$ in units of the response. Rotation keeps distances.",
        check=Check(
            r"$\sum_l (x_l-w_l)^\top V^{-1}(x_l-w_l)/2 + \ell$ by token with the loss by "
            "definition, to 40 digits.",
            lambda formulas: agree(formulas, case),
        ),
    )
