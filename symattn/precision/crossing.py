"""Crossings of branches beyond double precision, where the prox does not jump.

alpha and the overlaps of the branches are found together by Newton's method: at fixed overlaps the
means over the channel do not depend on alpha, so one evaluation of each branch gives a step in all
of them. For alpha_c the slope is exact, d eps_t/d alpha = E[M]; for alpha_l it is that of the test
error along the fixed points.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from mpmath import mp, mpf

from symattn._crossing import Start
from symattn._exact import number
from symattn._frozen import FrozenMapping
from symattn._numbers import DOUBLE_DIGITS, rounded_up, significant_digits
from symattn._progress import Progress
from symattn._search import SearchEnded
from symattn._typing import AnyArray
from symattn.errors import ComputationFailed
from symattn.fixed_points import fixed_point
from symattn.kernels.generated.mpmath_l2_r1_t1 import ridge_jacobian
from symattn.model import AttentionModel
from symattn.overlaps import Hats, Overlaps
from symattn.precision._aims import ATTEMPTS, CANCELLED, finer, first_aim, next_aim
from symattn.precision._branch import GAIN, Branch, matrix, require_flint
from symattn.thresholds import Threshold

#: Digits of alpha and the overlaps that the start has.
_STARTED = 9.0
#: Of the fixed points at the crossing.
_DIGITS_AT = 10


def precise_crossing(
    model: AttentionModel,
    name: str,
    digits: int,
    start: Start,
    progress: Progress,
) -> Threshold:
    """`alpha_c` or `alpha_l` near `start`, which has nine digits, to so many significant digits.

    Up to 15 digits alpha is a float, beyond one of mpmath's numbers. Parameters of the model stand
    for the shortest decimals that read back as them. The fixed points at the crossing are in double
    precision.

    Raises
    ------
    ComputationFailed
        If the branches do not lead to a crossing, the prox jumps with more weight than the last
        digit, or the digits are out of reach.
    """
    require_flint(name, digits)
    goal = first_aim(digits)
    alpha: Any = start.alpha
    try:
        for _ in range(ATTEMPTS):
            finest = finer(goal)
            branches = {
                branch: Branch.of(model, start.alpha, branch, overlaps, digits, finest, progress)
                for branch, overlaps in start.overlaps.items()
            }
            with mp.workdps(math.ceil(finest) + 15):
                alpha, error = _crossed(name, start.alpha, branches, goal, digits, progress)
                if digits <= DOUBLE_DIGITS:
                    error += abs(alpha - float(alpha))
            reached = significant_digits(error / alpha)
            if reached >= digits:
                break
            goal = next_aim(goal, digits, reached)
        else:
            raise ComputationFailed(
                f"{name}: {reached} digits reached, {digits} asked; try {max(reached, 1)} digits"
            )
    except SearchEnded as ended:
        raise ComputationFailed(f"{name}: lost near alpha = {start.alpha:.6g} ({ended})") from ended
    at = {
        branch: fixed_point(model, float(alpha), branch, _DIGITS_AT, overlaps, progress)
        for branch, overlaps in start.overlaps.items()
    }
    if digits <= DOUBLE_DIGITS:
        alpha, error = float(alpha), rounded_up(error)
    return Threshold(
        name=name,
        model=model,
        alpha=alpha,
        error=error,
        digits=min(reached, DOUBLE_DIGITS) if digits <= DOUBLE_DIGITS else reached,
        method="Newton's method in alpha and the overlaps, where the prox does not jump",
        at=FrozenMapping(at),
    )


@dataclass(frozen=True, slots=True)
class _Point:
    """A branch at some overlaps and alpha.

    correction: what Newton's method adds to the overlaps at fixed alpha. tangent: derivative of
    the fixed point by alpha. Both of shape (4,).
    """

    overlaps: Overlaps
    train_loss: Any
    envelope: Any
    correction: AnyArray
    tangent: AnyArray

    def moved(self, change: Any) -> Overlaps:
        """Where the fixed point is when alpha changes."""
        return Overlaps(*(np.add(self.overlaps, self.correction) + change * self.tangent))


def _tangent(model: AttentionModel, alpha: Any, hats: Hats, inverse: AnyArray) -> AnyArray:
    """Derivative of the fixed point by alpha: (1 - J)^-1 d ridge/d hats (hats/alpha).

    At fixed overlaps the hats are proportional to alpha.
    """
    lam, sigma = number(model.exact("lam")), number(model.exact("sigma"))
    rows = np.array(ridge_jacobian(*hats, lam, sigma), dtype=object).reshape(4, 4)
    return matrix(inverse) @ (rows @ np.array([x / alpha for x in hats], dtype=object))


def _change(model: AttentionModel, name: str, points: Mapping[str, _Point], aim: float) -> Any:
    """Newton's step in alpha."""
    difference, slope = _difference(model, name, points, aim)
    return -difference / slope


