"""The trapezoidal rule over h* = sigma z at Q = 0: its step, its extent and its sums.

The integrands at Q = 0 are analytic in z while |Im| of the logits sigma^2 z_u (z_u +- z_v) stays
below pi/2, as `symattn.weak_learning._proof` shows; that leaves a strip around the real plane whose
width falls like 1/|z|, while the weight falls like exp(-|z|^2/2). A step h then leaves an error of
about the largest of exp(-r^2/2 - c/(r h)) over r, which is exp(-3 r^2/2) at r^3 = c/h.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mpmath import mp, mpf

from symattn._exact import number
from symattn.kernels.generated.mpmath_l2_r1_t1 import target
from symattn.model import AttentionModel

#: c sigma^2. Poles with |Im| = pi alone would make it 2 pi^2; those of 1/det are nearer.
_POLE = 1.7 * math.pi**2


@dataclass(frozen=True, slots=True)
class Grid:
    """Nodes z = (i h_u, j h_v) with |z| <= radius; steps are exact in binary.

    Attributes
    ----------
    step_u, step_v, radius : float
        In standard deviations of h*.
    """

    step_u: float
    step_v: float
    radius: float

    @property
    def nodes(self) -> float:
        """About how many nodes there are."""
        return math.pi * self.radius**2 / (self.step_u * self.step_v)

    def rows(self, mirrored: bool) -> list[tuple[int, range]]:
        """i >= 0 with its j: half the plane, as z -> -z changes nothing; mirrored: j >= 0 too."""
        found = []
        for i in range(int(self.radius / self.step_u) + 1):
            most = int(math.sqrt(max(0.0, self.radius**2 - (i * self.step_u) ** 2)) / self.step_v)
            found.append((i, range(0 if mirrored or i == 0 else -most, most + 1)))
        return found

    @staticmethod
    def multiplicity(i: int, j: int, mirrored: bool) -> int:
        """How many nodes of the plane the node (i, j) of `rows` stands for."""
        if mirrored:
            return (1 if i == 0 else 2) * (1 if j == 0 else 2)
        return 1 if i == j == 0 else 2


def grid_for(sigma: float, digits: float, *, finer: float = 1.0, excess: float = 0.0) -> Grid:
    """A square grid whose sums over every second node (i + j even) aim at so many digits.

    finer > 1 divides the step. excess: by how many digits integrands can exceed their means.
    """
    exponent = digits * math.log(10.0)
    pole = _POLE / sigma**2 / (exponent / 1.5) ** 1.5
    gauss = math.sqrt(2.0 * math.pi**2 / exponent)
    # every second node of the square grid: its own step is sqrt(2) times that of the grid
    step = binary(min(pole, gauss) / math.sqrt(2.0) / finer)
    return Grid(step, step, radius_for(digits + excess))


def radius_for(digits: float) -> float:
    """Where the weight times the square of z has fallen by so many digits."""
    exponent = (digits + 1.0) * math.log(10.0)
    return math.sqrt(2.0 * (exponent + math.log(1.0 + 2.0 * exponent)))


def left_out(radius: float) -> Any:
    """Mean of 1 + |z|^2 over the nodes beyond the radius: exp(-R^2/2) (3 + R^2) and some more."""
    return 2 * mp.exp(-(mpf(radius) ** 2) / 2) * (3 + mpf(radius) ** 2)


def binary(step: float) -> float:
    """Rounded down to 12 bits, so that multiples of it are exact."""
    mantissa, exponent = math.frexp(step)
    return math.ldexp(math.floor(mantissa * 4096.0) / 4096.0, exponent)


@dataclass(frozen=True, slots=True)
class RestLaw:
    """What the target depends on but h*, as mpmath's numbers at the working precision."""

    sigma: Any
    omega: Any
    a11: Any
    a22: Any

    @classmethod
    def of(cls, model: AttentionModel) -> RestLaw:
        (a11, _), (_, a22) = model.exact("mixing")
        return cls(*map(number, (model.exact("sigma"), model.exact("omega"), a11, a22)))


def rest_means(
    grid: Grid, law: RestLaw, integrands: Callable[[Any, Any, Any, Any], list[Any]]
) -> tuple[list[Any], list[Any], int]:
    """Means over h* on the grid and on every second node of it (i + j even), and the nodes summed.

    integrands: of T_11, T_22 and h* in rotated components, even in h*; where the mixing is
    symmetric under exchange of the tokens they are to be so as well.
    """
    mirrored = law.a11 == law.a22
    rows = grid.rows(mirrored)
    step_u, step_v = mpf(grid.step_u), mpf(grid.step_v)
    most = max(row.stop for _, row in rows)
    axis = [law.sigma * step_v * j for j in range(most)]
    decay = [mp.exp(-((step_v * j) ** 2) / 2) for j in range(most)]
    totals: list[list[Any]] = [[], []]
    nodes = 0
    for i, row in rows:
        u = law.sigma * step_u * i
        lines: list[list[Any]] = [[], []]
        for j in row:
            v = axis[j] if j >= 0 else -axis[-j]
            t11, t22 = target(u, v, law.omega, law.a11, law.a22)
            weight = decay[abs(j)] * grid.multiplicity(i, j, mirrored)
            _add(lines[(i + j) % 2], weight, integrands(t11, t22, u, v))
            nodes += 1
        outer = mp.exp(-((step_u * i) ** 2) / 2)
        for total, line in zip(totals, lines, strict=True):
            _add(total, outer, line)
    area = step_u * step_v / (2 * mp.pi)
    even, odd = totals
    return (
        [area * (x + y) for x, y in zip(even, odd, strict=True)],
        [2 * area * x for x in even],
        nodes,
    )


def _add(totals: list[Any], weight: Any, values: list[Any]) -> None:
    if not totals:
        totals += [mpf(0)] * len(values)
    for k, value in enumerate(values):
        totals[k] += weight * value
