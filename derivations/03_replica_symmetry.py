"""Replica symmetry: the ansatz, symbolic n, and the limit of no replicas."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import sympy as sp
from mpmath import matrix, mp, mpf

from symattn.symbolic import channel, definition, free_energy, moments, quadratic
from symattn.symbolic import symbols as y
from symattn.symbolic.checks import (
    Case,
    agree,
    filled,
    flat,
    gaussian_mean,
    gaussian_nodes,
    sample,
    signs,
)
from symattn.symbolic.coordinates import Coordinates, coordinates
from symattn.symbolic.derivation import Chapter, Check, Equation, Step
from symattn.symbolic.points import Point, assigned, linear_channel, named_overlaps
from symattn.symbolic.size import Size


def chapter(size: Size) -> Chapter:
    c = coordinates(size)
    return Chapter(
        "Replica symmetry",
        r"$\Phi_n$ does not change when replicas are permuted. If its extremum does not either, a "
        r"few numbers describe all replicas, and $n$ becomes a symbol. The limit $n \to 0$ gives "
        r"the mean of $\ln Z$.",
        (
            _ansatz(c),
            _matrices(c),
            _measure(c),
            _decoupling(),
            _replica_limit(),
            _row(c),
            _free_entropy(c),
        ),
    )


def _ansatz(c: Coordinates) -> Step:
    symmetric = free_energy.unscaled(c.order_parameters)
    rank = c.size.student_rank
    equations = [
        Equation(_entry(f"{letter}_{{{places}}}", i, j, rank), block[i, j])
        for letter, whole in (
            ("q", symmetric.overlap_matrix),
            (r"\tilde q", symmetric.conjugate_matrix),
        )
        for places, block in (("aa", whole.own + whole.shared), ("ab", whole.shared))
        for i in range(rank)
        for j in range(i, rank)
    ]

    def case(seed: int) -> Case:
        values, overlaps = _posterior(c, seed)
        k = values[y.stiffness]
        one = mp.eye(rank)
        chi, q = (filled(x, values) for x in (symmetric.overlaps.V, symmetric.overlaps.q))
        # What differs between two replicas, and what they have in common, are independent.
        apart, together = ((one + k * x) ** -1 for x in (chi, chi + 2 * q))
        values.update(assigned(symmetric.conjugates.V, values[y.alpha] * k * apart))
        values.update(
            assigned(symmetric.conjugates.q, values[y.alpha] * k * (apart - together) / 2)
        )
        slopes = _conjugates_of_two(definition.replica_matrix(chi, q, 2), k, values[y.alpha])
        blocks = (slopes[:rank, :rank], slopes[:rank, rank:])
        return values, [x for block in (*overlaps, *blocks) for x in channel.upper(block)]

    return Step(
        key="ansatz",
        title="The replica-symmetric ansatz",
        statement="For $a \\ne b$, with $m_l$ and $\\theta$ and their conjugates the same in all "
        "replicas:",
        equations=tuple(equations),
        reason="Replicas are independent draws of $Q$ from one Gibbs measure. The ansatz says that "
        "in high dimension two of them always have the same overlap, as in a measure with a single "
        "valley. $\\chi$ is the fluctuation of $Q$ in it.",
        assumptions=(
            "The extremum is symmetric under permutations of the replicas [2]. This is right for "
            "convex losses, where the Gibbs measure is log-concave. In general it can only be "
            "right where it is locally stable"
            + (" (@replicon), which does not prove it." if rank == 1 else ", which is not proof."),
            "Of solutions that differ by a symmetry of the model (@symmetries), such as $Q \\to "
            "-Q$, one is chosen.",
        ),
        check=Check(
            "two draws from the Gibbs measure of a small explicit ridge regression, by nodes that "
            "are exact for it; conjugates as differences of the average (@sample_average) of two "
            "replicas. To 40 digits.",
            lambda formulas: agree(formulas, case, points=2),
        ),
        postulate=True,
    )


def _posterior(c: Coordinates, seed: int) -> tuple[Point, tuple[matrix, matrix]]:
    """The Gibbs measure of ridge regression in two dimensions: q, chi, and the mean overlaps.

    The columns of Q are independent, of precision beta H about their mean; H = A A^T.
    """
    symmetric = free_energy.unscaled(c.order_parameters)
    rank, dimension = c.size.student_rank, 2
    centre, root = y.rectangular("c", dimension, rank), y.rectangular("A", dimension, dimension)
    values = sample((*centre, *root, y.alpha, y.beta, y.sigma, y.stiffness), seed)
    mean, factor = filled(centre, values), filled(root, values)
    covariance = (values[y.beta] * factor * factor.T) ** -1
    spread, scale = mp.cholesky(covariance), values[y.sigma] ** 2 / dimension
    chi = scale * definition.trace(covariance) * mp.eye(rank)
    values.update(assigned(symmetric.overlaps.q, scale * mean.T * mean))
    values.update(assigned(symmetric.overlaps.V, chi))

    def overlap(i: int, j: int, *, same: bool) -> mpf:
        """The mean of the overlap of columns i and j of one replica, or of two."""
        total = mpf(0)
        for weight, nodes in gaussian_nodes(2 * dimension):
            first, second = matrix(nodes[:dimension]), matrix(nodes[dimension:])
            left = mean[:, i] + spread * first
            right = mean[:, j] + spread * (first if same and i == j else second)
            total += weight * scale * (left.T * right)[0]
        return total

    found = [
        matrix([[overlap(i, j, same=same) for j in range(rank)] for i in range(rank)])
        for same in (True, False)
    ]
    return values, (found[0], found[1])


def _conjugates_of_two(overlaps: matrix, k: mpf, alpha: mpf) -> matrix:
    """Conjugates at the extremum for the loss k |x|^2/2, by differences in the overlaps."""
    count = overlaps.rows
    found = matrix(count, count)
    for i in range(count):
        for j in range(i, count):

            def average(moved: mpf, i: int = i, j: int = j) -> mpf:
                spread = mp.eye(count) + k * overlaps
                spread[i, j] += k * moved
                spread[j, i] = spread[i, j]
                return -mp.log(mp.det(spread)) / 2

            # q~_cc/2 and q~_cd balance the slopes.
            slope = -alpha * mp.diff(average, 0)
            found[i, j] = found[j, i] = 2 * slope if i == j else slope
    return found


def _matrices(c: Coordinates) -> Step:
    symmetric = free_energy.unscaled(c.order_parameters)
    overlap, conjugate = symmetric.overlap_matrix, symmetric.conjugate_matrix
    block = y.symmetric("source", c.size.student_rank)

    def case(seed: int) -> Case:
        count = _replicas(seed)
        blocks = (overlap.own, overlap.shared, conjugate.own, block)
        values = {y.n: mpf(count), **_positive_definite(blocks, seed)}
        values.update(sample(y.entries(conjugate.shared), seed))
        left, right = (
            definition.replica_matrix(filled(x.own, values), filled(x.shared, values), count)
            for x in (overlap, conjugate)
        )
        everywhere = definition.replica_matrix(
            mp.zeros(block.rows, block.rows), filled(block, values), count
        )
        return values, [
            mp.log(mp.det(left)),
            definition.trace(left**-1 * everywhere),
            definition.trace(left * right),
        ]

    one, all_ones = r"I_n\otimes", r"\mathbf{1}\mathbf{1}^\top\otimes"
    whole = rf"{one}\chi + {all_ones} q"
    return Step(
        key="replica_matrices",
        title="Matrices over symbolic replicas",
        statement=rf"The overlaps of all replicas are the matrix ${whole}$. For such matrices:",
        equations=(
            Equation(rf"\ln\det\left({whole}\right)", overlap.log_determinant()),
            Equation(
                rf"\mathrm{{Tr}}\left[\left({whole}\right)^{{-1}}{all_ones} B\right]",
                overlap.summed_inverse_with(block),
            ),
            Equation(
                rf"\mathrm{{Tr}}\left({whole}\right)"
                rf"\left({one}\tilde\chi - {all_ones}\tilde q\right)",
                overlap.trace_with(conjugate),
            ),
        ),
        reason=r"The matrix acts as $\chi$ on the $n - 1$ combinations of replicas that sum to "
        r"zero, and as $\chi + n q$ on their sum.",
        check=Check(
            r"determinants, inverses and products of explicit matrices for $n = 1, \dots, 6$, to "
            "40 digits.",
            lambda formulas: agree(formulas, case, points=_MOST_REPLICAS),
        ),
    )


def _measure(c: Coordinates) -> Step:
    p = c.order_parameters
    symmetric = free_energy.unscaled(p)
    overlaps, conjugates = symmetric.overlaps, symmetric.conjugates
    free = (*overlaps.symbols, *conjugates.symbols, *y.entries(p.gram), y.beta, y.lam, y.sigma)

    def case(seed: int) -> Case:
        count = _replicas(seed)
        values: Point = {y.n: mpf(count), **sample(free, seed)}
        values.update(_positive_definite((conjugates.V, -conjugates.q), seed))
        roles = []
        for whole, role in (
            (symmetric.overlap_matrix, overlaps),
            (symmetric.conjugate_matrix, conjugates),
        ):
            own, shared, m, theta = (
                filled(x, values) for x in (whole.own, whole.shared, role.m, role.theta)
            )
            roles.append(
                (
                    definition.replica_matrix(own, shared, count),
                    _stacked(m.T, count).T,
                    _stacked(theta, count),
                )
            )
        return values, [
            definition.overlap_action(
                *roles, filled(p.gram, values), values[y.beta] * values[y.lam], values[y.sigma]
            )
        ]

    return Step(
        key="symmetric_measure",
        title="The measure of symmetric overlaps",
        statement="The entropic part (@overlap_measure) at the ansatz, for symbolic $n$:",
        equations=(
            Equation(
                r"\Phi_n - \alpha\ln\mathbb{E}\,e^{-\beta\sum_a\ell}", symmetric.overlap_action()
            ),
        ),
        reason=r"(@replica_matrices) in (@overlap_measure). The precision of a row of $(Q_1, "
        r"\dots, Q_n)$ is such a matrix "
        "too.",
        check=Check(
            "traces, determinants and inverses of explicit matrices over all columns for "
            "$n = 1, \\dots, 6$, to 40 digits.",
            lambda formulas: agree(formulas, case, points=_MOST_REPLICAS),
        ),
    )


def _decoupling() -> Step:
    m, q, chi = _one_field()
    logarithm = quadratic.log_of_replicas(m, q, chi)
    fourth = moments.of_two_replicas(lambda x: x**2, m, q, chi)

    def case(seed: int) -> Case:
        count = _replicas(seed)
        values = {y.n: mpf(count), **sample((m, q, chi, y.beta, y.stiffness), seed)}
        curvature = values[y.beta] * values[y.stiffness]
        own, shared = matrix([[values[chi]]]), matrix([[values[q]]])
        spread = mp.eye(count) + curvature * definition.replica_matrix(own, shared, count)
        centre = matrix([values[m]] * count)
        shifted = (centre.T * spread**-1 * centre)[0]
        logarithm = -(mp.log(mp.det(spread)) + curvature * shifted) / 2
        root = mp.cholesky(definition.replica_matrix(own, shared, 2))
        squares = mpf(0)
        for weight, nodes in gaussian_nodes(2):
            fields = flat(root * matrix(nodes))
            squares += weight * mp.fprod((values[m] + x) ** 2 for x in fields)
        return values, [logarithm, squares]

    return Step(
        key="decoupling",
        title="Independent replicas at a common field",
        statement=r"Fields with covariance $q + \chi\delta_{ab}$ are a common field $w$ plus a "
        r"noise for each replica, $x^a = w + \chi^{1/2}\xi^a$, with the law (@law) of $w$. Given "
        r"$w$ replicas are independent: $\mathbb{E}\,e^{-\beta\sum_a\ell(x^a)} = "
        r"\mathbb{E}[\mathcal{Z}(w)^n]$ with $\mathcal{Z}(w) = \mathbb{E}_\xi\,e^{-\beta\ell(w + "
        r"\chi^{1/2}\xi)}$. Now $n$ need not be whole. For the quadratic loss of "
        r"(@sample_average), and for $x^2$ in place of $e^{-\beta\ell}$ with $n = 2$, $m$ and $q$ "
        r"mean and variance of $w$:",
        equations=(
            Equation(r"\ln\mathbb{E}[\mathcal{Z}(w)^n]", logarithm),
            Equation(r"\mathbb{E}[(x^1)^2(x^2)^2]", fourth),
        ),
        reason=r"The Hubbard-Stratonovich identity, $e^{q j^2/2} = \mathbb{E}_\eta\,e^{\sqrt "
        r"q\,\eta j}$ with $j = \sum_a j_a$, in the generating function (@replicated_fields).",
        check=Check(
            "determinant and inverse of the explicit covariance of the fields of all replicas for "
            "$n = 1, \\dots, 6$; the other mean by nodes for two correlated fields. To 40 digits.",
            lambda formulas: agree(formulas, case, points=_MOST_REPLICAS),
        ),
    )


def _replica_limit() -> Step:
    m, q, chi = _one_field()
    slope = sp.diff(quadratic.log_of_replicas(m, q, chi), y.n).subs(y.n, 0)

    def case(seed: int) -> Case:
        values = sample((m, q, chi, y.beta, y.stiffness), seed)
        curvature = values[y.beta] * values[y.stiffness]

        def log_partition(w: mpf) -> mpf:
            width = mp.sqrt(values[chi])
            return mp.log(gaussian_mean(lambda z: mp.exp(-curvature * (w + width * z) ** 2 / 2)))

        mean = mpf(0)
        for weight, (node,) in gaussian_nodes(1):
            mean += weight * log_partition(values[m] + mp.sqrt(values[q]) * node)
        return values, [mean]

    return Step(
        key="replica_limit",
        title="No replicas",
        statement=r"$\mathbb{E}[\ln\mathcal{Z}] = \lim_{n\to0}(\mathbb{E}[\mathcal{Z}^n] - 1)/n = "
        r"\frac{\mathrm{d}}{\mathrm{d}n}\ln\mathbb{E}[\mathcal{Z}^n]|_{n=0}$, for the channel "
        r"and, with $d\,\Phi_n$ at its extremum on the right, for the whole: $\mathbb{E}[\ln Z]/d "
        r"\to \frac{\mathrm{d}}{\mathrm{d}n}\Phi_n|_{n=0}$. For the example (@decoupling):",
        equations=(
            Equation(r"\mathbb{E}[\ln\mathcal{Z}(w)]", sp.factor_terms(sp.expand_log(slope))),
        ),
        reason=r"$\mathcal{Z}^n = 1 + n\ln\mathcal{Z} + O(n^2)$. For the channel, where $n$ need "
        r"not be whole, this is mathematics. For the whole it is the replica trick: $\Phi_n$ is "
        r"known at whole $n$, where $d \to \infty$ was taken first.",
        assumptions=(
            r"$\Phi_n$ at whole $n$ continues to $n \to 0$ as written, and the limits $n \to 0$ "
            r"and $d \to \infty$ may be exchanged.",
        ),
        check=Check(
            "the logarithm of one replica's average by the trapezoidal rule, and its mean over $w$ "
            "by nodes that are exact for it, to 40 digits. For the whole, (@free_entropy) and "
            "(@thermal) are compared with ridge regression.",
            lambda formulas: agree(formulas, case, points=2),
        ),
        postulate=True,
    )


def _row(c: Coordinates) -> Step:
    p = c.order_parameters
    symmetric = free_energy.unscaled(p)
    own = symmetric.precision.own
    value = symmetric.row_entropy(
        sp.log(channel.determinant(own)), channel.inverse(own), symmetric.source
    )
    conjugates = symmetric.conjugates
    rank, length, target = c.size.student_rank, c.size.length, c.size.target_rank
    encodings = y.rectangular("p", length, 1 if c.size.is_rotated else length)

    def case(seed: int) -> Case:
        free = (*conjugates.symbols, *encodings, y.beta, y.lam, y.sigma)
        values: Point = sample(free, seed)
        values.update(_positive_definite((conjugates.V, conjugates.q), seed))
        root = mp.cholesky(filled(conjugates.q, values))
        p_rows = matrix([1, -1]) if c.size.is_rotated else filled(encodings, values)
        values.update(assigned(p.gram, p_rows * p_rows.T))
        sigma = values[y.sigma]
        precision = filled(own, values)
        m, theta = (filled(x, values) for x in (conjugates.m, conjugates.theta))
        squares = []
        for pulls in signs(rank + target + p_rows.cols):
            noise, teacher = matrix(pulls[:rank]), matrix(pulls[rank : rank + target])
            encoding = p_rows * matrix(pulls[rank + target :])
            pull = sigma * root * noise + sigma**2 * theta * teacher + m.T * encoding
            squares.append((pull.T * precision**-1 * pull)[0])
        square = mp.fsum(squares) / len(squares)
        return values, [(rank * mp.log(2 * mp.pi) - mp.log(mp.det(precision)) + square) / 2]

    return Step(
        key="row_entropy",
        title="One row of one replica",
        statement=r"The part of $\frac{\mathrm{d}}{\mathrm{d}n}\Phi_n|_{n=0}$ that the rows of "
        "$Q$ give, $\\psi$:",
        equations=(Equation(r"\psi", value),),
        reason=r"By (@replica_matrices) $\frac{\mathrm{d}}{\mathrm{d}n}\ln\det(I_n\otimes\chi + "
        r"\mathbf{1}\mathbf{1}^\top\otimes q)|_{n=0} = \ln\det\chi + \mathrm{Tr}\,\chi^{-1}q$, and "
        r"$n(\chi + nq)^{-1}$ has the slope $\chi^{-1}$. Here they are taken of the precision of a "
        r"row, $I_n\otimes(\beta\lambda + \sigma^2\tilde\chi) - \mathbf{1}\mathbf{1}^\top\otimes"
        r"\sigma^2\tilde q$.",
        check=Check(
            "decoupled by hand: the rows of a replica see a common Gaussian pull of variance "
            r"$\sigma^2\tilde q$ besides those of $p_l$ and $Q^\star$, and the logarithm of the "
            "integral over one row is averaged over the pulls, as a mean over signs, to 40 digits.",
            lambda formulas: agree(formulas, case, points=2),
        ),
    )


def _free_entropy(c: Coordinates) -> Step:
    p = c.order_parameters
    symmetric = free_energy.unscaled(p)
    value = free_energy.finite_temperature(p, y.log_channel)

    def case(seed: int) -> Case:
        problem, values = linear_channel(c, seed)
        values.update(sample((y.beta,), seed + 1))
        alpha, lam, beta = values[y.alpha], values[y.lam], values[y.beta]
        # beta only multiplies loss and penalty: the saddle point of beta = 1 with both enlarged.
        hot = replace(problem, stiffness=beta * problem.stiffness)
        overlaps, conjugates = hot.saddle(alpha, beta * lam)
        values.update(named_overlaps(symmetric.overlaps, overlaps))
        values.update(named_overlaps(symmetric.conjugates, conjugates))
        values[y.log_channel] = hot.log_partition(overlaps, mpf(1))
        return values, [-beta * problem.free_energy(alpha, lam, beta)]

    return Step(
        key="free_entropy",
        title="The free energy at a finite temperature",
        statement=r"$-\beta f = \lim \mathbb{E}[\ln Z]/d$ is the extremum of the following, with "
        r"$\mathbb{E}[\ln\mathcal{Z}]$ the mean over $(h^\star, w)$ of the logarithm of "
        "(@decoupling) for all tokens of a sample:",
        equations=(Equation(r"-\beta f", value),),
        reason="The slopes in $n$ at $n = 0$ of (@replica_matrices), (@symmetric_measure) and "
        "(@decoupling), where (@row_entropy) is the part of "
        "the rows. Terms of order $n^2$ drop out.",
        assumptions=("Replica symmetry (@ansatz) and the limit of no replicas (@replica_limit).",),
        check=Check(
            "for ridge regression $Z$ is a Gaussian integral, and the Marchenko-Pastur law gives "
            "its minimum and its determinant without replicas. At the saddle point they agree to "
            "40 digits.",
            lambda formulas: agree(formulas, case),
        ),
    )


_MOST_REPLICAS = 6


def _replicas(seed: int) -> int:
    """From 1 to 6: each of them for six seeds in a row."""
    return 1 + seed % _MOST_REPLICAS


def _one_field() -> tuple[sp.Symbol, sp.Symbol, sp.Symbol]:
    """The mean and variance of a component of w, and chi."""
    q, chi = sp.symbols("q chi", positive=True)
    return sp.Symbol("m", real=True), q, chi


def _positive_definite(blocks: Sequence[sp.MatrixBase], seed: int) -> Point:
    """Values of the symbols in blocks that make each of them positive definite."""
    roots = [y.rectangular(f"root{i}", x.rows, x.rows) for i, x in enumerate(blocks)]
    numbers = sample([x for root in roots for x in root], seed)
    values: Point = {}
    for block, root in zip(blocks, roots, strict=True):
        factor = filled(root, numbers)
        values.update(assigned(block, factor * factor.T + mp.eye(factor.rows) / 5))
    return values


def _stacked(block: matrix, count: int) -> matrix:
    """The rows of a block, count times."""
    return matrix([block[i % block.rows, :].tolist()[0] for i in range(count * block.rows)])


def _entry(name: str, i: int, j: int, rank: int) -> str:
    """LaTeX of an entry of a block, which has no indices where it is a number."""
    return name if rank == 1 else f"({name})_{{{i + 1}{j + 1}}}"
