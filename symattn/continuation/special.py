"""Special points: solutions of the curve's equations together with one condition more.

The square system {overlaps - image, condition} in the unknown overlaps and the parameter is regular
at folds and at symmetry breakings, where the equations at fixed parameter are not. Newton's method
solves it; the derivative of the equations is exact, and that of the condition, which would take
another order of derivatives of the means, is learned from its values (Broyden's update).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from symattn._frozen import FrozenMapping
from symattn._typing import FloatArray
from symattn.baselines import linear_baseline
from symattn.continuation.curve import NAME_OF, At, Curve, own_overlaps, vanished
from symattn.continuation.results import SpecialPoint
from symattn.continuation.walk import LONGEST_STEP, Node
from symattn.errors import ComputationFailed, InvalidInput
from symattn.overlaps import Overlaps

_MOST_NEWTON = 15
_HALVINGS = 6
#: Share of the overlaps' scales by which the derivative of a condition is taken.
_CHANGE = 1e-3
#: Grids finer than for this bring nothing in double precision.
_FINEST = 1e-12
#: Factor by which finer grids must make an error smaller to be worth going on.
_LEAST_GAIN = 1.5
#: By how much a difference between two sets of grids is taken larger, for kinks in h*.
_SAFETY = 2.0
#: Distance, in a curve's units, at which two branches are taken to meet.
_MEETING = 0.2
#: In units of its scale: an overlap below this is 0.
_VANISHED = 1e-2
#: Relative to rho: q below this at the end of a branch is on its way to Q = 0.
_SMALL_Q = 1e-2
#: Share of the extrapolated distance up to which a parabola and a line may differ.
_LINEAR = 0.03


@dataclass(frozen=True, slots=True)
class Condition:
    """What vanishes at a special point.

    Attributes
    ----------
    kind, direction : str
        As in `SpecialPoint`.
    value : callable
        Its value at a point of a curve.
    size : float
        Against which relative errors of the value are taken.
    """

    kind: str
    direction: str
    value: Callable[[Curve, At], float]
    size: float = 1.0


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
        unit = 1.0 if curve.over == "omega" else curve.parameter(self.fine.y)
        return float(unit * self.moved[-1])


def fold() -> Condition:
    """An eigenvalue within the branch's subspace is +1."""
    return Condition("fold", "", lambda _, at: float(np.linalg.det(at.matrix[:, :-1])))


def symmetry_breaking(k: int) -> Condition:
    """The eigenvalue in the direction of the overlap k, which vanishes on the branch, is +1."""
    return Condition(
        "symmetry breaking",
        Overlaps._fields[k],
        lambda _, at: float(1.0 - at.step.jacobian[k, k]),
    )


def baseline_crossing(curve: Curve, at: At) -> Condition:
    """The test error is that of the best linear positional map."""

    def above(curve: Curve, at: At) -> float:
        model, _ = curve.setting(curve.parameter(at.y))
        return curve.test_error(at)[0] - linear_baseline(model).test_error

    model, _ = curve.setting(curve.parameter(at.y))
    return Condition("baseline crossing", "", above, size=linear_baseline(model).test_error)


def between(
    curve: Curve, here: Node, ahead: Node, digits: int, *, leaving: bool = False
) -> list[SpecialPoint]:
    """The special points between two neighbours on the curve, in their order.

    `leaving` says that the first one is where the branch leaves another: det(1 - J) vanishes there
    without a fold.
    """
    found = []
    chord = (ahead.at.y - here.at.y) / curve.scale(here.at.y)

    def length(y: FloatArray) -> float:
        return float((y - here.at.y) / curve.scale(here.at.y) @ chord)

    end = np.inf
    for k in own_overlaps(curve):
        before, after = here.at.step.overlaps[k], ahead.at.step.overlaps[k]
        if before * after < 0.0:
            share = before / (before - after)
            y = (1.0 - share) * here.at.y + share * ahead.at.y
            end = length(y)
            found.append((end, merger(curve, y, k, digits)))
    watched = [] if leaving else [*instabilities(curve)]
    for condition in (*watched, baseline_crossing(curve, here.at)):
        values = [condition.value(curve, node.at) for node in (here, ahead)]
        if (values[0] > 0.0) == (values[1] > 0.0):
            continue
        solved = solve_between(curve, condition, here.at, ahead.at)
        if solved is None:
            found.append((0.5 * length(ahead.at.y), _unrefined(curve, condition, here, ahead)))
        else:
            located = locate(curve, condition, solved, digits)
            # beyond a merger the branch is its own mirror image, and on it det(1 - J) is 0 too
            if length(located.fine.y) <= end and not vanished(curve, located.fine.y, _VANISHED):
                after = values[1] - values[0]
                note = _note(curve, condition, here.at, ahead.at, rising=after > 0.0)
                found.append((length(located.fine.y), _special(curve, condition, located, note)))
    return [point for _, point in sorted(found, key=lambda pair: pair[0])]


