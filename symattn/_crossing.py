"""Sample complexities at which the semantic branch overtakes.

alpha_c: semantic and positional branch have equal training loss. alpha_l: the test error of the
semantic branch equals that of the best linear positional map. Each is one square system, in the
overlaps of the fixed points and in alpha: state evolution of every branch, and the gap that
vanishes,

    alpha_c: eps_t(semantic) - eps_t(positional),    alpha_l: eps_g(semantic) - eps_g(linear).

Newton's method eliminates the branches, since a branch drifts with alpha by (1 - J)^-1 d image/d
alpha: the gap's slope is a difference of E[M] for alpha_c, where the losses are stationary in the
overlaps, and the gradient of eps_g times the drift for alpha_l.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.interpolate import CubicHermiteSpline

from symattn._frozen import FrozenMapping
from symattn._numbers import significant_digits
from symattn._progress import Progress
from symattn._search import (
    SEARCH_ACCURACY,
    NewtonPoint,
    OverlapVanished,
    SearchEnded,
    admissible_share,
    find,
    newton_point,
    require_on_branch,
    settle,
)
from symattn._typing import FloatArray
from symattn.baselines import linear_baseline
from symattn.errors import ComputationFailed, NotFound
from symattn.fixed_points import FINEST_ACCURACY, Refined, described
from symattn.model import AttentionModel
from symattn.overlaps import Overlaps
from symattn.quadrature import _columns as columns
from symattn.quadrature.generalization_error import mean_test_loss
from symattn.thresholds import BRANCHES, DESCRIBED_DIGITS, HIGHEST, LOWEST, Threshold

#: At how many sample complexities a branch is looked for.
_TRIES = 6
#: And from how many starts at each.
_STARTS = 2
#: Of ln alpha, along a branch.
_LONGEST_STEP, _SHORTEST_STEP = 0.3, 0.02
#: Factor in alpha within which the end of a branch is known.
_MARGIN = 1.05
_MOST_STEPS = 12
#: Digits up to which double precision is tried, and those from which it is left behind.
_MOST_DIGITS, _SETTLED = 13, 9
#: Steps this small, relative to alpha and overlaps, that do not shrink any more are noise.
_NOISE = 1e-4

#: Overlaps by branch.
_Overlaps = Mapping[str, Overlaps]


@dataclass(frozen=True, slots=True)
class Start:
    """Rough alpha and overlaps, by branch, of a crossing."""

    alpha: float
    overlaps: _Overlaps


@dataclass(frozen=True, slots=True)
class _At:
    """The branches at a sample complexity, not quite at their fixed points.

    Attributes
    ----------
    alpha : float
    points : mapping
        By branch.
    gap, slope : float
        What vanishes at the crossing, corrected to first order for the overlaps' residuals, and
        its derivative by alpha along the branches.
    """

    alpha: float
    points: Mapping[str, NewtonPoint]
    gap: float
    slope: float

    @property
    def step(self) -> float:
        """Newton's step in alpha; infinite where the gap does not depend on alpha."""
        return -self.gap / self.slope if self.slope else math.inf

    @property
    def overlaps(self) -> _Overlaps:
        return {branch: point.step.overlaps for branch, point in self.points.items()}

    def after(self, share: float) -> Start:
        """Where a share of Newton's step in all unknowns leads."""
        return Start(
            self.alpha + share * self.step,
            {
                branch: Overlaps(
                    *map(float, np.add(point.step.overlaps, share * self.move(branch)))
                )
                for branch, point in self.points.items()
            },
        )

    def move(self, branch: str) -> FloatArray:
        """How Newton's step moves the overlaps of a branch, shape (4,)."""
        point = self.points[branch]
        return np.asarray(point.correction + self.step * point.drift)


