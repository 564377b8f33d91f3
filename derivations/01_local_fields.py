"""Local fields: their Gaussian law given the overlaps, and the attention weights they give."""

from __future__ import annotations

import sympy as sp
from mpmath import matrix, mpf

from symattn.symbolic import attention, definition, law
from symattn.symbolic import symbols as y
from symattn.symbolic.checks import Values, agree, at_random, filled, flat
from symattn.symbolic.coordinates import Coordinates, coordinates
from symattn.symbolic.derivation import Chapter, Check, Equation, Step
from symattn.symbolic.latex import formula
from symattn.symbolic.points import tokens
from symattn.symbolic.size import Size


def chapter(size: Size) -> Chapter:
    c = coordinates(size)
    return Chapter(
        "Local fields",
        r"Attention only sees the data through the fields $x_l$ and $h^\star_l$, projections of a "
        r"token on the few columns of $Q$ and $Q^\star$.",
        (_law(c), _student(c), _target(c)),
    )


def _law(c: Coordinates) -> Step:
    p = c.order_parameters
    mean = law.field_mean(c)
    covariance = p.conditional_covariance
    names = [formula(name) for name in c.w_mean]
    names += [formula(name) for name in y.entries(c.covariance)]
    if c.size.is_rotated:
        names[-1] = "s^2"
    upper = [covariance[i, j] for i in range(covariance.rows) for j in range(i, covariance.cols)]

    def conditioned(values: Values) -> list[mpf]:
        means = filled(p.overlaps.m, values)
        h = tokens(c, [values[x] for x in c.h])
        rows = []
        for token in range(c.size.length):
            joint = definition.joint_covariance(
                filled(p.rho, values),
                filled(p.overlaps.theta, values),
                filled(p.overlaps.q, values),
            )
            centre = matrix([*([0] * h.cols), *flat(means[token, :])])
            conditional = definition.conditional_law(joint, centre, h[token, :].T)
            rows.append(flat(conditional[0]))
        in_coordinates = filled(c.rotated(sp.eye(c.size.length)), {}) * matrix(rows)
        spread = conditional[1]
        pairs = [(i, j) for i in range(spread.rows) for j in range(i, spread.cols)]
        return [*flat(in_coordinates), *(spread[pair] for pair in pairs)]

    symbols = (*p.overlaps.symbols, *c.h, y.sigma)
    return Step(
        key="law",
        title="The law of the student's field",
        statement=r"Given $h^\star_l \sim \mathcal{N}(0, \rho)$, the field $w_l$ is Gaussian with "
        r"mean $m_l + \theta\rho^{-1}h^\star_l$ and covariance "
        r"$q - \theta\rho^{-1}\theta^\top$, independently for each token. In components:",
        equations=tuple(
            Equation(name, value) for name, value in zip(names, [*mean, *upper], strict=True)
        ),
        reason=r"The tokens are Gaussian, so projections on $Q$ and $Q^\star$ are jointly Gaussian "
        r"with the overlaps as covariances; condition on $h^\star_l$.",
        assumptions=(
            "For large $d$ the overlaps of a trained student do not fluctuate, and $w_l$ is the "
            "field of a student that has not seen the sample (replica-symmetric postulate).",
        ),
        check=Check(
            "mean and covariance from the inverse of the joint covariance of "
            r"$(h^\star_l, w_l)$, at random overlaps, to 40 digits.",
            lambda formulas: agree(formulas, at_random(symbols, conditioned)),
        ),
        postulate=True,
    )


def _student(c: Coordinates) -> Step:
    weights = attention.student(c.tokens(c.x))
    places = _free_places(c)

    def by_definition(values: Values) -> list[mpf]:
        weights = definition.attention(tokens(c, [values[x] for x in c.x]))
        return [weights[k] for k in places]

    return Step(
        key="student",
        title="Attention weights of the student",
        statement=r"$S[x] = \mathrm{softmax}(x x^\top)$ over rows"
        + (
            ". A row of two weights is one logistic function of the difference of its logits, here "
            r"$x_1\cdot(x_1 - x_2)$ and $x_2\cdot(x_2 - x_1)$ in rotated coordinates:"
            if c.size.is_rotated
            else ":"
        ),
        equations=tuple(Equation(formula(c.weights[k]), weights[k]) for k in places),
        reason="The definition of the student; the mean $p$ and the projection are in $x$.",
        check=Check(
            "exponentials over their sum, from the fields by token, to 40 digits.",
            lambda formulas: agree(formulas, at_random(tuple(c.x), by_definition)),
        ),
    )


def _target(c: Coordinates) -> Step:
    semantic = attention.student(c.tokens(c.h))
    weights = attention.target(semantic, y.omega, c.mixing)
    places = _free_places(c)

    def by_definition(values: Values) -> list[mpf]:
        weights = definition.attention(tokens(c, [values[x] for x in c.h]))
        mixing = filled(c.mixing, values)
        omega = values[y.omega]
        return [weights[k] + omega * (mixing[k] - weights[k]) for k in places]

    symbols = (*c.h, y.omega, *y.entries(c.mixing))
    return Step(
        key="target",
        title="Attention weights of the target",
        statement="The target mixes its own softmax with a fixed matrix of rows that sum to 1:",
        equations=tuple(Equation(formula(c.target[k]), weights[k]) for k in places),
        reason="The definition of the target.",
        check=Check(
            "exponentials over their sum, interpolated to $A$, to 40 digits.",
            lambda formulas: agree(formulas, at_random(symbols, by_definition)),
        ),
    )


def _free_places(c: Coordinates) -> list[tuple[int, int]]:
    length = c.size.length
    return [(i, j) for i in range(length) for j in range(length) if c.weights[i, j].is_Symbol]
