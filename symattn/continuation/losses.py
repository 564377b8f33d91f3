"""Where the training losses of two branches cross."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, pairwise

from symattn._progress import Progress, silent
from symattn.continuation.curve import SAFETY, At, Curve
from symattn.continuation.locate import FINEST
from symattn.continuation.points import branch_point
from symattn.continuation.results import Branch, BranchPoint, LossCrossing
from symattn.errors import InvalidInput

_MOST_STEPS = 12


def loss_crossings(
    *branches: Branch, digits: int = 4, progress: Progress | None = None
) -> tuple[LossCrossing, ...]:
    """Crossings of the training losses of any two of the branches, by rising parameter.

    They are seen between neighbouring points of the branches; two crossings within one step of both
    would be missed. Where two branches merge their losses meet and do not cross.

    Raises
    ------
    InvalidInput
        If the branches are not of one model, followed in one parameter.
    """
    settings = {(b.model, b.over, None if b.over == "alpha" else b.alpha) for b in branches}
    if len(settings) > 1:
        raise InvalidInput("branches must be of one model, followed in one parameter", "branches")
    report = progress or silent
    found = []
    for first, second in combinations(branches, 2):
        for pieces in _meeting(first, second):
            report(f"losses of {first.name} and {second.name}")
            crossing = _crossing((first, second), pieces, digits)
            if crossing is not None:
                found.append(crossing)
    return tuple(sorted(found, key=lambda crossing: crossing.parameter))


@dataclass(frozen=True, slots=True)
class _Piece:
    """A branch between two neighbouring points."""

    start: BranchPoint
    end: BranchPoint

    def loss(self, parameter: float) -> float:
        """By the cubic with the losses and slopes at both ends."""
        width = self.end.parameter - self.start.parameter
        t = (parameter - self.start.parameter) / width
        rise = self.end.train_loss - self.start.train_loss
        first = width * self.start.train_loss_slope - rise
        last = width * self.end.train_loss_slope - rise
        bend = t * (1.0 - t) * (first * (1.0 - t) - last * t)
        return self.start.train_loss + t * rise + bend

    @property
    def range(self) -> tuple[float, float]:
        ends = (self.start.parameter, self.end.parameter)
        return min(ends), max(ends)


def _common(one: _Piece, other: _Piece) -> tuple[float, float]:
    return max(one.range[0], other.range[0]), min(one.range[1], other.range[1])


def _meeting(first: Branch, second: Branch) -> Iterator[tuple[_Piece, _Piece]]:
    """Pieces of two branches along which the loss difference changes its sign."""
    for one in (_Piece(*pair) for pair in pairwise(first.points)):
        for other in (_Piece(*pair) for pair in pairwise(second.points)):
            low, high = _common(one, other)
            if low < high:
                before, after = (one.loss(end) - other.loss(end) for end in (low, high))
                if before * after < 0.0:
                    yield one, other


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two branches at the same value of the parameter."""

    curves: tuple[Curve, Curve]
    at: tuple[At, At]

    @property
    def parameter(self) -> float:
        return self.curves[0].parameter(self.at[0].y)

    @property
    def difference(self) -> float:
        """Of the training losses."""
        return self.at[0].step.train_loss - self.at[1].step.train_loss

    def slope(self, factor: float = 1.0) -> float:
        """Derivative of the difference by the parameter.

        Where it is a difference itself, its change of the parameter is larger by `factor`.
        """
        one, other = (
            curve.train_loss_slope(at, factor)
            for curve, at in zip(self.curves, self.at, strict=True)
        )
        return one - other

    @property
    def least_slope(self) -> float:
        """What the slope's modulus exceeds; 0 if the slope is not known to differ from 0.

        It may err by its differences between grids and, in omega and sigma, between changes of the
        parameter.
        """
        curves = (self.curves[0].finer(0.1), self.curves[1].finer(0.1))
        at = (curves[0].at(self.at[0].y), curves[1].at(self.at[1].y))
        own, slope = self.slope(), _Pair(curves, at).slope()
        apart = abs(slope - own) + abs(self.slope(2.0) - own)
        return max(0.0, abs(slope) - SAFETY * apart)

    @property
    def root(self) -> float:
        """Where the difference vanishes by Newton's method; infinite without a slope."""
        slope = self.slope()
        return self.parameter - self.difference / slope if slope else math.inf

    def moved(self, parameter: float, factor: float = 1.0) -> _Pair | None:
        """At another value of the parameter, on other grids; None if either branch is lost."""
        one, other = (curve.finer(factor) for curve in self.curves)
        first = one.correct_at(self.at[0].y, parameter)
        second = other.correct_at(self.at[1].y, parameter)
        if first is None or second is None:
            return None
        return _Pair((one, other), (first, second))

    def certified(self) -> LossCrossing:
        """The crossing nearby, with its error."""
        one, other = (branch_point(*pair) for pair in zip(self.curves, self.at, strict=True))
        names = [curve.name for curve in self.curves]
        uncertainty = one.errors["train_loss"] + other.errors["train_loss"]
        uncertainty += abs(one.train_loss - other.train_loss)
        least_slope = self.least_slope
        first_is_lower = self.slope() > 0.0
        return LossCrossing(
            branches=(names[0], names[1]) if first_is_lower else (names[1], names[0]),
            parameter=self.parameter,
            error=uncertainty / least_slope if least_slope else math.inf,
            train_loss=one.train_loss,
            train_loss_error=uncertainty,
            overlaps=(one.overlaps, other.overlaps)
            if first_is_lower
            else (other.overlaps, one.overlaps),
        )


