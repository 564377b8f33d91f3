"""Means over the channel where no prox jumps, to all digits of a double.

The inverse-prox sum, in token coordinates and from derivatives written by hand: trapezoidal rules
in h* and in x, w = x + V grad loss(x), the density of w times det(I + V Hess loss). Nothing here
comes from the package.
"""

import math

import numpy as np
from numba import njit

from tests.reference.energy import loss_derivatives, target
from tests.reference.expectations import NAMES, Parameters


@njit(cache=True)
def _sums(q, m, V, theta, sigma, omega, a11, a22, nodes, reach, x_nodes, x_reach):
    # summed in three levels, or the rounding of ten million additions would show
    total, plane, line = np.zeros(7), np.zeros(7), np.zeros(7)
    rho = sigma * sigma
    variance = q - theta * theta / rho
    s = math.sqrt(variance)
    step, x_step = reach / nodes, x_reach / x_nodes
    for i in range(-nodes, nodes + 1):
        for j in range(-nodes, nodes + 1):
            weight = step * step * math.exp(-0.5 * step * step * (i * i + j * j)) / (2.0 * math.pi)
            if weight < 1e-19:
                continue
            h1, h2 = sigma * i * step, sigma * j * step
            t1, t2 = target(h1, h2, omega, a11, a22)
            mean1, mean2 = m + theta / rho * h1, -m + theta / rho * h2
            plane[:] = 0.0
            for k in range(-x_nodes, x_nodes + 1):
                line[:] = 0.0
                x1 = mean1 + s * k * x_step
                for n in range(-x_nodes, x_nodes + 1):
                    x2 = mean2 + s * n * x_step
                    loss, d1, d2, d11, d12, d22 = loss_derivatives(x1, x2, t1, t2, rho)
                    y1, y2 = x1 + V * d1 - mean1, x2 + V * d2 - mean2
                    measure = x_step * x_step / (2.0 * math.pi)
                    measure *= math.exp(-0.5 * (y1 * y1 + y2 * y2) / variance)
                    measure *= (1.0 + V * d11) * (1.0 + V * d22) - V * V * d12 * d12
                    square = d1 * d1 + d2 * d2
                    line[0] += measure
                    line[1] += measure * (0.5 * V * square + loss)
                    line[2] += measure * square
                    line[3] += measure * (d2 - d1)
                    line[4] -= measure * (d1 * y1 + d2 * y2) / variance
                    line[5] -= measure * (d1 * h1 + d2 * h2)
                    line[6] += measure * loss
                plane += line
            total += weight * plane
    return total


def smooth_expectations(
    p: Parameters, nodes: int = 26, reach: float = 8.0, x_nodes: int = 40, x_reach: float = 9.0
) -> dict[str, float]:
    """The means by the reference's names, less the test error."""
    sums = _sums(
        p.q, p.m, p.V, p.theta, p.sigma, p.omega, p.a11, p.a22, nodes, reach, x_nodes, x_reach
    )
    return dict(zip(NAMES, sums.tolist(), strict=False))
