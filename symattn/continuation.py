"""Branches of fixed points in a parameter of the model, by pseudo-arclength continuation.

A branch lies in the subspace of its own overlaps (semantic: m = 0, positional: theta = 0), where it
is a curve: the fixed points of state evolution in its unknowns and the parameter. It is followed
along its own length, so that it may turn back in the parameter. Test functions along it give the
special points:

- fold: the parameter turns back, an eigenvalue within the subspace passes +1;
- symmetry breaking: the eigenvalue in a direction that vanishes on the branch (m or theta) passes
  +1, and a branch with both overlaps leaves;
- merger: the branch's own overlap passes 0, where it leaves the branch without that overlap;
- baseline crossing: the test error passes that of the best linear positional map.

A special point is a root of its test function along the curve, found on two sets of grids, whose
difference is its error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from symattn._progress import Progress
from symattn._search import UNKNOWNS, SearchEnded, find, overlap_scale
from symattn._typing import FloatArray
from symattn.baselines import linear_baseline
from symattn.errors import ComputationFailed, InvalidInput
from symattn.kernels.generated.numba_l2_r1_t1 import ridge_jacobian
from symattn.model import AttentionModel
from symattn.overlaps import Overlaps
from symattn.quadrature.expectations import Resolution
from symattn.quadrature.generalization_error import mean_test_loss
from symattn.state_evolution import Step, evolve

#: Parameters in which a branch can be followed.
PARAMETERS = ("alpha", "lambda", "omega", "sigma")
#: Branches that can be followed from the start; others leave them at special points.
STARTS = ("semantic", "positional", "uninformed")

_NAMES = ("q", "m", "V", "theta")
#: Lengths along the curve, in units of the overlaps' scales and of the parameter's logarithm.
_FIRST_STEP, _LONGEST_STEP, _SHORTEST_STEP = 0.03, 0.15, 1e-4
_MOST_POINTS = 400
_MOST_NEWTON = 7
_CORRECTED = 1e-8
#: Relative to rho: q below this at the end of a branch is on its way to Q = 0.
_SMALL_Q = 1e-2
_ROOT_STEPS = 25


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchPoint:
    """A fixed point on a branch.

    Attributes
    ----------
    parameter : float
        Value of the parameter that is followed in.
    overlaps : Overlaps
    train_loss, test_error : float
        eps_t in its extremal form, and eps_g.
    stable : bool
        Whether no eigenvalue of the Jacobian of state evolution, in all four directions, has a real
        part above +1.
    errors : mapping
        Of q, m, V, theta, train_loss and test_error, absolute, at fixed parameter: the difference
        to coarser grids through (1 - J)^-1, which is large next to a fold.
    eigenvalues : tuple of complex
    """

    parameter: float
    overlaps: Overlaps
    train_loss: float
    test_error: float
    stable: bool
    errors: Mapping[str, float]
    eigenvalues: tuple[complex, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecialPoint:
    """Where the character of a branch changes.

    Attributes
    ----------
    kind : str
        "fold", "symmetry breaking", "merger", "baseline crossing" or "end".
    parameter, error : float
        Where, and its absolute error.
    overlaps : Overlaps
    note : str
        What happens there, in words.
    direction : str
        For symmetry breaking, the overlap that grows; empty otherwise.
    """

    kind: str
    parameter: float
    error: float
    overlaps: Overlaps
    note: str
    direction: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """A branch of fixed points.

    Attributes
    ----------
    name : str
        semantic, positional, uninformed, or mixed (both overlaps).
    model : AttentionModel
        The parameter that is followed in has its value at the start.
    alpha : float
        Likewise.
    over : str
        One of `PARAMETERS`.
    points : tuple of BranchPoint
        In the order along the branch.
    special_points : tuple of SpecialPoint
        In the same order.
    """

    name: str
    model: AttentionModel
    alpha: float
    over: str
    points: tuple[BranchPoint, ...]
    special_points: tuple[SpecialPoint, ...]

    def to_dict(self) -> dict[str, Any]:
        """The branch as JSON-able values; every number that has an error has it beside it."""
        return {
            "name": self.name,
            "model": self.model.to_dict(),
            "over": self.over,
            "points": [
                {
                    self.over: point.parameter,
                    **point.overlaps._asdict(),
                    "train_loss": point.train_loss,
                    "test_error": point.test_error,
                    "stable": point.stable,
                    "errors": dict(point.errors),
                }
                for point in self.points
            ],
            "special_points": [
                {
                    "kind": point.kind,
                    self.over: point.parameter,
                    "error": point.error,
                    **point.overlaps._asdict(),
                    "note": point.note,
                }
                for point in self.special_points
            ],
        }


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
        One of `STARTS`.
    over : str
        One of `PARAMETERS`.
    low, high : float
        The range. The branch is followed while the parameter is inside.
    alpha : float
        The sample complexity, when another parameter is followed in.
    digits : int
        Significant digits that the grids are chosen for, 2 to 8; what is reached is in the errors.

    Raises
    ------
    InvalidInput
        For an argument outside its domain.
    ComputationFailed
        If no point of the branch is found in the range.
    """
    model.require_solvable()
    if branch not in STARTS:
        raise InvalidInput.of("branch", branch, f"one of {', '.join(STARTS)}")
    curve_of = _checked(model, over, low, high, alpha, digits, branch)
    report = progress or (lambda _: None)
    curve, overlaps, start = _any_point(curve_of, branch, low, high, report)
    y = curve.correct_at(curve.pack(overlaps, start), start)
    back = _walk(curve, y, -1.0, low, high, report)
    forth = _walk(curve, y, 1.0, low, high, report)
    return _joined(curve, branch, back, forth)


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
        If `special` is no symmetry-breaking point.
    ComputationFailed
        If nothing is found on the way out.
    """
    if special.kind != "symmetry breaking":
        raise InvalidInput.of("special", special.kind, "a point of kind symmetry breaking")
    grown = _NAMES.index(special.direction)
    name = _NAME_OF[frozenset({*_unknowns(branch.name), grown})]
    curve = _checked(branch.model, branch.over, low, high, branch.alpha, digits, name)
    y = curve.pack(special.overlaps, special.parameter)
    scale = curve.scale(special.overlaps)
    tangent = np.zeros(len(y))
    tangent[curve.unknowns.index(grown)] = scale[curve.unknowns.index(grown)]
    walked = _walk(curve, y, 1.0, low, high, progress or (lambda _: None), tangent=tangent)
    if not walked.points:
        raise ComputationFailed(
            f"no branch was found leaving the {branch.name} one at {branch.over} = "
            f"{special.parameter:.6g}; try more digits"
        )
    return _joined(curve, name, _Walked([], []), walked)


def _unknowns(name: str) -> list[int]:
    return [0, 1, 2, 3] if name == "mixed" else UNKNOWNS[name]


_NAME_OF = {
    frozenset(_unknowns(name)): name for name in ("semantic", "positional", "uninformed", "mixed")
}


def _checked(
    model: AttentionModel,
    over: str,
    low: float,
    high: float,
    alpha: float | None,
    digits: int,
    name: str,
) -> _Curve:
    if over not in PARAMETERS:
        raise InvalidInput.of("over", over, f"one of {', '.join(PARAMETERS)}")
    for end in (low, high):
        if isinstance(end, bool) or not isinstance(end, int | float) or not math.isfinite(end):
            raise InvalidInput.of(over, end, "a finite number")
    if not low < high:
        raise InvalidInput.of(over, f"{low}:{high}", "two ends in rising order")
    if low < 0.0 or (low == 0.0 and over != "omega") or (high > 1.0 and over == "omega"):
        allowed = "ends from 0 to 1" if over == "omega" else "positive ends"
        raise InvalidInput.of(over, f"{low}:{high}", allowed)
    if isinstance(digits, bool) or not isinstance(digits, int) or not 2 <= digits <= 8:
        raise InvalidInput.of("digits", digits, "a whole number from 2 to 8")
    if over != "alpha" and alpha is None:
        raise InvalidInput("alpha is missing: the sample complexity at which to follow", "alpha")
    return _Curve(
        model=model,
        alpha=low if alpha is None else float(alpha),
        over=over,
        name=name,
        accuracy=10.0**-digits,
    )


@dataclass(frozen=True)
class _At:
    """State evolution at a point y = (unknown overlaps, parameter coordinate) of a curve.

    residual: overlaps - image, the unknown ones. matrix: its derivative by y.
    """

    y: FloatArray
    step: Step
    residual: FloatArray
    matrix: FloatArray


@dataclass(frozen=True)
class _Curve:
    """The system whose solutions are a branch.

    The coordinate of alpha, lambda and sigma is their logarithm, that of omega is omega.
    """

    model: AttentionModel
    alpha: float
    over: str
    name: str
    accuracy: float

    @property
    def unknowns(self) -> list[int]:
        return _unknowns(self.name)

    def pack(self, overlaps: Overlaps, parameter: float) -> FloatArray:
        coordinate = parameter if self.over == "omega" else math.log(parameter)
        return np.array([*(overlaps[k] for k in self.unknowns), coordinate])

    def parameter(self, y: FloatArray) -> float:
        return float(y[-1]) if self.over == "omega" else math.exp(y[-1])

    def overlaps(self, y: FloatArray) -> Overlaps:
        values = np.zeros(4)
        values[self.unknowns] = y[:-1]
        return Overlaps(*map(float, values))

    def scale(self, overlaps: Overlaps) -> FloatArray:
        """Units of y's components along the curve, which do not vanish where Q = 0 is near."""
        sigma = self.model.require_solvable()
        least = np.array([1e-2 * sigma**2, 0.1 * sigma, 0.0, 0.1 * sigma])
        return np.array([*np.maximum(overlap_scale(overlaps), least)[self.unknowns], 1.0])

    def setting(self, parameter: float) -> tuple[AttentionModel, float]:
        """Model and sample complexity at a value of the parameter."""
        if self.over == "alpha":
            return self.model, parameter
        if self.over == "lambda":
            return replace(self.model, lam=parameter), self.alpha
        if self.over == "omega":
            return replace(self.model, omega=parameter), self.alpha
        return replace(self.model, sigma=parameter), self.alpha

    def at(self, y: FloatArray, accuracy: float | None = None) -> _At:
        """Evaluate the system; `accuracy` other than the curve's own for other grids."""
        resolution = Resolution.for_accuracy(accuracy or self.accuracy)
        parameter, overlaps = self.parameter(y), self.overlaps(y)
        model, alpha = self.setting(parameter)
        step = evolve(model, alpha, overlaps, resolution)
        rows = self.unknowns
        by_overlaps = (np.eye(4) - step.jacobian)[np.ix_(rows, rows)]
        by_parameter = -self._image_slope(step, parameter, resolution)[rows]
        if self.over != "omega":
            by_parameter = by_parameter * parameter
        return _At(
            y=y,
            step=step,
            residual=step.residual[rows],
            matrix=np.column_stack([by_overlaps, by_parameter]),
        )

    def _image_slope(self, step: Step, parameter: float, resolution: Resolution) -> FloatArray:
        """Derivative of the image by the parameter at fixed overlaps.

        The hats are proportional to alpha. lambda enters the ridge side alone, as V_hat does
        through D = lambda + sigma^2 V_hat. For omega and sigma, which change the channel, it is a
        difference; it only sets the direction and speed of the way to a solution.
        """
        model, alpha = self.setting(parameter)
        sigma = model.require_solvable()
        outer = np.array(ridge_jacobian(*step.hats, model.lam, sigma)).reshape(4, 4)
        if self.over == "alpha":
            return np.asarray(outer @ np.array(step.hats) / alpha)
        if self.over == "lambda":
            return np.asarray(outer[:, 2] / sigma**2)
        change = 1e-3 * parameter if self.over == "sigma" else 1e-3
        if self.over == "omega" and parameter + change > 1.0:
            change = -change
        there_model, there_alpha = self.setting(parameter + change)
        there = evolve(there_model, there_alpha, step.overlaps, resolution)
        return np.subtract(there.image, step.image) / change

    def tangent(self, at: _At, along: FloatArray) -> FloatArray:
        """The unit tangent in the curve's units, on the side of `along`."""
        scale = self.scale(at.step.overlaps)
        _, _, rows = np.linalg.svd(at.matrix * scale)
        unit = rows[-1]
        return np.asarray(scale * unit * (1.0 if unit @ (along / scale) >= 0.0 else -1.0))

    def correct(
        self, guess: FloatArray, tangent: FloatArray, accuracy: float | None = None
    ) -> _At | None:
        """Newton from a guess to the curve in the plane across `tangent`; None if that fails."""
        if not guess[0] > 0.0:  # q
            return None
        y = guess.copy()
        scale = self.scale(self.overlaps(guess))
        row = tangent / scale**2
        for _ in range(_MOST_NEWTON):
            try:
                at = self.at(y, accuracy)
                system = np.vstack([at.matrix, row])
                change = -np.linalg.solve(system, [*at.residual, row @ (y - guess)])
            except (ComputationFailed, InvalidInput, np.linalg.LinAlgError):
                return None
            size = np.max(np.abs(change / scale))
            if not size < 0.7:
                return None
            if size < _CORRECTED:
                return at
            y = y + change
        return None

    def correct_at(self, guess: FloatArray, parameter: float) -> FloatArray:
        """The solution near a guess at this value of the parameter."""
        start = guess.copy()
        start[-1] = self.pack(self.overlaps(guess), parameter)[-1]
        across = np.zeros(len(start))
        across[-1] = 1.0
        at = self.correct(start, across)
        if at is None:
            raise ComputationFailed(
                f"the {self.name} branch was not reached at {self.over} = {parameter:.6g}"
            )
        return at.y


