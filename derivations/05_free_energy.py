"""The training loss as an extremum over overlaps and hats."""

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp
from mpmath import matrix, mp, mpf

from symattn.symbolic import definition, free_energy, losses, ridge
from symattn.symbolic import symbols as y
from symattn.symbolic.checks import Case, Outcome, agree, curvatures, filled, sample
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
        "function. Its stationarity in the overlaps gives the hats (chapter 8), in the hats the "
        "overlaps (chapter 9).",
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
        statement=r"With the scalings (4.1), and $\mathbb{E}[\ln\mathcal{Z}] = "
        r"-\beta\,\mathbb{E}[M] - \mathbb{E}[c_1] + \dots$ from (4.3), the free energy "
        "(3.7) exceeds its limit by",
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
        reason=r"The limit $\beta \to \infty$ of (3.7), term by term, with (4.1) and "
        r"$-\mathbb{E}[\ln\mathcal{Z}]/\beta \to \mathbb{E}[M]$. $\beta D$ is the precision of a "
        r"row of $Q$ in one replica, and $\beta^2 B$ the mean square of what pulls it.",
        assumptions=("Replica symmetry, and the exchanges of limits named before.",),
        check=Check(
            "for a quadratic loss with a shifted linear target this must be the training loss of "
            "ridge regression on rows with means $p_l$. That is known from the Marchenko-Pastur "
            "law without replicas, and agrees at the saddle point to 40 digits.",
            test,
        ),
    )


def _stability(c: Coordinates) -> Step:
    p = c.order_parameters
    value = free_energy.replicon(p, y.curvature2)

    def case(seed: int) -> Case:
        problem, values = at_saddle(c, seed)
        k, alpha, length = problem.stiffness, values[y.alpha], c.size.length
        V, V_hat = (filled(x, values) for x in (p.overlaps.V, p.hats.V))
        values[y.curvature2] = length * (k / (1 + k * V[0])) ** 2
        # Four replicas, the fewest with such a direction; what all share drops out.
        apart = matrix([[0, 1, -1, 0], [1, 0, 0, -1], [-1, 0, 0, 1], [0, -1, 1, 0]])
        shared = matrix([[mpf(1) / 3]])
        overlaps, conjugates = (definition.replica_matrix(x, shared, 4) for x in (V, V_hat))
        m, theta = mp.zeros(length, 4), mp.zeros(4, c.size.target_rank)

        def action(overlap: mpf, conjugate: mpf) -> mpf:
            entropic = definition.overlap_action(
                (overlaps + overlap * apart, m, theta),
                (conjugates + conjugate * apart, m, theta),
                problem.gram,
                values[y.lam],
                values[y.sigma],
            )
            spread = mp.eye(4) + k * (overlaps + overlap * apart)
            return entropic - alpha * length * mp.log(mp.det(spread)) / 2

        overlap2, cross, conjugate2 = curvatures(action, (mpf(0), mpf(0)))
        return values, [1 - overlap2 * conjugate2 / cross**2]

    return Step(
        key="replicon",
        title="Where the ansatz is stable",
        statement="The extremum can be symmetric under permutations of replicas only where the "
        r"action $\Phi_n$ has no direction against it. With $K = -\partial g/\partial w$ over all "
        "tokens, the Hessian of $M$, this needs the following to be positive:",
        equations=(Equation(r"\text{replicon}", value),),
        reason="Overlaps and conjugates move along a matrix over replicas with zeros on its "
        "diagonal and in the sum of its rows. Then (2.3) is a quadratic form with "
        r"$\sigma^4/(\beta D)^2$, the energetic part one with "
        r"$\alpha\,\mathbb{E}|\partial_w^2\ln\mathcal{Z}|^2 \to \alpha\beta^2\,\mathbb{E}|K|_F^2$, "
        r"and they are coupled by the bilinear terms. $V = \sigma^2/D$ at the saddle point.",
        assumptions=(
            "The prox does not jump; where it does $K$ has a part that is not square "
            "integrable, and the ansatz is not stable.",
        ),
        check=Check(
            "second differences of the action of four explicit replicas in such a direction, for a "
            "quadratic loss at its saddle point, to 40 digits.",
            lambda formulas: agree(formulas, case, points=2),
        ),
    )
