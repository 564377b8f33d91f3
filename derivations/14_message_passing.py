"""The same equations from message passing: its state evolution, and that its fixed points agree."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import sympy as sp
from mpmath import matrix, mp, mpf

from symattn.symbolic import hats, losses, message_passing, ridge, zero_point
from symattn.symbolic import symbols as y
from symattn.symbolic.checks import (
    Case,
    CaseOfLaw,
    Outcome,
    agree,
    agree_in_mean,
    filled,
    flat,
    random_matrix,
    sample,
    signs,
)
from symattn.symbolic.coordinates import Coordinates, coordinates
from symattn.symbolic.derivation import Chapter, Check, Equation, Step
from symattn.symbolic.functions import mean
from symattn.symbolic.latex import formula
from symattn.symbolic.overlaps import OrderParameters
from symattn.symbolic.points import Point, assigned, linear_channel, named_overlaps
from symattn.symbolic.size import Size


def chapter(size: Size) -> Chapter:
    c = coordinates(size)
    steps = [_iteration(c), _law(c), _stein(c), _estimate(c), _saddle(c)]
    if size.student_rank == 1:
        steps.append(_stability(c))
    return Chapter(
        "Message passing",
        "Approximate message passing looks for a minimum of the risk by iterations, whose state "
        "follows simple equations as $d$ grows [6, 7]; no replicas are involved. The fixed points "
        "of these equations are the saddle points, (@hats) and (@ridge).",
        tuple(steps),
    )


def _iteration(c: Coordinates) -> Step:
    p = c.order_parameters
    rank = c.size.student_rank
    field, force = y.fields("x", 1, rank), y.fields("g", 1, rank)
    descent, gamma, estimate = (y.rectangular(x, 1, rank) for x in ("descent", "Gamma", "Q"))
    named = [
        (y.fields("w", 1, rank), message_passing.effective_field(field, force, p.overlaps.V)),
        (gamma, message_passing.effective_gradient(descent, estimate, p)),
        (estimate, message_passing.denoised(gamma, p)),
    ]
    pairs = [(x, v) for names, values in named for x, v in zip(names, values, strict=True)]

    def case(seed: int) -> Case:
        # The minimum of k |A Q - Y|^2/2 + lambda |Q|^2/2, with one row of A a token.
        values = sample(
            (*y.entries(p.overlaps.V), *y.entries(p.hats.V), y.sigma, y.lam, y.alpha), seed
        )
        A, Y = (_numbers(4, columns, seed + columns) for columns in (5, rank))
        stiffness, lam = mpf(5) / 3, values[y.lam]
        Q = _solved(A.T * A + lam / stiffness * mp.eye(A.cols), A.T * Y)
        g = stiffness * (Y - A * Q)
        V, V_hat = (filled(x, values) for x in (p.overlaps.V, p.hats.V))
        D = lam * mp.eye(rank) + values[y.sigma] ** 2 * V_hat
        # The prox of this loss is (w + k y V)(1 + k V)^-1: here it must be the field A Q.
        w = (A * Q)[0, :] * (mp.eye(rank) + stiffness * V) - stiffness * Y[0, :] * V
        values.update(zip(field, flat((A * Q)[0, :]), strict=True))
        values.update(zip(force, flat(g[0, :]), strict=True))
        values.update(zip(descent, flat((A.T * g)[0, :]), strict=True))
        values.update(zip(gamma, flat(Q[0, :] * D), strict=True))
        values.update(zip(estimate, flat(Q[0, :]), strict=True))
        values.update(assigned(ridge.resolvent_symbol(p), D**-1))
        return values, [*flat(w), *flat(Q[0, :] * D), *flat(Q[0, :])]

    return Step(
        key="amp_iteration",
        title="The iteration",
        statement=r"For each sample and token $z_l$, with the field $x_l = (z_l + p_l)\cdot Q/"
        r"\sqrt d$, and for each dimension, with $\Xi = \sum_{\mu l}(z_l + p_l)g_l^\top/\sqrt d$ "
        r"over the samples $\mu$, the direction in which their loss falls. $g_l = V^{-1}(x_l^\star "
        r"- w_l)$ is taken at the new $w$, and in the first line at the one before; $D = \lambda + "
        r"\sigma^2\hat V$. Written for one token and one dimension:",
        equations=tuple(Equation(formula(name), value) for name, value in pairs),
        reason="The terms with $V$ and $\\hat V$ (Onsager's) take off what a sample's own past "
        "did to its field. They cancel at a fixed point: there the prox of $w$ is the student's "
        r"field, and $\lambda Q = \Xi$, so the gradient of the risk vanishes.",
        check=Check(
            "a risk with a quadratic loss and few samples: at its minimum, by linear algebra, all "
            "lines must hold for any $V$ and $\\hat V$, with $w$ the point whose prox is the "
            "field, to 40 digits.",
            lambda formulas: agree(formulas, case),
        ),
    )


def _law(c: Coordinates) -> Step:
    p = c.order_parameters
    found = message_passing.hats(p)

    def case(seed: int) -> Case:
        point = _polynomial(c, seed)
        return point.values, [point.hats[hat] for hat in found]

    return Step(
        key="amp_law",
        title="The law of an iteration",
        statement=r"$\Gamma = \sqrt d\sum_l p_l\hat m_l^\top + \sigma^2 Q^\star\hat\theta^\top + "
        r"\sigma\,\zeta\,\hat q^{1/2}$ with standard normal $\zeta$, and given $h^\star_l$ the "
        r"field $w_l$ has the law (@law), with",
        equations=tuple(Equation(formula(hat), value) for hat, value in found.items()),
        reason=r"By parts over the tokens, $\sum z_l g_l^\top/\sqrt d$ has the mean "
        r"$\alpha\sigma^2(Q\,\mathbb{E}[\partial g/\partial w]^\top + Q^\star\mathbb{E}[\partial g/"
        r"\partial h^\star]^\top)$, of which Onsager's term takes off the first part. Directions "
        r"orthogonal to $Q$ and $Q^\star$ are independent of $g$ and make the noise.",
        assumptions=(
            "$Q$ is independent of the samples, as it is in the first iteration.",
            "For later ones: Onsager's terms take off all memory, so that the law stays the same. "
            "This is a theorem for functions $g$ that are Lipschitz in $w$ [6], also with several "
            "tokens and directions [7]. " + _beyond_the_theorem(c),
        ),
        check=Check(
            "the first iteration is exact at any $d$: for a polynomial $g$, numerical means of "
            r"$(z_l + p_l) g_l^\top$ resolved along $Q$, $Q^\star$, $p_l$ and an orthogonal "
            "direction, by a rule for Gaussian tokens that is exact for it, to 40 digits.",
            lambda formulas: agree(formulas, case),
        ),
    )


def _beyond_the_theorem(c: Coordinates) -> str:
    """Where attention does not do what the theorem assumes."""
    jumps = "jumps at every $V$ (@sheets)" if c.size.is_rotated else "may jump"
    return (
        f"For attention the prox {jumps}, and $g$ with it. So there the law of later iterations is "
        "a conjecture, on which jumps have little influence where $w$ has little weight on them."
    )


def _stein(c: Coordinates) -> Step:
    p = c.order_parameters
    names = message_passing.target_divergence(p)

    def case(seed: int) -> Case:
        point = _polynomial(c, seed)
        return point.values, [point.values[name] for name in names]

    return Step(
        key="amp_stein",
        title="The target's signal without a derivative",
        statement=r"$\partial g/\partial h^\star$ at fixed $w$ needs the derivative of the prox in "
        "the target. Without it:",
        equations=tuple(
            Equation(formula(name), value)
            for name, value in zip(names, message_passing.stein(p), strict=True)
        ),
        reason=r"$\mathbb{E}[g\,h^{\star\top}] = \mathbb{E}[\partial g/\partial h^\star]\,\rho + "
        r"\mathbb{E}[\partial g/\partial w]\,\theta$: Stein's lemma for $(h^\star, w)$, whose "
        r"covariance is $\theta$.",
        check=Check(
            "means of a polynomial $g$ and of its derivatives in $w$ and $h^\\star$, by a rule for "
            "Gaussian tokens that is exact for it, to 40 digits.",
            lambda formulas: agree(formulas, case),
        ),
    )


def _estimate(c: Coordinates) -> Step:
    p = c.order_parameters
    found = message_passing.overlaps(p)
    length, rank, t = c.size.length, c.size.student_rank, c.size.target_rank

    def case(seed: int) -> Case:
        values = sample((*p.hats.symbols, y.sigma, y.lam), seed)
        sigma = values[y.sigma]
        root = _numbers(rank, rank, seed)
        values.update(assigned(p.hats.q, root * root.T))
        # Vectors with the products that the law gives them, in as many dimensions as that takes.
        dimension = length + t + rank
        basis = mp.eye(dimension)
        p_rows = mp.zeros(length, dimension)
        p_rows[:, :length] = (
            matrix([[1, 0], [-1, 0]]) if c.size.is_rotated else _numbers(length, length, seed + 1)
        )
        values.update(assigned(p.gram, p_rows * p_rows.T))
        target, noise = (
            mp.sqrt(dimension) * basis[:, start : start + count]
            for start, count in ((length, t), (length + t, rank))
        )
        m_hat, V_hat, theta_hat = (filled(x, values) for x in (p.hats.m, p.hats.V, p.hats.theta))
        gamma = mp.sqrt(dimension) * p_rows.T * m_hat
        gamma += sigma**2 * target * theta_hat.T + sigma * noise * root.T
        D = values[y.lam] * mp.eye(rank) + sigma**2 * V_hat
        values.update(assigned(ridge.resolvent_symbol(p), D**-1))
        Q = _solved(D, gamma.T).T
        numbers = (
            sigma**2 * Q.T * Q / dimension,
            p_rows * Q / mp.sqrt(dimension),
            sigma**2 * _solved(D, mp.eye(rank)),
            sigma**2 * Q.T * target / dimension,
        )
        expected = named_overlaps(p.overlaps, numbers)
        return values, [expected[overlap] for overlap in found]

    return Step(
        key="amp_estimate",
        title="The overlaps of an iteration",
        statement=r"The overlaps of $Q = \Gamma D^{-1}$, and $V = \frac{\sigma^2}{d}\sum_i\partial "
        r"Q_i/\partial\Gamma_i$:",
        equations=tuple(Equation(formula(overlap), value) for overlap, value in found.items()),
        reason=r"$p_l$, $Q^\star$ and the noise are orthogonal to one another for large $d$, so "
        "products of $Q$ are sums of three.",
        check=Check(
            r"vectors with these products and the minimiser of $\frac12\mathrm{Tr}\,Q D Q^\top - "
            r"\mathrm{Tr}\,\Gamma Q^\top$, by linear algebra, to 40 digits.",
            lambda formulas: agree(formulas, case),
        ),
    )


def _saddle(c: Coordinates) -> Step:
    p = c.order_parameters
    found = message_passing.saddle_point(p)

    def test(formulas: Sequence[sp.Expr]) -> Outcome:
        known = _replica_equations(p)
        differences = {
            name: sp.expand(value - known[name])
            for name, value in zip(found, formulas, strict=True)
        }
        wrong = [str(name) for name, value in differences.items() if value != 0]
        detail = f"{', '.join(wrong)} differ" if wrong else "all differences vanish identically"
        return Outcome(not wrong, detail)

    return Step(
        key="amp_saddle",
        title="Its fixed points are the saddle points",
        statement="With the target's signal put in, the equations of the state evolution are those "
        "that stationarity of the training loss gave:",
        equations=tuple(Equation(formula(name), value) for name, value in found.items()),
        reason=r"In (@hats) $\hat\theta$ has $\hat V$ for "
        r"$-\alpha\,\mathbb{E}[\mathrm{div}_w\,g]$, in "
        "(@ridge) $q$ has $B$ for the sum; all else is the same.",
        check=Check(
            "the differences from (@hats) and (@ridge), as derived there from the training loss, "
            "are identically 0 in all symbols.",
            test,
        ),
    )


@lru_cache(maxsize=4)
def _replica_equations(p: OrderParameters) -> dict[sp.Symbol, sp.Expr]:
    """The hats and the overlaps by stationarity, without names for V_hat and B in them."""
    of_hats = hats.hat_updates(p)
    responses = {hat: of_hats[hat] for hat in y.entries(p.hats.V)}
    source = dict(zip(ridge.source_symbol(p), losses.ridge_source(p), strict=True))
    return {
        **{hat: value.xreplace(responses) for hat, value in of_hats.items()},
        **{overlap: value.xreplace(source) for overlap, value in ridge.ridge_updates(p).items()},
    }


def _stability(c: Coordinates) -> Step:
    K = zero_point.curvature_symbols(c)
    V = y.V
    growth = message_passing.perturbation_growth(c, mean(zero_point.curvature_square(c)))

    def case(seed: int) -> CaseOfLaw:
        problem, values = linear_channel(c, seed)
        alpha, lam, sigma = (values[x] for x in (y.alpha, y.lam, y.sigma))
        stiffness = problem.stiffness[0, 0]

        def inverse_hessian(ridge: mpf) -> mpf:
            """Tr Hess^-1/d of the risk of ridge regression."""
            return problem.response(alpha, ridge / stiffness) / stiffness

        values[V] = sigma**2 * inverse_hessian(lam)
        curvature = mp.eye(K.rows) / (values[V] + 1 / stiffness)
        law = [(mpf(1), dict(zip(K, flat(curvature), strict=True)))]
        inverse_square = -mp.diff(inverse_hessian, lam)
        return values, law, [1 - values[V] ** 2 / (sigma**4 * inverse_square)]

    return Step(
        key="amp_stability",
        title="Stability of message passing",
        statement=r"How an iteration changes the mean square of a small random change of $Q$, with "
        r"$K = -\partial g/\partial w$. The change dies out where 1 minus this is positive, which "
        "is the replicon (@replicon). To converge, message passing also needs a fixed point of "
        "(@amp_law) and (@amp_estimate) that is stable for these equations:",
        equations=(
            Equation(r"\frac{\mathbb{E}|\mathrm{d}Q'|^2}{\mathbb{E}|\mathrm{d}Q|^2}", growth),
        ),
        reason=r"A change of $w$ of variance $\varepsilon$ changes $g$ by $-K\,\mathrm{d}w$, "
        r"$\Gamma$ by noise of variance $\sigma^2\alpha\,\mathbb{E}|K|_F^2\,\varepsilon$, $Q$ by "
        r"that over $D^2$ with $D = \sigma^2/V$, and the next $w$ by $\sigma^2$ times that.",
        assumptions=("The prox does not jump where $w$ has weight, as in (@replicon).",),
        check=Check(
            r"for ridge regression the replicon must be $V^2/(\sigma^4\,\mathrm{Tr}\,"
            r"\mathrm{Hess}^{-2}/d)$ with the Hessian of the risk, known from the Marchenko-Pastur "
            "law, and is to 40 digits.",
            lambda formulas: agree_in_mean(formulas, case),
        ),
    )


@dataclass(frozen=True)
class _Iteration:
    """The first iteration for a polynomial g: means under their names, and the hats by numbers."""

    values: Point
    hats: Point


@lru_cache(maxsize=16)
def _polynomial(c: Coordinates, seed: int) -> _Iteration:
    """g is the gradient in w of two cubes of linear forms in (w, h*), with few dimensions."""
    p = c.order_parameters
    length, rank, t = c.size.length, c.size.student_rank, c.size.target_rank
    dimension = rank + t
    values = sample((*y.entries(p.overlaps.m), y.alpha, y.sigma), seed)
    alpha, sigma = values[y.alpha], values[y.sigma]
    means = filled(p.overlaps.m, values)
    Q, target = _numbers(dimension, rank, seed), _numbers(dimension, t, seed + 1)
    target = mp.qr(target, mode="skinny")[0] * mp.sqrt(dimension)
    forms = [(_numbers(length, rank, seed + k), _numbers(length, t, seed + 9 + k)) for k in (3, 5)]

    encodings = matrix([1, -1]) if c.size.is_rotated else _numbers(length, length, seed + 2)
    averages = _averages(means, (Q, target, encodings), forms, sigma)

    # E[sum x g^T] sqrt(d) = -sigma^2 Q V_hat/alpha + sigma^2 Q* theta_hat^T/alpha
    basis = mp.zeros(dimension, dimension)
    basis[:, :rank], basis[:, rank:] = Q, target
    coefficients = alpha / sigma**2 * _solved(basis, averages.along)
    g_mean = averages.force
    if c.size.is_rotated:
        # p_1 = -p_2: only g_1 - g_2 counts.
        g_mean = (g_mean[0] - g_mean[1]) / 2 * matrix([1, -1])
    for symbols, numbers in (
        (p.means.gg, averages.square),
        (p.means.g, g_mean),
        (p.means.div, averages.by_w),
        (p.means.gh, averages.with_h),
        (message_passing.target_divergence(p), averages.by_h),
        (p.overlaps.theta, sigma**2 * Q.T * target / dimension),
    ):
        values.update(assigned(symbols, numbers))
    # sum_l p_l^T m_hat_l, from which m_hat without a part that all p_l are orthogonal to.
    positional = _solved(encodings.T * encodings, alpha * averages.positional)
    found = (
        alpha * averages.noise,
        encodings * positional,
        -coefficients[:rank, :].T,
        coefficients[rank:, :].T,
    )
    return _Iteration(values, named_overlaps(p.hats, found))


@dataclass
class _Averages:
    """Means over the tokens of a sample.

    along: sum_l z_l g_l^T sqrt(d) (d x r). positional: sum_l p_l g_l^T. force: g_l (L x r).
    square: sum_l g_l g_l^T. noise: the same along a direction orthogonal to Q and Q*.
    by_w, by_h: derivatives of sum_l g_l, from the formula for g. with_h: sum_l g_l h*_l^T.
    """

    along: matrix
    positional: matrix
    force: matrix
    square: matrix
    noise: matrix
    by_w: matrix
    by_h: matrix
    with_h: matrix


def _averages(
    means: matrix,
    columns: tuple[matrix, matrix, matrix],
    forms: Sequence[tuple[matrix, matrix]],
    sigma: mpf,
) -> _Averages:
    """By a rule that is exact here. columns: Q, Q* and the p_l; forms: linear in w and h*."""
    Q, target, encodings = columns
    (length, rank), (dimension, t) = (means.rows, means.cols), (target.rows, target.cols)
    shapes = (
        (dimension, rank), (encodings.cols, rank), (length, rank), (rank, rank), (rank, rank),
        (rank, rank), (rank, t), (rank, t),
    )  # fmt: skip
    sums = _Averages(*(mp.zeros(*shape) for shape in shapes))
    for weight, tokens in _gaussian_tokens(length, dimension, sigma):
        w, h = means + tokens * Q / mp.sqrt(dimension), tokens * target / mp.sqrt(dimension)
        g = mp.zeros(length, rank)
        for of_w, of_h in forms:
            linear = _dot(of_w, w) + _dot(of_h, h)
            g += linear**2 / 2 * of_w
            sums.by_w += weight * linear * of_w.T * of_w
            sums.by_h += weight * linear * of_w.T * of_h
        sums.along += weight * mp.sqrt(dimension) * tokens.T * g
        sums.positional += weight * encodings.T * g
        sums.force += weight * g
        sums.square += weight * g.T * g
        sums.with_h += weight * g.T * h
        for orthogonal in map(matrix, signs(length)):
            sums.noise += weight / 2**length * (g.T * orthogonal) * (orthogonal.T * g)
    return sums


def _gaussian_tokens(length: int, dimension: int, sigma: mpf) -> Iterator[tuple[mpf, matrix]]:
    """Weights and tokens of independent normal components, exact for polynomials of degree 5."""
    size = length * dimension
    units = [mp.eye(size)[:, k] for k in range(size)]
    alone, together = mp.sqrt(size + 2), mp.sqrt(mpf(size + 2) / 2)
    nodes = [(mpf(2) / (size + 2), mp.zeros(size, 1))]
    for i, first in enumerate(units):
        weight = mpf(4 - size) / (2 * (size + 2) ** 2)
        nodes += [(weight, sign * alone * first) for sign in (1, -1)]
        for second in units[i + 1 :]:
            nodes += [
                (mpf(1) / (size + 2) ** 2, together * (sign * first + other * second))
                for sign in (1, -1)
                for other in (1, -1)
            ]
    for weight, node in nodes:
        rows = [node[dimension * k : dimension * (k + 1)] for k in range(length)]
        yield weight, sigma * matrix([flat(row) for row in rows])


def _numbers(rows: int, columns: int, seed: int) -> matrix:
    return random_matrix(rows, columns, random.Random(seed))


def _dot(left: matrix, right: matrix) -> mpf:
    return mp.fsum(a * b for a, b in zip(flat(left), flat(right), strict=True))


def _solved(system: matrix, right: matrix) -> matrix:
    """X with system X = right, column by column."""
    columns = [flat(mp.lu_solve(system, right[:, k])) for k in range(right.cols)]
    return matrix(columns).T
