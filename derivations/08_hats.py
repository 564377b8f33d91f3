"""The hats: integrands over the channel, Stein's lemma, and stationarity in the overlaps."""

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp
from mpmath import matrix, mp, mpf

from symattn.symbolic import channel, hats
from symattn.symbolic import symbols as y
from symattn.symbolic.checks import (
    Case,
    Outcome,
    Values,
    agree,
    at_random,
    filled,
    flat,
    gaussian_nodes,
    numeric,
    sample,
    slopes,
)
from symattn.symbolic.coordinates import Coordinates, coordinates
from symattn.symbolic.derivation import Chapter, Check, Equation, Step
from symattn.symbolic.functions import inside, mean
from symattn.symbolic.latex import formula
from symattn.symbolic.points import OverlapPoint, linear_channel, named_means, tokens
from symattn.symbolic.size import Size


def chapter(size: Size) -> Chapter:
    c = coordinates(size)
    return Chapter(
        "The hats",
        r"The conjugates of the overlaps are means over $(h^\star, w)$ of products of $g$.",
        (_integrands(c), _stein(c), _envelope_slopes(c), _hats(c)),
    )


def _integrands(c: Coordinates) -> Step:
    gg, _, gh = _integrand_matrices(c)
    means = c.order_parameters.means
    named = list(zip(y.entries(means.gg), channel.upper(gg), strict=True))
    if c.size.is_rotated:
        along_m = (c.g.T * hats.positional_direction(c))[0]
        named += zip(y.entries(means.g), [along_m], strict=True)
    named += zip(y.entries(means.gh), gh, strict=True)

    def by_token(values: Values) -> list[mpf]:
        g = tokens(c, [values[x] for x in c.g])
        h = tokens(c, [values[x] for x in c.h])
        outer, along_h = mp.zeros(g.cols, g.cols), mp.zeros(g.cols, h.cols)
        for token in range(g.rows):
            outer += g[token, :].T * g[token, :]
            along_h += g[token, :].T * h[token, :]
        difference = [g[0, 0] - g[1, 0]] if c.size.is_rotated else []
        return [*channel.upper(outer), *difference, *flat(along_h)]

    return Step(
        key="integrands",
        title="Integrands",
        statement="Means over the channel of sums over tokens:",
        equations=tuple(Equation(formula(name), mean(value)) for name, value in named),
        reason="Rotation keeps sums of products over tokens."
        if c.size.is_rotated
        else "Matrix products, written out.",
        check=Check(
            "products summed token by token, to 40 digits.",
            lambda formulas: agree(
                [inside(value) for value in formulas], at_random((*c.g, *c.h), by_token)
            ),
        ),
    )


def _stein(c: Coordinates) -> Step:
    _, div, _ = _integrand_matrices(c)
    names = y.entries(c.order_parameters.means.div)
    values = channel.upper((div + div.T) / 2)
    rank = c.size.student_rank
    rows = len(c.w) // rank

    def test(formulas: Sequence[sp.Expr]) -> Outcome:
        # g is minus the gradient of (k . w)^4/24, summed over all coordinates.
        integrands = numeric([inside(value) for value in formulas])
        direction = [sp.Symbol(f"k{i}", real=True) for i in range(len(c.w))]
        root = y.rectangular("root", rank, rank)

        def case(seed: int) -> Case:
            point = sample((*c.w_mean, *direction, *y.entries(root)), seed)
            k = matrix([[point[x] for x in direction[i * rank :][:rank]] for i in range(rows)])
            factor = filled(root, point)
            covariance = factor * factor.T
            point.update(_covariance_values(c, covariance))
            centre = filled(c.w_mean, point)
            found = [mpf(0)] * len(formulas)
            expected = mp.zeros(rank, rank)
            for weight, nodes in gaussian_nodes(len(c.w)):
                noise = matrix([nodes[i * rank : (i + 1) * rank] for i in range(rows)])
                w = centre + noise * factor.T
                along = mp.fsum(a * b for a, b in zip(flat(k), flat(w), strict=True))
                point.update(zip(c.w, flat(w), strict=True))
                point.update(zip(c.g, flat(-k * along**3 / 6), strict=True))
                found = [f + weight * new for f, new in zip(found, integrands(point), strict=True)]
                expected -= weight * along**2 / 2 * (k.T * k)
            averages = dict(zip(placeholders, found, strict=True))
            return averages, channel.upper(expected)

        placeholders = [sp.Symbol(f"average{i}") for i in range(len(formulas))]
        return agree(placeholders, case, points=2)

    return Step(
        key="stein",
        title="The divergence, without derivatives",
        statement=r"The divergence of $g$ is distributional where the prox jumps; its mean is not. "
        r"$C$ is the covariance of $w_l$ given $h^\star_l$"
        + (", here $s^2$:" if c.size.is_rotated else ":"),
        equations=tuple(
            Equation(formula(name), mean(value)) for name, value in zip(names, values, strict=True)
        ),
        reason="Stein's lemma [8]: integration by parts against the Gaussian law of $w$.",
        check=Check(
            "both means for $g$ the gradient of a polynomial, by Gauss-Hermite nodes that are "
            "exact for it, to 40 digits.",
            test,
        ),
    )


