"""The replicated partition function: averages over the data and over Q at a whole number n."""

from __future__ import annotations

import sympy as sp
from mpmath import matrix, mp, mpf

from symattn.symbolic import definition, quadratic
from symattn.symbolic import symbols as y
from symattn.symbolic.checks import (
    Case,
    agree,
    filled,
    flat,
    gaussian_mean,
    sample,
    slopes,
)
from symattn.symbolic.coordinates import Coordinates, coordinates
from symattn.symbolic.derivation import Chapter, Check, Equation, Step
from symattn.symbolic.free_energy import ReplicaSymmetric
from symattn.symbolic.overlaps import Overlaps
from symattn.symbolic.points import assigned
from symattn.symbolic.size import Size


def chapter(size: Size) -> Chapter:
    columns = Columns(coordinates(size))
    return Chapter(
        "The replicated partition function",
        r"$Z = \int \mathrm{d}Q\,\exp(-\beta\,\mathrm{risk}(Q))$ gives the training loss as "
        r"$\epsilon_t = -\lim_{\beta\to\infty}\lim_{d\to\infty} \mathbb{E}[\ln Z]/(\beta d)$. For "
        r"a whole number $n$ of replicas $\mathbb{E}[Z^n]$ is an integral over $Q_1, \dots, Q_n$, "
        r"in which the data can be averaged: "
        r"$\mathbb{E}[Z^n] = \int \prod_a \mathrm{d}Q_a\, e^{-\beta\lambda|Q_a|^2/2}\,"
        r"\left(\mathbb{E}\,e^{-\beta\sum_a\ell(x^a)}\right)^{\alpha d} = \int e^{d\,\Phi_n}$, the "
        "last one over overlaps. $Q^\\star$ is kept fixed. The index $c$ counts the columns of all "
        "replicas, replica by replica, $n r$ of them; the equations are written out for "
        rf"$n = {columns.replicas}$"
        + (r", with $m_c$ for the overlap with $p_1 = -p_2$." if size.is_rotated else "."),
        (_fields(columns), _average(columns), _measure(columns)),
    )


class Columns:
    """Overlaps of the columns of n replicas and their conjugates, as explicit matrices.

    q, q_tilde (N x N), m, m_tilde (L x N), theta, theta_tilde (N x t) for N = n r. Two replicas
    for one direction, one replica for more: that is N = r columns already.
    """

    def __init__(self, c: Coordinates) -> None:
        self.size = c.size
        self.gram, self.rho = c.order_parameters.gram, c.order_parameters.rho
        self.replicas = 2 if c.size.student_rank == 1 else 1
        self.count = self.replicas * c.size.student_rank
        self.q, self.m, self.theta = self._matrices("")
        self.conjugates = self._matrices("_tilde")

    def _matrices(self, mark: str) -> tuple[sp.ImmutableMatrix, ...]:
        count, length = self.count, self.size.length
        if self.size.is_rotated:
            half = sp.Rational(1, 2) if mark else sp.Integer(1)
            row = y.fields(f"m{mark}", count, 1).T * half
            m = sp.ImmutableMatrix.vstack(row, -row)
        else:
            m = y.rectangular(f"m{mark}", length, count)
        theta = y.fields(f"theta{mark}", count, self.size.target_rank)
        return y.symmetric(f"q{mark}", count), m, theta

    @property
    def encodings(self) -> int:
        """How many of the positional encodings are independent; the others follow from them."""
        return 1 if self.size.is_rotated else self.size.length

    def random(self, seed: int) -> tuple[dict[sp.Symbol, mpf], matrix]:
        """Values of overlaps that some Q has, of beta, lambda and sigma; and the encodings."""
        source = {
            name: y.rectangular(name, rows, columns)
            for name, rows, columns in (
                ("rest", self.count, self.count),
                ("p", self.encodings, self.encodings),
                ("positional", self.encodings, self.count),
            )
        }
        symbols = (
            y.beta,
            y.lam,
            y.sigma,
            *self.theta,
            *(x for part in source.values() for x in part),
        )
        values = sample(symbols, seed)
        rest, p, positional = (filled(part, values) for part in source.values())
        if self.size.is_rotated:
            p = matrix([[1]])
        gram, theta = p * p.T, filled(self.theta, values)
        fixed = theta * theta.T / values[y.sigma] ** 2
        fixed += values[y.sigma] ** 2 * positional.T * gram**-1 * positional
        values.update(assigned(self.q, rest * rest.T + fixed))
        values.update(assigned(self.m[: self.encodings, :], positional))
        if not self.size.is_rotated:
            values.update(assigned(self.gram, gram))
        return values, gram


