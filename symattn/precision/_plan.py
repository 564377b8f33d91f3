"""How finely to sum for a number of digits, and what that costs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from mpmath import mp, mpf

from symattn._exact import number
from symattn._rest_grid import Grid, binary
from symattn.model import AttentionModel
from symattn.overlaps import Overlaps
from symattn.precision._integrands import Law
from symattn.precision._job import Job, Node
from symattn.precision._steps import (
    Growth,
    Window,
    folded_weight,
    growths,
    samples_with_weight,
    window,
)

LN10 = math.log(10.0)
#: Digits beyond those aimed at that are worked with.
_GUARD = 10
#: Extent of a tile of h*, in units of sigma.
_TILE = 0.8
#: Seconds for a pair of nodes of x and h* on one process, per digit worked with.
_SECONDS = 0.9e-7
#: Nodes that are summed over although they have little weight, because others of the tile have.
_TILED = 1.6


@dataclass(frozen=True, slots=True)
class Plan:
    """Grids about given overlaps, for any number of digits up to `aim`.

    Attributes
    ----------
    law : Law
        In double precision.
    aim : float
        Digits for which the integrands were sampled.
    log_fold : float
        ln of the weight of det(I + V Hess loss) < 0, roughly.
    """

    model: AttentionModel
    law: Law
    aim: float
    at: Window
    growths: tuple[Growth, Growth, Growth, Growth]
    log_fold: float

    @classmethod
    def of(cls, model: AttentionModel, overlaps: Overlaps, aim: float) -> Plan:
        """For overlaps near these.

        Raises
        ------
        ComputationFailed
            If x reaches too far.
        """
        law = _law(model, overlaps)
        rough = Law(*map(float, (*_exact(model), law.V, law.shift, law.slope, law.variance)))
        decay = _cut_off(aim)
        at = window(rough, decay)
        return cls(
            model, rough, aim, at, growths(rough, at, decay), folded_weight(rough, at, decay)
        )

    def steps(self, aim: float) -> tuple[float, float, float, float]:
        """Of u, v in x and of u*, v* in h* (in units of sigma), for so many digits."""
        u, v, u_star, v_star = (binary(growth.step(aim * LN10)) for growth in self.growths)
        return u, v, u_star, v_star

    def nodes(self, aim: float) -> float:
        """About how many pairs of nodes are summed over."""
        cell = math.prod(self.steps(aim))
        share = 0.5 if self._mirrored else 1.0
        return share * _TILED * samples_with_weight(self.law, self.at, _cut_off(aim)) / cell

    def seconds(self, aim: float) -> float:
        """About how long one process takes."""
        return _SECONDS * (aim + _GUARD) * self.nodes(aim) + 1e-3 * self.at.area / math.prod(
            self.steps(aim)[:2]
        )

    def job(self, overlaps: Overlaps, aim: float, *, replicon: bool) -> Job:
        """The sums at `overlaps` (mpmath's numbers) for so many digits."""
        steps = self.steps(aim)
        cut_off = _cut_off(aim)
        law = _law(self.model, overlaps)
        least_u, largest_u, least_v, largest_v = self.at.edges
        return Job(
            exact=_exact(self.model),
            V=law.V,
            shift=law.shift,
            slope=law.slope,
            variance=law.variance,
            replicon=replicon,
            steps=steps,
            box=(
                math.floor(least_u / steps[0]),
                math.ceil(largest_u / steps[0]),
                math.floor(least_v / steps[1]),
                math.ceil(largest_v / steps[1]),
            ),
            tiles=_tiles(Grid(*steps[2:], math.sqrt(2.0 * cut_off)), self._mirrored),
            cut_off=cut_off,
            bits=math.ceil((aim + _GUARD) * LN10 / math.log(2.0)),
        )

    @property
    def _mirrored(self) -> bool:
        return self.model.mixing[0][0] == self.model.mixing[1][1]


def _cut_off(aim: float) -> float:
    """-ln of the weight at which sums over four dimensions end."""
    decay = aim * LN10
    return decay + math.log(1.0 + decay) + 1.0


def _exact(model: AttentionModel) -> Any:
    (a11, _), (_, a22) = model.exact("mixing")
    return model.exact("sigma"), model.exact("omega"), a11, a22


def _law(model: AttentionModel, overlaps: Overlaps) -> Law:
    """In mpmath's numbers, at the working precision."""
    sigma, omega, a11, a22 = map(number, _exact(model))
    q, m, V, theta = map(mpf, overlaps)
    rho = sigma**2
    return Law(sigma, omega, a11, a22, V, mp.sqrt(2) * m, theta / rho, q - theta**2 / rho)


def _tiles(grid: Grid, mirrored: bool) -> tuple[tuple[Node, ...], ...]:
    """The nodes of h*, those together that lie together."""
    side_u, side_v = (max(1, round(_TILE / step)) for step in (grid.step_u, grid.step_v))
    tiles: dict[tuple[int, int], list[Node]] = {}
    for i, row in grid.rows(mirrored):
        for j in row:
            node = Node(i, j, grid.multiplicity(i, j, mirrored))
            tiles.setdefault((i // side_u, j // side_v), []).append(node)
    order = np.argsort([-len(tile) for tile in tiles.values()], kind="stable")
    found = list(tiles.values())
    return tuple(tuple(found[place]) for place in order)