def _envelope_slopes(c: Coordinates) -> Step:
    p = c.order_parameters
    overlaps = p.overlaps.symbols

    def case(seed: int) -> Case:
        problem, values = linear_channel(c, seed)
        values = {**sample(overlaps, seed), **values}

        def envelope(*moved: mpf) -> mpf:
            return problem.envelope(_filled_overlaps(c, dict(zip(overlaps, moved, strict=True))))

        values.update(named_means(c, problem, _filled_overlaps(c, values)))
        return values, slopes(envelope, [values[x] for x in overlaps])

    return Step(
        key="envelope_slopes",
        title="How the mean envelope depends on the overlaps",
        statement="In terms of the means above:",
        equations=tuple(
            Equation(
                rf"\frac{{\partial\,\mathbb{{E}}[M]}}{{\partial {formula(overlap)}}}",
                hats.envelope_slope(p, overlap),
            )
            for overlap in overlaps
        ),
        reason=r"$V$ enters $M$ directly. The others enter the law of $w$: its mean moves $M$ by "
        r"$-g$, and its covariance by half the second derivative, $-\frac12\partial g/\partial w$ "
        "(the heat equation).",
        check=Check(
            "differences of the mean envelope of a quadratic loss, which is a closed form in all "
            "overlaps, to 40 digits.",
            lambda formulas: agree(formulas, case),
        ),
    )


def _hats(c: Coordinates) -> Step:
    p = c.order_parameters
    updates = hats.hat_updates(p)

    def case(seed: int) -> Case:
        problem, channel_values = linear_channel(c, seed)
        point = OverlapPoint(c, seed)
        point.values.update(channel_values)
        point.gram = problem.gram
        overlaps = _filled_overlaps(c, point.values)
        solution = point.stationary(
            p.hats.symbols,
            p.overlaps.symbols,
            lambda values: problem.envelope(_filled_overlaps(c, values)),
        )
        named = dict(zip(p.hats.symbols, solution, strict=True))
        values = {**point.values, **named_means(c, problem, overlaps), **named}
        return values, solution

    return Step(
        key="hats",
        title="The hats",
        statement=r"Stationarity of the training loss in the overlaps gives the hats. $\hat\theta$ "
        r"is written with $\hat V$, so that the divergence is used once. At any length and ranks, "
        r"with sums over the tokens, $\hat q = \alpha\,\mathbb{E}[\sum_l g_l g_l^\top]$, $\hat m_l "
        r"= \alpha\,\mathbb{E}[g_l]$, $\hat V = -\alpha\,\mathbb{E}[\sum_l\partial g_l/\partial "
        r"w_l]$ and $\hat\theta = (\alpha\,\mathbb{E}[\sum_l g_l h_l^{\star\top}] + \hat "
        r"V\theta)\rho^{-1}$. In components:",
        equations=tuple(Equation(formula(hat), value) for hat, value in updates.items()),
        reason=r"The loss is $\alpha\,\mathbb{E}[M]$ plus terms bilinear in overlaps and hats.",
        check=Check(
            "the hats at which differences of the whole training loss in the overlaps vanish, for "
            "a quadratic loss, to 40 digits.",
            lambda formulas: agree(formulas, case, points=2),
        ),
    )


def _integrand_matrices(c: Coordinates) -> tuple[sp.Matrix, sp.Matrix, sp.Matrix]:
    return hats.integrands(c.g, c.w - c.w_mean, channel.inverse(c.covariance), c.h)


def _covariance_values(c: Coordinates, covariance: matrix) -> dict[sp.Symbol, mpf]:
    if c.size.is_rotated:
        return {y.s: mp.sqrt(covariance[0])}
    return dict(zip(y.entries(c.covariance), channel.upper(covariance), strict=True))


def _filled_overlaps(c: Coordinates, values: Values) -> tuple[matrix, matrix, matrix, matrix]:
    q, m, V, theta = (filled(part, values) for part in c.order_parameters.overlaps.matrices)
    return q, m, V, theta