@dataclass(frozen=True)
class _Walked:
    """What one direction gave, in the order of the walk."""

    points: list[BranchPoint]
    special_points: list[SpecialPoint]


def _any_point(
    curve: _Curve, branch: str, low: float, high: float, progress: Progress
) -> tuple[_Curve, Overlaps, float]:
    """A first point of the branch in the range."""
    reasons = []
    for share in (0.5, 1.0, 0.75, 0.25, 0.0):
        if curve.over == "omega":
            parameter = low + share * (high - low)
        else:
            parameter = low * (high / low) ** share
        model, alpha = curve.setting(parameter)
        try:
            return curve, find(model, alpha, branch, None, progress, thorough=False), parameter
        except SearchEnded as error:
            reasons.append(f"{curve.over} = {parameter:.4g}: {error}")
    raise ComputationFailed(
        f"no {branch} fixed point found for {curve.over} in [{low:g}, {high:g}] ({reasons[0]})"
    )


def _walk(
    curve: _Curve,
    start: FloatArray,
    sign: float,
    low: float,
    high: float,
    progress: Progress,
    *,
    tangent: FloatArray | None = None,
) -> _Walked:
    """Follow the curve from `start` until it leaves the range or ends."""
    points: list[BranchPoint] = []
    special: list[SpecialPoint] = []
    here = curve.at(start)
    if tangent is None:
        along = np.zeros(len(start))
        along[-1] = sign
        tangent = curve.tangent(here, along)
        points.append(_point(curve, here))
    step = _FIRST_STEP
    while len(points) < _MOST_POINTS:
        ahead = curve.correct(here.y + step * tangent, tangent)
        if ahead is None:
            step *= 0.5
            if step < _SHORTEST_STEP:
                special.append(_end(curve, points))
                return _Walked(points, special)
            continue
        turned = curve.tangent(ahead, tangent)
        scale = curve.scale(here.step.overlaps)
        if (turned / scale) @ (tangent / scale) < 0.9:
            step *= 0.5
            if step >= _SHORTEST_STEP:
                continue
        parameter = curve.parameter(ahead.y)
        progress(f"{curve.name}: {curve.over} = {parameter:.6g}")
        found = list(_between(curve, here, tangent, ahead, turned))
        if not low <= parameter <= high:
            edge = min(max(parameter, low), high)
            special += [s for s in found if low <= s.parameter <= high]
            points.append(_point(curve, curve.at(curve.correct_at(ahead.y, edge))))
            return _Walked(points, special)
        special += found
        if any(s.kind == "merger" for s in found):
            return _Walked(points, special)
        points.append(_point(curve, ahead))
        here, tangent = ahead, turned
        step = min(1.4 * step, _LONGEST_STEP)
    raise ComputationFailed(
        f"the {curve.name} branch has more than {_MOST_POINTS} points; try a smaller range"
    )


