"""Branches from their first point to both ends of a range, and those that leave them."""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass, replace

import numpy as np

from symattn._checks import checked_model
from symattn._frozen import FrozenMapping
from symattn._progress import Progress, silent
from symattn.continuation.curve import NAME_OF, At, Curve, own_overlaps, unknowns_of
from symattn.continuation.end import end_point
from symattn.continuation.losses import loss_crossings
from symattn.continuation.points import branch_point, is_resolved
from symattn.continuation.results import (
    PARAMETERS,
    Branch,
    BranchMap,
    SpecialPoint,
)
from symattn.continuation.special import between, merger
from symattn.continuation.start import first_point
from symattn.continuation.walk import LONGEST_STEP, Node, start_node, walk
from symattn.errors import ComputationFailed, InvalidInput, NotFound
from symattn.model import AttentionModel
from symattn.overlaps import Overlaps

#: Branches that can be followed from the start; others leave them at special points.
STARTS = ("semantic", "positional", "uninformed")
BRANCHES = (*STARTS, "mixed")

_MOST_DIGITS = 8
#: In units of its scale: with an own overlap below this, a branch that ends may merge.
_NEAR = 0.1
#: Coarser grids than for this lose the way where a branch leaves.
_COARSEST = 1e-3
#: A branch that leaves within this, relative, of where a known one merges is the known one.
_SAME = 1e-3


def follow_branch(
    model: AttentionModel,
    branch: str,
    *,
    over: str = "alpha",
    low: float,
    high: float,
    alpha: float | None = None,
    digits: int = 4,
    progress: Progress | None = None,
) -> Branch:
    """Follow a branch over [low, high] of a parameter, folds included.

    Parameters
    ----------
    branch : str
        semantic, positional, uninformed, or mixed: the first that leaves one of these.
    over : str
        One of `PARAMETERS`: alpha, lambda, omega or sigma.
    low, high : float
        The range. The branch is followed while the parameter is inside.
    alpha : float
        The sample complexity n/d, when another parameter is followed in.
    digits : int
        Significant digits of the parameter at special points, 2 to 8, where they can be reached;
        their errors say what was. The grids of the other points are chosen for them.
    progress : callable, optional
        Called with one line of text now and then.

    Raises
    ------
    InvalidInput
        For an argument outside its domain, or a model that is not L = 2, r = t = 1, isotropic.
    NotFound
        If no point of the branch is found in the range.
    ComputationFailed
        If the branch does not come to an end.
    """
    if branch not in BRANCHES:
        raise InvalidInput.of("branch", branch, f"one of {', '.join(BRANCHES)}")
    request = _Request.checked(model, over, low, high, alpha, digits, progress)
    return _mixed(request) if branch == "mixed" else _started(request, branch)


def follow_all(
    model: AttentionModel,
    *,
    over: str = "alpha",
    low: float,
    high: float,
    alpha: float | None = None,
    digits: int = 4,
    progress: Progress | None = None,
) -> BranchMap:
    """All branches that are found over [low, high] of a parameter.

    The semantic, the positional and the uninformed one; those that leave them at symmetry
    breakings, and so on; and the crossings of their training losses. Arguments and errors as in
    `follow_branch`; what is not found is listed in the result.
    """
    request = _Request.checked(model, over, low, high, alpha, digits, progress)
    found, absent = [], {}
    for name in STARTS:
        try:
            found.append(_started(request, name))
        except ComputationFailed as error:
            absent[name] = str(error)
    for branch in found:  # which grows on the way
        for point in branch.special_points:
            if point.kind != "symmetry breaking" or _is_known(found, branch, point):
                continue
            name = _name_beyond(branch, point)
            try:
                found.append(_left(request, branch, point))
            except ComputationFailed as error:
                absent[f"{name}, leaving {branch.name} at {point.parameter:.6g}"] = str(error)
    return BranchMap(
        model=model,
        alpha=request.alpha,
        over=over,
        branches=tuple(found),
        loss_crossings=loss_crossings(*found, digits=digits, progress=progress),
        absent=FrozenMapping(absent),
    )


def leave_at(
    branch: Branch,
    special: SpecialPoint,
    *,
    low: float,
    high: float,
    digits: int = 4,
    progress: Progress | None = None,
) -> Branch:
    """The branch that leaves `branch` at a symmetry-breaking point, over [low, high].

    Raises
    ------
    InvalidInput
        If `special` is no symmetry-breaking point, or for an argument outside its domain.
    ComputationFailed
        If nothing is found on the way out.
    """
    if special.kind != "symmetry breaking":
        raise InvalidInput.of("special", special.kind, "a point of kind symmetry breaking")
    alpha = None if branch.over == "alpha" else branch.alpha
    request = _Request.checked(branch.model, branch.over, low, high, alpha, digits, progress)
    return _left(request, branch, special)


