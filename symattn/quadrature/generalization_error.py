"""The test error: a smooth mean over h* and w, with no prox in it."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from symattn._jit import compiled
from symattn._typing import FloatArray
from symattn.kernels.generated.numba_l2_r1_t1 import (
    field_law,
    scores,
    student_jet,
    target,
    test_loss,
)
from symattn.model import AttentionModel
from symattn.overlaps import Overlaps

_FINEST = 96
#: Relative weight of the nodes that are left out.
_NEGLIGIBLE = 1e-18
#: Relative, of sums of up to some ten thousand terms in two stages.
_ROUNDING = 2e-14
#: Where the sums stand.
_LOSS, _COARSE_TARGET, _COARSE_STUDENT, _BY_Q, _BY_M, _BY_THETA = range(6)


class MeanTestLoss(NamedTuple):
    """The test error at given overlaps.

    Attributes
    ----------
    value, error : float
        eps_g and its absolute error.
    gradient : array, shape (4,)
        Its derivatives by q, m, V (none) and theta; not finite where q = theta^2/rho.
    """

    value: float
    error: float
    gradient: FloatArray


def mean_test_loss(model: AttentionModel, overlaps: Overlaps, accuracy: float) -> MeanTestLoss:
    """eps_g = (1/2) E Tr (T[h*] - S[w]) rho (T[h*] - S[w])^T.

    (h*, w) are jointly Gaussian as in state evolution; the derivative of the mean by an overlap is
    the mean of the loss times that of ln N(w). The trapezoidal rule in all four rotated coordinates
    converges so fast that halving the step raises the relative error, below 1, to a power above
    3/2. That power is claimed, of the difference to the rules with every other node of h* or of w
    left out. The relative `accuracy` is aimed at; the returned error says what was reached.
    """
    sigma = model.require_solvable()
    half_width = math.sqrt(-2.0 * math.log(accuracy)) + 1.5
    rows = 12
    parameters = (sigma, model.omega, model.mixing[0][0], model.mixing[1][1])
    reflection = overlaps.m == 0.0 or overlaps.theta == 0.0
    error = math.inf
    while rows <= _FINEST:
        axis = np.asarray(np.arange(-rows, rows + 1) * (half_width / rows), dtype=np.float64)
        weights = np.asarray(np.exp(-0.5 * axis**2), dtype=np.float64)
        sums = _sums(axis, weights, parameters, overlaps, reflection)
        value = sums[_LOSS]
        step = (abs(value - sums[_COARSE_TARGET]) + abs(value - sums[_COARSE_STUDENT])) / value
        error = value * (min(step, step**1.5) + 0.01 * accuracy + _ROUNDING)
        if error <= accuracy * value:
            break
        rows = math.ceil(1.4 * rows)
    gradient = np.array([sums[_BY_Q], sums[_BY_M], 0.0, sums[_BY_THETA]])
    # the sum over half of the nodes is blind to what is odd
    if overlaps.m == 0.0:
        gradient[1] = 0.0
    if overlaps.theta == 0.0:
        gradient[3] = 0.0
    return MeanTestLoss(float(value), float(error), gradient)


@compiled
def _sums(
    axis: FloatArray,
    weights: FloatArray,
    parameters: tuple[float, float, float, float],
    overlaps: tuple[float, float, float, float],
    reflection: bool,
) -> FloatArray:
    """Means of the loss by three rules, and of the loss times the scores, shape (6,)."""
    sigma, omega, a11, a22 = parameters
    q, m, _, theta = overlaps
    n = axis.shape[0]
    middle = n // 2
    even = middle % 2
    first = middle if reflection else 0
    total = np.zeros(6)
    mass = np.zeros(3)
    for i in range(first, n):
        u_star = sigma * axis[i]
        twice = 2.0 if reflection and i > middle else 1.0
        for j in range(n):
            v_star = sigma * axis[j]
            outer = twice * weights[i] * weights[j]
            if outer < _NEGLIGIBLE:
                continue
            t11, t22 = target(u_star, v_star, omega, a11, a22)
            a_mean, b_mean, s = field_law(q, m, theta, u_star, v_star, sigma)
            # sums given h* first: one long sum would round a thousand times as much
            inner = np.zeros(5)
            inner_mass = np.zeros(2)
            for column in range(n):
                a = a_mean + s * axis[column]
                for row in range(n):
                    weight = weights[column] * weights[row]
                    if outer * weight < _NEGLIGIBLE:
                        continue
                    b = b_mean + s * axis[row]
                    jet = student_jet(a, b)
                    loss = weight * test_loss(jet[0], jet[6], t11, t22, sigma)
                    by_q, by_m, by_theta = scores(
                        a, b, a_mean, b_mean, s, u_star, v_star, theta, sigma
                    )
                    inner[0] += loss
                    inner_mass[0] += weight
                    inner[2] += loss * by_q
                    inner[3] += loss * by_m
                    inner[4] += loss * by_theta
                    if column % 2 == even and row % 2 == even:
                        inner[1] += loss
                        inner_mass[1] += weight
            total[_LOSS] += outer * inner[0]
            total[_COARSE_STUDENT] += outer * inner[1]
            total[_BY_Q:] += outer * inner[2:]
            mass[0] += outer * inner_mass[0]
            mass[2] += outer * inner_mass[1]
            if i % 2 == even and j % 2 == even:
                total[_COARSE_TARGET] += outer * inner[0]
                mass[1] += outer * inner_mass[0]
    total[:3] /= mass
    total[3:] /= mass[0]
    return total
