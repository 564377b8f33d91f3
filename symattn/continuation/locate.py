"""Points of a curve at which one condition more holds.

The square system {overlaps - image, condition} in the unknown overlaps and the parameter is regular
at folds and at symmetry breakings, where the equations at fixed parameter are not. Newton's method
solves it. The derivative of the equations is exact; that of the condition, which would take another
order of derivatives of the means, is a difference, updated from values met on the way (Broyden).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from symattn._typing import FloatArray
from symattn.continuation.conditions import Condition
from symattn.continuation.curve import SAFETY, At, Curve
from symattn.errors import ComputationFailed, InvalidInput

_MOST_NEWTON = 15
_HALVINGS = 6
#: Share of the overlaps' scales by which the derivative of a condition is taken.
_CHANGE = 1e-3
#: Grids finer than a hundredth of this bring nothing in double precision.
FINEST = 1e-10
#: Factor by which finer grids must make an error smaller to be worth going on.
_LEAST_GAIN = 1.5


@dataclass(frozen=True, slots=True)
class Solved:
    """A solution of the square system on some grids.

    Attributes
    ----------
    at : At
    value : float
        Of the condition.
    row : array, shape (n + 1,)
        Derivative of the condition by y.
    change : array, shape (n + 1,)
        Newton's correction that is left.
    """

    at: At
    value: float
    row: FloatArray
    change: FloatArray


@dataclass(frozen=True, slots=True)
class Located:
    """A solution with its error.

    Attributes
    ----------
    coarse, fine : At
        The same point on two sets of grids.
    change, moved : array, shape (n + 1,)
        Newton's correction that is left, and how far the solution may lie from y, component by
        component.
    """

    coarse: At
    fine: At
    change: FloatArray
    moved: FloatArray

    def error(self, curve: Curve) -> float:
        """Absolute error of the parameter."""
        return float(curve.unit(self.fine.y) * self.moved[-1])


def secant_slope(curve: Curve, condition: Condition, first: At, second: At) -> FloatArray:
    """Derivative of a condition by y, as far as two points tell: along their difference."""
    scale = curve.scale(first.y)
    chord = (second.y - first.y) / scale
    rise = condition.value(curve, second) - condition.value(curve, first)
    return np.asarray(rise * chord / scale / (chord @ chord))


def solve_between(curve: Curve, condition: Condition, here: At, ahead: At) -> Solved | None:
    """The solution between two points with different signs of the condition."""
    for _ in range(_HALVINGS):
        scale = curve.scale(here.y)
        before, after = condition.value(curve, here), condition.value(curve, ahead)
        chord = ahead.y - here.y
        guess = here.y + before / (before - after) * chord
        solved = solve(curve, condition, guess, secant_slope(curve, condition, here, ahead))
        if solved is not None:
            length = (solved.at.y - here.y) / scale @ (chord / scale)
            if -0.01 < length / np.sum((chord / scale) ** 2) < 1.01:
                return solved
        middle = curve.correct(0.5 * (here.y + ahead.y), chord)
        if middle is None:
            return None
        if (condition.value(curve, middle) > 0.0) == (before > 0.0):
            here = middle
        else:
            ahead = middle
    return None


def solve(curve: Curve, condition: Condition, y: FloatArray, row: FloatArray) -> Solved | None:
    """Newton's method for a point of the curve at which the condition holds; None if it fails.

    Parameters
    ----------
    row : array, shape (n + 1,)
        What is known of the condition's derivative by y.
    """
    if not y[0] > 0.0:  # q
        return None
    scale = curve.scale(y)
    last = None
    before = np.inf
    for _ in range(_MOST_NEWTON):
        try:
            at = curve.at(y)
            value = condition.value(curve, at)
            if last is not None:
                moved = (y - last[0]) / scale
                missing = value - last[1] - row @ (y - last[0])
                row = row + missing * moved / scale / (moved @ moved)
            change = -np.linalg.solve(np.vstack([at.matrix, row]), [*at.residual, value])
        except (ComputationFailed, InvalidInput, np.linalg.LinAlgError):
            return None
        size = float(np.max(np.abs(change / scale)))
        if not size < 0.7:
            return None
        at_noise = size < curve.accuracy and size > 0.3 * before
        if size < 1e-2 * curve.accuracy or at_noise:
            return Solved(at, value, row, change)
        last, before = (y, value), size
        y = y + change
    return None


def locate(curve: Curve, condition: Condition, solved: Solved, digits: int) -> Located:
    """The solution on ever finer grids, until the parameter has the digits or nothing is gained.

    Its error is the difference between two sets of grids, the finer one aimed at a hundredth of the
    other's error, through the inverse of the square system.
    """
    best, error = None, np.inf
    solved = replace(solved, row=_gradient(curve, condition, solved))
    while True:
        fine = solve(curve.finer(1e-2), condition, solved.at.y, solved.row)
        if fine is not None:
            located = _compared(curve, condition, fine)
            gain = error / located.error(curve)
            if gain > 1.0:
                best, error = located, located.error(curve)
            if gain < _LEAST_GAIN:
                break
            solved = fine
        value = abs(curve.parameter(solved.at.y))
        if error <= 0.5 * 10.0**-digits * value or curve.accuracy <= FINEST:
            break
        curve = replace(curve, accuracy=max(0.03 * curve.accuracy, FINEST))
    if best is None:
        raise ComputationFailed(
            f"the {condition.kind} of the {curve.name} branch near {curve.over} = "
            f"{curve.parameter(solved.at.y):.6g} was lost on finer grids; try fewer digits"
        )
    return best


def _gradient(curve: Curve, condition: Condition, solved: Solved) -> FloatArray:
    """Derivative of the condition by y, by differences on the curve's own grids."""
    scale = curve.scale(solved.at.y)
    here = condition.value(curve, curve.at(solved.at.y))
    changes = _CHANGE * scale
    changes[-1] = curve.inwards(solved.at.y[-1], changes[-1])
    row = np.zeros(len(scale))
    for k, change in enumerate(changes):
        y = solved.at.y.copy()
        y[k] += change
        row[k] = (condition.value(curve, curve.at(y)) - here) / change
    return row


def _compared(curve: Curve, condition: Condition, fine: Solved) -> Located:
    """A solution on finer grids, with the difference to the curve's own.

    Where the system is singular there, how far the solution may lie from it is not known: infinite.
    """
    coarse = curve.at(fine.at.y)
    apart = np.abs([*(fine.at.residual - coarse.residual), fine.value])
    apart[-1] = abs(fine.value - condition.value(curve, coarse))
    noise = fine.at.noise * np.array([*np.abs(fine.at.y[:-1]), condition.size])
    try:
        inverse = np.abs(np.linalg.inv(np.vstack([fine.at.matrix, fine.row])))
        moved = np.abs(fine.change) + inverse @ (SAFETY * apart + noise)
    except np.linalg.LinAlgError:
        moved = np.full(len(fine.at.y), np.inf)
    return Located(coarse=coarse, fine=fine.at, change=fine.change, moved=moved)
