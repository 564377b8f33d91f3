"""The special points between two neighbours on a curve."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import numpy as np

from symattn._frozen import FrozenMapping
from symattn._typing import FloatArray
from symattn.continuation.conditions import (
    Condition,
    baseline_crossing,
    instabilities,
    symmetry_breaking,
)
from symattn.continuation.curve import NAME_OF, At, Curve, own_overlaps, vanished
from symattn.continuation.locate import (
    Located,
    Solved,
    locate,
    secant_slope,
    solve,
    solve_between,
)
from symattn.continuation.results import SpecialPoint
from symattn.continuation.walk import LONGEST_STEP, Node
from symattn.errors import ComputationFailed, NotFound
from symattn.overlaps import Overlaps

#: Distance, in a curve's units, at which two branches are taken to meet.
_MEETING = 0.2
#: In units of its scale: an overlap below this is 0.
_VANISHED = 1e-2
_SEEN = "seen between two points, not located"


def between(
    curve: Curve, here: Node, ahead: Node, digits: int, *, leaving: bool = False
) -> list[SpecialPoint]:
    """The special points between two neighbours on the curve, in their order.

    `leaving` says that the first one is where the branch leaves another: det(1 - J) vanishes there
    without a fold.
    """
    found = []
    scale = curve.scale(here.at.y)

    def length(y: FloatArray) -> float:
        return float((y - here.at.y) / scale @ ((ahead.at.y - here.at.y) / scale))

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
        located = _located(curve, condition, here.at, ahead.at, digits)
        if located is None:
            y = 0.5 * (here.at.y + ahead.at.y)
            found.append((length(y), _unrefined(curve, condition, y, _SEEN)))
        # beyond a merger the branch is its own mirror image, and on it det(1 - J) is 0 too
        elif length(located.fine.y) <= end and not vanished(curve, located.fine.y, _VANISHED):
            rising = values[1] > values[0]
            note = _note(curve, condition, here.at, ahead.at, rising=rising)
            found.append((length(located.fine.y), _special(curve, condition, located, note)))
    return [point for _, point in sorted(found, key=lambda pair: pair[0])]


def _located(
    curve: Curve, condition: Condition, here: At, ahead: At, digits: int
) -> Located | None:
    """The special point between two points of the curve; None if it is not found or lost."""
    solved = solve_between(curve, condition, here, ahead)
    return None if solved is None else _refined(curve, condition, solved, digits)


def _refined(curve: Curve, condition: Condition, solved: Solved, digits: int) -> Located | None:
    with contextlib.suppress(ComputationFailed):
        return locate(curve, condition, solved, digits)
    return None


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


def _unrefined(curve: Curve, condition: Condition, y: FloatArray, note: str) -> SpecialPoint:
    """A point that is known roughly and could not be located."""
    parameter = curve.parameter(y)
    unit = LONGEST_STEP * curve.scale(y)
    errors = dict.fromkeys(Overlaps._fields, 0.0)
    errors |= {Overlaps._fields[k]: float(unit[i]) for i, k in enumerate(curve.unknowns)}
    return SpecialPoint(
        kind=condition.kind,
        parameter=parameter,
        overlaps=curve.overlaps(y),
        errors=FrozenMapping({"parameter": LONGEST_STEP * curve.unit(y), **errors}),
        note=note,
        direction=condition.direction,
    )


def merger(curve: Curve, y: FloatArray, k: int, digits: int) -> SpecialPoint:
    """Where the overlap k of a branch vanishes, near y.

    There the branch leaves the one without that overlap, where J_kk passes 1, which is well
    conditioned, while on the branch itself the equation of the overlap is 0 = 0.

    Raises
    ------
    NotFound
        If the other branch is not found there: then this one ends at Q = 0.
    """
    rest = replace(curve, name=NAME_OF[frozenset({*curve.unknowns} - {k})])
    guess = rest.pack(curve.overlaps(y), curve.parameter(y))
    first = rest.correct_at(guess, curve.parameter(y))
    second = None
    if first is not None:
        step = rest.inwards(first.y[-1], 1e-2)
        ahead = first.y + step * rest.tangent(first, rest.along_parameter)
        second = rest.correct(ahead, rest.along_parameter)
    condition = symmetry_breaking(k)
    solved = None
    if first is not None and second is not None:
        row = secant_slope(rest, condition, first, second)
        solved = solve(rest, condition, first.y, row)
    if solved is None or np.max(np.abs((solved.at.y - guess) / rest.scale(guess))) > _MEETING:
        raise NotFound(f"the {rest.name} branch was not met")
    located = _refined(rest, condition, solved, digits)
    note = f"{condition.direction} reaches 0 on the {rest.name} branch"
    if located is None:
        point = _unrefined(rest, condition, solved.at.y, f"{note}; lost on finer grids")
    else:
        point = _special(rest, condition, located, note)
    return replace(point, kind="merger")
