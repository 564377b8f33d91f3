"""Q = 0 beyond double precision: means over h* of functions of the target alone.

V (lambda + sigma^2 alpha E Tr K) = sigma^2 with K = H (I + V H)^-1, H the Hessian of the loss at
x = 0, is solved by Newton's method.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from mpmath import mp, mpf

from symattn._exact import number
from symattn._progress import Progress
from symattn._rest_grid import Grid, RestLaw, grid_for, rest_means
from symattn.errors import ComputationFailed
from symattn.fixed_points import FixedPoint, digits_reached, zero_fixed_point
from symattn.kernels.generated.mpmath_l2_r1_t1 import rest_integrands, test_loss
from symattn.model import AttentionModel, shortest_decimal
from symattn.precision._aims import ATTEMPTS, finer, first_aim, next_aim
from symattn.zero_point import ZeroPoint

#: More nodes than that take longer than about ten minutes.
_MOST_NODES = 4e6
#: Digits of V in double precision.
_KNOWN = 13.0
#: Digits by which 1/det can exceed its mean.
_EXCESS = 3.0
_GUARD = 12


def precise_zero_point(
    model: AttentionModel, alpha: float, near: ZeroPoint, digits: int, progress: Progress
) -> FixedPoint:
    """The fixed point Q = 0 near `near` to so many significant digits, as mpmath's numbers.

    alpha, as every parameter of the model, stands for the shortest decimal that reads back as it.

    Raises
    ------
    ComputationFailed
        If the digits are out of reach.
    """
    where = f"zero branch at alpha = {alpha:.6g}"
    goal = first_aim(digits)
    for _ in range(ATTEMPTS):
        finest = finer(goal)
        nodes = _grid(model, finest).nodes
        if nodes > _MOST_NODES:
            most = math.floor(digits * (0.7 * _MOST_NODES / nodes) ** 0.25)
            raise ComputationFailed(
                f"{where}: {digits} digits need {nodes:.1e} nodes of h*, more than "
                f"{_MOST_NODES:.0e}; try {most} digits"
            )
        with mp.workdps(math.ceil(finest) + _GUARD):
            found = _certified(model, alpha, near, goal, finest, progress)
        reached = digits_reached(found.numbers, found.errors)
        if reached >= digits:
            return found
        goal = next_aim(goal, digits, reached)
    raise ComputationFailed(f"{where}: {reached} digits reached, {digits} asked; try fewer digits")


class _Means(NamedTuple):
    """E Tr K and E V|K|^2 with their derivatives by V, and the mean loss at x = 0."""

    trace: Any
    bulk: Any
    trace_by_V: Any
    bulk_by_V: Any
    loss: Any


def _certified(
    model: AttentionModel,
    alpha: float,
    near: ZeroPoint,
    goal: float,
    finest: float,
    progress: Progress,
) -> FixedPoint:
    exact_alpha = number(shortest_decimal(alpha))
    lam, sigma2 = number(model.exact("lam")), number(model.exact("sigma")) ** 2

    def newton(V: Any, means: _Means) -> Any:
        value = V * (lam + sigma2 * exact_alpha * means.trace) - sigma2
        return -value / (lam + sigma2 * exact_alpha * (means.trace + V * means.trace_by_V))

    V = mpf(near.V)
    known = _KNOWN
    while known < goal:
        known = min(goal, 2.0 * known)
        V += newton(V, _means(model, V, known, progress))
    coarse, fine = (_means(model, V, aim, progress) for aim in (goal, finest))
    step = newton(V, fine)
    moved = 2 * abs(step) + abs(newton(V, coarse) - step)
    V_hat = exact_alpha * fine.trace
    replicon = 1 - exact_alpha * V * fine.bulk
    errors = {
        "V": moved,
        "V_hat": exact_alpha * (abs(fine.trace - coarse.trace) + abs(fine.trace_by_V) * moved),
        "loss": abs(fine.loss - coarse.loss),
        "replicon": exact_alpha * V * abs(fine.bulk - coarse.bulk)
        + exact_alpha * abs(fine.bulk + V * fine.bulk_by_V) * moved,
    }
    values = {"V": V, "V_hat": V_hat, "loss": fine.loss, "replicon": replicon}
    rounding = mpf(10) ** (-finest - _GUARD / 2)
    at = ZeroPoint(
        **values,
        errors={
            name: math.nextafter(float(error + rounding * (1 + abs(values[name]))), math.inf)
            for name, error in errors.items()
        },
    )
    return zero_fixed_point(alpha, at, exact_alpha)


def _grid(model: AttentionModel, aim: float) -> Grid:
    return grid_for(model.require_solvable(), aim, excess=_EXCESS)


def _means(model: AttentionModel, V: Any, aim: float, progress: Progress) -> _Means:
    """The means over h*, by the trapezoidal rule, for so many digits."""
    grid = _grid(model, aim)
    progress(f"zero: sums for {aim:.0f} digits over {grid.nodes:.0e} nodes of h*")
    law = RestLaw.of(model)
    half = mpf(1) / 2

    def integrands(t11: Any, t22: Any, u: Any, v: Any) -> list[Any]:
        rest = rest_integrands(t11, t22, u, v, law.sigma, V)
        loss = test_loss(half, half, t11, t22, law.sigma)
        return [rest[1], rest[4], rest[5], rest[8], loss]

    return _Means(*rest_means(grid, law, integrands)[0])