def _point(curve: _Curve, at: _At) -> BranchPoint:
    """The point with its errors, from grids a hundred times as fine."""
    fine = curve.at(at.y, 1e-2 * curve.accuracy)
    rows = curve.unknowns
    step = fine.step
    moved = np.zeros(4)
    try:
        inverse = np.linalg.inv(fine.matrix[:, :-1])
        moved[rows] = 2.0 * np.abs(inverse @ (fine.residual - at.residual))
        moved[rows] += np.abs(inverse @ fine.residual)
    except np.linalg.LinAlgError:
        moved[rows] = math.inf
    model, _ = curve.setting(curve.parameter(at.y))
    test_error, test_error_error = mean_test_loss(model, step.overlaps, 1e-2 * curve.accuracy)
    gradient = _test_slopes(model, step.overlaps, curve.accuracy)
    hats_moved = 2.0 * np.abs(np.subtract(step.hats, at.step.hats))
    hats_moved += np.abs(step.hats_jacobian) @ moved
    errors = {
        **dict(zip(_NAMES, map(float, moved), strict=True)),
        "train_loss": 2.0 * abs(step.train_loss - at.step.train_loss)
        + float(moved @ hats_moved[[2, 1, 0, 3]]),
        "test_error": test_error_error + float(np.abs(gradient) @ moved),
    }
    eigenvalues = np.linalg.eigvals(step.jacobian)
    return BranchPoint(
        parameter=curve.parameter(at.y),
        overlaps=step.overlaps,
        train_loss=step.train_loss,
        test_error=test_error,
        stable=bool(np.max(eigenvalues.real) < 1.0),
        errors=errors,
        eigenvalues=tuple(complex(z) for z in eigenvalues),
    )