@dataclass(frozen=True, slots=True)
class _Request:
    """What was asked for, checked."""

    model: AttentionModel
    over: str
    low: float
    high: float
    alpha: float
    digits: int
    progress: Progress

    @classmethod
    def checked(
        cls,
        model: AttentionModel,
        over: str,
        low: float,
        high: float,
        alpha: float | None,
        digits: int,
        progress: Progress | None,
    ) -> _Request:
        checked_model(model).require_solvable()
        if over not in PARAMETERS:
            raise InvalidInput.of("over", over, f"one of {', '.join(PARAMETERS)}")
        for end in (low, high):
            if not _is_finite(end):
                raise InvalidInput.of("over", f"{over}={end}", "a range of finite numbers")
        shown = f"{over}={low:g}:{high:g}"
        if not low < high:
            raise InvalidInput.of("over", shown, "a range with its ends in rising order")
        if over == "omega" and not 0.0 <= low < high <= 1.0:
            raise InvalidInput.of("over", shown, "a range within 0 to 1")
        if over != "omega" and not low > 0.0:
            raise InvalidInput.of("over", shown, "a range of positive numbers")
        if (
            isinstance(digits, bool)
            or not isinstance(digits, int)
            or not 2 <= digits <= _MOST_DIGITS
        ):
            raise InvalidInput.of("digits", digits, f"a whole number from 2 to {_MOST_DIGITS}")
        if over == "alpha":
            if alpha is not None:
                raise InvalidInput.of("alpha", alpha, "left out when alpha is followed in")
            alpha = low
        elif alpha is None:
            raise InvalidInput(
                "alpha is missing: the sample complexity at which to follow", "alpha"
            )
        elif not (_is_finite(alpha) and alpha > 0.0):
            raise InvalidInput.of("alpha", alpha, "a positive finite number")
        return cls(model, over, float(low), float(high), float(alpha), digits, progress or silent)

    def curve(self, name: str) -> Curve:
        return Curve(
            model=self.model,
            alpha=self.alpha,
            over=self.over,
            name=name,
            accuracy=min(_COARSEST, 10.0**-self.digits),
        )


def _is_finite(value: object) -> bool:
    real = isinstance(value, int | float | np.floating | np.integer)
    return real and not isinstance(value, bool) and math.isfinite(value)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class _Half:
    """What one direction gave, in the order of the walk."""

    nodes: list[At]
    special_points: list[SpecialPoint]


def _started(request: _Request, name: str) -> Branch:
    curve = request.curve(name)
    at = first_point(curve, request.low, request.high, request.progress)
    back, forth = (_followed(request, curve, start_node(curve, at, sign)) for sign in (-1.0, 1.0))
    return _branch(
        request,
        curve,
        [*reversed(back.nodes), at, *forth.nodes],
        [*reversed(back.special_points), *forth.special_points],
    )


def _followed(request: _Request, curve: Curve, start: Node, *, leaving: bool = False) -> _Half:
    """The curve from `start`, which is not among the nodes, until it leaves the range or ends.

    `leaving` says that it leaves another branch at the start.
    """
    nodes: list[At] = []
    special: list[SpecialPoint] = []
    here = start
    for ahead in walk(curve, start, request.low, request.high, request.progress):
        try:
            found = between(curve, here, ahead, request.digits, leaving=leaving and here is start)
        except NotFound:  # a merger that is none: the branch went through Q = 0
            break
        special += [s for s in found if request.low <= s.parameter <= request.high]
        if any(s.kind == "merger" for s in found):
            return _Half(nodes, special)
        if not request.low <= curve.parameter(ahead.at.y) <= request.high:
            edge = _at_edge(request, curve, here.at, ahead.at)
            return _Half(nodes if edge is None else [*nodes, edge], special)
        nodes.append(ahead.at)
        here = ahead
    limit = _limit(request, curve, here)
    if limit is not None and limit.at is not here.at:
        try:
            found = between(curve, here, limit, request.digits)
        except NotFound:  # as above
            limit = None
        else:
            special += found
            if not any(s.kind == "merger" for s in found):
                nodes.append(limit.at)
    if limit is None:
        special.append(_end(request, curve, [start.at, *nodes]))
    return _Half(nodes, special)


