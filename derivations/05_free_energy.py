"""The training loss as an extremum over overlaps and hats."""

from __future__ import annotations

import random
from collections.abc import Sequence

import sympy as sp
from mpmath import matrix, mp, mpf

from symattn.symbolic import definition, free_energy, losses, ridge
from symattn.symbolic import symbols as y
from symattn.symbolic.checks import Case, Outcome, agree, filled, random_matrix, sample
from symattn.symbolic.coordinates import Coordinates, coordinates
from symattn.symbolic.derivation import Chapter, Check, Equation, Step
from symattn.symbolic.points import at_saddle, ridge_parts, with_ridge_parts
from symattn.symbolic.size import Size


def chapter(size: Size) -> Chapter:
    c = coordinates(size)
    steps = [_thermal(c), _extremal(c)]
    if size.student_rank == 1:
        steps.append(_stability(c))
    return Chapter(
        "The training loss",
        "The free energy at zero temperature is the training loss. Overlaps and hats meet in one "
        "function. Its stationarity in the overlaps gives the hats (@hats), in the hats the "
        "overlaps (@ridge).",
        tuple(steps),
    )


def _thermal(c: Coordinates) -> Step:
    value = free_energy.thermal_part(c.order_parameters, y.log_hessian)

    def case(seed: int) -> Case:
        problem, values = at_saddle(c, seed)
        values.update(sample((y.beta,), seed + 1))
        alpha, lam, beta = values[y.alpha], values[y.lam], values[y.beta]
        V = filled(c.order_parameters.overlaps.V, values)
        hessian = mp.det(mp.eye(V.rows) + problem.stiffness * V)
        values[y.log_hessian] = c.size.length * mp.log(hessian)
        difference = problem.free_energy(alpha, lam, beta) - problem.train_loss(alpha, lam)
        return values, [difference]

    return Step(
        key="thermal",
        title="What vanishes with the temperature",
        statement=r"With the scalings (@scaling), and $\mathbb{E}[\ln\mathcal{Z}] = "
        r"-\beta\,\mathbb{E}[M] - \mathbb{E}[c_1] + \dots$ from (@laplace), the free energy "
        "(@free_entropy) exceeds its limit at the saddle point by",
        equations=(Equation(r"f - \epsilon_t", value),),
        reason="sympy's limit of each term. What is left is the entropy of the Gibbs measure; it "
        r"vanishes like $\ln\beta/\beta$.",
        assumptions=(r"Terms of order $1/\beta^2$ are left out; a quadratic loss has none.",),
        check=Check(
            "for ridge regression the entropy is the logarithm of a determinant, known from the "
            "Marchenko-Pastur law, to 40 digits.",
            lambda formulas: agree(formulas, case),
        ),
    )


def _extremal(c: Coordinates) -> Step:
    p = c.order_parameters
    form = losses.extremal_form(p, y.envelope, ridge.resolvent_symbol(p), ridge.source_symbol(p))
    named = ridge_parts(c)

    def test(formulas: Sequence[sp.Expr]) -> Outcome:
        value, *parts = formulas

        def case(seed: int) -> Case:
            problem, values = at_saddle(c, seed)
            return with_ridge_parts(c, values, parts), [
                problem.train_loss(values[y.alpha], values[y.lam])
            ]

        return agree([value], case)

    return Step(
        key="extremal",
        title="The training loss as an extremum",
        statement=r"$\epsilon_t$ is the extremum over all overlaps and hats of the following, with "
        r"$D = \lambda + \sigma^2\hat V$ and "
        r"$B = \sigma^2\hat q + \sum_{lk}G_{lk}\hat m_l\hat m_k^\top + \sigma^2\hat\theta\rho"
        r"\hat\theta^\top$:",
        equations=(
            Equation(r"\epsilon_t", form),
            *(Equation(name, value) for name, _, value in named),
        ),
        reason=r"The limit $\beta \to \infty$ of (@free_entropy), term by term, with (@scaling) "
        r"and $-\mathbb{E}[\ln\mathcal{Z}]/\beta \to \mathbb{E}[M]$. $\beta D$ is the precision of "
        r"a row of $Q$ in one replica, and $\beta^2 B$ the mean square of what pulls it.",
        assumptions=(
            "Replica symmetry (@ansatz), and limits exchanged as in (@replica_limit) and "
            "(@scaling).",
        ),
        check=Check(
            "for a quadratic loss with a shifted linear target this must be the training loss of "
            "ridge regression on rows with means $p_l$. That is known from the Marchenko-Pastur "
            "law without replicas, and agrees at the saddle point to 40 digits.",
            test,
        ),
    )


def _stability(c: Coordinates) -> Step:
    value = free_energy.replicon(c.order_parameters, y.curvature2)

    def case(seed: int) -> Case:
        values = sample((y.alpha, y.sigma, y.V), seed)
        values[y.curvature2], law = mpf(0), []
        for weight, place in ((mpf(1) / 3, 100), (mpf(2) / 3, 200)):
            hessian = _positive(c.size.length, seed + place)
            K = (hessian**-1 + values[y.V] * mp.eye(hessian.rows)) ** -1
            values[y.curvature2] += weight * mp.fsum(x**2 for x in K)
            law.append((weight, hessian))
        scalars = (values[x] for x in (y.alpha, y.sigma, y.V))
        return values, [definition.replicon(*scalars, law, mpf(1) / 3)]

    return Step(
        key="replicon",
        title="Where the ansatz is stable",
        statement="Replica symmetry is locally stable where the Hessian of $\\Phi_n$ does not "
        "change its signature in the directions that break the symmetry, as $n \\to 0$. The "
        "direction that may become soft is the replicon [3, 4]. With $K = -\\partial g/\\partial "
        "w$ over all tokens, the Hessian of $M$, and $|K|_F^2$ the sum of the squares of its "
        "entries, the following must be positive:",
        equations=(Equation(r"\text{replicon}", value),),
        reason="Overlaps and conjugates move along a matrix over replicas with zeros on its "
        "diagonal and in the sum of its rows. Then (@overlap_measure) is a quadratic form with "
        r"$\sigma^4/(\beta D)^2$, the energetic part one with "
        r"$\alpha\,\mathbb{E}|\partial_w^2\ln\mathcal{Z}|^2 \to \alpha\beta^2\,\mathbb{E}|K|_F^2$, "
        r"and they are coupled by the bilinear terms. $V = \sigma^2/D$ at the saddle point "
        r"(@ridge).",
        assumptions=(f"The prox does not jump where $w$ has weight. {_jumps(c)}",),
        check=Check(
            "second differences of the action of four explicit replicas in such a direction, for "
            "quadratic losses whose Hessian over the tokens has two random outcomes, each counted "
            r"with its probability as for $n \to 0$; to 40 digits.",
            lambda formulas: agree(formulas, case, points=2),
        ),
    )


def _jumps(c: Coordinates) -> str:
    """What jumps of the prox mean for the stability."""
    general = "On a jump $K$ has a delta function, whose square has no mean: the ansatz is unstable"
    if not c.size.is_rotated:
        return f"{general}."
    return (
        f"{general}. For attention that is so at every $V$ as soon as $s > 0$, by (@sheets): "
        "strictly, the replica-symmetric theory is then never exact. The density of $w$ on "
        "these sheets is no more than (@sheet_weight). The replicon without the jumps tells "
        "whether the ansatz would be stable but for them."
    )


def _positive(size: int, seed: int) -> matrix:
    """A random positive definite matrix."""
    root = random_matrix(size, size, random.Random(seed))
    return root * root.T + mp.eye(size) / 5
