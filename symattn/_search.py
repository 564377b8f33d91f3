"""Finding a fixed point of state evolution on a named branch.

The subspaces m = 0 and theta = 0 are invariant under state evolution, so each branch is a solution
of a system in its own unknowns: semantic (q, V, theta), positional (q, V, m), uninformed (q, V).
Newton's method with the exact Jacobian does it from rough starts; where it does not, or ends on a
solution of a smaller subspace, the branch is followed here from other sample complexities.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from symattn._progress import Progress
from symattn._typing import FloatArray
from symattn.errors import ComputationFailed, NotFound
from symattn.model import AttentionModel
from symattn.overlaps import Overlaps
from symattn.quadrature.expectations import Resolution
from symattn.state_evolution import Step, evolve

#: Which of (q, m, V, theta) are unknown on each branch.
UNKNOWNS = {"semantic": [0, 2, 3], "positional": [0, 1, 2], "uninformed": [0, 2]}

#: Accuracy of the means while a branch is looked for, and wherever a rough value is enough.
SEARCH_ACCURACY = 1e-3

#: Shares of an accuracy for which grids are tried.
_GRIDS = (1.0, 0.8, 0.6)
#: Overlaps below these, relative to their scale, count as zero in the search.
_COLLAPSED_Q = 1e-5
#: Corrections this small that do not shrink any more are quadrature noise.
_NOISE = 1e-4
#: In units of sigma^2/lambda, the response at alpha = 0; solutions stay well below this.
_RUNAWAY_V = 5.0
_NO_OVERLAP = 1e-4


class SearchEnded(NotFound):
    """Newton's method did not end on the branch; the message says where it went instead."""


class OverlapVanished(SearchEnded):
    """Newton's method ended where the branch's own overlap is 0."""


@dataclass(frozen=True, slots=True)
class NewtonPoint:
    """A step of state evolution and the Newton correction of its starting point.

    Attributes
    ----------
    step : Step
    correction : array, shape (4,)
        -(1 - J)^-1 residual within the branch's subspace; zero in the other components.
    inverse : array, shape (4, 4)
        (1 - J)^-1 within the subspace, zero elsewhere.
    """

    step: Step
    correction: FloatArray
    inverse: FloatArray

    @property
    def change(self) -> float:
        """The largest correction relative to the overlaps' scale."""
        scale = overlap_scale(self.step.overlaps)
        return float(np.max(np.abs(self.correction) / scale))

    @property
    def overlaps(self) -> Overlaps:
        """After the correction, with m and theta on their positive side."""
        q, m, V, theta = np.add(self.step.overlaps, self.correction)
        return Overlaps(float(q), abs(float(m)), float(V), abs(float(theta)))

    @property
    def drift(self) -> FloatArray:
        """d overlaps/d alpha along the branch, shape (4,)."""
        return np.asarray(self.inverse @ self.step.image_by_alpha)


def overlap_scale(overlaps: Overlaps) -> FloatArray:
    """Scales of (q, m, V, theta) against which a change of them is judged."""
    root = math.sqrt(overlaps.q)
    return np.array([overlaps.q, max(abs(overlaps.m), 0.1 * root), overlaps.V, root])


def newton_point(
    model: AttentionModel, alpha: float, overlaps: Overlaps, branch: str, accuracy: float
) -> NewtonPoint:
    """Evaluate state evolution and its Newton correction at `overlaps`.

    On grids for `accuracy`, or on slightly finer ones where those miss a jump: at few h* a piece of
    the jump set is not found, and Newton's method would not settle.
    """
    for share in _GRIDS:
        step = evolve(model, alpha, overlaps, Resolution.for_accuracy(share * accuracy))
        if step.expectations.certificate.uncovered <= 0.01 * accuracy:
            break
    unknowns = np.ix_(UNKNOWNS[branch], UNKNOWNS[branch])
    inverse = np.zeros((4, 4))
    try:
        inverse[unknowns] = np.linalg.inv((np.eye(4) - step.jacobian)[unknowns])
    except np.linalg.LinAlgError as error:
        raise SearchEnded(f"singular Jacobian at {overlaps}") from error
    return NewtonPoint(step=step, correction=-inverse @ step.residual, inverse=inverse)


def newton(
    model: AttentionModel,
    alpha: float,
    start: Overlaps,
    branch: str,
    accuracy: float,
    tolerance: float,
    progress: Progress,
    *,
    most: int = 15,
) -> NewtonPoint:
    """Newton's method from `start`, `most` steps; the point whose correction is below `tolerance`.

    Or the first one that corrects it no better than the one before, at the grids' noise.

    The steps are shortened so that no overlap changes by more than half its scale and
    q - theta^2/rho stays positive.

    Raises
    ------
    SearchEnded
        If q collapses to zero, or there is no convergence in a few steps.
    """
    rho = model.require_solvable() ** 2
    overlaps = start
    before = math.inf
    for count in range(1, most + 1):
        if overlaps.q < _COLLAPSED_Q * rho:
            raise SearchEnded("q collapses to 0: the search ends at Q = 0")
        if overlaps.V * model.lam > _RUNAWAY_V * rho:
            raise SearchEnded("V runs away")
        point = newton_point(model, alpha, overlaps, branch, accuracy)
        change = point.change
        progress(f"alpha = {alpha:.6g}, {branch}: Newton step {count}, change {change:.1e}")
        at_noise = change < _NOISE and change > 0.3 * before
        if change < tolerance or at_noise:
            return point
        before = change
        if not math.isfinite(change) or (count >= 8 and change > 0.3):
            break
        share = admissible_share(overlaps, point.correction, min(1.0, 0.5 / change), rho)
        overlaps = Overlaps(*map(float, np.add(overlaps, share * point.correction)))
    raise SearchEnded(f"no convergence after {count} Newton steps")