def _at(model: AttentionModel, name: str, start: Start, accuracy: float) -> _At:
    alpha, overlaps = start.alpha, start.overlaps
    points = {
        branch: newton_point(model, alpha, overlaps[branch], branch, accuracy)
        for branch in BRANCHES[name]
    }
    semantic = points["semantic"]
    if name == "alpha_c":
        steps = [points[branch].step for branch in BRANCHES[name]]
        losses = [step.train_loss for step in steps]
        envelopes = [float(step.expectations.means[columns.ENVELOPE]) for step in steps]
        return _At(alpha, points, losses[0] - losses[1], envelopes[0] - envelopes[1])
    test = mean_test_loss(model, overlaps["semantic"], accuracy)
    gap = test.value + float(test.gradient @ semantic.correction)
    gap -= linear_baseline(model).test_error
    return _At(alpha, points, gap, float(test.gradient @ semantic.drift))


def crossings(
    model: AttentionModel, name: str, digits: int, progress: Progress
) -> Iterator[Threshold]:
    """`alpha_c` or `alpha_l`, each crossing in [0.05, 5] to `digits` digits, the lowest first.

    They start as roots of the gap's cubic interpolation with its exact slopes, along the branches.

    Raises
    ------
    NotFound
        If there is none, or Newton's method converges from none of the starts.
    ComputationFailed
        If the digits are not reached.
    """
    found: list[Threshold] = []
    lost: SearchEnded | None = None
    for start in _starts(model, name, progress):
        try:
            one = crossing(model, name, digits, start, progress)
        except SearchEnded as error:
            lost = error
            continue
        if not any(abs(one.alpha - other.alpha) <= one.error + other.error for other in found):
            found.append(one)
            yield one
    if not found and lost is not None:
        raise lost


def crossing(
    model: AttentionModel, name: str, digits: int, start: Start, progress: Progress
) -> Threshold:
    """The crossing near `start`.

    Its error is the last Newton step, plus the errors of the gap at the last point, which compare
    two sets of grids and include those of the overlaps, over the slope.

    Raises
    ------
    SearchEnded
        If Newton's method does not converge from there.
    ComputationFailed
        If the digits are not reached.
    """
    if digits > _MOST_DIGITS:
        return _beyond_double(model, name, digits, start, progress)
    # alpha_c has more digits than the means, since its gap is stationary in the overlaps
    accuracy = max((3.0 if name == "alpha_c" else 0.3) * 10.0**-digits, FINEST_ACCURACY)
    tolerance = max(0.02 * 10.0**-digits, 1e-15)
    # fine grids are for the last steps only
    coarse = _newton(model, name, start, SEARCH_ACCURACY, _NOISE, progress)
    while True:
        coarse = _newton(model, name, coarse.after(1.0), accuracy, tolerance, progress)
        alpha = coarse.alpha
        finer = max(1e-2 * accuracy, 0.1 * FINEST_ACCURACY)
        fine = _at(model, name, Start(alpha, coarse.overlaps), finer)
        for branch, point in fine.points.items():
            require_on_branch(point, branch)
        refined = {
            branch: Refined.of(model, alpha, branch, coarse.points[branch], point)
            for branch, point in fine.points.items()
        }
        error = _error(model, name, coarse, fine, refined)
        objections = [one.objection(10.0**-digits) for one in refined.values()]
        progress(f"{name} = {alpha:.12g} +- {error:.1e}")
        if error <= 0.5 * 10.0**-digits * alpha and not any(objections):
            break
        if accuracy <= FINEST_ACCURACY:
            smooth = all(one.fine.expectations.certificate.fold == 0.0 for one in refined.values())
            if smooth and digits > _SETTLED:
                return _beyond_double(model, name, digits, start, progress)
            reached = significant_digits(error / alpha)
            reason = next(filter(None, objections), "double precision")
            raise ComputationFailed(
                f"{name}: {reached} digits reached at alpha = {alpha:.10g}, {digits} asked "
                f"({reason}); try fewer digits"
            )
        accuracy = max(0.03 * accuracy, FINEST_ACCURACY)
    return Threshold(
        name=name,
        model=model,
        alpha=alpha,
        error=error,
        digits=significant_digits(error / alpha),
        method="Newton for the fixed points and alpha together",
        at=FrozenMapping(
            {
                branch: described(model, alpha, branch, one, accuracy, DESCRIBED_DIGITS)
                for branch, one in refined.items()
            }
        ),
    )


