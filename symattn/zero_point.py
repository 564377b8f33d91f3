"""The fixed point Q = 0, where everything but the response is explicit.

With w = 0 and a prox that stays at 0, dg/dw = -K with K = H (I + V H)^-1 and H the Hessian of the
loss at x = 0, and V solves V (lambda + sigma^2 alpha E tr K) = sigma^2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from symattn._jit import compiled
from symattn._typing import FloatArray
from symattn.errors import ComputationFailed
from symattn.kernels.generated.numba_l2_r1_t1 import channel, envelope_curvature, target
from symattn.model import AttentionModel
from symattn.quadrature._minima import descend

_HALF_WIDTH = 8.5
_COARSEST, _FINEST = 16, 256
#: Responses are looked for up to so many times sigma^2/lambda, at so many points.
_HIGHEST, _SCAN = 20.0, 90


@dataclass(frozen=True, slots=True, kw_only=True)
class ZeroPoint:
    """Q = 0 at one sample complexity.

    Attributes
    ----------
    V, V_hat : float
        Response and its conjugate alpha E tr K.
    loss : float
        E[loss at x = 0]: the test error, and the training loss divided by alpha.
    replicon : float
        1 - alpha V^2 E|K|_F^2.
    errors : dict
        Absolute error of each, from the rule with half the nodes.
    """

    V: float
    V_hat: float
    loss: float
    replicon: float
    errors: dict[str, float]


def zero_point(model: AttentionModel, alpha: float) -> ZeroPoint:
    """The solution at Q = 0 whose response is connected to alpha = 0.

    Raises
    ------
    ComputationFailed
        If V runs away (beyond the threshold to a random direction), or if the prox at w = 0 is
        somewhere not at x = 0, so that Q = 0 is not a solution of this form.
    """
    bracket = _bracket(model, alpha)
    results = []
    nodes = _COARSEST
    while nodes <= _FINEST:
        results.append(_at(model, alpha, nodes, bracket))
        if len(results) > 1:
            steps = [abs(x - y) for x, y in zip(results[-1], results[-2], strict=True)]
            if max(s / max(abs(x), 1e-3) for s, x in zip(steps, results[-1], strict=True)) < 1e-14:
                break
        nodes *= 2
    names = ("V", "V_hat", "loss", "replicon")
    values = dict(zip(names, results[-1], strict=True))
    if not _rests_at_zero(_rule(_COARSEST)[0], _parameters(model), values["V"]):
        raise ComputationFailed(
            f"Q = 0 at alpha = {alpha:.6g}: for some h* the prox of w = 0 is not x = 0, so Q = 0 "
            "is not a regular fixed point"
        )
    errors = {n: s + 1e-15 * abs(values[n]) for n, s in zip(names, steps, strict=True)}
    return ZeroPoint(**values, errors=errors)


def loss_at_zero(model: AttentionModel) -> tuple[float, float]:
    """E[loss at x = 0], the test error of Q = 0, and its absolute error."""
    nodes = _COARSEST
    loss = _means_at_rest(*_rule(nodes), _parameters(model), 0.0)[2]
    step = math.inf
    while step > 1e-15 * loss and nodes < _FINEST:
        nodes *= 2
        coarse, loss = loss, _means_at_rest(*_rule(nodes), _parameters(model), 0.0)[2]
        step = abs(loss - coarse)
    return loss, step + 1e-14 * loss


def _parameters(model: AttentionModel) -> tuple[float, float, float, float]:
    return (model.require_solvable(), model.omega, model.mixing[0][0], model.mixing[1][1])


def _rule(nodes: int) -> tuple[FloatArray, FloatArray]:
    """Nodes and normalised weights of the trapezoidal rule for a standard normal variable."""
    axis = np.asarray(np.arange(-nodes, nodes + 1) * (_HALF_WIDTH / nodes), dtype=np.float64)
    weights = np.asarray(np.exp(-0.5 * axis**2), dtype=np.float64)
    return axis, weights / weights.sum()


def _bracket(model: AttentionModel, alpha: float) -> tuple[float, float]:
    """Responses on either side of the one that is connected to alpha = 0.

    It is the lowest root: further ones come in pairs above it.
    """
    sigma = model.require_solvable()
    axis, weights = _rule(_COARSEST)
    low = 0.0
    for k in range(_SCAN + 1):
        V = sigma**2 / model.lam * _HIGHEST * 10.0 ** (6.0 * (k / _SCAN - 1.0))
        trace, square, _, least = _means_at_rest(axis, weights, _parameters(model), V)
        if least <= 0.0:
            raise ComputationFailed(
                f"Q = 0 at alpha = {alpha:.6g}: the prox at w = 0 jumps from V = {V:.4g} on, below "
                "the response that Q = 0 needs, so Q = 0 is not a regular fixed point"
            )
        if V * (model.lam + sigma**2 * alpha * trace) >= sigma**2:
            return 0.99 * low, 1.01 * V
        if model.lam + sigma**2 * alpha * (trace - V * square) < 0.0:
            # the left side of the equation for V has passed its maximum: look there once more
            high = V
            for _ in range(60):
                V = 0.5 * (low + high)
                trace, square, _, _ = _means_at_rest(axis, weights, _parameters(model), V)
                if V * (model.lam + sigma**2 * alpha * trace) >= sigma**2:
                    return 0.99 * low, V
                if model.lam + sigma**2 * alpha * (trace - V * square) < 0.0:
                    high = V
                else:
                    low = V
            break
        low = V
    raise ComputationFailed(
        f"Q = 0 at alpha = {alpha:.6g}: no response V is connected to alpha = 0; Q = 0 is unstable "
        "towards a random direction"
    )


def _at(
    model: AttentionModel, alpha: float, nodes: int, bracket: tuple[float, float]
) -> tuple[float, float, float, float]:
    """V, V_hat, loss and replicon by a rule of 2 nodes + 1 points an axis."""
    sigma = model.require_solvable()
    axis, weights = _rule(nodes)
    low, high = bracket
    V = 0.5 * (low + high)
    for _ in range(200):
        trace, square, loss, _ = _means_at_rest(axis, weights, _parameters(model), V)
        value = V * (model.lam + sigma**2 * alpha * trace) - sigma**2
        if value > 0.0:
            high = V
        else:
            low = V
        # d(E tr K)/dV = -E|K|^2
        rate = model.lam + sigma**2 * alpha * (trace - V * square)
        ahead = V - value / rate if rate > 0.0 else low
        if not low < ahead < high:
            ahead = 0.5 * (low + high)
        change = ahead - V
        V = ahead
        if abs(change) < 4e-16 * V:
            break
    return V, alpha * trace, loss, 1.0 - alpha * V**2 * square


@compiled
def _means_at_rest(
    axis: FloatArray, weights: FloatArray, parameters: tuple[float, float, float, float], V: float
) -> tuple[float, float, float, float]:
    """E tr K, E|K|_F^2, E loss at x = 0, and the least det(I + V H)."""
    sigma, omega, a11, a22 = parameters
    trace = 0.0
    square = 0.0
    mean_loss = 0.0
    least = math.inf
    for i in range(axis.shape[0]):
        # sums of sums: one long sum would lose three digits to rounding
        row_trace = 0.0
        row_square = 0.0
        row_loss = 0.0
        for j in range(axis.shape[0]):
            t11, t22 = target(sigma * axis[i], sigma * axis[j], omega, a11, a22)
            loss, _, _, h_uu, h_uv, h_vv = channel(0.0, 0.0, t11, t22, sigma)
            det, trace_k, square_k = envelope_curvature(h_uu, h_uv, h_vv, V)
            least = min(least, det)
            row_trace += weights[j] * trace_k
            row_square += weights[j] * square_k
            row_loss += weights[j] * loss
        trace += weights[i] * row_trace
        square += weights[i] * row_square
        mean_loss += weights[i] * row_loss
    return trace, square, mean_loss, least


@compiled
def _rests_at_zero(
    axis: FloatArray, parameters: tuple[float, float, float, float], V: float
) -> bool:
    """Whether no descent from afar finds an energy below that of x = 0 at w = 0."""
    sigma, omega, a11, a22 = parameters
    for i in range(axis.shape[0]):
        for j in range(axis.shape[0]):
            t11, t22 = target(sigma * axis[i], sigma * axis[j], omega, a11, a22)
            rest = V * channel(0.0, 0.0, t11, t22, sigma)[0]
            for k in range(8):
                angle = math.pi * (k + 0.5) / 8.0
                for size in (0.4, 1.2):
                    _, _, low = descend(
                        size * math.cos(angle), size * math.sin(angle), 0.0, 0.0,
                        (t11, t22, sigma, V),
                    )  # fmt: skip
                    if low < rest - 1e-12:
                        return False
    return True
