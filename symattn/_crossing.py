"""Sample complexities at which the semantic branch overtakes.

alpha_c: semantic and positional branch have equal training loss. alpha_l: the test error of the
semantic branch equals that of the best linear positional map. Both are roots of a difference that
is followed along the branches; Newton's method in alpha converges in a few solves, for alpha_c with
the exact slope d eps_t/d alpha = E[M].
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from symattn._frozen import FrozenMapping
from symattn._numbers import significant_digits
from symattn._progress import Progress, silent
from symattn._search import SEARCH_ACCURACY, SearchEnded, find
from symattn.baselines import linear_baseline
from symattn.errors import ComputationFailed, NotFound
from symattn.fixed_points import FixedPoint, solve
from symattn.model import AttentionModel
from symattn.quadrature.expectations import Resolution
from symattn.quadrature.generalization_error import mean_test_loss
from symattn.state_evolution import evolve
from symattn.thresholds import Threshold

#: Where the lowest crossing is looked for, and at how many points.
_LOW, _HIGH, _SCAN = 0.05, 5.0, 15
_MOST_STEPS = 12


def crossing(
    model: AttentionModel, name: str, *, digits: int, progress: Progress | None = None
) -> Threshold:
    """`alpha_c` or `alpha_l` to `digits` significant digits; `threshold` checks the arguments.

    The lowest one in [0.05, 5] that shows between two of 15 sample complexities in geometric
    progression; two crossings between neighbours would be missed.

    Raises
    ------
    ComputationFailed
        If the branches do not cross, or the digits are not reached.
    """
    report = progress or silent
    low, high = _bracket(model, name, report)
    alpha = math.sqrt(low * high)
    at: dict[str, FixedPoint] = {}
    for working_digits in dict.fromkeys((min(4, digits), digits, digits + 1, digits + 2)):
        for _ in range(_MOST_STEPS):
            at = {
                branch: solve(
                    model,
                    alpha,
                    branch=branch,
                    digits=working_digits,
                    progress=progress,
                    start=at.get(branch),
                )[branch]
                for branch in _branches(name)
            }
            difference, uncertainty = _difference(model, name, at)
            slope = _slope(model, name, alpha, at)
            if difference > uncertainty:
                low = alpha
            elif difference < -uncertainty:
                high = alpha
            step = -difference / slope
            # the slope is good to a percent or better
            error = 1.02 * (abs(difference) + uncertainty) / abs(slope)
            report(f"{name} = {alpha:.12g} +- {error:.1e} at {working_digits} working digits")
            if error <= 0.5 * 10.0**-digits * alpha:
                return Threshold(
                    name=name,
                    model=model,
                    alpha=alpha,
                    error=error,
                    digits=significant_digits(error / alpha),
                    method="Newton in alpha on certified fixed points",
                    at=FrozenMapping(at),
                )
            if abs(difference) <= 0.3 * uncertainty:
                break
            ahead = alpha + step
            alpha = ahead if low < ahead < high else 0.5 * (low + high)
    raise ComputationFailed(
        f"{name}: {significant_digits(error / alpha)} digits reached at alpha = "
        f"{alpha:.10g}, {digits} asked; try fewer digits"
    )


def _branches(name: str) -> tuple[str, ...]:
    return ("semantic", "positional") if name == "alpha_c" else ("semantic",)


def _difference(
    model: AttentionModel, name: str, at: Mapping[str, FixedPoint]
) -> tuple[float, float]:
    """What vanishes at the threshold, positive below it, and its absolute error."""
    semantic = at["semantic"]
    if name == "alpha_c":
        other = at["positional"]
        return (
            semantic.train_loss - other.train_loss,
            semantic.errors["train_loss"] + other.errors["train_loss"],
        )
    baseline = linear_baseline(model)
    return (
        semantic.test_error - baseline.test_error,
        semantic.errors["test_error"] + baseline.error,
    )


def _slope(model: AttentionModel, name: str, alpha: float, at: Mapping[str, FixedPoint]) -> float:
    """Derivative of the difference by alpha."""
    if name == "alpha_c":
        return at["semantic"].envelope - at["positional"].envelope
    change = 1e-3 * alpha
    ahead = solve(model, alpha + change, branch="semantic", digits=5, start=at["semantic"])
    return (ahead["semantic"].test_error - at["semantic"].test_error) / change


def _bracket(model: AttentionModel, name: str, progress: Progress) -> tuple[float, float]:
    """Two sample complexities between which the difference turns negative, from a rough scan."""
    rough = Resolution.for_accuracy(SEARCH_ACCURACY)
    baseline = linear_baseline(model).test_error
    ratio = (_HIGH / _LOW) ** (1.0 / (_SCAN - 1))
    grid = [_LOW * ratio**k for k in range(_SCAN)]
    values: dict[str, dict[float, float]] = {}
    for branch in _branches(name):
        values[branch] = {}
        start = None
        for alpha in reversed(grid):
            try:
                start = find(model, alpha, branch, start, progress, thorough=False)
            except SearchEnded:
                if values[branch]:
                    break
                continue
            values[branch][alpha] = (
                evolve(model, alpha, start, rough).train_loss
                if name == "alpha_c"
                else mean_test_loss(model, start, SEARCH_ACCURACY)[0] - baseline
            )
    common = [alpha for alpha in grid if all(alpha in found for found in values.values())]
    if not common:
        missing = " and ".join(branch for branch, found in values.items() if not found)
        raise NotFound(
            f"{name} was not found: no {missing or 'common'} branch in [{_LOW}, {_HIGH}]"
        )
    signs = [
        values["semantic"][alpha] - (values["positional"][alpha] if name == "alpha_c" else 0.0)
        for alpha in common
    ]
    for k in range(1, len(common)):
        if signs[k - 1] > 0.0 >= signs[k]:
            return common[k - 1], common[k]
    raise NotFound(
        f"{name} was not found in [{_LOW}, {_HIGH}]: where the branches exist, between "
        f"{common[0]:.4g} and {common[-1]:.4g}, the semantic side stays "
        f"{'above' if signs[-1] > 0.0 else 'below'}"
    )
