"""One fixed point of a sweep, from those of its neighbours.

`symattn.solve` looks for a branch and describes it in full. In a sweep the neighbours tell where
the branch is, and what is asked for is less: overlaps, losses, errors and stability to a stated
relative accuracy. Three evaluations of state evolution do that, one on coarse grids and two that
are compared.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from symattn._frozen import FrozenMapping
from symattn._progress import silent
from symattn._search import (
    SEARCH_ACCURACY,
    NewtonPoint,
    SearchEnded,
    find,
    newton,
    newton_point,
    require_on_branch,
)
from symattn.errors import ComputationFailed, NotFound
from symattn.fixed_points import CERTIFIED, FINEST_ACCURACY, Refined, certified_test_error
from symattn.model import AttentionModel
from symattn.overlaps import Hats, Overlaps
from symattn.state_evolution import transported

#: What a row has, each with its error.
NUMBERS = (*Overlaps._fields, *Hats._fields, "train_loss", "test_error", "envelope")

# Corrections of overlaps, relative to their scale: one below the first is left to the comparison,
# one below the second is made on the grids for the accuracy, larger ones on rough grids.
_CLOSE = 1e-3
_NEAR = 0.03
# The means are about ten times as accurate as the grids are made for.
_AIM = 3.0
# Grids are compared with ones for this share of their accuracy; as the two may agree by chance, a
# share of what the finer ones are made for is added to the errors.
_FINER = 0.2
_BY_CHANCE = 0.3
# Next to the end of a branch, where its own overlap goes to 0, no grid is fine enough for the
# accuracy relative to that: one is given up here, in units of the accuracy.
_FINEST = 1e-3
# By so much at most the aim is lowered at a time.
_GREATEST_CUT = 0.01
# How often overlaps are corrected on the grids for the accuracy.
_TRIES = 4
# So many neighbours that are extrapolated from mostly lead that close, but next to the end of a
# branch, where the accuracy takes finer grids than this, in its units.
_ENOUGH = 3
_FAR_FROM_ENDS = 0.3
# Newton steps in which the branch is reached from a neighbour, or not at all.
_MOST_STEPS = 8
# Starts that are tried where there is no neighbour.
_STARTS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A point to be computed, and what it is computed from.

    Attributes
    ----------
    model : AttentionModel
    alpha : float
    branch : str
        `semantic` or `positional`.
    accuracy : float
        Relative error of overlaps and losses, at most.
    aim : float
        Accuracy of the grids to begin with; they are made finer until the accuracy is reached.
    starts : tuple of Overlaps
        Tried in this order. If there are none, the branch is looked for by itself.
    neighbours : int
        That the first start was extrapolated from.
    """

    model: AttentionModel
    alpha: float
    branch: str
    accuracy: float
    aim: float
    starts: tuple[Overlaps, ...] = ()
    neighbours: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What was found at a point.

    Attributes
    ----------
    values, errors : mapping
        `NUMBERS` by name, with absolute errors as in `symattn.FixedPoint`; empty if there is no
        fixed point.
    growth : float or None
        The largest real part of an eigenvalue of the Jacobian of state evolution: above 1 the fixed
        point is unstable.
    fold : float or None
        E[number of saddles]: a weight of what the proximal map jumps over; 0 where nothing jumps.
    aim : float or None
        Accuracy of the grids that sufficed.
    status : str
        `found`; `absent`: lost from its neighbours; `failed`: found, but not to the accuracy;
        `unstarted`: not found without neighbours, which they may still lead to.
    reason : str
        Why nothing was found.
    seconds : float
        That it took.
    """

    values: Mapping[str, float] = FrozenMapping({})
    errors: Mapping[str, float] = FrozenMapping({})
    growth: float | None = None
    fold: float | None = None
    aim: float | None = None
    status: str = "found"
    reason: str = ""
    seconds: float = 0.0

    @property
    def overlaps(self) -> Overlaps:
        """Of a point that was found."""
        return Overlaps(*(self.values[name] for name in Overlaps._fields))

    @property
    def worst(self) -> float:
        """The largest relative error of overlaps and losses of a point that was found."""
        return max(
            self.errors[name] / abs(self.values[name])
            for name in CERTIFIED
            if self.values[name] != 0.0
        )


def first_aim(accuracy: float, behind: Sequence[Outcome]) -> float:
    """Accuracy of the grids to begin with, from what neighbours needed, the nearest last."""
    # What would have sufficed there, errors being proportional to it; a margin for the way here.
    needed = [o.aim * accuracy / o.worst for o in behind[-2:] if o.aim is not None]
    if not needed:
        return _AIM * accuracy
    trend = min(1.0, max(0.3, needed[-1] / needed[0]))
    return max(_FINEST * accuracy, min(_AIM * accuracy, 0.6 * trend * needed[-1]))


def compute(request: Request) -> Outcome:
    """The outcome of a request. The same request has the same outcome, but for the time."""
    begun = time.perf_counter()
    try:
        outcome = _certified(request)
    except NotFound as error:
        status = "absent" if request.starts else "unstarted"
        outcome = Outcome(status=status, reason=str(error))
    except ComputationFailed as error:
        outcome = Outcome(status="failed", reason=str(error))
    return replace(outcome, seconds=time.perf_counter() - begun)


def _approached(request: Request) -> Overlaps:
    """Overlaps near the fixed point."""
    model, alpha, branch = request.model, request.alpha, request.branch
    if not request.starts:
        return find(model, alpha, branch, None, silent, starts=_STARTS, thorough=False)
    ended: ComputationFailed | None = None
    for start in request.starts:
        try:
            point = newton(
                model, alpha, start, branch, SEARCH_ACCURACY, _NEAR, silent, most=_MOST_STEPS
            )
            require_on_branch(point, branch)
        except ComputationFailed as error:
            ended = error
        else:
            return point.overlaps
    raise NotFound(f"not there from its neighbours: {ended}")


def _certified(request: Request) -> Outcome:
    """The fixed point to the accuracy asked for."""
    model, alpha, branch = request.model, request.alpha, request.branch
    aim = request.aim
    coarse = _near(request, aim)
    while True:
        fine = newton_point(model, alpha, coarse.overlaps, branch, _FINER * aim)
        require_on_branch(fine, branch)
        outcome = _compared(request, aim, coarse, fine)
        if outcome.worst <= request.accuracy and not outcome.reason:
            return outcome
        if aim <= max(FINEST_ACCURACY, _FINEST * request.accuracy):
            reached = f"a relative error of {outcome.worst:.1e} was reached"
            raise ComputationFailed("; ".join(filter(None, (reached, outcome.reason))))
        share = min(0.5, max(_GREATEST_CUT, 0.5 * request.accuracy / outcome.worst))
        if 0.5 * _FINER <= share <= 2.0 * _FINER:
            aim, coarse = _FINER * aim, fine
        else:
            aim *= share
            coarse = newton_point(model, alpha, fine.overlaps, branch, aim)


def _near(request: Request, aim: float) -> NewtonPoint:
    """An evaluation on grids for `aim` that is one small correction away from the fixed point."""
    if request.neighbours >= _ENOUGH and aim > _FAR_FROM_ENDS * request.accuracy:
        with suppress(ComputationFailed):
            return _settled(request, request.starts[0], aim)
    return _settled(request, _approached(request), aim)


def _settled(request: Request, overlaps: Overlaps, aim: float) -> NewtonPoint:
    """Newton's method on grids for `aim` from overlaps near the fixed point."""
    for _ in range(_TRIES):
        point = newton_point(request.model, request.alpha, overlaps, request.branch, aim)
        if point.change < _CLOSE:
            return point
        if point.change > _NEAR:
            break
        overlaps = point.overlaps
    raise SearchEnded(f"Newton's method does not settle: corrections of {point.change:.1e} stay")