def _test_slopes(model: AttentionModel, overlaps: Overlaps, accuracy: float) -> FloatArray:
    """Derivatives of eps_g by q, m, V (zero) and theta, by differences."""
    here = mean_test_loss(model, overlaps, accuracy)[0]
    slopes = np.zeros(4)
    for k in (0, 1, 3):
        change = 1e-3 * overlap_scale(overlaps)[k]
        ahead = list(overlaps)
        ahead[k] -= change if k == 3 and overlaps.theta > 0.0 else -change
        slopes[k] = (mean_test_loss(model, Overlaps(*ahead), accuracy)[0] - here) / change
    return slopes


def _end(curve: _Curve, points: list[BranchPoint]) -> SpecialPoint:
    """Where no further point was found: at Q = 0 when q went to 0, linearly in the parameter."""
    last = points[-1]
    value, overlaps = last.parameter, last.overlaps
    note = "no further point was found"
    error = _LONGEST_STEP * abs(value)
    rho = curve.setting(value)[0].rho
    if len(points) > 2 and overlaps.q < _SMALL_Q * rho:
        guesses = [
            b.parameter - b.overlaps.q * (b.parameter - a.parameter) / (b.overlaps.q - a.overlaps.q)
            for a, b in pairwise(points[-3:])
        ]
        value, error = guesses[1], 2.0 * abs(guesses[1] - guesses[0]) + abs(guesses[1] - value)
        overlaps = Overlaps(0.0, 0.0, last.overlaps.V, 0.0)
        note = "q reaches 0: the branch leaves Q = 0 here (extrapolated)"
    return SpecialPoint(kind="end", parameter=value, error=error, overlaps=overlaps, note=note)


