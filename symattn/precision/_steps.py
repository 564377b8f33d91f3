"""Steps of the trapezoidal rules, from how the integrands grow into the complex plane.

The trapezoidal rule with step d, for an integrand f analytic in a strip, errs by about
2 |f(x + i y)| exp(-2 pi y/d), integrated over the real x, for any y within the strip, which may
differ from place to place. So each place contributes the least of that over y, as far as it falls
all the way from y = 0: beyond a rise, the shifts of neighbouring places would not join. f is
sampled in double precision for each of the four coordinates shifted by i y.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from symattn._typing import FloatArray
from symattn.errors import ComputationFailed
from symattn.kernels.generated import numpy_l2_r1_t1 as kernels
from symattn.precision._integrands import Law, student, target

#: Shifts y, in units of s for x and of sigma for h*; far out poles are near, if sigma is large.
_SHIFTS = np.array([0.0, *(0.3 * 1.3 ** np.arange(-8, 16))])
#: Samples of x along an axis, and the spacing of those of h*: where they are shifted, and else.
_SAMPLES = (32, 16)
_SPACINGS = (0.8, 1.6)
_LARGEST_BOX = 60.0


@dataclass(frozen=True, slots=True)
class Growth:
    """ln of the integrand, by place and shift, and how far from each place the nearest pole is.

    The first shift is 0.
    """

    logs: FloatArray
    shifts: FloatArray
    poles: FloatArray

    def step(self, decay: float) -> float:
        """The longest step that leaves an error of exp(-decay)."""
        below_poles = self.shifts[None, :] < 0.95 * self.poles[:, None]

        def error(step: float) -> float:
            logs = self.logs - 2.0 * math.pi * self.shifts / step
            falls = np.logical_and.accumulate(np.diff(logs, axis=1) <= 0.0, axis=1)
            usable = below_poles.copy()
            usable[:, 1:] &= falls
            return float(np.logaddexp.reduce(np.where(usable, logs, np.inf).min(axis=1)))

        low, high = 1e-3 * float(self.shifts[1]), 100.0 * float(self.shifts[-1])
        for _ in range(60):
            middle = math.sqrt(low * high)
            if error(middle) > -decay:
                high = middle
            else:
                low = middle
        return low


@dataclass(frozen=True, slots=True)
class Window:
    """The box of x that has weight, as (least u, largest u, least v, largest v)."""

    edges: tuple[float, float, float, float]

    @property
    def area(self) -> float:
        least_u, largest_u, least_v, largest_v = self.edges
        return (largest_u - least_u) * (largest_v - least_v)


def window(law: Law, decay: float) -> Window:
    """The box outside of which the weight is below exp(-decay).

    Raises
    ------
    ComputationFailed
        If x reaches too far.
    """
    z = _targets(decay, _SPACINGS[1])
    size = 2.0
    while size <= _LARGEST_BOX:
        axis = np.linspace(-size, size, 129)
        u, v = (part.ravel() for part in np.meshgrid(axis, axis, indexing="ij"))
        weight = _log_weights(law, (u, v), z).max(axis=0)
        inside = weight > -decay - 5.0
        rim = np.maximum(np.abs(u), np.abs(v)) > 0.97 * size
        if not (inside & rim).any():
            pad = 2.0 * (axis[1] - axis[0])
            return Window(
                (
                    float(u[inside].min() - pad),
                    float(u[inside].max() + pad),
                    float(v[inside].min() - pad),
                    float(v[inside].max() + pad),
                )
            )
        size *= 1.5
    raise ComputationFailed(
        f"the prox reaches too far for more digits than a double has: x beyond {_LARGEST_BOX:.0f}"
    )


def samples_with_weight(law: Law, at: Window, decay: float) -> float:
    """The volume, in x and in half the plane of h*, where the weight is above exp(-decay)."""
    x, z = _students(at, _SAMPLES[0]), _targets(decay, _SPACINGS[1])
    count = np.count_nonzero(_log_weights(law, x, z) > -decay)
    return float(count * at.area / _SAMPLES[0] ** 2 * _SPACINGS[1] ** 2)


def folded_weight(law: Law, at: Window, decay: float) -> float:
    """ln of the weight of det(I + V Hess loss) < 0 within the window, from samples; or -inf."""
    x, z = _students(at, 4 * _SAMPLES[0]), _targets(decay, _SPACINGS[1])
    logs = _log_weights(law, x, z)
    det = np.array(target(kernels, law.sigma * z[0], law.sigma * z[1], law).second).T
    det = det @ np.array(student(kernels, *x, law).det)
    folded = logs[det < 0.0]
    if not len(folded):
        return -math.inf
    cell = at.area / (4 * _SAMPLES[0]) ** 2 * _SPACINGS[1] ** 2
    return float(
        np.logaddexp.reduce(folded) + math.log(2.0 * cell / 4.0 / math.pi**2 / law.variance)
    )


def growths(law: Law, at: Window, decay: float) -> tuple[Growth, Growth, Growth, Growth]:
    """Of the integrand in u and v of x, and in u* and v* of h* (in units of sigma)."""
    x, z = _students(at, _SAMPLES[0]), _targets(decay, _SPACINGS[1])
    coarse_x, fine_z = _students(at, _SAMPLES[1]), _targets(decay, _SPACINGS[0])
    (u, v), (z_u, z_v) = x, fine_z
    s = math.sqrt(law.variance)

    def sampled(
        unit: float,
        shifted: Callable[[Any], FloatArray],
        summed: int,
        slope: FloatArray,
        samples: tuple[int, float],
    ) -> Growth:
        # for real x and h*, the logits have imaginary parts of y times this slope
        shifts = unit * _SHIFTS
        logs = np.array([np.logaddexp.reduce(shifted(1j * y), axis=summed) for y in shifts]).T
        cell = at.area / samples[0] ** 2 * samples[1] ** 2
        logs += math.log(2.0 * cell / (4.0 * math.pi**2 * law.variance))
        return Growth(logs, np.asarray(shifts, dtype=float), math.pi / (slope + 1e-9))

    in_x, in_z = (_SAMPLES[0], _SPACINGS[1]), (_SAMPLES[1], _SPACINGS[0])
    rho = law.sigma**2
    return (
        sampled(s, lambda iy: _log_weights(law, (u + iy, v), z), 0, steepest(u, v), in_x),
        sampled(s, lambda iy: _log_weights(law, (u, v + iy), z), 0, np.abs(u), in_x),
        sampled(
            1.0,
            lambda iy: _log_weights(law, coarse_x, (z_u + iy, z_v)),
            1,
            rho * steepest(z_u, z_v),
            in_z,
        ),
        sampled(
            1.0, lambda iy: _log_weights(law, coarse_x, (z_u, z_v + iy)), 1, rho * np.abs(z_u), in_z
        ),
    )


def steepest(u: FloatArray, v: FloatArray) -> FloatArray:
    """The larger of the derivatives of the logits u (u + v) and u (u - v) by u."""
    return np.maximum(np.abs(2.0 * u + v), np.abs(2.0 * u - v))


def _students(at: Window, count: int) -> tuple[FloatArray, FloatArray]:
    """Samples of x."""
    least_u, largest_u, least_v, largest_v = at.edges
    u, v = np.meshgrid(
        np.linspace(least_u, largest_u, count),
        np.linspace(least_v, largest_v, count),
        indexing="ij",
    )
    return u.ravel(), v.ravel()


def _targets(decay: float, spacing: float) -> tuple[FloatArray, FloatArray]:
    """Samples of h*/sigma with u* >= 0."""
    radius = math.sqrt(2.0 * decay)
    most = math.ceil(radius / spacing)
    i, j = np.meshgrid(np.arange(most + 1), np.arange(-most, most + 1), indexing="ij")
    z_u, z_v = spacing * (i.ravel() + 0.5), spacing * j.ravel()
    inside = z_u**2 + z_v**2 < radius**2
    return np.asarray(z_u[inside], dtype=float), np.asarray(z_v[inside], dtype=float)


def _log_weights(law: Law, x: tuple[Any, Any], z: tuple[Any, Any]) -> FloatArray:
    """ln of the modulus of det N and of the weight of h*, without constants: (h*, x)."""
    z_u, z_v = z
    with np.errstate(all="ignore"):
        at_x = student(kernels, *x, law)
        at_h = target(kernels, law.sigma * z_u, law.sigma * z_v, law)
        exponent = (np.array(at_h.exponent).T @ np.array(at_x.exponent)).real
        det = np.array(at_h.second).T @ np.array(at_x.det)
        outer = -0.5 * (z_u**2 + z_v**2).real
        logs = exponent + np.log(np.abs(det)) + outer[:, None]
    return np.nan_to_num(logs, nan=1e30, posinf=1e30, neginf=-1e30)
