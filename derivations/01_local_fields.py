"""Local fields: their Gaussian law given the overlaps, and the attention weights they give."""

from __future__ import annotations

from collections.abc import Callable

import sympy as sp
from mpmath import matrix, mp, mpf

from symattn.symbolic import attention, channel, definition, law, moments
from symattn.symbolic import symbols as y
from symattn.symbolic.checks import (
    Case,
    Values,
    agree,
    at_random,
    filled,
    flat,
    gaussian_nodes,
    sample,
    signs,
)
from symattn.symbolic.coordinates import Coordinates, coordinates
from symattn.symbolic.derivation import Chapter, Check, Equation, Step
from symattn.symbolic.latex import formula
from symattn.symbolic.points import assigned, tokens
from symattn.symbolic.size import Size


def chapter(size: Size) -> Chapter:
    c = coordinates(size)
    return Chapter(
        "Local fields",
        r"Attention only sees the tokens $z_l$ through the local fields $x_l = Q^\top(z_l + "
        r"p_l)/\sqrt d$ and $h^\star_l = Q^{\star\top}z_l/\sqrt d$, projections on the few columns "
        r"of $Q$ and $Q^\star$. So does the loss, as $d \to \infty$: this chapter reduces it to "
        "the attention weights, and gives the law of the fields.",
        (_student(c), _target(c), _tokens(), _reduction(c), _given_fields(c), _law(c)),
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
        statement="$w_l$ is the field of a student on a sample that it has not been trained on. "
        r"Given $h^\star_l \sim \mathcal{N}(0, \rho)$, the field $w_l$ is Gaussian with mean $m_l "
        r"+ \theta\rho^{-1}h^\star_l$ and covariance $q - \theta\rho^{-1}\theta^\top$, "
        "independently for each token. In components:",
        equations=tuple(
            Equation(name, value) for name, value in zip(names, [*mean, *upper], strict=True)
        ),
        reason=r"The tokens are Gaussian, so projections on $Q$ and $Q^\star$ are jointly Gaussian "
        r"with the overlaps as covariances; condition on $h^\star_l$.",
        assumptions=("$Q$ and $Q^\\star$ do not depend on the sample.",),
        check=Check(
            "mean and covariance from the inverse of the joint covariance of "
            r"$(h^\star_l, w_l)$, at random overlaps, to 40 digits.",
            lambda formulas: agree(formulas, at_random(symbols, conditioned)),
        ),
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
        reason="The definition of the student; encodings and projection are in $x$.",
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


def _tokens() -> Step:
    (same, other), (own, mixed) = ((0, 0), (0, 1)), ("|z_l|^2/d", r"z_l\cdot z_k/d")

    def case(seed: int) -> Case:
        dimension = 1 + seed % 3
        sigma = sample((y.sigma,), seed)[y.sigma]
        first = second = crossed = mpf(0)
        for weight, nodes in gaussian_nodes(2 * dimension):
            token, another = nodes[:dimension], nodes[dimension:]
            square = sigma**2 * mp.fsum(x**2 for x in token) / dimension
            product = sigma**2 * mp.fdot(token, another) / dimension
            first += weight * square
            second += weight * square**2
            crossed += weight * product**2
        return {y.sigma: sigma, y.d: mpf(dimension)}, [first, second - first**2, crossed]

    return Step(
        key="tokens",
        title="Products of tokens",
        statement=r"For independent tokens $z_l$ with $d$ components of variance $\sigma^2$, at "
        r"any $d$ and for $k \ne l$:",
        equations=(
            Equation(rf"\mathbb{{E}}\left[{own}\right]", moments.mean_of_products([same])),
            Equation(rf"\mathrm{{Var}}\left[{own}\right]", moments.variance_of_product(same)),
            Equation(rf"\mathrm{{Var}}\left[{mixed}\right]", moments.variance_of_product(other)),
        ),
        reason="Isserlis' theorem: a sum over pairings, each with a factor $d$ for every sum over "
        r"components that it leaves. So $z_l\cdot z_k/d \to \sigma^2\delta_{lk}$, with "
        r"fluctuations of order $1/\sqrt d$.",
        check=Check(
            "the moments for $d = 1, 2, 3$ by Gauss-Hermite nodes that are exact for them, to 40 "
            "digits.",
            lambda formulas: agree(formulas, case, points=3),
        ),
    )


def _reduction(c: Coordinates) -> Step:
    gram = c.order_parameters.gram
    mean, variance = (
        _of_mismatches(c, lambda B, of=of: of(B, c.weights, gram))
        for of in (moments.loss_mean, moments.loss_variance)
    )
    symbols = (*y.entries(c.weights), *y.entries(c.target), y.sigma)

    def case(seed: int) -> Case:
        dimension = 1 + seed % 2
        values = {**sample(symbols, seed), y.d: mpf(dimension)}
        encodings = _encodings(c, dimension, seed)
        values.update(assigned(gram, encodings * encodings.T))
        mismatch, weights = filled(c.mismatch, values), filled(c.weights, values)
        moved = weights * encodings
        mean = variance = mpf(0)
        # The components of the error are independent.
        for component in range(dimension):
            first = second = mpf(0)
            for weight, nodes in gaussian_nodes(c.size.length):
                error = values[y.sigma] * mismatch * matrix(nodes) - moved[:, component]
                loss = mp.fsum(entry**2 for entry in error) / (2 * dimension)
                first += weight * loss
                second += weight * loss**2
            mean += first
            variance += second - first**2
        return values, [mean, variance]

    return Step(
        key="reduction",
        title="The loss only depends on the weights",
        statement=r"At given weights $S$ and $T$ the error is $y - f_Q = (T-S)\,z - S\,p$ for "
        "tokens $z$ of dimension $d$, and the loss of a sample has mean and variance",
        equations=(
            Equation(r"\mathbb{E}\,\frac{|y - f_Q|^2}{2d}", mean),
            Equation(r"\mathrm{Var}\,\frac{|y - f_Q|^2}{2d}", variance),
        ),
        reason=r"$|Bz|^2 = \sum_{lk}(B^\top B)_{lk}\,z_l\cdot z_k$ with the moments of the step "
        r"before; the positional encodings are of finite norm. As $d \to \infty$ only the mean of "
        r"the first part is left, $\frac12\mathrm{Tr}\,(T-S)\,\rho_\Sigma\,(T-S)^\top$ with "
        r"$\rho_\Sigma = \sigma^2 I$.",
        check=Check(
            "both moments for $d = 1, 2$ with explicit encodings, by Gauss-Hermite nodes that are "
            "exact for them, to 40 digits.",
            lambda formulas: agree(formulas, case, points=2),
        ),
    )


def _given_fields(c: Coordinates) -> Step:
    directions = c.size.student_rank + c.size.target_rank
    products = y.symmetric("Pi", c.size.length)
    value = _of_mismatches(c, lambda B: moments.loss_given_fields(B, products, directions))
    symbols = (*y.entries(c.weights), *y.entries(c.target), y.sigma)

    def case(seed: int) -> Case:
        free = 1 + seed % 2
        dimension, length = directions + free, c.size.length
        columns = y.rectangular("Q", dimension, directions)
        given = y.rectangular("c", length, directions)
        values = {**sample((*symbols, *columns, *given), seed), y.d: mpf(dimension)}
        axes, _ = mp.qr(filled(columns, values))
        # Along the columns of Q and Q* the tokens are given, across them they are Gaussian.
        fixed = filled(given, values) * axes[:, :directions].T
        values.update(assigned(products, fixed * fixed.T))
        mismatch = filled(c.mismatch, values)
        losses = []
        for noise in signs(length * free):
            rows = matrix([noise[i : i + free] for i in range(0, len(noise), free)])
            tokens = fixed + values[y.sigma] * rows * axes[:, directions:].T
            error = mismatch * tokens
            losses.append(mp.fsum(entry**2 for entry in error) / (2 * dimension))
        return values, [mp.fsum(losses) / len(losses)]

    return Step(
        key="given_fields",
        title="The weights do not bias the tokens",
        statement=r"The weights are functions of the fields, and these of the tokens. Given the "
        r"fields the mean is, with $\Pi_{lk}$ the products of the parts of the tokens along the "
        rf"${directions}$ columns of $Q$ and $Q^\star$, which stay finite:",
        equations=(
            Equation(r"\mathbb{E}\left[\frac{|(T-S)\,z|^2}{2d}\,|\,x, h^\star\right]", value),
        ),
        reason="Across these columns the tokens are independent of the fields, and of the weights. "
        "So (@reduction) holds with the weights of the sample itself, up to $1/d$.",
        check=Check(
            "tokens with given coordinates along random columns, in one and in two dimensions "
            "more, by Gauss-Hermite nodes that are exact for the mean, to 40 digits.",
            lambda formulas: agree(formulas, case, points=2),
        ),
    )


def _of_mismatches(c: Coordinates, moment: Callable[[sp.MatrixBase], sp.Expr]) -> sp.Expr:
    """A moment as a function of T - S; for two tokens factored in its two free entries."""
    if not c.size.is_rotated:
        return moment(c.mismatch)
    free = sp.symbols("r11 r22", real=True)
    value = sp.expand(moment(channel.two_token_mismatch(*free)))
    by_order = sp.collect(value, y.d, evaluate=False)
    factored = sum(sp.factor(coefficient) * power for power, coefficient in by_order.items())
    return factored.xreplace(dict(zip(free, c.mismatch.diagonal(), strict=True)))


def _encodings(c: Coordinates, dimension: int, seed: int) -> matrix:
    """Positional encodings, one row a token; opposite and of norm 1 in the rotated case."""
    if c.size.is_rotated:
        row = [1 / mp.sqrt(dimension)] * dimension
        return matrix([row, [-x for x in row]])
    symbols = y.rectangular("p", c.size.length, dimension)
    return filled(symbols, sample(tuple(symbols), seed))


def _free_places(c: Coordinates) -> list[tuple[int, int]]:
    length = c.size.length
    return [(i, j) for i in range(length) for j in range(length) if c.weights[i, j].is_Symbol]
