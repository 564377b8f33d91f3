"""How the hats move with the overlaps: the Jacobian of the channel's side, for two tokens."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import sympy as sp
from mpmath import matrix, mp, mpf

from symattn.symbolic import jacobian, law, response
from symattn.symbolic import symbols as y
from symattn.symbolic.checks import (
    Case,
    Outcome,
    agree,
    curvatures,
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
from symattn.symbolic.linear_channel import OverlapMatrices
from symattn.symbolic.points import LawPoint, Point, linear_channel, named_means, tokens
from symattn.symbolic.size import Size

# q_hat, m_hat, V_hat, theta_hat in units of alpha times the slope of E[M] in V, m, q, theta.
_HAT_FACTORS = (-2, -1, 2, -1)


def chapter(size: Size) -> Chapter:
    c = coordinates(size)
    steps = (_scores, _mean_slopes, _curvature, _jump, _hats_jacobian, _direct_gradient)
    return Chapter(
        "The Jacobian of the hats",
        r"How the hats move with the overlaps. The derivatives by $q$, $m$ and $\theta$ fall on "
        "the law of $w$, not on the prox, so its jumps do no harm; that by $V$ has a part from "
        "them.",
        tuple(step(c) for step in steps) if size.is_rotated else (),
    )


def _scores(c: Coordinates) -> Step:
    density = law.log_density().xreplace({y.distance2: law.distance2()})
    named = law.scores(c)

    def case(seed: int) -> Case:
        point = LawPoint(c, seed)
        log_density = point.log_densities([[point.values[w] for w in c.w]])
        expected = [x[0] for x in slopes(log_density, point.overlaps)]
        values = {**point.values, **dict(zip((x for x, _ in named), expected, strict=True))}
        return values, [log_density(*point.overlaps)[0], *expected]

    return Step(
        key="scores",
        title="The density of the student's field, and its slopes",
        statement=r"$N$ is the density of $w$ given $h^\star$. At fixed $w$:",
        equations=(
            Equation(r"\ln N", _in_fields(c, density)),
            *(Equation(formula(name), _in_fields(c, value)) for name, value in named),
        ),
        reason="The overlaps enter through mean and variance (@law). $q$ is the variance up to a "
        r"constant; $\theta$ moves both.",
        check=Check(
            "logarithm of the normal density by token, with the law by conditioning, and its "
            "differences in the overlaps, to 40 digits.",
            lambda formulas: agree(formulas, case),
        ),
    )


def _mean_slopes(c: Coordinates) -> Step:
    p = c.order_parameters
    pairs = jacobian.slopes_taken(p)
    integrands = dict(jacobian.integrands(c))
    factors = jacobian.slope_factors(c)
    scores = [name for name, _ in law.scores(c)]
    placeholders = [sp.Symbol(f"average{i}") for i in range(len(pairs))]

    @lru_cache(maxsize=4)
    def nodes_and_slopes(seed: int) -> tuple[list[tuple[mpf, Point]], list[mpf]]:
        # g is minus the gradient of (k . w)^4/24.
        point = LawPoint(c, seed)
        k = [mpf(3) / 7, -mpf(5) / 8]
        noise = list(gaussian_nodes(len(c.w), degree=9))

        def fields(overlaps: Sequence[mpf]) -> list[list[mpf]]:
            """w at the nodes of its law; the rotation of independent noise is such noise."""
            means, covariance = point.law(*overlaps)
            centre = flat(filled(c.rotated(sp.eye(len(c.w))), {}) * means)
            spread = mp.sqrt(covariance[0])
            return [[x + spread * z for x, z in zip(centre, zs, strict=True)] for _, zs in noise]

        def along(w: Sequence[mpf]) -> mpf:
            return mp.fsum(x * z for x, z in zip(k, w, strict=True))

        def g(w: Sequence[mpf]) -> list[mpf]:
            return [-x * along(w) ** 3 / 6 for x in k]

        h = tokens(c, [point.values[x] for x in c.h])

        def means_of(*overlaps: mpf) -> matrix:
            """E|g|^2, E[g_1 - g_2], E[div_w g] and E[g.h*], token by token."""
            total = mp.zeros(4, 1)
            for (weight, _), w in zip(noise, fields(overlaps), strict=True):
                by_token = tokens(c, g(w))
                total += weight * matrix(
                    [
                        mp.fsum(x**2 for x in by_token),
                        by_token[0] - by_token[1],
                        -mp.fsum(x**2 for x in k) * along(w) ** 2 / 2,
                        (by_token.T * h)[0],
                    ]
                )
            return total

        places = {name: place for place, name in enumerate(p.means.symbols)}
        overlaps = (point.q, point.m, point.theta)
        by_overlap = dict(zip(overlaps, slopes(means_of, point.overlaps), strict=True))
        expected = [by_overlap[overlap][places[name]] for name, overlap in pairs]
        places_of_w = fields(point.overlaps)
        scores_there = slopes(point.log_densities(places_of_w), point.overlaps)
        nodes = []
        for place, ((weight, _), w) in enumerate(zip(noise, places_of_w, strict=True)):
            values = {**point.values, **dict(zip(c.w, w, strict=True))}
            values.update(zip(c.g, g(w), strict=True))
            values.update((name, x[place]) for name, x in zip(scores, scores_there, strict=True))
            nodes.append((weight, values))
        return nodes, expected

    def test(formulas: Sequence[sp.Expr]) -> Outcome:
        evaluate = numeric([inside(value) for value in formulas])

        def case(seed: int) -> Case:
            nodes, expected = nodes_and_slopes(seed)
            found = [mpf(0)] * len(formulas)
            for weight, values in nodes:
                found = [f + weight * x for f, x in zip(found, evaluate(values), strict=True)]
            return dict(zip(placeholders, found, strict=True)), expected

        return agree(placeholders, case, points=2)

    return Step(
        key="mean_slopes",
        title="How the means move with the overlaps",
        statement="The derivatives that the others follow from:",
        equations=tuple(
            Equation(
                formula(jacobian.slope_symbol(name, overlap)),
                mean(_in_fields(c, integrands[name] * factor)),
            )
            for (name, overlap), factor in zip(pairs, factors, strict=True)
        ),
        reason=r"$\partial\,\mathbb{E}[f] = \mathbb{E}[f\,\partial\ln N + \partial f]$ at fixed "
        r"$h^\star$, where the prox at a given $w$ does not depend on $q$, $m$ or $\theta$. Only "
        "Stein's form of the divergence has $s$ in it.",
        check=Check(
            "differences of the means of a $g$ that is the gradient of a polynomial, with its "
            "divergence by differentiation, by Gauss-Hermite nodes that are exact for it, to 40 "
            "digits.",
            test,
        ),
    )


def _curvature(c: Coordinates) -> Step:
    V = c.order_parameters.overlaps.V[0]
    det = sp.Symbol("det", real=True)
    kappa = response.scaled_curvature(c)

    def case(seed: int) -> Case:
        # A quadratic loss with any Hessian: the prox is a linear system.
        values = sample((*c.w, V, *y.entries(c.hessian)), seed)
        hessian = filled(c.hessian, values)
        force = matrix([mpf(2) / 3, -mpf(4) / 7])

        def prox(w: matrix, response: mpf) -> matrix:
            return mp.lu_solve(hessian + mp.eye(2) / response, w / response - force)

        def envelope(a: mpf, b: mpf, response: mpf) -> mpf:
            w = matrix([a, b])
            x = prox(w, response)
            distance2 = ((x - w).T * (x - w))[0]
            return distance2 / (2 * response) + (x.T * hessian * x)[0] / 2 + (force.T * x)[0]

        w = matrix([values[x] for x in c.w])
        values.update(zip(c.gradient, flat((w - prox(w, values[V])) / values[V]), strict=True))
        second = curvatures(envelope, [*w, values[V]])
        k_uu, k_uv, _, k_vv, _, in_V = second
        values[det] = mp.det(mp.eye(2) + values[V] * hessian)
        scaled = [values[det] * x for x in (k_uu, k_uv, k_vv)]
        values.update(zip((x for x, _ in kappa), scaled, strict=True))
        square = k_uu**2 + k_uv**2 + k_uv**2 + k_vv**2
        return values, [*scaled, k_uu + k_vv, square, values[det] * in_V]

    return Step(
        key="curvature",
        title="How the prox responds",
        statement=r"$\partial g/\partial w = -K$ with $K = H(I+VH)^{-1}$ and $H$ the Hessian of "
        r"the loss at the prox; and $-\frac12\partial_V|g|^2 = g^\top K g$ at fixed $w$. With "
        r"$\Delta = \det(I+VH)$ and $\kappa = \Delta K$, which is finite where $K$ is not:",
        equations=(
            *(Equation(formula(name), value) for name, value in kappa),
            Equation(r"\mathrm{Tr}\,K", response.curvature_trace(det)),
            Equation("|K|_F^2", response.curvature_square(det)),
            Equation(r"\Delta\, g^\top K g", response.scaled_response(c)),
        ),
        reason=r"Differentiate $w = x + V\nabla\ell(x)$ and $g = -\nabla\ell$.",
        assumptions=("The prox does not jump at this $w$.",),
        check=Check(
            "second differences in $w$ and $V$ of the envelope of a quadratic loss with any "
            r"Hessian, of which $K$ is the Hessian in $w$ and $g^\top K g$ the second derivative "
            "in $V$, to 40 digits.",
            lambda formulas: agree(formulas, case),
        ),
    )


def _jump(c: Coordinates) -> Step:
    V = c.order_parameters.overlaps.V[0]
    named = response.jump(c)

    def case(seed: int) -> Case:
        # The lower of two quadratic losses, k |x - centre|^2/2 + height. The envelopes are equal on
        # a straight line, along which the jump of |g|^2 is constant.
        centres = [sp.symbols(f"a{i} b{i}", real=True) for i in (1, 2)]
        heights, stiffness = sp.symbols("e1 e2", real=True), sp.Symbol("k", positive=True)
        depth, shift = sp.symbols("depth shift", real=True)
        symbols = (*centres[0], *centres[1], *heights, stiffness, V, y.s, depth, shift)
        values = sample(symbols, seed)
        ahead, behind = (matrix([values[x] for x in place]) for place in centres)
        lift = values[heights[1]] - values[heights[0]]
        apart = mp.norm(ahead - behind)
        normal = (ahead - behind) / apart
        tangent = matrix([-normal[1], normal[0]])
        inverse_stiffness = 1 / values[stiffness]

        def line(response: mpf) -> mpf:
            """Where normal . w exceeds this, the prox is the one ahead."""
            difference = ((ahead.T * ahead)[0] - (behind.T * behind)[0]) / 2
            return (difference - (response + inverse_stiffness) * lift) / apart

        # The line is at `depth` standard deviations from the mean of w.
        response_at = values[V]
        centre = (line(response_at) - values[y.s] * values[depth]) * normal
        centre += values[shift] * tangent

        def mean_square(response: mpf) -> mpf:
            """E|g|^2, with g = (place - w)/(V + 1/k) on either side of the line."""
            cut = (line(response) - (normal.T * centre)[0]) / values[y.s]
            total = mpf(0)
            for place, side in ((ahead, 1), (behind, -1)):
                offset = centre - place
                beyond = mp.ncdf(-side * cut)
                first = side * mp.npdf(cut)
                second = beyond + side * cut * mp.npdf(cut)
                along = (normal.T * offset)[0]
                total += (offset.T * offset)[0] * beyond + 2 * values[y.s] * along * first
                total += values[y.s] ** 2 * (beyond + second)
            return total / (response + inverse_stiffness) ** 2

        stretch = response_at + inverse_stiffness
        # Any point of the line will do.
        w = line(response_at) * normal + tangent
        prox = [w + response_at * (place - w) / stretch for place in (ahead, behind)]
        values.update(zip(c.w, w, strict=True))
        values.update(zip(y.middle, (prox[0] + prox[1]) / 2, strict=True))
        values.update(zip(y.half, (prox[0] - prox[1]) / 2, strict=True))
        distances2 = [((place - w).T * (place - w))[0] for place in (ahead, behind)]
        jump_g2 = (distances2[0] - distances2[1]) / stretch**2
        values[y.jump_g2], values[y.jump_x] = jump_g2, mp.norm(prox[0] - prox[1])
        smooth = mean_square(response_at) / stretch
        crossed = mp.npdf(values[depth]) / values[y.s]
        from_line = -mp.diff(mean_square, response_at) / 2 - smooth
        return values, [jump_g2, values[y.jump_x], from_line / crossed]

    return Step(
        key="jump",
        title="What jumps add to the derivative by the response",
        statement=r"The derivative $\mathcal{R} = -\frac12\partial_V\mathbb{E}|g|^2$ is "
        r"$\mathbb{E}[g^\top K g] + \mathbb{E}_{h^\star}\int N(w)\,j(w)\,\mathrm{d}S$, the "
        r"integral along the curve in the $w$ plane where the prox jumps, between $X - Y$ and "
        r"$X + Y$. With the jumps $[\,|g|^2\,]$ and $|[x]|$ of $|g|^2$ and of the prox:",
        equations=tuple(Equation(formula(name), value) for name, value in named),
        reason=r"On the curve the two envelopes are equal, so it moves across itself at the speed "
        r"$\partial_V[M]/|\nabla_w[M]| = \frac{V}{2}[\,|g|^2\,]/|[x]|$, with "
        r"$\nabla_w M = -g$ and $\partial_V M = -\frac12|g|^2$; $|g|^2$ is $[\,|g|^2\,]$ higher "
        "on the side that grows.",
        check=Check(
            "the lower of two quadratic losses, where the curve is a straight line and "
            r"$\mathbb{E}|g|^2$ a sum of error functions: its difference in $V$ less the smooth "
            "part, to 40 digits.",
            lambda formulas: agree(formulas, case),
        ),
    )


def _hats_jacobian(c: Coordinates) -> Step:
    p = c.order_parameters
    overlaps = p.overlaps.symbols
    entries = jacobian.hats_jacobian(p)

    def case(seed: int) -> Case:
        # E[M] = exp(k . overlaps) + exp(l . overlaps), of which no derivative vanishes.
        powers = [sp.symbols(f"{name}1:5", real=True) for name in ("k", "l")]
        values = sample((*overlaps, *powers[0], *powers[1], y.alpha, y.sigma), seed)
        places = [values[x] for x in overlaps]

        def slopes_of_envelope(*x: mpf) -> matrix:
            total = mp.zeros(4, 1)
            for power in powers:
                k = matrix([values[part] for part in power])
                total += mp.exp((k.T * matrix(x))[0]) * k
            return total

        def means(*x: mpf) -> matrix:
            """The means that have these slopes of the envelope (@envelope_slopes)."""
            in_q, in_m, in_V, in_theta = slopes_of_envelope(*x)
            div = -2 * in_q
            return matrix([-2 * in_V, -in_m, div, x[3] * div - values[y.sigma] ** 2 * in_theta])

        by_overlap = dict(zip(overlaps, slopes(means, places), strict=True))
        place_of = {name: place for place, name in enumerate(p.means.symbols)}
        for name, overlap in jacobian.slopes_taken(p):
            values[jacobian.slope_symbol(name, overlap)] = by_overlap[overlap][place_of[name]]
        values[y.response] = -by_overlap[p.overlaps.V[0]][0] / 2
        values[p.hats.V[0]] = 2 * values[y.alpha] * slopes_of_envelope(*places)[0]
        second = slopes(slopes_of_envelope, places)
        rows = zip((2, 1, 0, 3), _HAT_FACTORS, strict=True)
        expected = [
            values[y.alpha] * factor * second[column][row]
            for row, factor in rows
            for column in range(4)
        ]
        return values, expected

    return Step(
        key="hats_jacobian",
        title="The Jacobian of the hats",
        statement=r"With $\mathcal{R}$ of (@jump) and the derivatives of means (@mean_slopes):",
        equations=tuple(
            Equation(formula(jacobian.slope_symbol(hat, overlap)), value)
            for (hat, overlap), value in entries.items()
        ),
        reason=r"The hats are the gradient of $\alpha\,\mathbb{E}[M]$: by stationarity "
        r"$\hat q = -2\alpha\,\partial_V$, $\hat m = -\alpha\,\partial_m$, "
        r"$\hat V = 2\alpha\,\partial_q$ and $\hat\theta = -\alpha\,\partial_\theta$ of "
        r"$\mathbb{E}[M]$. Mixed derivatives are equal.",
        check=Check(
            r"an arbitrary function in place of $\mathbb{E}[M]$, with means from its slopes by "
            "(@envelope_slopes): the differences of its slopes, to 40 digits.",
            lambda formulas: agree(formulas, case, points=2),
        ),
    )


def _direct_gradient(c: Coordinates) -> Step:
    p = c.order_parameters
    overlaps = p.overlaps.symbols
    gradient = jacobian.train_loss_direct_gradient(p)
    e_g2 = p.means.gg[0]

    def case(seed: int) -> Case:
        problem, known = linear_channel(c, seed)
        values: Point = {**sample(overlaps, seed), **known}
        places = [values[x] for x in overlaps]

        def matrices(moved: Sequence[mpf]) -> OverlapMatrices:
            q, m, V, theta = (
                filled(part, dict(zip(overlaps, moved, strict=True)))
                for part in p.overlaps.matrices
            )
            return q, m, V, theta

        def mean_square(*moved: mpf) -> mpf:
            return named_means(c, problem, matrices(moved))[e_g2]

        def direct(*moved: mpf) -> mpf:
            loss = problem.loss_at_prox(matrices(moved))
            return values[y.alpha] * loss + values[y.lam] * moved[0] / (2 * values[y.sigma] ** 2)

        in_envelope = slopes(lambda *moved: problem.envelope(matrices(moved)), places)
        for hat, place, factor in zip(p.hats.symbols, (2, 1, 0, 3), _HAT_FACTORS, strict=True):
            values[hat] = values[y.alpha] * factor * in_envelope[place]
        by_overlap = slopes(mean_square, places)
        for overlap, value in zip(overlaps, by_overlap, strict=True):
            values[jacobian.slope_symbol(e_g2, overlap)] = value
        values[y.response] = -values[jacobian.slope_symbol(e_g2, p.overlaps.V[0])] / 2
        return values, slopes(direct, places)

    return Step(
        key="direct_gradient",
        title="How the direct form of the training loss moves",
        statement="The direct form (@direct) is not stationary; with hats that hold at these "
        "overlaps its slopes are:",
        equations=tuple(
            Equation(rf"\frac{{\partial\epsilon_t}}{{\partial {formula(overlap)}}}", value)
            for overlap, value in gradient.items()
        ),
        reason=r"$\mathbb{E}[\ell(x^\star)] = \mathbb{E}[M] - \frac V2\mathbb{E}|g|^2$, and the "
        r"hats are the gradient of $\alpha\,\mathbb{E}[M]$.",
        check=Check(
            "differences of the mean loss at the prox of a quadratic loss, a closed form in all "
            "overlaps, to 40 digits.",
            lambda formulas: agree(formulas, case, points=2),
        ),
    )


def _in_fields(c: Coordinates, expression: sp.Expr) -> sp.Expr:
    """With w - mean and s^-2 written out."""
    deviation = dict(zip(y.deviation, c.w - c.w_mean, strict=True))
    known = {**deviation, y.precision: y.s**-2}
    return expression.xreplace({y.distance2: law.distance2()}).xreplace(known)