def _fields(columns: Columns) -> Step:
    count, rank = columns.count, columns.size.target_rank
    source, target = y.fields("j", count, 1), y.fields("f", rank, 1)
    mean = (columns.m[0, :] * source)[0]
    covariances = (
        source.T * columns.q * source / 2
        + source.T * columns.theta * target
        + target.T * columns.rho * target / 2
    )
    exponent = mean + sp.expand(covariances[0])

    def case(seed: int) -> Case:
        # Q* has orthogonal columns of norm sqrt(d), as a random one has for large d.
        dimension = rank + 1
        q_rows, p_row = y.rectangular("Q", dimension, count), y.rectangular("p", dimension, 1)
        values = sample((*source, *target, *q_rows, *p_row, y.sigma), seed)
        student, encoding = filled(q_rows, values), filled(p_row, values)
        teacher = mp.sqrt(dimension) * mp.eye(dimension)[:, :rank]
        sigma2 = values[y.sigma] ** 2
        values.update(assigned(columns.q, sigma2 * student.T * student / dimension))
        values.update(assigned(columns.theta, sigma2 * student.T * teacher / dimension))
        values.update(assigned(columns.m[0, :], encoding.T * student / mp.sqrt(dimension)))
        pull = student * filled(source, values)
        pulls = (pull + teacher * filled(target, values)) / mp.sqrt(dimension)
        shift = (encoding.T * pull)[0] / mp.sqrt(dimension)
        logarithms = [
            mp.log(gaussian_mean(lambda z, a=a: mp.exp(a * values[y.sigma] * z)))
            for a in flat(pulls)
        ]
        return values, [shift + mp.fsum(logarithms)]

    return Step(
        key="replicated_fields",
        title="The joint law of the fields of all replicas",
        statement="At fixed $Q_1, \\dots, Q_n$ and $Q^\\star$ the fields of a token, "
        "$h^\\star_l$ and those of all columns, are jointly Gaussian, independent for each token. "
        "Their law only needs the overlaps: means $m_{lc}$, covariances $q_{cc'}$ among "
        r"columns and $\theta_{ck}$ with $h^\star_{lk}$. For the first token:",
        equations=(
            Equation(r"\ln\mathbb{E}\,e^{\sum_c j_c x_{1c} + \sum_k f_k h^\star_{1k}}", exponent),
        ),
        reason="The fields are linear in the components of the token, which are Gaussian. "
        r"$Q^{\star\top}\Sigma Q^\star/d \to \rho = \sigma^2 I$ as $d \to \infty$.",
        check=Check(
            "a product of integrals over the components of a token, for explicit $Q$, $Q^\\star$ "
            "and $p$ of small dimension, by the trapezoidal rule, to 40 digits.",
            lambda formulas: agree(formulas, case, points=2),
        ),
    )


def _average(columns: Columns) -> Step:
    count = columns.count
    centre = y.fields("m", count, 1)
    logarithm = quadratic.log_average(centre, columns.q)

    def case(seed: int) -> Case:
        values, _ = columns.random(seed)
        values.update(sample((*centre, y.stiffness), seed))
        # The squared norm is a sum along the eigenvectors of the covariance.
        variances, vectors = mp.eigsy(filled(columns.q, values))
        means = flat(vectors.T * filled(centre, values))
        curvature = values[y.beta] * values[y.stiffness]
        logarithms = [
            mp.log(
                gaussian_mean(
                    lambda z, a=a, v=v: mp.exp(-curvature * (a + mp.sqrt(v) * z) ** 2 / 2)
                )
            )
            for a, v in zip(means, flat(variances), strict=True)
        ]
        return values, [mp.fsum(logarithms)]

    return Step(
        key="sample_average",
        title="The average over a sample",
        statement=r"Samples are independent, so that the data enter $\Phi_n$ as "
        r"$\alpha\ln\mathbb{E}\,e^{-\beta\sum_a\ell(x^a)}$ with the law (@replicated_fields): the "
        r"energetic part. It is a function of the overlaps. For the loss $\gamma|x|^2/2$ it is "
        r"explicit; a token adds",
        equations=(Equation(r"\ln\mathbb{E}\,e^{-\beta\gamma\sum_c x_c^2/2}", logarithm),),
        reason="A Gaussian integral. This loss stands for the attention loss wherever an exact "
        "result is wanted to compare with.",
        check=Check(
            "one-dimensional integrals along the eigenvectors of the covariance, by the "
            "trapezoidal rule, to 40 digits.",
            lambda formulas: agree(formulas, case, points=2),
        ),
    )