def instabilities(curve: Curve) -> Iterator[Condition]:
    """The conditions under which an eigenvalue of the Jacobian is +1."""
    yield fold()
    for k in sorted({1, 3} - {*curve.unknowns}):
        yield symmetry_breaking(k)


def _note(curve: Curve, condition: Condition, here: At, ahead: At, *, rising: bool) -> str:
    """What happens, in words; `rising` is how the condition changes from `here` to `ahead`."""
    if condition.kind == "fold":
        return f"{curve.over} turns back"
    forth = ahead.y[-1] > here.y[-1]
    if condition.kind == "symmetry breaking":
        side = "larger" if rising != forth else "smaller"
        return f"{condition.direction} grows at {side} {curve.over}"
    side = "smaller" if rising != forth else "larger"
    return f"the test error is above that of the best linear map at {side} {curve.over}"


def _special(curve: Curve, condition: Condition, located: Located, note: str) -> SpecialPoint:
    errors = dict.fromkeys(Overlaps._fields, 0.0)
    for k, moved in zip(curve.unknowns, located.moved, strict=False):
        errors[Overlaps._fields[k]] = float(moved)
    return SpecialPoint(
        kind=condition.kind,
        parameter=curve.parameter(located.fine.y),
        overlaps=located.fine.step.overlaps,
        errors=FrozenMapping({"parameter": located.error(curve), **errors}),
        note=note,
        direction=condition.direction,
    )


def _unrefined(curve: Curve, condition: Condition, here: Node, ahead: Node) -> SpecialPoint:
    """A point that shows between two neighbours and could not be located."""
    y = 0.5 * (here.at.y + ahead.at.y)
    parameter = curve.parameter(y)
    unit = LONGEST_STEP * curve.scale(y)
    errors = dict.fromkeys(Overlaps._fields, 0.0)
    errors |= {Overlaps._fields[k]: float(unit[i]) for i, k in enumerate(curve.unknowns)}
    return SpecialPoint(
        kind=condition.kind,
        parameter=parameter,
        overlaps=curve.overlaps(y),
        errors=FrozenMapping({"parameter": LONGEST_STEP * max(parameter, 1e-3), **errors}),
        note="seen between two points, not located",
        direction=condition.direction,
    )


def merger(curve: Curve, y: FloatArray, k: int, digits: int) -> SpecialPoint:
    """Where the overlap k of a branch vanishes, near y.

    There the branch leaves the one without that overlap, where J_kk passes 1, which is well
    conditioned, while on the branch itself the equation of the overlap is 0 = 0.

    Raises
    ------
    ComputationFailed
        If the other branch is not found there: then this one ends at Q = 0.
    """
    rest = replace(curve, name=NAME_OF[frozenset({*curve.unknowns} - {k})])
    guess = rest.pack(curve.overlaps(y), curve.parameter(y))
    first = rest.correct_at(guess, curve.parameter(y))
    second = None
    if first is not None:
        ahead = first.y + 1e-2 * rest.tangent(first, rest.along_parameter)
        second = rest.correct(ahead, rest.along_parameter)
    condition = symmetry_breaking(k)
    solved = None
    if first is not None and second is not None:
        row = _slope(rest, condition, first, second)
        solved = solve(rest, condition, first.y, row)
    if solved is None or np.max(np.abs((solved.at.y - guess) / rest.scale(guess))) > _MEETING:
        raise ComputationFailed(f"the {rest.name} branch was not met")
    point = _special(rest, condition, locate(rest, condition, solved, digits), "")
    note = f"{condition.direction} reaches 0 on the {rest.name} branch"
    return replace(point, kind="merger", note=note)


