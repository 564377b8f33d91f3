"""An instability to any number of digits by mpmath, with an estimated error.

One sum over h* at a V good to half the digits gives G and its slope there, and a step of Newton's
method gives V and alpha to all of them. The same sums over every second node estimate the error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mpmath import mp, mpf

from symattn._exact import number
from symattn._progress import Progress
from symattn._rest_grid import Grid, RestLaw, grid_for, left_out, rest_means
from symattn.errors import ComputationFailed
from symattn.kernels.generated.mpmath_l2_r1_t1 import rest_integrands
from symattn.model import AttentionModel
from symattn.weak_learning._bounds import integrand_bounds, least_determinant
from symattn.weak_learning._branch import Start

#: More nodes than that take longer than about ten minutes.
_MOST_NODES = 2e7
_GUARD = 12
#: Grids for fewer digits are too coarse for their differences to tell their errors.
_LEAST = 17.0
#: Digits of what `Start` holds.
_DOUBLE = 11.0
_ATTEMPTS = 6


@dataclass(frozen=True, slots=True)
class Estimate:
    """V, alpha and the replicon at an instability, with absolute errors, as mpmath's numbers.

    settled: whether the last step was so short that the grid alone limits the error.
    """

    V: Any
    alpha: Any
    replicon: Any
    V_error: Any
    alpha_error: Any
    replicon_error: Any
    nodes: int
    settled: bool


def estimate(
    model: AttentionModel,
    name: str,
    column: int,
    start: Start,
    digits: int,
    report: Progress,
) -> Estimate:
    """alpha to `digits` significant digits, and V to about as many.

    Raises
    ------
    ComputationFailed
        If more nodes are needed than a run of minutes can sum.
    """
    # V to half the digits, and before that to a quarter of them, and so on
    aims = [max(digits + 2.0, _LEAST)]
    while aims[0] > 2.0 * _DOUBLE:
        aims.insert(0, 0.5 * aims[0] + 2.0)
    grid = grid_for(model.require_solvable(), aims[-1])
    _require_feasible(model, name, digits, grid)
    V: Any = mpf(start.V)
    *halves, last = aims
    for aim in halves:
        V = _step_to(model, name, column, V, aim, 1.0, report).V
    finer = 1.0
    for _ in range(_ATTEMPTS):
        grid = grid_for(model.require_solvable(), last, finer=finer)
        _require_feasible(model, name, digits, grid)
        found = _step_to(model, name, column, V, last, finer, report)
        reached = float(-mp.log10(found.alpha_error / found.alpha))
        if reached >= last:
            break
        V = found.V
        if found.settled:
            finer *= 1.05 * (last / max(1.0, 0.5 * last, reached)) ** 1.5
    if found.alpha_error > mpf(10) ** -digits / 2 * found.alpha:
        raise ComputationFailed(
            f"{name}: {digits} digits were not reached on {_ATTEMPTS} grids; try fewer digits"
        )
    return found


def _step_to(
    model: AttentionModel,
    name: str,
    column: int,
    V: Any,
    aim: float,
    finer: float,
    report: Progress,
) -> Estimate:
    bounds = _bounds(model, V)
    excess = float(mp.log10(max(bounds) / min(bounds))) + 2.0
    grid = grid_for(model.require_solvable(), aim, finer=finer, excess=excess)
    report(f"{name}: {aim:.0f} digits, about {grid.nodes:.1e} nodes of h*")
    return _step(model, column, V, grid, int(aim) + _GUARD, bounds)


def _require_feasible(model: AttentionModel, name: str, digits: int, grid: Grid) -> None:
    if grid.nodes > _MOST_NODES:
        most = next(
            (
                fewer
                for fewer in range(digits - 1, 0, -1)
                if grid_for(model.require_solvable(), fewer + 2.0).nodes <= 0.3 * _MOST_NODES
            ),
            0,
        )
        raise ComputationFailed(
            f"{name}: {digits} digits need {grid.nodes:.1e} nodes of h*, more than "
            f"{_MOST_NODES:.0e}; " + (f"try {most} digits" if most else "try a smaller sigma")
        )


def _step(
    model: AttentionModel, column: int, V: Any, grid: Grid, working: int, bounds: list[Any]
) -> Estimate:
    """One step of Newton's method from V, on the grid and on every second node of it."""
    with mp.workdps(working):
        fine, coarse, nodes = _sums(model, V, grid)
        sigma2, lam = number(model.exact("sigma")) ** 2, number(model.exact("lam"))
        (moved, alpha, replicon), (other, other_alpha, other_replicon) = (
            _newton(means, column, V, sigma2, lam) for means in (fine, coarse)
        )
        # the nodes left out, in G and in p
        rest, t_V = sigma2 - lam * V, fine[4]
        rate = fine[4 + column] * rest - lam * fine[column] - sigma2 * t_V
        beyond = left_out(grid.radius)
        in_V = beyond * abs((bounds[column] * abs(rest) + sigma2 * bounds[0]) / rate)
        in_alpha = in_V * abs(1 / V + fine[4 + column] / fine[column])
        in_alpha += beyond * bounds[column] / abs(fine[column])
        # what is left after a step is of second order; second derivatives grow like 1/det^2
        steep = bounds[0] / min(bounds[0], sigma2)
        left = 100 * (steep * moved / V) ** 2
        settled = left < mpf(10) ** (_GUARD / 2 - working)
        left += mpf(10) ** (3 - working)
        return Estimate(
            V=V + moved,
            alpha=alpha,
            replicon=replicon,
            V_error=2 * abs(moved - other) + in_V + left * V,
            alpha_error=2 * abs(alpha - other_alpha) + (in_alpha + left) * alpha,
            replicon_error=_replicon_error(
                column, replicon, other_replicon, in_alpha + left, beyond * bounds[3] / fine[3]
            ),
            nodes=nodes,
            settled=bool(settled),
        )