def _measure(columns: Columns) -> Step:
    q_tilde, m_tilde, theta_tilde = columns.conjugates
    # All columns as those of a single replica.
    nothing = sp.zeros(columns.count)
    together = ReplicaSymmetric(
        Overlaps(nothing, columns.m, columns.q, columns.theta),
        Overlaps(nothing, m_tilde, q_tilde, theta_tilde),
        y.beta * y.lam,
        columns.gram,
        columns.rho,
    )
    action = together.overlap_action().subs(y.n, 1)

    def case(seed: int) -> Case:
        values, gram = columns.random(seed)
        sigma, penalty = values[y.sigma], values[y.beta] * values[y.lam]
        roles = (columns.q, columns.m[: columns.encodings, :], columns.theta)
        symbols = [x for role in roles for x in y.entries(role)]

        def entropy(*moved: mpf) -> mpf:
            at = {**values, **dict(zip(symbols, moved, strict=True))}
            overlaps = (filled(role, at) for role in roles)
            return definition.overlap_entropy(*overlaps, gram, penalty, sigma)

        point = [values[x] for x in symbols]
        slope_of = dict(zip(symbols, slopes(entropy, point), strict=True))
        # The extremum over conjugates has the slopes q~_cc/2, q~_cd, -m~ and -theta~.
        diagonal = set(columns.q.diagonal())
        for x, conjugate in zip(y.entries(columns.q), y.entries(q_tilde), strict=True):
            values[conjugate] = slope_of[x] * (2 if x in diagonal else 1)
        for role, conjugates in ((columns.m, m_tilde), (columns.theta, theta_tilde)):
            for x, conjugate in zip(y.entries(role), y.entries(conjugates), strict=True):
                values[conjugate] = -slope_of[x]
        return values, [entropy(*point)]

    return Step(
        key="overlap_measure",
        title="The measure of the overlaps",
        statement=r"How many $Q_1, \dots, Q_n$, weighed with $e^{-\beta\lambda|Q|^2/2}$, have "
        "given overlaps: the logarithm for each dimension is the extremum over conjugates (with a "
        r"tilde) of the following, the entropic part of $\Phi_n$:",
        equations=(Equation(r"\Phi_n - \alpha\ln\mathbb{E}\,e^{-\beta\sum_a\ell}", action),),
        reason="Fourier integrals fix the overlaps; in their exponent $Q$ is quadratic. Its rows "
        r"are independent, each with the precision $\beta\lambda + \sigma^2\tilde q$ over the "
        r"columns, and are pulled by $\sqrt d\sum_l p_l\tilde m_l$ and $\sigma^2\tilde\theta "
        r"Q^\star$. $p_l$ and $Q^\star$ are orthogonal up to $1/\sqrt d$, so the mean square of "
        r"the pull is $\sum_{lk}G_{lk}\tilde m_l\tilde m_k^\top + "
        r"\sigma^2\tilde\theta\rho\tilde\theta^\top$.",
        assumptions=(
            "Laplace's method in the $d$-fold exponent, for a fixed number of conjugates.",
        ),
        check=Check(
            "the Wishart density of a Gram matrix, from the surface of spheres, with what $p_l$ "
            r"and $Q^\star$ fix taken off; the conjugates are its slopes by differences. To 40 "
            "digits.",
            lambda formulas: agree(formulas, case, points=2),
        ),
    )