def _compared(request: Request, aim: float, coarse: NewtonPoint, fine: NewtonPoint) -> Outcome:
    """The numbers at `fine`, with what the difference to `coarse` certifies.

    `coarse` was evaluated one correction away; it is compared to first order in that, and the
    square of the correction is part of the errors. The reason says what is against it.
    """
    step = fine.step
    beside = replace(
        coarse, step=transported(request.model, request.alpha, coarse.step, step.overlaps)
    )
    least = _BY_CHANCE * _FINER * aim
    refined = Refined.of(request.model, request.alpha, request.branch, beside, fine, least)
    digits = math.ceil(-math.log10(request.accuracy))
    test_error, error = certified_test_error(request.model, step.overlaps, refined.moved, digits)
    values = {**refined.values, "test_error": test_error}
    bounds = {**refined.errors, "test_error": error}
    second_order = coarse.change**2
    return Outcome(
        values=FrozenMapping({name: float(values[name]) for name in NUMBERS}),
        errors=FrozenMapping(
            {name: float(bounds[name] + second_order * abs(values[name])) for name in NUMBERS}
        ),
        growth=float(np.max(np.linalg.eigvals(step.jacobian).real)),
        fold=step.expectations.certificate.fold,
        aim=aim,
        reason=refined.objection(request.accuracy),
    )