def admissible_share(overlaps: Overlaps, step: FloatArray, share: float, rho: float) -> float:
    """`share`, or as much of it as leaves q - theta^2/rho positive after that share of a step."""
    least = 0.3 * (overlaps.q - overlaps.theta**2 / rho)
    while True:
        q, _, _, theta = np.add(overlaps, share * step)
        if q - theta**2 / rho > least:
            return share
        share *= 0.6


def find(
    model: AttentionModel,
    alpha: float,
    branch: str,
    start: Overlaps | None,
    progress: Progress,
    *,
    starts: int = 4,
    thorough: bool = True,
) -> Overlaps:
    """Rough overlaps of the (meta)stable solution on `branch`.

    From `start`, if there is one, then from so many others. Without `thorough`, the branch is not
    followed from other sample complexities.

    Raises
    ------
    SearchEnded
        If none of the starts leads to one; the message says where they ended instead.
    """
    if branch == "semantic" and model.omega == 1.0:
        raise SearchEnded("at omega = 1 the target does not depend on h*: theta = 0")
    ends = []
    for guess in [*([start] if start else []), *islice(_starts(model, alpha, branch), starts)]:
        try:
            return settle(model, alpha, guess, branch, progress).overlaps
        except ComputationFailed as error:
            ends.append(str(error))
    for anchor in (5.0, 0.5) if thorough else ():
        try:
            return _follow(model, anchor, alpha, branch, progress)
        except ComputationFailed as error:
            ends.append(str(error))
    reasons = list(dict.fromkeys(ends))
    raise SearchEnded(
        f"no {branch} fixed point found at alpha = {alpha:.6g}: {len(ends)} searches ended "
        f"otherwise ({'; '.join(reasons[:3])}); try another alpha or a smaller lambda"
    )


def _starts(model: AttentionModel, alpha: float, branch: str) -> Iterator[Overlaps]:
    sigma = model.require_solvable()
    rho = sigma**2
    V = rho / (model.lam + 0.1 * alpha * rho**2)
    saturation = alpha / (1.0 + alpha)
    q = 0.5 * rho * saturation
    for size in (1.0, 0.5, 1.6, 0.25):
        if branch == "semantic":
            theta = rho * min(size * saturation, 0.95)
            yield Overlaps(1.15 * theta**2 / rho, 0.0, V, theta)
        elif branch == "positional":
            yield Overlaps(0.7 * size * q, math.sqrt(size * q), V, 0.0)
        else:
            yield Overlaps(size * q, 0.0, V, 0.0)


def settle(
    model: AttentionModel, alpha: float, start: Overlaps, branch: str, progress: Progress
) -> NewtonPoint:
    """Newton from `start`, and a check that it ended on the branch and is stable within it."""
    q, m, V, theta = start
    upright = Overlaps(q, abs(m), V, abs(theta))
    point = newton(model, alpha, upright, branch, SEARCH_ACCURACY, 1e-4, progress)
    require_on_branch(point, branch)
    return point


def require_on_branch(point: NewtonPoint, branch: str) -> None:
    """Check that a solution belongs to `branch` and is (meta)stable within its subspace.

    Raises
    ------
    SearchEnded
        If it does not.
    """
    q, m, _, theta = np.add(point.step.overlaps, point.correction)
    if branch == "semantic" and abs(theta) < _NO_OVERLAP * math.sqrt(q):
        raise OverlapVanished("theta goes to 0")
    if branch == "positional" and abs(m) < _NO_OVERLAP * math.sqrt(q):
        raise OverlapVanished("m goes to 0")
    unknowns = np.ix_(UNKNOWNS[branch], UNKNOWNS[branch])
    if np.max(np.linalg.eigvals(point.step.jacobian[unknowns]).real) > 1.0:
        raise SearchEnded(f"a solution with q = {q:.4g} that is unstable in its subspace")


def _follow(
    model: AttentionModel, anchor: float, alpha: float, branch: str, progress: Progress
) -> Overlaps:
    """Follow the branch from sample complexity `anchor` to `alpha` in geometric steps."""
    starts = _starts(model, anchor, branch)
    for _ in range(2):
        try:
            overlaps = settle(model, anchor, next(starts), branch, progress).overlaps
            break
        except SearchEnded as error:
            ended = error
    else:
        raise SearchEnded(f"no start at alpha = {anchor:g}: {ended}")
    reached = anchor
    ratio = (alpha / anchor) ** (1.0 / max(1, math.ceil(abs(math.log(alpha / anchor)) / 0.2)))
    while not math.isclose(reached, alpha, rel_tol=1e-9):
        ahead = reached * ratio
        try:
            overlaps = settle(model, ahead, overlaps, branch, progress).overlaps
        except SearchEnded as error:
            raise SearchEnded(
                f"the branch of alpha = {reached:.4g} is lost before {ahead:.4g}: {error}"
            ) from error
        reached = ahead
    return overlaps
