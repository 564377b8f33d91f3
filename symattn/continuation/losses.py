"""Where the training losses of two branches cross."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np

from symattn._progress import Progress, silent
from symattn.continuation.curve import At, Curve
from symattn.continuation.points import branch_point
from symattn.continuation.results import Branch, BranchPoint, LossCrossing
from symattn.errors import InvalidInput
from symattn.quadrature import _columns as columns
from symattn.quadrature.expectations import Resolution
from symattn.state_evolution import evolve

_MOST_STEPS = 12
_FINEST = 1e-10
#: Two fixed points closer than this, in units of the overlaps' scales, are one.
_SAME = 1e-3
#: Relative change of omega or sigma by which the slope of the loss is taken.
_CHANGE = 1e-3


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
        """By interpolation."""
        share = (parameter - self.start.parameter) / (self.end.parameter - self.start.parameter)
        return (1.0 - share) * self.start.train_loss + share * self.end.train_loss

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


def _crossing(
    branches: tuple[Branch, Branch], pieces: tuple[_Piece, _Piece], digits: int
) -> LossCrossing | None:
    """The crossing by Newton's method in the parameter; None if there is none after all."""
    curves = [Curve(b.model, b.alpha, b.over, b.name, accuracy=10.0**-digits) for b in branches]
    guesses = [
        curve.pack(piece.start.overlaps, piece.start.parameter)
        for curve, piece in zip(curves, pieces, strict=True)
    ]
    low, high = _common(*pieces)
    parameter = 0.5 * (low + high)
    crossing = None
    for _ in range(_MOST_STEPS):
        reached = [
            at
            for curve, guess in zip(curves, guesses, strict=True)
            if (at := curve.correct_at(guess, parameter)) is not None
        ]
        if len(reached) < 2 or _are_one(curves, reached):
            return None
        guesses = [at.y for at in reached]
        one, other = (branch_point(curve, at) for curve, at in zip(curves, reached, strict=True))
        difference = one.train_loss - other.train_loss
        uncertainty = one.errors["train_loss"] + other.errors["train_loss"]
        slopes = [_loss_slope(curve, at) for curve, at in zip(curves, reached, strict=True)]
        slope = slopes[0] - slopes[1]
        pair = (one, other) if slope > 0.0 else (other, one)
        names = [branch.name for branch in branches]
        crossing = LossCrossing(
            branches=(names[0], names[1]) if slope > 0.0 else (names[1], names[0]),
            parameter=parameter,
            # the slope is good to a percent or better
            error=1.02 * (abs(difference) + uncertainty) / abs(slope),
            train_loss=one.train_loss,
            train_loss_error=abs(difference) + uncertainty,
            overlaps=(pair[0].overlaps, pair[1].overlaps),
        )
        at_noise = abs(difference) < 0.3 * uncertainty
        if crossing.error <= 0.5 * 10.0**-digits * abs(parameter):
            return crossing
        if at_noise and curves[0].accuracy < _FINEST:
            return crossing
        if at_noise:
            curves = [curve.finer(0.03) for curve in curves]
        parameter -= difference / slope
        if not 2.0 * low - high < parameter < 2.0 * high - low:
            return None
    return crossing


def _are_one(curves: list[Curve], reached: list[At]) -> bool:
    """Whether two branches are at the same fixed point, where they merge."""
    one, other = (np.array(at.step.overlaps) for at in reached)
    scale = np.maximum(np.abs(one), np.abs(other))
    return bool(np.all(np.abs(np.abs(one) - np.abs(other)) <= _SAME * scale))


def _loss_slope(curve: Curve, at: At) -> float:
    """Derivative of eps_t by the parameter along the branch.

    d eps_t/d alpha = E[M] and d eps_t/d lambda = q/(2 sigma^2). In omega and sigma it is the
    difference at fixed overlaps, since eps_t is stationary in them and in the hats.
    """
    parameter = curve.parameter(at.y)
    model, _ = curve.setting(parameter)
    if curve.over == "alpha":
        return float(at.step.expectations.means[columns.ENVELOPE])
    if curve.over == "lambda":
        return at.step.overlaps.q / (2.0 * model.rho)
    change = _CHANGE * max(parameter, 0.1)
    if curve.over == "omega" and parameter + change > 1.0:
        change = -change
    there = evolve(
        *curve.setting(parameter + change),
        at.step.overlaps,
        Resolution.for_accuracy(curve.accuracy),
    )
    return (there.train_loss - at.step.train_loss) / change
