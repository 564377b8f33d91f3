"""One fixed point of a sweep, from those of its neighbours.

`symattn.solve` looks for a branch and describes it in full. In a sweep the neighbours tell where
the branch is, and what is asked for is less: overlaps, losses, errors and stability to a stated
relative accuracy. Two evaluations of state evolution that are compared do that, after one or a few
on rough grids where what is extrapolated from the neighbours is not close enough.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np

from symattn import __version__
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
# Newton steps on the grids for the accuracy from what was extrapolated.
_TRIES = 3
# So many neighbours that are extrapolated from mostly lead that close.
_ENOUGH = 3
# Next to the end of a branch the accuracy takes finer grids than this, in its units.
_FAR_FROM_ENDS = 0.3
# From so many kinds of grids Newton's method is begun before it is given up.
_AIMS = 3
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
    version, finished : str
        The version of the package that computed it, and when it was written, as far as known.
    """

    values: Mapping[str, float] = FrozenMapping({})
    errors: Mapping[str, float] = FrozenMapping({})
    growth: float | None = None
    fold: float | None = None
    aim: float | None = None
    status: str = "found"
    reason: str = ""
    seconds: float = 0.0
    version: str = field(default="", compare=False)
    finished: str = field(default="", compare=False)

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
    most = min(_AIM * accuracy, SEARCH_ACCURACY)
    # What would have sufficed there, errors being proportional to it; a margin for the way here.
    needed = [o.aim * accuracy / o.worst for o in behind[-2:] if o.aim is not None]
    if not needed:
        return most
    trend = min(1.0, max(0.3, needed[-1] / needed[0]))
    return max(_floor(accuracy), min(most, 0.6 * trend * needed[-1]))


def _floor(accuracy: float) -> float:
    """The finest grids that are tried."""
    return max(10.0 * FINEST_ACCURACY, _FINEST * accuracy)


def compute(request: Request) -> Outcome:
    """The outcome of a request.

    The same request has the same outcome on the same machine, but for the time.
    """
    begun = time.perf_counter()
    try:
        outcome = _certified(request)
    except NotFound as error:
        status = "absent" if request.starts else "unstarted"
        outcome = Outcome(status=status, reason=str(error))
    except ComputationFailed as error:
        outcome = Outcome(status="failed", reason=str(error))
    return replace(outcome, seconds=time.perf_counter() - begun, version=__version__)


def _approached(request: Request) -> Overlaps:
    """Overlaps near the fixed point."""
    if not request.starts:
        return _looked_for(request)
    ended: ComputationFailed | None = None
    for start in request.starts:
        try:
            return _reached(request, start)
        except ComputationFailed as error:
            # that it is not there says more than that it could not be computed
            ended = error if not isinstance(ended, NotFound) else ended
    assert ended is not None
    if not isinstance(ended, NotFound):
        raise ended
    if request.aim > _FAR_FROM_ENDS * request.accuracy:
        # the neighbours do not look like the end of a branch, but may be too far away
        with suppress(NotFound):
            return _looked_for(request)
    raise NotFound(f"not there from its neighbours: {ended}") from ended


def _looked_for(request: Request) -> Overlaps:
    """Overlaps near the fixed point, found without neighbours."""
    model, alpha, branch = request.model, request.alpha, request.branch
    return find(model, alpha, branch, None, silent, starts=_STARTS, thorough=False)


def _reached(request: Request, start: Overlaps) -> Overlaps:
    """Overlaps on the branch that Newton's method on rough grids reaches."""
    model, alpha, branch = request.model, request.alpha, request.branch
    for tolerance in (_NEAR, _CLOSE):
        point = newton(
            model, alpha, start, branch, SEARCH_ACCURACY, tolerance, silent, most=_MOST_STEPS
        )
        start = point.overlaps
        try:
            require_on_branch(point, branch)
        except NotFound:
            # a correction may be large for the overlap that tells the branch
            if point.change < _CLOSE:
                raise
        else:
            break
    return start


def _certified(request: Request) -> Outcome:
    """The fixed point to the accuracy asked for."""
    model, alpha, branch = request.model, request.alpha, request.branch
    floor = _floor(request.accuracy)
    coarse, aim = _near(request)
    while True:
        fine = newton_point(model, alpha, coarse.overlaps, branch, _FINER * aim)
        require_on_branch(fine, branch)
        outcome = _compared(request, aim, coarse, fine)
        if outcome.worst <= request.accuracy and not outcome.reason:
            return outcome
        if aim <= floor:
            reached = f"a relative error of {outcome.worst:.1e} was reached"
            raise ComputationFailed("; ".join(filter(None, (reached, outcome.reason))))
        share = min(0.5, max(_GREATEST_CUT, 0.5 * request.accuracy / outcome.worst))
        if 0.5 * _FINER <= share <= 2.0 * _FINER:
            aim, coarse = _FINER * aim, fine
        else:
            aim = max(floor, share * aim)
            coarse = newton_point(model, alpha, fine.overlaps, branch, aim)


def _near(request: Request) -> tuple[NewtonPoint, float]:
    """An evaluation one small correction away from the fixed point, and its grids' accuracy."""
    model, alpha, branch, aim = request.model, request.alpha, request.branch, request.aim
    if request.neighbours >= _ENOUGH and aim > _FAR_FROM_ENDS * request.accuracy:
        with suppress(ComputationFailed):
            point = newton_point(model, alpha, request.starts[0], branch, aim)
            if _CLOSE <= point.change < _NEAR:
                overlaps = point.overlaps
                point = newton(model, alpha, overlaps, branch, aim, _CLOSE, silent, most=_TRIES)
            if point.change < _CLOSE:
                require_on_branch(point, branch)
                return point, aim
    overlaps = _approached(request)
    for _ in range(_AIMS):
        try:
            return newton(
                model, alpha, overlaps, branch, aim, _CLOSE, silent, most=_MOST_STEPS
            ), aim
        except SearchEnded as error:
            ended = error
        aim = max(_floor(request.accuracy), 0.1 * aim)
    raise ComputationFailed(f"there on rough grids, but not on finer ones: {ended}")


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