def _at_edge(request: _Request, curve: Curve, inside: At, outside: At) -> At | None:
    """The point of the curve at the end of the range, between two neighbours."""
    parameter = curve.parameter(outside.y)
    edge = min(max(parameter, request.low), request.high)
    if abs(curve.coordinate(edge) - inside.y[-1]) < 1e-12:  # the walk started there
        return None
    share = (curve.coordinate(edge) - inside.y[-1]) / (outside.y[-1] - inside.y[-1])
    return curve.correct_at((1.0 - share) * inside.y + share * outside.y, edge)


def _end(request: _Request, curve: Curve, nodes: list[At]) -> SpecialPoint:
    """Where the walk ended inside the range: next to a merger, or at Q = 0."""
    last = nodes[-1]
    for k in own_overlaps(curve):
        if abs(last.step.overlaps[k]) < _NEAR * curve.scale(last.y)[curve.unknowns.index(k)]:
            with contextlib.suppress(NotFound):
                return merger(curve, last.y, k, request.digits)
    return end_point(curve, nodes)


def _limit(request: _Request, curve: Curve, here: Node) -> Node | None:
    """The node at omega = 0 or 1, beyond which there is no model, if the walk came next to it."""
    limit = request.high if here.tangent[-1] > 0.0 else request.low
    if curve.over != "omega" or limit not in (0.0, 1.0):
        return None
    missing = limit - here.at.y[-1]
    if abs(missing) < 1e-12:
        return here
    if abs(missing) > LONGEST_STEP:
        return None
    at = curve.correct_at(here.at.y + missing / here.tangent[-1] * here.tangent, limit)
    return None if at is None else Node(at, curve.tangent(at, here.tangent))


def _left(request: _Request, branch: Branch, special: SpecialPoint) -> Branch:
    curve = request.curve(_name_beyond(branch, special))
    y = curve.pack(special.overlaps, special.parameter)
    grown = curve.unknowns.index(Overlaps._fields.index(special.direction))
    tangent = np.zeros(len(y))
    tangent[grown] = curve.scale(y)[grown]
    half = _followed(request, curve, Node(curve.at(y), tangent), leaving=True)
    if not half.nodes:
        raise ComputationFailed(
            f"no branch was found leaving the {branch.name} one at {branch.over} = "
            f"{special.parameter:.6g}; try more digits"
        )
    note = f"{special.direction} reaches 0 on the {branch.name} branch"
    origin = replace(special, kind="merger", note=note)
    return _branch(request, curve, half.nodes, [origin, *half.special_points])


def _mixed(request: _Request) -> Branch:
    """The first mixed branch, leaving the semantic or the positional one."""
    reasons = []
    for name in ("semantic", "positional"):
        try:
            branch = _started(request, name)
        except NotFound as error:
            reasons.append(str(error))
            continue
        for point in branch.special_points:
            if point.kind == "symmetry breaking":
                return _left(request, branch, point)
        reasons.append(f"no symmetry breaking on the {name} branch")
    raise NotFound(
        f"no mixed branch found for {request.over} in [{request.low:g}, {request.high:g}]: "
        f"{'; '.join(reasons)}; try a wider range"
    )


def _name_beyond(branch: Branch, special: SpecialPoint) -> str:
    """Name of the branch that leaves at a symmetry breaking."""
    grown = Overlaps._fields.index(special.direction)
    return NAME_OF[frozenset({*unknowns_of(branch.name), grown})]


def _is_known(found: list[Branch], branch: Branch, special: SpecialPoint) -> bool:
    """Whether the branch that leaves there is among those found: one that merges there."""
    name = _name_beyond(branch, special)
    return any(
        point.kind == "merger"
        and point.direction == special.direction
        and abs(point.parameter - special.parameter)
        <= point.error + special.error + _SAME * abs(special.parameter)
        for other in found
        if other.name == name
        for point in other.special_points
    )


def _branch(
    request: _Request, curve: Curve, nodes: list[At], special_points: list[SpecialPoint]
) -> Branch:
    points = []
    for count, at in enumerate(nodes, 1):
        request.progress(f"{curve.name}: certifying point {count} of {len(nodes)}")
        point = branch_point(curve, at)
        if is_resolved(curve, point):
            points.append(point)
    if not points:
        raise ComputationFailed(
            f"no point of the {curve.name} branch is told from where it merges; try more digits"
        )
    return Branch(
        name=curve.name,
        model=request.model,
        alpha=request.alpha,
        over=request.over,
        points=tuple(points),
        special_points=tuple(special_points),
    )
