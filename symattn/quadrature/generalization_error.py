"""The test error: a smooth mean over h* and w, with no prox in it."""

from __future__ import annotations

import math

import numpy as np

from symattn._jit import compiled
from symattn._typing import FloatArray
from symattn.kernels.generated.numba_l2_r1_t1 import student_jet, target, test_loss
from symattn.model import AttentionModel
from symattn.overlaps import Overlaps

_FINEST = 96
#: Relative error that the sum's rounding leaves.
_ROUNDING = 1e-14


def mean_test_loss(
    model: AttentionModel, overlaps: Overlaps, accuracy: float
) -> tuple[float, float]:
    """eps_g = (1/2) E Tr (T[h*] - S[w]) rho (T[h*] - S[w])^T, and its absolute error.

    (h*, w) are jointly Gaussian as in state evolution. The trapezoidal rule in all four rotated
    coordinates converges faster than geometrically: halving the step at least squares the relative
    error. Its power 3/2 is what is claimed of a step, from the rules with every other node of h*
    or of w left out. The relative `accuracy` is aimed at; the returned error says what was reached.
    """
    sigma = model.require_solvable()
    spread = math.sqrt(max(0.0, overlaps.q - overlaps.theta**2 / sigma**2))
    half_width = math.sqrt(-2.0 * math.log(accuracy)) + 1.5
    rows = 12
    parameters = (sigma, model.omega, model.mixing[0][0], model.mixing[1][1])
    slope = overlaps.theta / sigma**2
    value = error = math.inf
    while rows <= _FINEST:
        axis = np.asarray(np.arange(-rows, rows + 1) * (half_width / rows), dtype=np.float64)
        value, coarse_target, coarse_student = _sum(
            axis,
            np.asarray(np.exp(-0.5 * axis**2), dtype=np.float64),
            parameters,
            math.sqrt(2.0) * overlaps.m,
            slope,
            spread,
            overlaps.m == 0.0 or overlaps.theta == 0.0,
        )
        step = (abs(value - coarse_target) + abs(value - coarse_student)) / value
        error = value * (min(step, step**1.5) + 0.01 * accuracy + _ROUNDING)
        if error <= accuracy * value:
            break
        rows = math.ceil(1.4 * rows)
    return value, error


@compiled
def _sum(
    axis: FloatArray,
    weights: FloatArray,
    parameters: tuple[float, float, float, float],
    a_shift: float,
    slope: float,
    spread: float,
    reflection: bool,
) -> tuple[float, float, float]:
    """The four-dimensional sum, and with every other node of h*, then of w, left out.

    Summed in three levels: one sum of millions of terms would lose four digits to rounding.
    """
    sigma, omega, a11, a22 = parameters
    n = axis.shape[0]
    middle = n // 2
    even = middle % 2
    first = middle if reflection else 0
    total = np.zeros(3)
    mass = np.zeros(3)
    plane = np.zeros((2, 3))
    line = np.zeros((2, 3))
    for i in range(first, n):
        u_star = sigma * axis[i]
        twice = 2.0 if reflection and i > middle else 1.0
        for j in range(n):
            v_star = sigma * axis[j]
            outer = twice * weights[i] * weights[j]
            if outer < 1e-18:
                continue
            t11, t22 = target(u_star, v_star, omega, a11, a22)
            outer_coarse = i % 2 == even and j % 2 == even
            plane[:] = 0.0
            for k in range(n):
                a = a_shift + slope * u_star + spread * axis[k]
                line[:] = 0.0
                for m in range(n):
                    weight = outer * weights[k] * weights[m]
                    if weight < 1e-18:
                        continue
                    b = slope * v_star + spread * axis[m]
                    jet = student_jet(a, b)
                    loss = weight * test_loss(jet[0], jet[6], t11, t22, sigma)
                    line[0, 0] += loss
                    line[1, 0] += weight
                    if outer_coarse:
                        line[0, 1] += loss
                        line[1, 1] += weight
                    if k % 2 == even and m % 2 == even:
                        line[0, 2] += loss
                        line[1, 2] += weight
                plane += line
            total += plane[0]
            mass += plane[1]
    return total[0] / mass[0], total[1] / mass[1], total[2] / mass[2]
