"""The grid of a sweep, and which points a point is computed from.

Every line of the grid along the first parameter is walked by itself: from its head, where the
branch is looked for without help, outwards to both sides, until it is lost. So what a point is
computed from is fixed, whatever was interrupted, and lines can be computed anywhere.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from symattn.errors import InvalidInput
from symattn.model import PARAMETERS, AttentionModel
from symattn.overlaps import Overlaps
from symattn.sweep.point import Outcome, Request, first_aim

# What can be swept over.
_NAMES = ("alpha", *PARAMETERS)

#: Branches of a sweep.
BRANCHES = ("semantic", "positional")

#: What numbers of a grid may be.
ALLOWED = {"alpha": "a positive finite number", "accuracy": "from 1e-9 to 0.01"}

_MOST_POINTS = 1000
# So many neighbours on one side are extrapolated from.
_ANCESTORS = 4
# Extrapolation may change an overlap, and leave of q - theta^2/rho, by this share of it.
_FARTHEST = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """A parameter and its values, rising.

    Raises
    ------
    InvalidInput
        For another parameter, or values that are not 2 to 1000 rising numbers.
    """

    name: str
    values: tuple[float, ...]

    def __post_init__(self) -> None:
        if self.name not in _NAMES:
            raise InvalidInput.of("over", self.name, f"one of {', '.join(_NAMES)}")
        values = tuple(float(value) for value in self.values)
        rising = all(a < b for a, b in pairwise(values))
        if not (2 <= len(values) <= _MOST_POINTS and rising and all(map(math.isfinite, values))):
            raise InvalidInput.of(self.name, values, f"2 to {_MOST_POINTS} rising numbers")
        object.__setattr__(self, "values", values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Points over two parameters.

    Attributes
    ----------
    model : AttentionModel
        With the parameters that are not swept over.
    alpha : float or None
        Sample complexity, if that is not swept over.
    x, y : Axis
        Lines are along x; alpha is x wherever it is swept over.
    accuracy : float
        Relative error of overlaps and losses, at most.

    Raises
    ------
    InvalidInput
        When both are the same parameter, alpha is missing or there twice, or a value is outside
        the domain of the model.
    """

    model: AttentionModel
    alpha: float | None
    x: Axis
    y: Axis
    accuracy: float

    def __post_init__(self) -> None:
        if self.x.name == self.y.name:
            raise InvalidInput.of("over", self.x.name, "two different parameters")
        if self.y.name == "alpha":
            for name, axis in (("x", self.y), ("y", self.x)):
                object.__setattr__(self, name, axis)
        if self.alpha is None and self.x.name != "alpha":
            raise InvalidInput("alpha is missing, which is not swept over", "alpha")
        if self.alpha is not None and self.x.name == "alpha":
            raise InvalidInput.of("alpha", self.alpha, "left out, since it is swept over")
        if not 1e-9 <= self.accuracy <= 1e-2:
            raise InvalidInput.of("accuracy", self.accuracy, ALLOWED["accuracy"])
        # The ends of both have every value that the model might refuse.
        for column in (0, -1):
            for row in (0, -1):
                model, alpha = self.at(column, row)
                model.require_solvable()
                if not (math.isfinite(alpha) and alpha > 0):
                    raise InvalidInput.of("alpha", alpha, ALLOWED["alpha"])

    def at(self, column: int, row: int) -> tuple[AttentionModel, float]:
        """The model and the sample complexity of a point."""
        model, alpha = self.model, self.alpha
        for axis, place in ((self.x, column), (self.y, row)):
            if axis.name == "alpha":
                alpha = axis.values[place]
            else:
                change: dict[str, Any] = {PARAMETERS[axis.name]: axis.values[place]}
                model = replace(model, **change)
        assert alpha is not None
        return model, alpha


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One branch over all values of x at one value of y."""

    grid: Grid
    branch: str
    row: int

    def next(self, known: Mapping[int, Outcome]) -> Iterator[tuple[int, Request | Outcome]]:
        """What can be done next, given the outcomes of columns: requests, and outcomes at once.

        A request for a column is the same whatever else is known. Nothing is left to do when there
        is nothing next.
        """
        last = len(self.grid.x.values) - 1
        heads = (last, last // 2, 0) if self.branch == "semantic" else (0, last, last // 2)
        for place in dict.fromkeys(heads):
            if place not in known:
                yield place, self._request(place, [])
                return
            if known[place].status == "found":
                for side in (1, -1):
                    yield from self._outwards(place, side, known)
                return
        if any(known[place].status == "failed" for place in heads):
            status, reason = "failed", "where the line begins the accuracy is out of reach"
        else:
            status, reason = "absent", "not found at either end nor in the middle of the line"
        yield from self._without(range(last + 1), known, Outcome(status=status, reason=reason))

    def _outwards(
        self, head: int, side: int, known: Mapping[int, Outcome]
    ) -> Iterator[tuple[int, Request | Outcome]]:
        """The next point on one side of the head, or all there once the branch is lost."""
        last = len(self.grid.x.values) - 1
        places = range(head + side, last + 1 if side > 0 else -1, side)
        behind = [head]
        for at, place in enumerate(places):
            outcome = known.get(place)
            if outcome is None or outcome.status == "unstarted":
                found = [(p, known[p]) for p in behind if known[p].status == "found"]
                yield place, self._request(place, found[-_ANCESTORS:])
                return
            if outcome.status == "absent":
                value = self.grid.x.values[behind[-1]]
                reason = f"the branch was last found at {self.grid.x.name} = {value:g}"
                lost = Outcome(status="absent", reason=reason)
                yield from self._without(places[at:], known, lost)
                return
            behind.append(place)

    def _without(
        self, places: Iterable[int], known: Mapping[int, Outcome], outcome: Outcome
    ) -> Iterator[tuple[int, Outcome]]:
        """The outcome for all places that nothing was found at yet."""
        for place in places:
            if place not in known or known[place].status == "unstarted":
                yield place, outcome

    def _request(self, place: int, behind: Sequence[tuple[int, Outcome]]) -> Request:
        """behind: points that were found between the head and here, the nearest last."""
        model, alpha = self.grid.at(place, self.row)
        x = self.grid.x.values
        starts: tuple[Overlaps, ...] = ()
        neighbours = len(behind)
        if behind:
            nearest = behind[-1][1].overlaps
            places = [x[p] for p, _ in behind]
            ahead = _extrapolated(x[place], places, [o.overlaps for _, o in behind])
            starts = (ahead, nearest)
            if not _plausible(ahead, nearest, model):
                starts, neighbours = (nearest,), 1
        return Request(
            model=model,
            alpha=alpha,
            branch=self.branch,
            accuracy=self.grid.accuracy,
            aim=first_aim(self.grid.accuracy, [outcome for _, outcome in behind]),
            starts=starts,
            neighbours=neighbours,
        )


def _extrapolated(x: float, places: Sequence[float], overlaps: Sequence[Overlaps]) -> Overlaps:
    """The polynomial through the overlaps at all places, at x."""
    weights = [
        math.prod((x - b) / (a - b) for b in places if b != a)  # Lagrange's
        for a in places
    ]
    return Overlaps(*map(float, np.array(weights) @ np.array(overlaps)))


def _plausible(ahead: Overlaps, nearest: Overlaps, model: AttentionModel) -> bool:
    """Whether extrapolated overlaps are such that Newton's method can begin there.

    Next to the end of a branch they need not be: at q near theta^2/rho an evaluation takes for
    ever.
    """
    near = all(abs(x - y) <= _FARTHEST * abs(y) for x, y in zip(ahead, nearest, strict=True))
    gaps = [q - theta**2 / model.rho for q, _, _, theta in (ahead, nearest)]
    return near and gaps[0] >= _FARTHEST * gaps[1]
