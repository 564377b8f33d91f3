"""Where the prox at Q = 0 is regular: x = 0 minimises the energy at w = 0 for every h*.

The energy |x|^2/(2 V) + loss(x) - loss(0) is linear in the target T, and the closure of all T[h*]
is a triangle: softmax(h* h*^T) has S_11 + S_22 >= 1, and its corners (1, 1), (1, 0) and (0, 1) are
reached as |h*| grows. So x = 0 is a minimiser for every h* when it is one at the three corners,
and as the energy falls with V, it is one up to some V and not beyond.
"""

from __future__ import annotations

import math

from symattn._jit import compiled
from symattn.kernels.generated.numba_l2_r1_t1 import channel
from symattn.model import AttentionModel
from symattn.weak_learning._bounds import corner_targets

_RADII, _ANGLES = 300, 240
_SMALLEST = 1e-3

#: Relative accuracy with which the end of regularity is known.
ACCURACY = 1e-9


def regular_up_to(model: AttentionModel) -> float:
    """The V up to which the prox of w = 0 is x = 0 for every h*; infinite when it always is."""
    sigma = model.require_solvable()
    corners = corner_targets(model.omega, model.mixing[0][0], model.mixing[1][1])
    return min(_stiffest(t11, t22) for t11, t22 in corners) / sigma**2


def _stiffest(t11: float, t22: float) -> float:
    """Least |x|^2/(2 (loss(0) - loss(x))) at sigma = 1, over x where the loss is below loss(0)."""
    tau, delta = t11 + t22 - 1.0, t11 - t22
    # near x = 0: where 1 - tau V - (delta V)^2/4 vanishes
    slope = 0.5 * (tau + math.hypot(tau, delta))
    if slope <= 0.0:
        # tau <= 0 = delta, so T is the nearest to uniform attention of all S with S_11 + S_22 >= 1
        return math.inf
    local = 1.0 / slope
    at_rest = channel(0.0, 0.0, t11, t22, 1.0)[0]
    farthest = math.sqrt(2.0 * local * at_rest)
    return _least_ratio(t11, t22, farthest, local)


@compiled
def _ratio(u: float, v: float, t11: float, t22: float, at_rest: float) -> float:
    gain = at_rest - channel(u, v, t11, t22, 1.0)[0]
    return 0.5 * (u * u + v * v) / gain if gain > 0.0 else math.inf


@compiled
def _least_ratio(t11: float, t22: float, farthest: float, local: float) -> float:
    at_rest = channel(0.0, 0.0, t11, t22, 1.0)[0]
    least, best_u, best_v = local, 0.0, 0.0
    for k in range(_RADII + 1):
        radius = farthest * _SMALLEST ** (1.0 - k / _RADII)
        for n in range(_ANGLES):
            angle = math.pi * n / _ANGLES
            u, v = radius * math.cos(angle), radius * math.sin(angle)
            value = _ratio(u, v, t11, t22, at_rest)
            if value < least:
                least, best_u, best_v = value, u, v
    if best_u == 0.0 and best_v == 0.0:
        return local
    step = 0.1 * math.hypot(best_u, best_v)
    while step > 1e-7 * farthest:
        moved = False
        for n in range(8):
            angle = math.pi * n / 4.0
            u, v = best_u + step * math.cos(angle), best_v + step * math.sin(angle)
            value = _ratio(u, v, t11, t22, at_rest)
            if value < least:
                least, best_u, best_v = value, u, v
                moved = True
        if not moved:
            step *= 0.5
    return min(least, local)