_Test = Callable[[_At, FloatArray], float]


def _tests(curve: _Curve) -> Iterator[tuple[str, str, str, _Test]]:
    """Kind, direction, note and test function of the special points of a curve."""

    def speed(_: _At, tangent: FloatArray) -> float:
        return float(tangent[-1])

    yield "fold", "", f"{curve.over} turns back; an eigenvalue within the branch passes +1", speed
    for k in sorted({1, 3} - {*curve.unknowns}):
        name = _NAMES[k]

        def growth(at: _At, _: FloatArray, k: int = k) -> float:
            return float(at.step.jacobian[k, k] - 1.0)

        yield "symmetry breaking", name, f"{name} begins to grow or to decay", growth

    def above_baseline(at: _At, _: FloatArray) -> float:
        model, _alpha = curve.setting(curve.parameter(at.y))
        error = mean_test_loss(model, at.step.overlaps, curve.accuracy)[0]
        return float(error - linear_baseline(model).test_error)

    note = "the test error equals that of the best linear positional map"
    yield "baseline crossing", "", note, above_baseline


def _between(
    curve: _Curve, here: _At, tangent: FloatArray, ahead: _At, turned: FloatArray
) -> Iterator[SpecialPoint]:
    """The special points between two neighbours on the curve, in their order."""
    found = []
    merging = [
        k
        for k in sorted({1, 3} & {*curve.unknowns})
        if here.step.overlaps[k] * ahead.step.overlaps[k] < 0.0
    ]
    for k in merging:
        found.append((0.0, _merger(curve, here, ahead, k)))
    for kind, direction, note, test in _tests(curve):
        before, after = test(here, tangent), test(ahead, turned)
        # at a merger the parameter turns back because the branch is its own mirror image
        if (before > 0.0) == (after > 0.0) or (kind == "fold" and merging):
            continue
        located = _root(curve, here, tangent, ahead, test)
        if located is not None:
            length, coarse, fine = located
            point = _special(curve, kind, coarse.y, fine.y, note, direction)
            found.append((length, point))
    for _, point in sorted(found, key=lambda pair: pair[0]):
        yield point


