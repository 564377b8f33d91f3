"""The trapezoidal rule over h* = sigma z: its step and its extent.

The integrands at Q = 0 are analytic in z while |Im| of the logits sigma^2 z_u (z_u +- z_v) stays
below pi/2, as `_proof` shows; that leaves a strip around the real plane whose width falls like
1/|z|, while the weight falls like exp(-|z|^2/2). A step h then leaves an error of about the
largest of exp(-r^2/2 - c/(r h)) over r, which is exp(-3 r^2/2) at r^3 = c/h.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from mpmath import mp, mpf

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