def _beyond_double(
    model: AttentionModel, name: str, digits: int, start: Start, progress: Progress
) -> Threshold:
    """The crossing to more digits than double precision has, where the prox does not jump."""
    near = crossing(model, name, _SETTLED, start, progress)
    for branch, point in near.at.items():
        if point.certificate["fold"] > 10.0**-_SETTLED:
            raise ComputationFailed(
                f"{name}: {near.digits} digits reached at alpha = {near.alpha:.10g}, {digits} "
                f"asked; the prox jumps on the {branch} branch, where double precision ends at "
                "about 12; try 10 digits"
            )
    from symattn.precision.crossing import precise_crossing

    overlaps = {branch: point.overlaps for branch, point in near.at.items()}
    return precise_crossing(model, name, digits, Start(near.alpha, overlaps), progress)


def _newton(
    model: AttentionModel,
    name: str,
    start: Start,
    accuracy: float,
    tolerance: float,
    progress: Progress,
) -> _At:
    """Newton's method for the fixed points and alpha, until a step is below `tolerance`."""
    rho = model.rho
    before = math.inf
    for count in range(1, _MOST_STEPS + 1):
        at = _at(model, name, start, accuracy)
        change = max(abs(at.step) / at.alpha, *(point.change for point in at.points.values()))
        progress(f"{name}: Newton step {count}, alpha = {at.alpha:.10g}, change {change:.1e}")
        if change < tolerance or (change < _NOISE and change > 0.3 * before):
            return at
        if not math.isfinite(change):
            break
        before = change
        share = min(1.0, 0.3 / change)
        for branch, overlaps in start.overlaps.items():
            share = admissible_share(overlaps, at.move(branch), share, rho)
        start = at.after(share)
    raise SearchEnded(f"{name}: no convergence after {count} Newton steps near {at.alpha:.4g}")


def _error(
    model: AttentionModel, name: str, coarse: _At, fine: _At, refined: Mapping[str, Refined]
) -> float:
    """Absolute error of alpha; infinite if the slope is not known to differ from 0."""
    if name == "alpha_c":
        uncertainty = sum(one.errors["train_loss"] for one in refined.values())
        gap = abs(fine.gap)
    else:
        semantic = refined["semantic"]
        overlaps = semantic.fine.overlaps
        test = mean_test_loss(model, overlaps, FINEST_ACCURACY)
        baseline = linear_baseline(model)
        # the correction that is left is part of `moved`
        uncertainty = test.error + baseline.error + float(np.abs(test.gradient) @ semantic.moved)
        gap = abs(test.value - baseline.test_error)
    slope = abs(fine.slope) - 2.0 * abs(fine.slope - coarse.slope)
    return (gap + uncertainty) / slope if slope > 0.0 else math.inf


def _starts(model: AttentionModel, name: str, progress: Progress) -> list[Start]:
    """Rough crossings in rising order, from the branches followed at low accuracy."""
    tracks: dict[str, list[_Track]] = {}
    low, high = LOWEST, HIGHEST
    for branch in BRANCHES[name]:
        tracks[branch] = _tracks(model, branch, low, high, progress)
        if not tracks[branch]:
            raise NotFound(f"{name} was not found: no {branch} branch in [{low:.4g}, {high:.4g}]")
        low = min(min(track) for track in tracks[branch])
        high = max(max(track) for track in tracks[branch])
    starts = [
        start
        for pair in product(*tracks.values())
        for start in _meetings(model, name, dict(zip(tracks, pair, strict=True)))
    ]
    if starts:
        return sorted(starts, key=lambda start: start.alpha)
    ranges = "; ".join(
        f"{branch}: " + ", ".join(f"{min(track):.4g} to {max(track):.4g}" for track in pieces)
        for branch, pieces in tracks.items()
    )
    raise NotFound(
        f"{name} was not found in [{LOWEST}, {HIGHEST}]: the two sides do not cross where they "
        f"were found ({ranges})"
    )