def _crossing(
    branches: tuple[Branch, Branch], pieces: tuple[_Piece, _Piece], digits: int
) -> LossCrossing | None:
    """The crossing by Newton's method in the parameter; None if there is none after all."""
    low, high = (_at_end(branches, pieces, end, digits) for end in _common(*pieces))
    if low is None or high is None or (low.difference > 0.0) == (high.difference > 0.0):
        return None
    noise = low.curves[0].accuracy ** 1.5 * low.at[0].step.train_loss
    if min(abs(low.difference), abs(high.difference)) < noise:
        return None  # the branches merge nearby
    here, best = low, None
    parameter = low.root
    while True:
        for _ in range(_MOST_STEPS):
            if not low.parameter <= parameter <= high.parameter:
                parameter = 0.5 * (low.parameter + high.parameter)
            moved = here.moved(parameter)
            if moved is None:
                return best
            here = moved
            if (here.difference > 0.0) == (low.difference > 0.0):
                low = here
            else:
                high = here
            parameter = here.root
            if abs(parameter - here.parameter) < 0.01 * 10.0**-digits * abs(parameter):
                break
        crossing = here.certified()
        if best is None or crossing.error < best.error:
            best = crossing
        enough = best.error <= 0.5 * 10.0**-digits * abs(best.parameter)
        if enough or here.curves[0].accuracy < FINEST:
            return best
        finer = here.moved(min(max(parameter, low.parameter), high.parameter), 0.03)
        if finer is None:
            return best
        here = finer


def _at_end(
    branches: tuple[Branch, Branch], pieces: tuple[_Piece, _Piece], parameter: float, digits: int
) -> _Pair | None:
    """Both branches at one end of what two pieces have in common."""
    curves, reached = [], []
    for branch, piece in zip(branches, pieces, strict=True):
        curve = Curve(branch.model, branch.alpha, branch.over, branch.name, 10.0**-digits)
        nearer = min((piece.start, piece.end), key=lambda point: abs(point.parameter - parameter))
        at = curve.correct_at(curve.pack(nearer.overlaps, nearer.parameter), parameter)
        if at is None:
            return None
        curves.append(curve)
        reached.append(at)
    return _Pair((curves[0], curves[1]), (reached[0], reached[1]))