def _special(
    curve: _Curve,
    kind: str,
    coarse: FloatArray,
    fine: FloatArray,
    note: str,
    direction: str = "",
) -> SpecialPoint:
    """A special point from its places on two sets of grids."""
    value = curve.parameter(fine)
    return SpecialPoint(
        kind=kind,
        parameter=value,
        error=2.0 * abs(value - curve.parameter(coarse)) + 1e-8 * abs(value),
        overlaps=curve.overlaps(fine),
        note=note,
        direction=direction,
    )


def _merger(curve: _Curve, here: _At, ahead: _At, k: int) -> SpecialPoint:
    """Where the overlap k of a branch vanishes between two of its points.

    On the branch without that overlap, its growth eigenvalue passes +1 there, which is well
    conditioned, while on the branch itself the equation of the overlap is 0 = 0.
    """
    rest = replace(curve, name=_NAME_OF[frozenset({*curve.unknowns} - {k})])
    first = rest.pack(here.step.overlaps, curve.parameter(here.y))
    second = rest.pack(ahead.step.overlaps, curve.parameter(ahead.y))
    if abs(second[-1] - first[-1]) < 1e-4:
        second[-1] = first[-1] + 1e-4
    across = np.zeros(len(first))
    across[-1] = 1.0
    places = []
    for accuracy in (curve.accuracy, 1e-2 * curve.accuracy):
        growths = []
        for y in (first, second):
            growths.append(_growth(rest, y, across, k, accuracy))
        for _ in range(_ROOT_STEPS):
            (y, before), (z, after) = growths[-2:]
            change = -after * (z[-1] - y[-1]) / (after - before)
            growths.append(
                _growth(rest, z + change * (z - y) / (z[-1] - y[-1]), across, k, accuracy)
            )
            if abs(change) < 1e-9:
                break
        places.append(growths[-1][0])
        first, second = growths[-1][0], growths[-1][0] + 1e-4 * across
    note = f"{_NAMES[k]} reaches 0: the branch leaves the {rest.name} one here"
    coarse, fine = places
    return _special(rest, "merger", coarse, fine, note)