def _meetings(model: AttentionModel, name: str, tracks: Mapping[str, _Track]) -> Iterator[Start]:
    """Where the gap between tracks vanishes, by cubic interpolation."""
    low = max(min(track) for track in tracks.values())
    high = min(max(track) for track in tracks.values())
    grid = sorted({alpha for track in tracks.values() for alpha in track if low <= alpha <= high})
    if len(grid) < 2:
        return
    curves = [_interpolated(model, name, track) for track in tracks.values()]
    levels = [curve(grid) for curve in curves]
    slopes = [curve(grid, 1) for curve in curves]
    if name == "alpha_l":
        levels.append(np.full(len(grid), linear_baseline(model).test_error))
        slopes.append(np.zeros(len(grid)))
    gap = CubicHermiteSpline(grid, levels[0] - levels[1], slopes[0] - slopes[1])
    overlaps = {branch: _overlaps(track) for branch, track in tracks.items()}
    for alpha in map(float, gap.roots(extrapolate=False)):
        yield Start(
            alpha, {branch: Overlaps(*map(float, of(alpha))) for branch, of in overlaps.items()}
        )


_Track = dict[float, NewtonPoint]


def _tracks(
    model: AttentionModel, branch: str, low: float, high: float, progress: Progress
) -> list[_Track]:
    """The pieces of a branch in [low, high], each by sample complexity.

    Beyond an end where the branch's own overlap vanishes no other piece is looked for.
    """
    pieces: list[_Track] = []
    tries = [HIGHEST * (LOWEST / HIGHEST) ** (k / (_TRIES - 1)) for k in range(_TRIES)]
    for alpha in [x for x in tries if low <= x <= high] or [math.sqrt(low * high)]:
        known = any(min(t) <= alpha * _MARGIN and alpha <= max(t) * _MARGIN for t in pieces)
        if known or not low <= alpha <= high:
            continue
        try:
            start = find(model, alpha, branch, None, progress, starts=_STARTS, thorough=False)
        except SearchEnded:
            continue
        upper, merged_above = _track(model, branch, alpha, start, high, progress)
        lower, merged_below = _track(model, branch, alpha, start, low, progress)
        pieces.append(dict(sorted({**lower, **upper}.items())))
        low = min(lower) if merged_below else low
        high = max(upper) if merged_above else high
    return pieces


def _track(
    model: AttentionModel,
    branch: str,
    first: float,
    start: Overlaps,
    end: float,
    progress: Progress,
) -> tuple[_Track, bool]:
    """A branch by sample complexity from `first` towards `end`, and whether its overlap vanished.

    The steps in ln alpha are halved where Newton's method does not follow, so that the last one
    shows where the branch ends, within `_MARGIN`.
    """
    track = {first: settle(model, first, start, branch, progress)}
    vanished = False
    alpha, step = first, _LONGEST_STEP
    while alpha != end and step >= _SHORTEST_STEP:
        here = track[alpha]
        way = math.log(end / alpha)
        ahead = end if abs(way) <= step else alpha * math.exp(math.copysign(step, way))
        guess = Overlaps(*map(float, np.add(here.overlaps, (ahead - alpha) * here.drift)))
        try:
            track[ahead] = settle(model, ahead, guess, branch, progress)
        except ComputationFailed as error:
            vanished = isinstance(error, OverlapVanished)
            step *= 0.5
        else:
            alpha, step = ahead, min(1.5 * step, _LONGEST_STEP)
    return track, vanished and alpha != end


def _interpolated(model: AttentionModel, name: str, track: _Track) -> CubicHermiteSpline:
    """The training loss, or for alpha_l the test error, along a track."""
    values, slopes = [], []
    for point in track.values():
        if name == "alpha_c":
            values.append(point.step.train_loss)
            slopes.append(point.step.expectations.means[columns.ENVELOPE])
        else:
            test = mean_test_loss(model, point.step.overlaps, SEARCH_ACCURACY)
            values.append(test.value + float(test.gradient @ point.correction))
            slopes.append(test.gradient @ point.drift)
    return CubicHermiteSpline(list(track), values, slopes)


def _overlaps(track: _Track) -> CubicHermiteSpline:
    """The overlaps along a track."""
    points = track.values()
    return CubicHermiteSpline(list(track), [p.overlaps for p in points], [p.drift for p in points])
