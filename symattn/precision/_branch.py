"""One branch beyond double precision: means, steps and corrections of its overlaps."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from mpmath import mp, mpf

from symattn._progress import Progress
from symattn._search import UNKNOWNS, NewtonPoint, newton, newton_point, overlap_scale
from symattn._typing import AnyArray
from symattn.errors import ComputationFailed
from symattn.model import AttentionModel
from symattn.overlaps import Overlaps

if TYPE_CHECKING:
    from symattn.precision._evolve import PreciseStep
    from symattn.precision._plan import Plan

#: Accuracies of the double-precision means: those of Newton's method, and of the Jacobian.
_ROUGH, _JACOBIAN = 1e-11, 1e-12
#: Digits of the overlaps in double precision, and those that a step with that Jacobian adds.
KNOWN, GAIN = 13.0, 11.0
#: More pairs of nodes than these take longer than about an hour on two cores.
_MOST_NODES = 1e9
#: Digits up to which integrands are sampled before it is known whether they can be reached.
_SAMPLED = 60.0


@dataclass(frozen=True, slots=True)
class Branch:
    """A branch near a fixed point that is known in double precision.

    Attributes
    ----------
    model : AttentionModel
    name : str
    near : NewtonPoint
        State evolution there in double precision, with (1 - J)^-1.
    plan : Plan
    finest : float
        Digits that the finest grids aim at.
    """

    model: AttentionModel
    name: str
    near: NewtonPoint
    plan: Plan
    finest: float

    @classmethod
    def of(
        cls,
        model: AttentionModel,
        alpha: float,
        name: str,
        rough: Overlaps,
        digits: int,
        finest: float,
        progress: Progress,
    ) -> Branch:
        """The branch near `rough`, for `digits` digits of grids that aim at `finest`.

        Raises
        ------
        ComputationFailed
            If python-flint is missing, the prox jumps with too much weight, or it would take too
            long; the message says what is within reach.
        """
        require_flint(f"{name} branch at alpha = {alpha:.6g}", digits)
        from symattn.precision._plan import Plan

        found = newton(model, alpha, rough, name, _ROUGH, 1e-10, progress)
        near = newton_point(model, alpha, found.step.overlaps, name, _JACOBIAN)
        plan = Plan.of(model, near.step.overlaps, min(finest, _SAMPLED))
        branch = cls(model, name, near, plan, finest)
        branch._require_feasible(alpha, digits)
        branch.require_no_jumps(alpha, digits, math.exp(plan.log_fold))
        if finest > _SAMPLED:
            branch = replace(branch, plan=Plan.of(model, near.step.overlaps, finest))
            branch._require_feasible(alpha, digits)
        return branch

    @property
    def start(self) -> Overlaps:
        """The overlaps in double precision, as mpmath's numbers; what vanishes does so exactly."""
        return Overlaps(*map(mpf, np.add(self.near.step.overlaps, self.near.correction)))

    def step(
        self,
        alpha: Any,
        overlaps: Overlaps,
        aim: float,
        progress: Progress,
        *,
        replicon: bool = False,
    ) -> PreciseStep:
        """State evolution at `overlaps` with grids for so many digits."""
        from symattn.precision._evolve import channel_means, evolve

        seconds = self.plan.seconds(aim)
        doing = f"{self.name}: sums for {aim:.0f} digits, about {seconds:.0f} s of one core"
        progress(doing)
        means = channel_means(self.plan, overlaps, aim, progress, doing=doing, replicon=replicon)
        return evolve(self.model, alpha, overlaps, means)

    def correction(self, step: PreciseStep) -> AnyArray:
        """What Newton's method adds to the overlaps of `step`: shape (4,), mpmath's numbers."""
        return matrix(self.near.inverse) @ np.subtract(step.image, step.overlaps)

    def displacement(self, coarse: PreciseStep, fine: PreciseStep) -> tuple[AnyArray, AnyArray]:
        """How far the fixed point may lie from the overlaps and hats of `fine`: two of shape (4,).

        coarse: the same on coarser grids, at the same overlaps.
        """
        # errors of different means may be of either sign, so they do not cancel here
        rounding = fine.means.rounding / min(fine.means.g_squared, 1)
        spread = _apart(fine.image, coarse.image) + rounding * _sizes(fine.overlaps)
        moved = np.abs(self.correction(fine)) + matrix(np.abs(self.near.inverse)) @ spread
        hats_moved = _apart(fine.hats, coarse.hats) + rounding * _sizes(fine.hats)
        hats_moved += matrix(np.abs(self.near.step.hats_jacobian)) @ moved
        for zero in set(range(4)) - {*UNKNOWNS[self.name]}:
            moved[zero] = hats_moved[zero] = mp.zero
        return moved, hats_moved

    def change(self, correction: AnyArray) -> float:
        """The largest correction relative to the overlaps' scale."""
        scale = overlap_scale(self.near.step.overlaps)
        return float(max(abs(x) / mpf(s) for x, s in zip(correction, scale, strict=True)))

    def require_no_jumps(self, alpha: float, digits: int, fold: float) -> None:
        """Refuse where the weight of det(I + V Hess loss) < 0 is above the last digit.

        Raises
        ------
        ComputationFailed
        """
        if fold > 10.0 ** -(digits + 2):
            # double precision resolves the jumps, to so many digits
            within = math.floor(-math.log10(fold)) - 2
            raise ComputationFailed(
                f"{self.name} branch at alpha = {alpha:.6g}: the prox jumps, with a weight of "
                f"{fold:.1e}, which leaves about {max(within, 10)} digits, {digits} asked; "
                f"try {max(within, 8)} digits"
            )

    def _require_feasible(self, alpha: float, digits: int) -> None:
        nodes = self._nodes(self.finest)
        if nodes > _MOST_NODES:
            most, too_many = 0, digits
            while too_many - most > 1:
                middle = (most + too_many) // 2
                if self._nodes(self.finest * middle / digits) <= 0.7 * _MOST_NODES:
                    most = middle
                else:
                    too_many = middle
            raise ComputationFailed(
                f"{self.name} branch at alpha = {alpha:.6g}: {digits} digits need sums over "
                f"{nodes:.0e} nodes, more than {_MOST_NODES:.0e}; "
                + (f"try {most} digits" if most else "try a smaller sigma")
            )

    def _nodes(self, aim: float) -> float:
        """About how many nodes; beyond the digits sampled they grow with the sixth power."""
        sampled = min(aim, self.plan.aim)
        return self.plan.nodes(sampled) * (aim / sampled) ** 6


def _apart(one: tuple[Any, ...], other: tuple[Any, ...]) -> AnyArray:
    return np.array([abs(x - y) for x, y in zip(one, other, strict=True)], dtype=object)


def _sizes(values: tuple[Any, ...]) -> AnyArray:
    return np.array([abs(x) for x in values], dtype=object)


def matrix(values: AnyArray) -> AnyArray:
    """A matrix of doubles that mpmath's numbers can be multiplied by."""
    return values.astype(object)


def require_flint(what: str, digits: int) -> None:
    """Check that python-flint is installed.

    Raises
    ------
    ComputationFailed
        If it is not; the message says of what how to get it.
    """
    if find_spec("flint") is None:
        raise ComputationFailed(
            f"{what}: {digits} digits, more than double precision has, need python-flint; "
            "pip install 'symattn[proofs]' brings it"
        )
