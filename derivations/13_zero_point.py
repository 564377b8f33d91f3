"""The fixed point Q = 0: curvatures, response, instabilities, and where its prox may jump."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import sympy as sp
from mpmath import matrix, mp, mpf

from symattn.symbolic import channel, definition, free_energy, jumps, zero_point
from symattn.symbolic import symbols as y
from symattn.symbolic.checks import (
    DIGITS,
    Case,
    CaseOfLaw,
    Law,
    Outcome,
    Values,
    agree,
    agree_in_mean,
    curvatures,
    filled,
    flat,
    sample,
    slopes,
)
from symattn.symbolic.coordinates import Coordinates, coordinates
from symattn.symbolic.derivation import Chapter, Check, Equation, Step
from symattn.symbolic.functions import mean
from symattn.symbolic.latex import formula
from symattn.symbolic.points import Point, linear_channel, tokens
from symattn.symbolic.size import Size

# Weights of a law of h* with two outcomes, and what to add to the seed for each.
_OUTCOMES = ((mpf(1) / 3, 100), (mpf(2) / 3, 200))

# Where "infinitesimal" and "large" are, so that what is left out is below the digits compared.
_SMALL = mpf(10) ** -30
_LARGE = mpf(10) ** 22
_FAR = mpf(10) ** 45


def chapter(size: Size) -> Chapter:
    c = coordinates(size)
    steps = [_hessian(c), _curvature(c), _response(c), _growth(c)]
    if size.student_rank == 1:
        steps.append(_replicon(c))
    steps.append(_fold(c))
    if size.is_rotated:
        steps += [_wells(c), _valley(c), _sheets(c), _sheet_weight(c)]
    return Chapter(
        "The fixed point at zero",
        "A student that has learnt nothing has $Q = 0$, and all its overlaps vanish but the "
        "response. Everything there is explicit, and so are the sample complexities at which it "
        "starts to learn.",
        tuple(steps),
    )


def _hessian(c: Coordinates) -> Step:
    H = zero_point.hessian(c)
    names = zero_point.hessian_symbols(c)
    rotated = c.size.is_rotated
    parts = zero_point.target_parts(c) if rotated else []
    places = [(i, j) for i in range(H.rows) for j in range(i, H.cols) if H[i, j] != 0]

    def case(seed: int) -> Case:
        values = sample((*y.entries(c.target), y.sigma), seed)
        target = _rows_of_sum_one(filled(c.target, values))
        values.update(_target_parts(target) if rotated else _entries(c.target, target))
        whole = _hessian_at_rest(c, target, values[y.sigma])
        return values, [*(values[name] for name, _ in parts), *flat(whole)]

    def test(formulas: Sequence[sp.Expr]) -> Outcome:
        known, entries = formulas[: len(parts)], formulas[len(parts) :]
        found = sp.zeros(*H.shape)
        for (i, j), value in zip(places, entries, strict=True):
            found[i, j] = found[j, i] = value
        whole = sp.kronecker_product(found, sp.eye(c.size.student_rank))
        return agree([*known, *whole], case)

    return Step(
        key="zero_hessian",
        title="The loss near zero",
        statement=r"At $x = 0$ all weights are $1/L$ and the gradient of the loss vanishes. "
        + (
            r"Its Hessian $H$ there depends on two parts of the target, and $H_{vv} = 0$:"
            if rotated
            else r"Its Hessian is $H \otimes I_r$ with $H = -\frac{2\sigma^2}{L}\,\mathrm{Sym}"
            r"(T - \frac1L)$:"
        ),
        equations=(
            *(Equation(formula(name), value) for name, value in parts),
            *(Equation(formula(names[place]), H[place]) for place in places),
        ),
        reason="(@gradient) and (@hessian) at $x = 0$; rows of $T$ sum to 1.",
        check=Check(
            "second differences of the loss by definition at $x = 0$, all entries, to 40 digits.",
            test,
        ),
    )


def _curvature(c: Coordinates) -> Step:
    named = zero_point.curvature(c)

    def case(seed: int) -> Case:
        point = _rest_law(c, seed)
        _, outcome = point.law[0]
        values = {**point.values, **outcome}
        return values, [values[name] for name, _ in named]

    return Step(
        key="zero_curvature",
        title="The envelope near zero",
        statement=r"$K = H(I + VH)^{-1}$ is the Hessian of the envelope at $w = 0$, so that "
        r"$g = -K w$ for small $w$"
        + (
            r". With $\Delta = \det(I + VH)$, written out in (@wells):"
            if c.size.is_rotated
            else r", the same in every direction. It solves $K = H - V H K$:"
        ),
        equations=tuple(Equation(formula(name), value) for name, value in named),
        reason=r"$x = (I + VH)^{-1}w$ and $g = -Hx$ to first order.",
        assumptions=("The prox of $w = 0$ is $x = 0$, so that $I + VH$ is positive.",),
        check=Check(
            r"the minimum over $x$ of $|x-w|^2/(2V) + \frac12x^\top H x$ with $H$ by differences, "
            "at unit vectors $w$ and their sums, to 40 digits.",
            lambda formulas: agree(formulas, case),
        ),
    )


def _response(c: Coordinates) -> Step:
    trace = mean(zero_point.curvature_symbols(c).trace())
    V = y.V

    def case(seed: int) -> CaseOfLaw:
        # A quadratic loss has H = k I: ridge regression, whose response is known.
        problem, values = linear_channel(c, seed)
        stiffness = problem.stiffness[0, 0]
        response = problem.response(values[y.alpha], values[y.lam] / stiffness)
        values[V] = values[y.sigma] ** 2 * response / stiffness
        K = zero_point.curvature_symbols(c)
        curvature = mp.eye(K.rows) / (values[V] + 1 / stiffness)
        return values, [(mpf(1), _entries(K, curvature))], [values[V]]

    return Step(
        key="zero_response",
        title="The response at zero",
        statement=r"$\hat V = \alpha\,\mathbb{E}[\mathrm{Tr}\,K]$, and so:",
        equations=(Equation(formula(V), zero_point.updated_response(c, trace)),),
        reason=r"$\mathrm{div}_w\,g = -\mathrm{Tr}\,K$ in (@hats), and that in (@ridge).",
        check=Check(
            r"for a quadratic loss, $H = \gamma I$, the root must be $\sigma^2/\gamma$ times the "
            "Stieltjes transform of the Marchenko-Pastur law, and is to 40 digits.",
            lambda formulas: agree_in_mean(formulas, case),
        ),
    )


def _growth(c: Coordinates) -> Step:
    found = zero_point.growth(c)
    random = (*c.h, *y.entries(zero_point.curvature_symbols(c)))

    def averaged(factor: sp.Expr) -> sp.Expr:
        known, inner = factor.as_independent(*random, as_Add=False)
        return known * mean(inner)

    def case(seed: int) -> CaseOfLaw:
        point = _rest_law(c, seed)
        return point.values, point.law, _one_step(c, point)

    bulk = "q" if c.size.student_rank == 1 else "q_{11}"
    return Step(
        key="weak",
        title="Where zero becomes unstable",
        statement="One step of the state evolution, linear in small overlaps; the primed ones are "
        + (
            "those after it. $Q = 0$ becomes unstable towards the positional solution "
            "(`weak_positional`), the semantic one (`weak_semantic`) or a random direction "
            "(`weak_bulk`) where the first, second or third of these reaches 1:"
            if c.size.is_rotated
            else "those after it. $Q = 0$ becomes unstable towards the positional solution where "
            r"the largest eigenvalue of the matrix $-\frac{\alpha V}{\sigma^2}G\,"
            r"\mathbb{E}[K]$ of the slopes of $m'$ is 1, and towards the semantic one or a random "
            r"direction where the slope of $\theta'$ or $q'$ is:"
        ),
        equations=tuple(
            Equation(
                rf"\frac{{\partial {_primed(x.overlap)}}}{{\partial {formula(x.source)}}}",
                averaged(x.factor),
            )
            for x in found
        ),
        reason=r"Put $g = -Kw$ with $w = m + \theta\rho^{-1}h^\star + \sqrt{C}\,\xi$ into (@hats) "
        rf"and these into (@ridge), where $D = \sigma^2/V$. $\hat {bulk}$ is of second "
        r"order in $m$ and $\theta$, and $K$ is even in $h^\star$, so $q$, $m$ and $\theta$ do "
        "not mix.",
        check=Check(
            r"the prox, its divergence and one step of the state evolution by numbers, at overlaps "
            r"of $10^{-30}$ and with two outcomes for $h^\star$, to 40 digits.",
            lambda formulas: agree_in_mean(formulas, case, points=2),
        ),
    )


def _primed(symbol: sp.Symbol) -> str:
    base, _, index = formula(symbol).partition("_")
    return f"{base}'" + (f"_{index}" if index else "")


def _replicon(c: Coordinates) -> Step:
    curvature2 = mean(zero_point.curvature_square(c))

    def case(seed: int) -> CaseOfLaw:
        point = _rest_law(c, seed)
        scalars = (point.values[x] for x in (y.alpha, y.sigma, y.V))
        hessians = [
            (weight, filled(zero_point.hessian_symbols(c), outcome))
            for weight, outcome in point.law
        ]
        of_four = definition.replicon(*scalars, hessians, mpf(0))
        *_, random_direction = _one_step(c, point)
        return point.values, point.law, [of_four, 1 - random_direction]

    return Step(
        key="zero_replicon",
        title="Replica symmetry at zero",
        statement="At $Q = 0$ all fields are 0, and $K$ is that of (@zero_curvature). The replicon "
        "(@replicon) there is",
        equations=(
            Equation(r"\text{replicon}", free_energy.replicon(c.order_parameters, curvature2)),
        ),
        reason="$|K|_F^2$ is the sum of the squares of the entries of $K$. The replicon is 1 minus "
        "the last slope of (@weak): replica symmetry becomes unstable just where a random "
        "direction starts to grow.",
        assumptions=("As in (@zero_curvature) and (@replicon).",),
        check=Check(
            "second differences of the action of four explicit replicas, whose losses have the "
            "differences of the loss by definition as Hessian; and 1 minus the growth of $q$ in "
            "one step of the state evolution by numbers. Both to 40 digits.",
            lambda formulas: agree_in_mean([*formulas, *formulas], case, points=2),
        ),
    )


def _fold(c: Coordinates) -> Step:
    K = zero_point.curvature_symbols(c)
    V = y.V
    bulk = y.alpha * V**2 * mean(zero_point.curvature_square(c))

    def case(seed: int) -> CaseOfLaw:
        point = _rest_law(c, seed)
        sigma, alpha, response = (point.values[x] for x in (y.sigma, y.alpha, V))

        def curvature(outcome: Values, moved: mpf) -> matrix:
            return _envelope_hessian(filled(zero_point.hessian_symbols(c), outcome), moved)

        def from_channel(moved: mpf) -> mpf:
            """V sigma^2 alpha E[Tr K]."""
            traces = [
                weight * definition.trace(curvature(outcome, moved))
                for weight, outcome in point.law
            ]
            return moved * sigma**2 * alpha * mp.fsum(traces)

        # V is a root for this lambda.
        lam = (sigma**2 - from_channel(response)) / response
        first = point.law[0][1]
        moves = [
            mp.diff(lambda moved, i=i, j=j: curvature(first, moved)[i, j], response)
            for i in range(K.rows)
            for j in range(i, K.cols)
        ]
        slope = lam + mp.diff(from_channel, response)
        return {**point.values, **first}, point.law, [*moves, slope]

    return Step(
        key="fold",
        title="The fold of the response",
        statement="The last condition of (@weak) is also where the response ends. At a root of "
        r"$F(V) = V(\lambda + \sigma^2\alpha\,\mathbb{E}[\mathrm{Tr}\,K]) - \sigma^2$:",
        equations=(
            *(
                Equation(rf"\frac{{\partial {formula(name)}}}{{\partial {formula(V)}}}", value)
                for name, value in zip(
                    channel.upper(K), zero_point.curvature_slopes(c), strict=True
                )
            ),
            Equation(r"\frac{\mathrm{d}F}{\mathrm{d}V}", y.sigma**2 / V * (1 - bulk)),
        ),
        reason=r"$K = (H^{-1} + V)^{-1}$ gives $\partial_V K = -K^2$, and $\mathrm{Tr}\,K^2 = "
        r"|K|_F^2$. Where $I + VH$ is positive $F$ is concave, as $V\,\mathrm{Tr}\,K = "
        r"\mathrm{Tr}\,[I - (I + VH)^{-1}]$ is, and has two roots at most. The one that is "
        r"connected to $\alpha = 0$ is the lower; they meet where the slope vanishes, and there is "
        r"none beyond.",
        check=Check(
            r"differences in $V$ of the numerical $K$ and of $F$, with two outcomes for $h^\star$, "
            "to 40 digits.",
            lambda formulas: agree_in_mean(formulas, case, points=2),
        ),
    )


def _wells(c: Coordinates) -> Step:
    V = y.V

    def case(seed: int) -> Case:
        values = sample((*y.entries(c.target), y.sigma, V), seed)
        target = filled(c.target, values)
        values.update(_target_parts(target))
        energy_hessian = _hessian_at_rest(c, target, values[y.sigma]) + mp.eye(2) / values[V]
        return values, [values[V] ** 2 * mp.det(energy_hessian)]

    return Step(
        key="wells",
        title="Two wells at the origin",
        statement=r"If the following is negative, that is $V\sigma^2\tau + (V\sigma^2\delta)^2/4 > "
        r"1$, then $x = 0$ is a saddle of $\mathcal{E}(x; 0)$. As $\mathcal{E}(-x; 0) = "
        r"\mathcal{E}(x; 0)$, the prox then jumps at $w = 0$. The "
        r"condition is sufficient: a well elsewhere may be deeper before $x = 0$ stops being one.",
        equations=(Equation(r"\Delta = \det(I + VH)", zero_point.determinant(c)),),
        reason=r"One eigenvalue of the energy's Hessian $V^{-1}(I + VH)$ is negative; $H_{vv} = 0$ "
        "keeps the other one positive.",
        check=Check(
            "$V^2$ times the determinant of the second differences of the energy by definition, to "
            "40 digits.",
            lambda formulas: agree(formulas, case),
        ),
    )


def _valley(c: Coordinates) -> Step:
    found = jumps.valley(c)
    weight = c.weights[0, 0]

    def case(seed: int) -> Case:
        values, target = _target_of_two(c, seed)
        z = sample([y.z], seed)[y.z]
        with mp.workdps(_digits_for(_FAR)):
            x = tokens(c, [z / _FAR, _FAR])
            values[weight] = definition.attention(x)[0, 0]
            lowest = mp.log(1 + values[y.delta]) - mp.log(1 - values[y.delta])
            bottom = definition.attention(tokens(c, [lowest / _FAR, _FAR]))[0, 0]
            return values, [definition.loss(x, target, values[y.sigma]), bottom]

    return Step(
        key="valley",
        title="The loss far out",
        statement=r"For large $|v|$ the weights only depend on $\varphi = uv$: $S_{11} = 1 - "
        r"S_{22} = \varsigma(\varphi)$. The loss has a valley at $u$ near 0, with plateaus $S_{11} "
        r"= 1$ and $S_{11} = 0$ at $\varphi \to \pm\infty$. The loss, and $S_{11}$ at the bottom "
        r"of the valley, where $\varphi_0 = \ln\frac{1+\delta}{1-\delta}$:",
        equations=(
            Equation(r"\ell", found.loss(weight)),
            Equation(r"S_{11}^0", found.bottom),
        ),
        reason=r"$u(u\pm v) = u^2 \pm \varphi$ with $u^2 = \varphi^2/v^2$; complete the square.",
        check=Check(
            "loss and weights by definition at $v = 10^{45}$, to 40 digits.",
            lambda formulas: agree(formulas, case),
        ),
    )


def _sheets(c: Coordinates) -> Step:
    V = y.V

    def case(seed: int) -> Case:
        values, target = _target_of_two(c, seed)
        values[V] = sample([V], seed)[V]
        b = values[y.b] = _LARGE * (1 + sample([y.z], seed)[y.z] ** 2)
        # With the tokens exchanged, delta and b change their signs.
        swap = matrix([[0, 1], [1, 0]])
        target, b = (target, b) if seed % 2 else (swap * target * swap, -b)
        with mp.workdps(_digits_for(_LARGE)):
            return values, [_double_tangent(c, values, target, b, sign) for sign in (1, -1)]

    return Step(
        key="sheets",
        title="Sheets of jumps",
        statement=r"For every $V$ and $T$ the prox jumps between valley and plateau on two sheets. "
        r"For large $b > 0$ they are at the following values of $a$, up to terms of order "
        r"$1/b^2$; for $b < 0$ exchange the signs of $b$ and $\delta$.",
        equations=tuple(
            Equation(f"a_{sign}", value) for sign, value in zip("+-", jumps.sheets(c), strict=True)
        ),
        reason=r"On the plateau the prox stays at $w$; in the valley it saves "
        r"$2\sigma^2(\varsigma(\pm\infty) - S_{11}^0)^2$ of loss, and pays $(a - "
        r"\varphi_0/b)^2/(2V)$. The sheet "
        "is where both are equal.",
        assumptions=(r"The weights of the target are between 0 and 1, so that $|\delta| < 1$.",),
        check=Check(
            "the $a$ at which the minima of the energy by definition, in the valley and on the "
            r"plateau, are equally deep, at $|b| > 10^{22}$ of either sign, to 40 digits: what is "
            "left out is of order $1/b^2$.",
            lambda formulas: agree(formulas, case),
        ),
    )


def _sheet_weight(c: Coordinates) -> Step:
    def case(seed: int) -> Case:
        values = sample((y.sheet, y.a_mean, y.b_mean, y.s), seed)
        values[y.sheet] = values[y.a_mean] + values[y.s] * values[y.sheet]
        covariance = mp.eye(2) * values[y.s] ** 2
        step = values[y.s] / 4
        line = (
            definition.log_normal_density(
                matrix([values[y.sheet] - values[y.a_mean], k * step]), covariance
            )
            for k in range(-64, 65)
        )
        return values, [step * mp.fsum(map(mp.exp, line))]

    return Step(
        key="sheet_weight",
        title="The weight of a sheet",
        statement=r"Given $h^\star$, the density of $w$ on a sheet falls off with its distance "
        r"from the mean $\bar a$ of $a$. Integrated along the sheet it is at most the following, "
        r"with $a_\pm$ the place on the sheet that is nearest to $\bar a$:",
        equations=(Equation(r"\int N(a_\pm, b)\,\mathrm{d}b", jumps.sheet_weight()),),
        reason=r"$N$ is a product of normal densities in $a$ and $b$, and each sheet lies on one "
        "side of $b = 0$ only. The probability beyond the sheet is less than the exponential.",
        check=Check(
            "the trapezoidal rule for the density by definition, which is exact to 50 digits here, "
            "to 40 digits.",
            lambda formulas: agree(formulas, case),
        ),
    )


@dataclass(frozen=True)
class _RestLaw:
    """Q = 0 with a law of h* that has a few outcomes.

    values: alpha, sigma, V, omega, A and G. Each outcome of the law has h*, and H and K under their
    names in `zero_point`. targets: T[h*] for each outcome.
    """

    values: Values
    law: Law
    targets: Sequence[matrix]


@lru_cache(maxsize=16)
def _rest_law(c: Coordinates, seed: int) -> _RestLaw:
    V, gram = y.V, c.order_parameters.gram
    H, K = zero_point.hessian_symbols(c), zero_point.curvature_symbols(c)
    scalars = (y.alpha, y.sigma, y.omega, V)
    values = sample((*scalars, *y.entries(c.mixing), *y.entries(gram)), seed)
    mixing = _rows_of_sum_one(filled(c.mixing, values))
    law, targets = [], []
    for weight, place in _OUTCOMES:
        outcome = sample(tuple(c.h), seed + place)
        semantic = definition.attention(tokens(c, [outcome[x] for x in c.h]))
        target = (1 - values[y.omega]) * semantic + values[y.omega] * mixing
        whole = _hessian_at_rest(c, target, values[y.sigma])
        block = _first_direction(c, whole)
        outcome.update(_entries(H, block))
        outcome.update(_entries(K, _envelope_hessian(block, values[V])))
        if c.size.is_rotated:
            outcome.update(_target_parts(target))
            outcome[y.det] = mp.det(mp.eye(2) + values[V] * block)
        law.append((weight, outcome))
        targets.append(target)
    return _RestLaw(values, law, targets)


def _one_step(c: Coordinates, point: _RestLaw) -> list[mpf]:
    """What one step of the state evolution makes of small m, theta and q, in units of them.

    Only the first direction moves. By token, from the prox by numbers.
    """
    V = y.V
    alpha, sigma, response = (point.values[x] for x in (y.alpha, y.sigma, V))
    length, rank = c.size.length, c.size.student_rank
    gram = filled(c.order_parameters.gram, point.values)
    encodings = [matrix([1, -1])] if c.size.is_rotated else _unit_vectors(length)
    positional = [mp.zeros(length, 1) for _ in encodings]
    square = along_target = divergence = mpf(0)
    with mp.workdps(2 * DIGITS):
        for (weight, outcome), target in zip(point.law, point.targets, strict=True):
            by_numbers = _Prox(target, sigma, response, rank)
            for place, direction in enumerate(encodings):
                positional[place] += weight * by_numbers.force(direction)
            for token, direction in enumerate(_unit_vectors(length)):
                g = by_numbers.force(direction)
                square += weight * mp.fsum(x**2 for x in g)
                divergence += weight * g[token]
            h = tokens(c, [outcome[x] for x in c.h])[:, 0]
            along_target += weight * (by_numbers.force(h / sigma**2).T * h)[0]
    # D = sigma^2/V
    moved = [response / sigma**2 * alpha * gram * g for g in positional]
    shown = 1 if c.size.is_rotated else length
    return [
        *(moved[source][overlap] for overlap in range(shown) for source in range(len(moved))),
        response * (alpha * along_target - alpha * divergence),
        response**2 * alpha * square,
    ]


class _Prox:
    """The prox near w = 0, by token, for fields that differ from 0 in the first direction only."""

    def __init__(self, target: matrix, sigma: mpf, response: mpf, rank: int) -> None:
        self._target, self._sigma, self._response = target, sigma, response
        self._shape = (target.rows, rank)
        size = target.rows * rank
        loss_hessian = _symmetric(curvatures(self._loss, [mpf(0)] * size), size)
        self._energy_hessian = loss_hessian + mp.eye(size) / response

    def _loss(self, *x: mpf) -> mpf:
        length, rank = self._shape
        field = matrix([x[rank * k : rank * (k + 1)] for k in range(length)])
        return definition.loss(field, self._target, self._sigma)

    def force(self, direction: matrix) -> matrix:
        """g in the first direction for small w along the direction, in units of that."""
        length, rank = self._shape
        w = mp.zeros(length * rank, 1)
        for token in range(length):
            w[rank * token] = _SMALL * direction[token]
        x = mp.zeros(length * rank, 1)
        # Newton's method with the Hessian at rest gains 60 digits a step.
        for _ in range(3):
            slope = (x - w) / self._response + matrix(slopes(self._loss, flat(x)))
            x -= mp.lu_solve(self._energy_hessian, slope)
        g = (x - w) / (self._response * _SMALL)
        return matrix([g[rank * token] for token in range(length)])


def _double_tangent(c: Coordinates, values: Values, target: matrix, b: mpf, sign: int) -> mpf:
    """The a beyond which the plateau is better than the valley, by numbers."""
    sigma, response = values[y.sigma], values[y.V]
    V = matrix([[response]])

    def energy(u: mpf, v: mpf, a: mpf) -> mpf:
        return definition.energy(tokens(c, [u, v]), tokens(c, [a, b]), V, target, sigma)

    a, z, v = sign * sigma * mp.sqrt(response), mpf(0), b
    for _ in range(12):

        def along_valley(z: mpf, v: mpf, a: mpf = a) -> mpf:
            return energy(z / b, v, a)

        slope = matrix(slopes(along_valley, [z, v]))
        bend = _symmetric(curvatures(along_valley, [z, v]), 2)
        step = mp.lu_solve(bend, slope)
        z, v = z - step[0], v - step[1]
        # The loss is flat on the plateau. The energies' difference has the slope (a - u)/V in a.
        a -= (along_valley(z, v) - energy(a, b, a)) * response / (a - z / b)
    return a


def _target_of_two(c: Coordinates, seed: int) -> tuple[Point, matrix]:
    """sigma, tau and delta with weights of the target between 0 and 1."""
    values = sample((*y.entries(c.target), y.sigma), seed)
    for weight in y.entries(c.target):
        values[weight] = abs(values[weight]) / 2
    target = filled(c.target, values)
    return {**values, **_target_parts(target)}, target


def _target_parts(target: matrix) -> Point:
    """tau is the determinant of T, whose eigenvalues are 1 and tau; delta is T_21 - T_12."""
    return {y.tau: mp.det(target), y.delta: target[1, 0] - target[0, 1]}


def _hessian_at_rest(c: Coordinates, target: matrix, sigma: mpf) -> matrix:
    """Second differences of the loss by definition at x = 0, all coordinates."""
    size = len(c.x)

    def loss(*x: mpf) -> mpf:
        return definition.loss(tokens(c, x), target, sigma)

    return _symmetric(curvatures(loss, [mpf(0)] * size), size)


def _first_direction(c: Coordinates, whole: matrix) -> matrix:
    """The block over tokens of a matrix over all coordinates."""
    length, rank = c.size.length, c.size.student_rank
    return matrix([[whole[rank * i, rank * j] for j in range(length)] for i in range(length)])


def _envelope_hessian(H: matrix, response: mpf) -> matrix:
    """Second derivatives of min over x of |x - w|^2/(2 V) + x^T H x/2, from values of it."""

    def envelope(w: matrix) -> mpf:
        x = mp.lu_solve(H + mp.eye(H.rows) / response, w / response)
        apart = x - w
        return ((apart.T * apart)[0] / response + (x.T * H * x)[0]) / 2

    units = _unit_vectors(H.rows)
    alone = [envelope(unit) for unit in units]
    return matrix(
        [
            [envelope(first + second) - alone[i] - alone[j] for j, second in enumerate(units)]
            for i, first in enumerate(units)
        ]
    )


def _rows_of_sum_one(T: matrix) -> matrix:
    return matrix([[x / mp.fsum(row) for x in row] for row in T.tolist()])


def _unit_vectors(size: int) -> list[matrix]:
    return [mp.eye(size)[:, k] for k in range(size)]


def _symmetric(triangle: Sequence[mpf], size: int) -> matrix:
    """The symmetric matrix whose upper triangle, row by row, is given."""
    result = mp.zeros(size, size)
    places = [(i, j) for i in range(size) for j in range(i, size)]
    for (i, j), value in zip(places, triangle, strict=True):
        result[i, j] = result[j, i] = value
    return result


def _entries(symbols: sp.MatrixBase, numbers: matrix) -> Point:
    """The values of those entries that are symbols."""
    return {name: x for name, x in zip(symbols, flat(numbers), strict=True) if name.is_Symbol}


def _digits_for(size: mpf) -> int:
    """Digits with which the differences of logits of order size^2 are known to 50."""
    return DIGITS + int(2 * mp.log10(size)) + 10
