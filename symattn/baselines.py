"""The best linear positional map, to which the attention layer is compared.

Among f_W(x) = W x with W an L x L matrix, W = E[T] has the lowest test error,
(1/2) E Tr (T - W) rho (T - W)^T, with h* ~ N(0, rho I) in T[h*].
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass

import numpy as np

from symattn._checks import checked_model
from symattn.errors import ComputationFailed
from symattn.model import AttentionModel, Mixing

# In standard deviations of u* and v*. The probability beyond is 3e-23, and the part of the moments
# that lies there less than 1e-17 of them for every rho: rounding is larger.
_HALF_WIDTH = 10

_COARSEST, _FINEST = 2, 8  # grid spacings 2^-2 to 2^-8
_TOLERANCE = 1e-14
_ROUNDING = 16 * sys.float_info.epsilon


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearBaseline:
    """The best linear positional map of a model.

    Attributes
    ----------
    W : matrix
        E[T], L x L by rows, row-stochastic.
    W_error : float
        Bound on the absolute error of every entry of `W`.
    test_error : float
        (1/2) E Tr (T - W) rho (T - W)^T = E |y - W x|_F^2 / (2 d).
    error : float
        Bound on the absolute error of `test_error`.
    """

    W: Mixing
    W_error: float
    test_error: float
    error: float


def linear_baseline(model: AttentionModel) -> LinearBaseline:
    """The best linear positional map and its test error.

    T = (1 - omega) S + omega A with S = softmax(h* h*^T) and rows that sum to 1, so the test error
    is sigma^2 (1 - omega)^2 (Var S_11 + Var S_22), and A does not enter it. S_11 and S_22 have the
    same law, since exchanging the tokens exchanges them.

    Raises
    ------
    InvalidInput
        When the model is not of the class L = 2, r = t = 1, isotropic.
    ComputationFailed
        When the expectations do not reach 14 digits, which takes sigma > 4.
    """
    sigma = checked_model(model).require_solvable()
    rho = sigma**2
    # From omega as a decimal: next to 1 the difference of doubles would lose its digits.
    semantic_share = float(1 - model.exact("omega"))

    mean, mean_error, variance, variance_error = _softmax_moments(rho)
    w_11, w_22 = (
        semantic_share * (0.5 + mean) + model.omega * model.mixing[k][k] for k in range(2)
    )
    scale = 2 * rho * semantic_share**2
    return LinearBaseline(
        W=((w_11, 1 - w_11), (1 - w_22, w_22)),
        W_error=semantic_share * mean_error + _ROUNDING,
        test_error=scale * variance,
        error=scale * (variance_error + _ROUNDING * variance),
    )


def _softmax_moments(rho: float) -> tuple[float, float, float, float]:
    """E[S_11 - 1/2] and Var S_11, each followed by its absolute error, for h* ~ N(0, rho I).

    S_11 - 1/2 = tanh(rho x (x + y) / 2) / 2 with x, y standard normal, the rotated coordinates of
    h* in units of sqrt(rho). The integrands are analytic, so the trapezoidal rule converges
    exponentially, and its step from one spacing to the next half as wide bounds the error of the
    finer one.
    """
    mean, variance = _trapezoid(rho, 2.0**-_COARSEST)
    for power in range(_COARSEST + 1, _FINEST + 1):
        coarse_mean, coarse_variance = mean, variance
        mean, variance = _trapezoid(rho, 2.0**-power)
        mean_step, variance_step = abs(mean - coarse_mean), abs(variance - coarse_variance)
        reached = max(mean_step, variance_step / variance)
        if reached <= _TOLERANCE:
            return mean, mean_step, variance, variance_step
    raise ComputationFailed(
        f"linear baseline at sigma = {math.sqrt(rho):g}: relative error {reached:.0e} reached, "
        f"{_TOLERANCE:g} asked; try a smaller sigma (4 and below are safe)"
    )


def _trapezoid(rho: float, spacing: float) -> tuple[float, float]:
    """Mean and variance of S_11 - 1/2 by the trapezoidal rule."""
    steps = round(_HALF_WIDTH / spacing)
    nodes = spacing * np.arange(-steps, steps + 1)
    weights = np.exp(-(nodes**2) / 2)
    weights /= weights.sum()

    # S_11 is even under (x, y) -> -(x, y), so x >= 0 is enough; one x at a time saves memory.
    mean = second_moment = 0.0
    for x, weight in zip(nodes[steps:].tolist(), weights[steps:].tolist(), strict=True):
        multiplicity = 1 if x == 0 else 2
        values = np.tanh((rho * x / 2) * (x + nodes)) / 2
        mean += multiplicity * weight * float(weights @ values)
        second_moment += multiplicity * weight * float(weights @ values**2)
    # The mean square is at least four times the squared mean: the difference keeps its digits.
    return mean, second_moment - mean**2
