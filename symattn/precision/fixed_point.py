"""Fixed points beyond double precision, where the prox does not jump.

Newton's method with the Jacobian of double precision gains some eleven digits a step. The error is
what double precision's is: the difference between two grids, carried through |(1 - J)^-1|, and the
correction that is left.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from mpmath import mp

from symattn._exact import number
from symattn._frozen import FrozenMapping
from symattn._numbers import rounded_up
from symattn._progress import Progress
from symattn._search import SearchEnded, require_on_branch
from symattn.errors import ComputationFailed
from symattn.fixed_points import (
    FixedPoint,
    description_moved,
    digits_reached,
    train_loss_direct_moved,
)
from symattn.model import AttentionModel, shortest_decimal
from symattn.overlaps import Hats, Overlaps
from symattn.precision._aims import ATTEMPTS, CANCELLED, finer, first_aim, next_aim
from symattn.precision._branch import GAIN, KNOWN, Branch

if TYPE_CHECKING:
    from symattn.precision._evolve import PreciseStep


def precise_fixed_point(
    model: AttentionModel,
    alpha: float,
    branch: str,
    digits: int,
    rough: Overlaps,
    progress: Progress,
) -> FixedPoint:
    """The fixed point near `rough` to so many significant digits, as mpmath's numbers.

    alpha, as every parameter of the model, stands for the shortest decimal that reads back as it.

    Raises
    ------
    ComputationFailed
        If the prox jumps with more weight than the last digit, or the digits are out of reach.
    """
    where = f"{branch} branch at alpha = {alpha:.6g}"
    goal = first_aim(digits)
    try:
        for _ in range(ATTEMPTS):
            finest = finer(goal)
            at = Branch.of(model, alpha, branch, rough, digits, finest, progress)
            require_on_branch(at.near, branch)
            seconds = 3.0 * at.plan.seconds(goal) + at.plan.seconds(finest)
            progress(f"{where}: {digits} digits take one core about {seconds:.0f} s")
            with mp.workdps(math.ceil(finest) + 15):
                exact_alpha = number(shortest_decimal(alpha))
                overlaps = _settled(at, exact_alpha, goal, progress)
                coarse, fine = (
                    at.step(exact_alpha, overlaps, aim, progress, replicon=True)
                    for aim in (goal, finest)
                )
                found = _certified(at, alpha, goal, coarse, fine)
            at.require_no_jumps(alpha, digits, fine.means.fold)
            reached = digits_reached(found.numbers, found.errors)
            if reached >= digits:
                return found
            goal = next_aim(goal, digits, reached)
    except SearchEnded as error:
        raise ComputationFailed(f"{where}: not refined to {digits} digits ({error})") from error
    raise ComputationFailed(
        f"{where}: {reached} digits reached, {digits} asked; try {max(reached, 1)} digits"
    )


def _settled(at: Branch, alpha: Any, goal: float, progress: Progress) -> Overlaps:
    """Overlaps at which Newton's method leaves less than `goal` digits show."""
    overlaps = at.start
    known = KNOWN
    while known < goal:
        known = min(goal, known + GAIN)
        step = at.step(alpha, overlaps, known, progress)
        correction = at.correction(step)
        progress(f"{at.name}: change {at.change(correction):.1e}")
        overlaps = Overlaps(*np.add(overlaps, correction))
    return overlaps


def _certified(
    at: Branch, alpha: float, goal: float, coarse: PreciseStep, fine: PreciseStep
) -> FixedPoint:
    """The fixed point at `fine.overlaps`; its errors by the difference to `coarse`."""
    from symattn.precision.test_error import loss_gradient, mean_test_loss

    model, near = at.model, at.near.step
    correction = at.correction(fine)
    moved, hats_moved = at.displacement(coarse, fine)
    rounding = fine.means.rounding / min(fine.means.g_squared, 1)
    moved_by = np.array(moved, dtype=float)

    # the extremal form errs by its own quadrature and by products of errors
    pairs = mp.fsum(moved * hats_moved[[2, 1, 0, 3]])
    slope = np.array(
        [near.hats.V_hat / 2, near.hats.m_hat, near.hats.q_hat / 2, near.hats.theta_hat]
    )
    replicon, other_replicon = (
        1 - number(shortest_decimal(alpha)) * fine.overlaps.V**2 * step.means.response
        for step in (fine, coarse)
    )
    aims = goal + CANCELLED, at.finest + CANCELLED
    rough_test_error, test_error = (mean_test_loss(model, fine.overlaps, aim) for aim in aims)
    # what lies beyond the nodes has less weight than the last of them
    hidden = fine.means.fold + 10.0**-at.finest
    errors = {
        **dict(zip(Overlaps._fields, moved, strict=True)),
        **dict(zip(Hats._fields, hats_moved, strict=True)),
        "train_loss": abs(fine.train_loss - coarse.train_loss) + pairs,
        "train_loss_direct": abs(fine.train_loss_direct - coarse.train_loss_direct)
        + train_loss_direct_moved(model, alpha, near, moved_by),
        "envelope": abs(fine.means.envelope - coarse.means.envelope)
        + float(np.abs(slope) @ moved_by) / alpha,
        "test_error": abs(test_error - rough_test_error)
        + float(np.abs(loss_gradient(model, near.overlaps)) @ moved_by),
        "replicon": abs(replicon - other_replicon)
        + description_moved(model, alpha, near.overlaps, moved_by)[0],
        "jump_probability": hidden,
        "jump_flux": 10.0 * alpha / near.overlaps.V * hidden,
    }
    for name in ("train_loss", "train_loss_direct", "envelope"):
        errors[name] += rounding * abs(fine.train_loss)
    return FixedPoint(
        branch=at.name,
        alpha=alpha,
        overlaps=fine.overlaps,
        hats=fine.hats,
        train_loss=fine.train_loss,
        train_loss_direct=fine.train_loss_direct,
        envelope=fine.means.envelope,
        test_error=test_error,
        replicon=replicon,
        jump_probability=mp.zero,
        jump_flux=mp.zero,
        errors=FrozenMapping({name: rounded_up(error) for name, error in errors.items()}),
        certificate=FrozenMapping(
            {
                "residual": float(max(map(abs, correction))),
                "points": fine.means.nodes,
                "normalisation": float(abs(fine.means.norm - 1)),
                "fold": fine.means.fold,
                "uncovered": fine.means.fold,
                "rounding": float(fine.means.rounding),
            }
        ),
        eigenvalues=tuple(complex(z) for z in np.linalg.eigvals(near.jacobian)),
    )
