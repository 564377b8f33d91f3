"""The ridge side: the overlaps in terms of the hats, by stationarity in the hats."""

from __future__ import annotations

from mpmath import mpf

from symattn.symbolic import ridge
from symattn.symbolic import symbols as y
from symattn.symbolic.checks import Case, agree, numeric, slopes
from symattn.symbolic.coordinates import Coordinates, coordinates
from symattn.symbolic.derivation import Chapter, Check, Equation, Step
from symattn.symbolic.latex import formula
from symattn.symbolic.points import OverlapPoint, ridge_parts, with_ridge_parts
from symattn.symbolic.size import Size


def chapter(size: Size) -> Chapter:
    c = coordinates(size)
    steps = [_updates(c)]
    if size.is_rotated:
        steps.append(_jacobian(c))
    return Chapter(
        "The ridge side",
        "Stationarity of the training loss in the hats. Given the hats, a row of $Q$ minimises a "
        "quadratic function, as in ridge regression. $D$ and $B$ are those of (@extremal).",
        tuple(steps),
    )


def _updates(c: Coordinates) -> Step:
    p = c.order_parameters
    updates = ridge.ridge_updates(p)

    def case(seed: int) -> Case:
        point = OverlapPoint(c, seed)
        solution = point.stationary(
            p.overlaps.symbols, p.hats.symbols, lambda values: values[y.envelope]
        )
        parts = [value for _, _, value in ridge_parts(c)]
        return with_ridge_parts(c, point.values, parts), solution

    return Step(
        key="ridge",
        title="The overlaps",
        statement="Stationarity in the hats gives the overlaps, at any length and ranks "
        r"$V = \sigma^2 D^{-1}$, $m_l = D^{-1}\sum_k G_{lk}\hat m_k$, $\theta = "
        r"\sigma^2 D^{-1}\hat\theta\rho$ and $q = \sigma^2 D^{-1} B D^{-1}$. In components:",
        equations=tuple(Equation(formula(overlap), value) for overlap, value in updates.items()),
        reason=r"Differentiate, with $\mathrm{d}D^{-1} = -D^{-1}\,\mathrm{d}D\,D^{-1}$; each "
        "equation is linear in one overlap.",
        check=Check(
            "the overlaps at which differences of the training loss in the hats vanish, to 40 "
            "digits.",
            lambda formulas: agree(formulas, case, points=2),
        ),
    )


def _jacobian(c: Coordinates) -> Step:
    p = c.order_parameters
    updates = ridge.ridge_updates(p)
    pairs = [(overlap, hat) for overlap in updates for hat in p.hats.symbols]
    slopes_of = {pair: ridge.total_derivative(updates[pair[0]], pair[1], p) for pair in pairs}
    shown = [pair for pair in pairs if slopes_of[pair] != 0]
    parts = [value for _, _, value in ridge_parts(c)]

    def case(seed: int) -> Case:
        point = OverlapPoint(c, seed)
        evaluate = numeric(list(updates.values()))

        def overlap_number(place: int, *moved: mpf) -> mpf:
            values = {**point.values, **dict(zip(p.hats.symbols, moved, strict=True))}
            return evaluate(with_ridge_parts(c, values, parts))[place]

        hats = [point.values[hat] for hat in p.hats.symbols]
        expected = {}
        for place, overlap in enumerate(updates):
            rows = slopes(lambda *moved, place=place: overlap_number(place, *moved), hats)
            expected.update(
                {(overlap, hat): x for hat, x in zip(p.hats.symbols, rows, strict=True)}
            )
        return with_ridge_parts(c, point.values, parts), [expected[pair] for pair in shown]

    return Step(
        key="jacobian",
        title="The Jacobian of the ridge side",
        statement="The derivatives of the overlaps in the hats that are not zero:",
        equations=tuple(
            Equation(
                rf"\frac{{\partial {formula(overlap)}}}{{\partial {formula(hat)}}}",
                slopes_of[overlap, hat],
            )
            for overlap, hat in shown
        ),
        reason="Differentiate the step before.",
        check=Check(
            "differences of the overlaps, to 40 digits.",
            lambda formulas: agree(formulas, case, points=2),
        ),
    )
