"""Symmetries of the channel, which say how much of the (h*, w) space has to be integrated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mpmath import matrix, mp, mpf

from symattn.symbolic import definition
from symattn.symbolic import symbols as y
from symattn.symbolic.checks import Case, agree
from symattn.symbolic.coordinates import Coordinates, coordinates
from symattn.symbolic.derivation import Chapter, Check, Equation, Step
from symattn.symbolic.points import ChannelPoint, tokens
from symattn.symbolic.size import Size


@dataclass(frozen=True)
class Transformation:
    """A map of fields and target under which the loss does not change.

    left: LaTeX of the transformed loss.
    fields: the map on fields by token.
    target: the map on T.
    """

    left: str
    fields: Callable[[matrix], matrix]
    target: Callable[[matrix], matrix]


def chapter(size: Size) -> Chapter:
    c = coordinates(size)
    return Chapter(
        "Symmetries",
        "Both softmaxes only see products of fields, so sign flips, permutations of tokens and "
        "rotations of directions change nothing but names.",
        (_step(c),),
    )


def _step(c: Coordinates) -> Step:
    transformations = _rotated() if c.size.is_rotated else _by_token(c.size)

    def case(seed: int) -> Case:
        point = ChannelPoint(c, seed)
        x = tokens(c, point.x)
        expected = [
            definition.loss(change.fields(x), change.target(point.target), point.sigma)
            for change in transformations
        ]
        return point.values, expected

    return Step(
        key="symmetries",
        title="Symmetries of the loss",
        statement=_consequences(c.size),
        equations=tuple(Equation(change.left, y.loss) for change in transformations),
        reason=r"$(xO)(xO)^\top = x x^\top$ for orthogonal $O$, and a permutation of tokens "
        "permutes rows and columns of $S$.",
        check=Check(
            "the loss by definition at transformed fields and target, to 40 digits.",
            lambda formulas: agree(formulas, case),
        ),
    )


def _consequences(size: Size) -> str:
    if not size.is_rotated:
        return (
            "With the same change of $w$ the energy does not change either. At $m = 0$ the law of "
            r"$(h^\star, w)$ has the first symmetry as well."
        )
    return (
        "With the same change of $w$ the energy does not change either. So the means over the "
        r"channel may be folded: at $m = 0$ by $(w, h^\star) \to -(w, h^\star)$, at $\theta = 0$ "
        r"by $h^\star \to -h^\star$ alone, which leaves $T$, and if $A_{11} = A_{22}$ by "
        r"$(b, v^\star) \to -(b, v^\star)$, which swaps $T_{11}$ and $T_{22}$ and exchanges the "
        "tokens up to a sign. The overlaps obey $m \\to -m$ and $\\theta \\to -\\theta$."
    )


def _rotated() -> list[Transformation]:
    swap = matrix([[0, 1], [1, 0]])
    return [
        Transformation(r"\ell(-u, -v;\, T_{11}, T_{22})", lambda x: -x, lambda T: T),
        Transformation(r"\ell(u, -v;\, T_{22}, T_{11})", lambda x: -swap * x, _exchanged),
        Transformation(r"\ell(-u, v;\, T_{22}, T_{11})", lambda x: swap * x, _exchanged),
    ]


def _by_token(size: Size) -> list[Transformation]:
    shift = mp.zeros(size.length, size.length)
    for token in range(size.length):
        shift[token, (token + 1) % size.length] = mpf(1)
    found = [
        Transformation(r"\ell(-x;\, T)", lambda x: -x, lambda T: T),
        Transformation(
            r"\ell(\Pi x;\, \Pi T\Pi^\top)", lambda x: shift * x, lambda T: shift * T * shift.T
        ),
    ]
    if size.student_rank > 1:
        found.append(Transformation(r"\ell(xO;\, T)", _turned, lambda T: T))
    return found


def _exchanged(target: matrix) -> matrix:
    swap = matrix([[0, 1], [1, 0]])
    return swap * target * swap


def _turned(x: matrix) -> matrix:
    """The first two directions rotated by an angle with cosine 3/5."""
    turn = mp.eye(x.cols)
    turn[0, 0] = turn[1, 1] = mpf(3) / 5
    turn[0, 1], turn[1, 0] = mpf(4) / 5, -mpf(4) / 5
    return x * turn