def _slope(curve: Curve, condition: Condition, first: At, second: At) -> FloatArray:
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
        solved = solve(curve, condition, guess, _slope(curve, condition, here, ahead))
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
        if error <= 0.5 * 10.0**-digits * value or curve.accuracy <= 1e2 * _FINEST:
            break
        curve = curve.finer(0.03)
    if best is None:
        raise ComputationFailed(
            f"the {condition.kind} of the {curve.name} branch near {curve.over} = "
            f"{curve.parameter(solved.at.y):.6g} was lost on finer grids; try fewer digits"
        )
    return best


def _gradient(curve: Curve, condition: Condition, solved: Solved) -> FloatArray:
    """Derivative of the condition by y, by differences."""
    scale = curve.scale(solved.at.y)
    row = np.zeros(len(scale))
    for k, change in enumerate(_CHANGE * scale):
        y = solved.at.y.copy()
        y[k] += change
        row[k] = (condition.value(curve, curve.at(y)) - solved.value) / change
    return row


def _compared(curve: Curve, condition: Condition, fine: Solved) -> Located:
    """A solution on finer grids, with the difference to the curve's own."""
    coarse = curve.at(fine.at.y)
    apart = np.abs([*(fine.at.residual - coarse.residual), fine.value])
    apart[-1] = abs(fine.value - condition.value(curve, coarse))
    noise = fine.at.noise * np.array([*np.abs(fine.at.y[:-1]), condition.size])
    inverse = np.abs(np.linalg.inv(np.vstack([fine.at.matrix, fine.row])))
    moved = np.abs(fine.change) + inverse @ (_SAFETY * apart + noise)
    return Located(coarse=coarse, fine=fine.at, change=fine.change, moved=moved)


def end_point(curve: Curve, nodes: list[At]) -> SpecialPoint:
    """Where no further point was found: at Q = 0 when q went to 0, linearly in the parameter."""
    last = nodes[-1]
    parameter, overlaps = curve.parameter(last.y), last.step.overlaps
    rho = curve.setting(parameter)[0].rho
    if len(nodes) > 2 and overlaps.q < _SMALL_Q * rho:
        coarse = _at_zero(curve, nodes[-3:])
        fine = _at_zero(curve.finer(1e-2), nodes[-3:])
        if coarse is not None and fine is not None:
            error = abs(fine[1] - fine[0])
            covered = abs(fine[0] - parameter)
            note = "q goes to 0 (extrapolated): the branch ends at Q = 0"
            if error > _LINEAR * covered:  # not linear in q: a root or a logarithm
                error = _SAFETY * covered
                note = "q goes to 0, but not linearly: extrapolated roughly"
            error += _SAFETY * abs(fine[0] - coarse[0])
            return SpecialPoint(
                kind="end",
                parameter=fine[0],
                overlaps=Overlaps(0.0, 0.0, last.step.overlaps.V, 0.0),
                errors=FrozenMapping(
                    {
                        "parameter": error,
                        **dict.fromkeys(Overlaps._fields, 0.0),
                        "V": abs(last.step.overlaps.V - nodes[-3].step.overlaps.V),
                    }
                ),
                note=note,
            )
    return SpecialPoint(
        kind="end",
        parameter=parameter,
        overlaps=overlaps,
        errors=FrozenMapping(
            {"parameter": LONGEST_STEP * parameter, **dict.fromkeys(Overlaps._fields, 0.0)}
        ),
        note="the last point that was found; the branch may go on",
    )


def _at_zero(curve: Curve, nodes: list[At]) -> tuple[float, float] | None:
    """The parameter extrapolated to q = 0, by a parabola and by a line."""
    across = np.zeros(len(nodes[0].y))
    across[0] = 1.0
    again = [curve.correct(at.y, across) for at in nodes]
    if any(at is None for at in again):
        return None
    q = [at.y[0] for at in again if at is not None]
    values = [curve.parameter(at.y) for at in again if at is not None]
    parabola = np.polynomial.Polynomial.fit(q, values, 2)
    line = np.polynomial.Polynomial.fit(q[-2:], values[-2:], 1)
    return float(parabola(0.0)), float(line(0.0))