def _difference(
    model: AttentionModel, name: str, points: Mapping[str, _Point], aim: float
) -> tuple[Any, Any]:
    """What vanishes at the crossing, at the fixed points for the alpha at hand, and its slope."""
    from symattn.precision.test_error import (
        linear_test_error,
        loss_gradient,
        mean_test_loss,
    )

    semantic = points["semantic"]
    if name == "alpha_c":
        # stationary in the overlaps
        other = points["positional"]
        return semantic.train_loss - other.train_loss, semantic.envelope - other.envelope
    aim += CANCELLED
    here = Overlaps(*map(mpf, semantic.moved(0)))
    value = mean_test_loss(model, here, aim) - linear_test_error(model, math.ceil(aim))[0]
    gradient = map(mpf, loss_gradient(model, here))
    return value, mp.fdot(zip(gradient, semantic.tangent, strict=True))


def _crossed(
    name: str,
    near: float,
    branches: Mapping[str, Branch],
    goal: float,
    digits: int,
    progress: Progress,
) -> tuple[Any, Any]:
    """alpha and its absolute error."""
    from symattn.precision.test_error import loss_gradient

    model = branches["semantic"].model
    alpha = mpf(near)
    overlaps = {branch: at.start for branch, at in branches.items()}

    def evaluated(aim: float) -> tuple[dict[str, Any], dict[str, _Point]]:
        steps = {b: at.step(alpha, overlaps[b], aim, progress) for b, at in branches.items()}
        points = {
            b: _Point(
                step.overlaps,
                step.train_loss,
                step.means.envelope,
                branches[b].correction(step),
                _tangent(model, alpha, step.hats, branches[b].near.inverse),
            )
            for b, step in steps.items()
        }
        return steps, points

    known = _STARTED
    while known < goal:
        # the error is squared, but for what the Jacobian of double precision leaves
        known = min(goal, 2.0 * known, known + GAIN)
        _, points = evaluated(known)
        change = _change(model, name, points, known)
        progress(f"{name}: change {mp.nstr(change, 2)}")
        alpha += change
        overlaps = {branch: point.moved(change) for branch, point in points.items()}
    coarse_steps, coarse = evaluated(goal)
    finest = branches["semantic"].finest
    fine_steps, fine = evaluated(finest)
    difference, slope = _difference(model, name, fine, finest)
    other, _ = _difference(model, name, coarse, goal)
    uncertain = abs(difference - other)
    for branch, at in branches.items():
        at.require_no_jumps(float(alpha), digits, fine_steps[branch].means.fold)
        moved, hats_moved = at.displacement(coarse_steps[branch], fine_steps[branch])
        if name == "alpha_c":
            uncertain += mp.fdot(zip(moved, hats_moved[[2, 1, 0, 3]], strict=True))
        else:
            gradient = map(mpf, np.abs(loss_gradient(model, overlaps[branch])))
            uncertain += mp.fdot(zip(gradient, moved, strict=True))
    return alpha, mpf(1.01) * (abs(difference) + uncertain) / abs(slope)
