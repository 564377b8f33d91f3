"""Following a curve along its own length."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from symattn._progress import Progress
from symattn._typing import FloatArray
from symattn.continuation.curve import At, Curve, vanished
from symattn.errors import ComputationFailed

#: Lengths in the curve's units: of the overlaps' scales and of the parameter's logarithm.
_FIRST_STEP, LONGEST_STEP, _SHORTEST_STEP = 0.05, 0.15, 1e-4
_MOST_STEPS = 400
#: Least cosine of the angle by which the curve turns in a step, and most of the step by which
#: Newton's method may correct it: more, and another curve was met.
_STRAIGHT, _NEARBY = 0.9, 0.5
#: In units of its scale: an own overlap below this is 0, and the branch without it was met.
_ZERO = 1e-5
#: Relative to rho: with q below this a branch ends at Q = 0.
_COLLAPSED_Q = 1e-4


@dataclass(frozen=True, slots=True)
class Node:
    """A point of the walk and the tangent there, in the sense of the walk."""

    at: At
    tangent: FloatArray


def start_node(curve: Curve, at: At, sign: float) -> Node:
    """The start of a walk towards larger (`sign` 1) or smaller (-1) values of the parameter."""
    return Node(at, curve.tangent(at, sign * curve.along_parameter))


def walk(curve: Curve, start: Node, low: float, high: float, progress: Progress) -> Iterator[Node]:
    """The nodes after `start`, until one is outside [low, high], which is the last.

    It ends before where no further point is found, or q is so small that the branch ends at Q = 0.
    Whoever takes the nodes may stop as well.

    Raises
    ------
    ComputationFailed
        If there are too many.
    """
    here, step = start, _FIRST_STEP
    for _ in range(_MOST_STEPS):
        while True:
            ahead = _step(curve, here, step)
            if ahead is not None:
                break
            step *= 0.5
            if step < _SHORTEST_STEP:
                return
        parameter = curve.parameter(ahead.at.y)
        progress(f"{curve.name}: {curve.over} = {parameter:.6g}")
        yield ahead
        collapsed = ahead.at.y[0] < _COLLAPSED_Q * curve.setting(parameter)[0].rho
        if collapsed or not low <= parameter <= high:
            return
        here, step = ahead, min(1.4 * step, LONGEST_STEP)
    raise ComputationFailed(
        f"the {curve.name} branch has more than {_MOST_STEPS} points; try a smaller range"
    )


def _step(curve: Curve, here: Node, length: float) -> Node | None:
    guess = here.at.y + length * here.tangent
    at = curve.correct(guess, here.tangent)
    if at is None:
        return None
    tangent = curve.tangent(at, here.tangent)
    scale = curve.scale(here.at.y)
    if vanished(curve, at.y, _ZERO):
        return None
    unit = tangent / scale
    straight = unit @ (here.tangent / scale) > _STRAIGHT * np.linalg.norm(unit)
    nearby = np.linalg.norm((at.y - guess) / scale) < _NEARBY * length
    return Node(at, tangent) if straight and nearby else None