def _growth(
    curve: _Curve, guess: FloatArray, across: FloatArray, k: int, accuracy: float
) -> tuple[FloatArray, float]:
    """The solution at the guess's parameter, and the eigenvalue of direction k less 1."""
    at = curve.correct(guess, across, accuracy)
    if at is None:
        raise ComputationFailed(f"the {curve.name} branch was lost next to a merger")
    return at.y, float(at.step.jacobian[k, k] - 1.0)


def _root(
    curve: _Curve, here: _At, tangent: FloatArray, ahead: _At, test: _Test
) -> tuple[float, _At, _At] | None:
    """Where a test function vanishes between two points: the length from `here`, and the point.

    The point is given on the curve's own grids, by the regula falsi in the length that halves the
    weight of an end that stays, and on grids a hundred times as fine, by secants from there.
    """
    scale = curve.scale(here.step.overlaps)
    at, length = here, 0.0

    def go(to: float, accuracy: float) -> float | None:
        """The test function at a length; moves `at` there."""
        nonlocal at, length
        moved = curve.correct(at.y + (to - length) * tangent, tangent, accuracy)
        if moved is None:
            return None
        at, length = moved, to
        return test(at, curve.tangent(at, tangent))

    left, right = 0.0, float(((ahead.y - here.y) / scale) @ (tangent / scale))
    f_left, f_right = go(left, curve.accuracy), go(right, curve.accuracy)
    if f_left is None or f_right is None or (f_left > 0.0) == (f_right > 0.0):
        return None
    tolerance = 1e-6 * right
    for _ in range(_ROOT_STEPS):
        to = (left * f_right - right * f_left) / (f_right - f_left)
        moved = abs(to - length)
        value = go(to, curve.accuracy)
        if value is None:
            return None
        slope = (f_right - f_left) / (right - left)
        if (value > 0.0) == (f_left > 0.0):
            left, f_left, f_right = to, value, 0.5 * f_right
        else:
            right, f_right, f_left = to, value, 0.5 * f_left
        if moved < tolerance:
            break
    coarse = at
    for _ in range(_ROOT_STEPS):
        before = length
        value = go(length, 1e-2 * curve.accuracy)
        if value is None:
            return None
        to = length - value / slope
        if abs(to - before) < tolerance:
            break
        nearer = go(to, 1e-2 * curve.accuracy)
        if nearer is None:
            return None
        slope = (nearer - value) / (to - before)
    return length, coarse, at


def _joined(curve: _Curve, name: str, back: _Walked, forth: _Walked) -> Branch:
    model, alpha = curve.model, curve.alpha
    return Branch(
        name=name,
        model=model,
        alpha=alpha,
        over=curve.over,
        points=(*reversed(back.points[1:]), *forth.points),
        special_points=(*reversed(back.special_points), *forth.special_points),
    )