def _replicon_error(column: int, replicon: Any, other: Any, in_alpha: Any, in_bulk: Any) -> Any:
    """0 where the replicon is 0 by definition; in_alpha, in_bulk: relative errors."""
    if column == 3:
        return mpf(0)
    return 2 * abs(replicon - other) + (1 - replicon) * (10 * in_alpha + in_bulk)


def _bounds(model: AttentionModel, V: Any) -> list[Any]:
    law = RestLaw.of(model)
    targets = law.omega, law.a11, law.a22
    least = least_determinant(V * law.sigma**2, *targets)
    if least <= 0:
        raise ComputationFailed("det(I + V H) is not positive for all h*")
    return integrand_bounds(V, law.sigma, *targets, least)


def _newton(means: list[Any], column: int, V: Any, sigma2: Any, lam: Any) -> tuple[Any, Any, Any]:
    """The step to the root of G, and alpha and the replicon there to first order in the step."""
    t, p, t_V, p_V = means[0], means[column], means[4], means[4 + column]
    rest = sigma2 - lam * V
    rate = p_V * rest - lam * p - sigma2 * t_V
    if p == 0 or rate == 0:
        raise ComputationFailed(
            "the slope of the overlap vanishes identically: nothing drives it away from Q = 0"
        )
    step = -(p * rest - sigma2 * t) / rate
    alpha = (1 - step * (1 / V + p_V / p)) / (V * p)
    bulk = means[3] + means[7] * step
    replicon = mpf(0) if column == 3 else 1 - alpha * (V + step) * bulk
    return step, alpha, replicon


def _sums(model: AttentionModel, V: Any, grid: Grid) -> tuple[list[Any], list[Any], int]:
    """Means of what `rest_integrands` returns, on the grid and on every second node of it."""
    law = RestLaw.of(model)

    def integrands(t11: Any, t22: Any, u: Any, v: Any) -> list[Any]:
        return list(rest_integrands(t11, t22, u, v, law.sigma, V)[1:])

    return rest_means(grid, law, integrands)
