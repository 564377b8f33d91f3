"""The training loss as an extremum over overlaps and hats."""

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp

from symattn.symbolic import losses, ridge
from symattn.symbolic import symbols as y
from symattn.symbolic.checks import Case, Outcome, agree
from symattn.symbolic.coordinates import Coordinates, coordinates
from symattn.symbolic.derivation import Chapter, Check, Equation, Step
from symattn.symbolic.points import at_saddle, ridge_parts, with_ridge_parts
from symattn.symbolic.size import Size


def chapter(size: Size) -> Chapter:
    c = coordinates(size)
    return Chapter(
        "The training loss",
        "Overlaps and their conjugates, the hats, meet in one function. Its stationarity in the "
        "overlaps gives the hats (chapter 8), in the hats the overlaps (chapter 9).",
        (_extremal(c),),
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
        reason="The replica free energy at zero temperature. It is where this document starts; its "
        "own derivation is not part of it.",
        assumptions=("Replica symmetry.",),
        check=Check(
            "for a quadratic loss with a shifted linear target this must be the training loss of "
            "ridge regression on rows with means $p_l$. That is known from the Marchenko-Pastur "
            "law without replicas, and agrees at the saddle point to 40 digits.",
            test,
        ),
        postulate=True,
    )
