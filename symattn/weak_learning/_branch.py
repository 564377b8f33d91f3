"""The branch of Q = 0 from alpha = 0 on, and where an instability begins, in double precision.

At Q = 0 the equation V (lambda + sigma^2 alpha t) = sigma^2 with t = E Tr K gives alpha as a
function of V. With alpha V p the slope of an overlap after one step of the state evolution, 1 =
alpha V p is a root of

    G(V) = p (sigma^2 - lambda V) - sigma^2 t,

and alpha = 1/(V p). From V = sigma^2/lambda at alpha = 0, V rises with alpha where t < 0 and falls
where t > 0, and t keeps its sign on the way, since dt/dV = -E|K|_F^2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from symattn._jit import compiled
from symattn._rest_grid import grid_for
from symattn.errors import ComputationFailed
from symattn.kernels.generated.numba_l2_r1_t1 import rest_integrands, target
from symattn.model import AttentionModel
from symattn.weak_learning._regularity import ACCURACY, regular_up_to

#: What `rest_integrands` returns after the determinant.
COLUMNS = ("trace", "positional", "semantic", "bulk")
INSTABILITIES = {f"weak_{name}": column for column, name in enumerate(COLUMNS) if column > 0}

_TOWARDS = {
    "weak_positional": "the positional solution",
    "weak_semantic": "the semantic solution",
    "weak_bulk": "a random direction",
}
_POINTS = 400
_MOST_NODES = 3e7
_ROUGH, _FINE = 8.0, 16.0
#: Room for integrands that are large far out, where det(I + V H) is small.
_EXCESS = 8.0


@dataclass(frozen=True, slots=True)
class Start:
    """An instability to about 12 digits, and the branch up to it.

    Attributes
    ----------
    V, alpha : float
    rises : bool
        Whether V rises with alpha.
    """

    V: float
    alpha: float
    rises: bool


class _Means:
    """t, p and their derivatives at any V, on one grid."""

    def __init__(self, model: AttentionModel, digits: float) -> None:
        self.sigma = model.require_solvable()
        self.lam = model.lam
        a11, a22 = model.mixing[0][0], model.mixing[1][1]
        self._parameters = (self.sigma, model.omega, a11, a22)
        self._mirrored = a11 == a22
        self._grid = grid_for(self.sigma, digits, excess=_EXCESS)
        if self._grid.nodes > _MOST_NODES:
            raise ComputationFailed(
                f"sigma = {self.sigma:g} needs {self._grid.nodes:.1e} nodes of h*, more than "
                f"{_MOST_NODES:.0e}; try a smaller sigma"
            )

    def __call__(self, V: float) -> tuple[float, ...]:
        return _sums(self._grid.step_u, self._grid.radius, self._mirrored, self._parameters, V)

    def trace(self, V: float) -> float:
        return self(V)[0]

    def condition(self, V: float, column: int) -> float:
        """G."""
        means = self(V)
        return means[column] * (self.sigma**2 - self.lam * V) - self.sigma**2 * means[0]

    def root(self, column: int, low: float, high: float) -> float:
        """The root of G between two V of opposite sign."""
        sign = self.condition(high, column) > 0.0
        V = 0.5 * (low + high)
        for _ in range(200):
            means = self(V)
            p, slope = means[column], means[4 + column]
            value = p * (self.sigma**2 - self.lam * V) - self.sigma**2 * means[0]
            if (value > 0.0) == sign:
                high = V
            else:
                low = V
            rate = slope * (self.sigma**2 - self.lam * V) - self.lam * p
            rate -= self.sigma**2 * means[4]
            ahead = V - value / rate if rate != 0.0 else low
            if not min(low, high) < ahead < max(low, high):
                ahead = 0.5 * (low + high)
            change = ahead - V
            V = ahead
            if abs(change) < 1e-15 * V:
                break
        return V


def find_start(model: AttentionModel, name: str) -> Start:
    """The first place on the branch from alpha = 0 where an instability's slope reaches 1.

    Raises
    ------
    ComputationFailed
        If there is none, with the reason.
    """
    column = INSTABILITIES[name]
    means = _Means(model, _ROUGH)
    ridge = means.sigma**2 / model.lam
    limit = regular_up_to(model) * (1.0 - ACCURACY)
    rises = means.trace(min(ridge, limit)) < 0.0 and math.isfinite(limit)
    if rises and ridge >= limit:
        raise ComputationFailed(
            f"{name} does not exist: from V = {limit:.6g} on another minimum of the energy at w = "
            f"0 lies lower than x = 0 for some h*, and V starts from sigma^2/lambda = {ridge:.6g} "
            "and rises, so Q = 0 is nowhere a regular fixed point; try a larger lambda"
        )
    if rises:
        places = [ridge + (limit - ridge) * k / _POINTS for k in range(_POINTS + 1)]
    else:
        highest = min(ridge, limit)
        places = [highest * (1.0 - k / _POINTS) for k in range(_POINTS + 1)]

    def passed(V: float) -> bool:
        value = means.condition(V, column)
        return value < 0.0 if rises else value > 0.0

    previous = places[0]
    if previous != ridge and passed(previous):
        raise ComputationFailed(
            f"{name} does not exist: Q = 0 is a regular fixed point only where V < {limit:.6g}, "
            f"and there it is already unstable towards {_TOWARDS[name]}"
        )
    for place in places[1:]:
        if passed(place):
            return _refined(model, name, previous, place, rises)
        if rises and means.condition(place, 3) < 0.0:
            fold = means.root(3, previous, place)
            # the instability may still begin between the last place and the fold
            if passed(fold):
                return _refined(model, name, previous, fold, rises)
            end = 1.0 / (fold * means(fold)[3])
            raise ComputationFailed(
                f"{name} does not exist: Q = 0 ends at weak_bulk = {end:.6g}"
                f" and is not unstable towards {_TOWARDS[name]} before"
            )
        previous = place
    raise ComputationFailed(f"{name} does not exist: {_why_not(name, means, limit, rises)}")


def _why_not(name: str, means: _Means, limit: float, rises: bool) -> str:
    if not rises:
        return (
            f"Q = 0 is stable towards {_TOWARDS[name]} at every sample complexity at which it is a "
            "regular fixed point"
        )
    alpha = (means.sigma**2 / limit - means.lam) / (means.sigma**2 * means.trace(limit))
    return (
        f"beyond alpha = {alpha:.6g}, where V = {limit:.6g}, another minimum of the energy at w = "
        "0 lies lower than x = 0 for some h*, so Q = 0 is no regular fixed point, and it is not "
        f"unstable towards {_TOWARDS[name]} before; try a larger lambda"
    )


def _refined(model: AttentionModel, name: str, low: float, high: float, rises: bool) -> Start:
    column = INSTABILITIES[name]
    means = _Means(model, _FINE)
    V = means.root(column, low, high)
    return Start(V, 1.0 / (V * means(V)[column]), rises)


@compiled
def _sums(
    step: float,
    radius: float,
    mirrored: bool,
    parameters: tuple[float, float, float, float],
    V: float,
) -> tuple[float, float, float, float, float, float, float, float]:
    """Means of trace, positional, semantic, bulk and of their derivatives by V."""
    sigma, omega, a11, a22 = parameters
    total = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    for i in range(int(radius / step) + 1):
        most = int(math.sqrt(max(0.0, radius**2 - (i * step) ** 2)) / step)
        for j in range(0 if mirrored or i == 0 else -most, most + 1):
            times = (1.0 if j == 0 else 2.0) if mirrored or i == 0 else 1.0
            times *= 1.0 if i == 0 else 2.0
            weight = times * math.exp(-0.5 * step**2 * (i * i + j * j))
            u, v = sigma * step * i, sigma * step * j
            t11, t22 = target(u, v, omega, a11, a22)
            _, a, b, c, d, a_V, b_V, c_V, d_V = rest_integrands(t11, t22, u, v, sigma, V)
            total = (
                total[0] + weight * a,
                total[1] + weight * b,
                total[2] + weight * c,
                total[3] + weight * d,
                total[4] + weight * a_V,
                total[5] + weight * b_V,
                total[6] + weight * c_V,
                total[7] + weight * d_V,
            )
    area = step**2 / (2.0 * math.pi)
    return (
        area * total[0],
        area * total[1],
        area * total[2],
        area * total[3],
        area * total[4],
        area * total[5],
        area * total[6],
        area * total[7],
    )
