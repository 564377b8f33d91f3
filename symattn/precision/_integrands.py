"""What the sums over x and h* are made of, for balls as for arrays of doubles.

With w(x) = x + V grad loss(x), det = det(I + V Hess loss) and N the density of w given h*,

    E[phi] = E_{h*} int dx det N(w(x)) phi(x)

where the prox does not jump. Given x, the gradient of the loss and w are of first degree in the
weights t11, t22 of the target, det and the logarithm of N of second, and det times any integrand
but |dg/dw|^2 of fourth at most. So sums over nodes of x and of h* are products of matrices, but for
the exponential in N.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Any, NamedTuple

from symattn.precision._polynomials import basis, nodes, shared

#: Degree in (t11, t22) of what is averaged.
_HIGHEST = 4
_AT_SECOND_DEGREE = shared(_HIGHEST, 2)
_CORNERS = shared(_HIGHEST, 1)


@dataclass(frozen=True, slots=True)
class Law:
    """The numbers that the integrands depend on, all of one type.

    Attributes
    ----------
    sigma, omega, a11, a22 : number
        Of the model.
    V : number
    shift : number
        sqrt(2) m, the mean of a over h*; w = (a, b) in rotated components.
    slope : number
        theta/rho: the mean of w given h* is (shift, 0) + slope h*.
    variance : number
        s^2 = q - theta^2/rho per component.
    """

    sigma: Any
    omega: Any
    a11: Any
    a22: Any
    V: Any
    shift: Any
    slope: Any
    variance: Any


class Student(NamedTuple):
    """What depends on x alone: lists over the nodes of a degree in (t11, t22).

    Attributes
    ----------
    exponent : list
        With `Target.exponent` it makes ln N(w) + ln(2 pi s^2).
    det, trace : list
        det and det Tr K with K = Hess (I + V Hess)^-1; of second degree.
    columns : dict of lists
        By name, det times an integrand, of fourth degree: norm for 1, trace for Tr K, curvature for
        det K, loss, g_squared for |g|^2, g_u and g_v for the rotated components of g.
    """

    exponent: list[Any]
    det: list[Any]
    trace: list[Any]
    columns: dict[str, list[Any]]


class Target(NamedTuple):
    """What depends on h* alone, to go with `Student`: values of the basis polynomials."""

    exponent: list[Any]
    second: list[Any]
    fourth: list[Any]


NAMES = ("norm", "trace", "curvature", "loss", "g_squared", "g_u", "g_v")


def student(kernels: ModuleType, u: Any, v: Any, law: Law) -> Student:
    """At x = (u, v), rotated; `kernels` is the generated module for the type of the numbers."""
    jet = kernels.student_jet(u, v)
    exponent: list[Any] = []
    linear: list[list[Any]] = [[], []]
    columns: dict[str, list[Any]] = {name: [] for name in NAMES}
    for place, (s11, s22) in enumerate(nodes(_HIGHEST)):
        t11, t22 = (
            (1 - law.omega) * s.numerator / s.denominator + law.omega * a
            for s, a in ((s11, law.a11), (s22, law.a22))
        )
        loss, l_u, l_v, l_uu, l_uv, l_vv = kernels.loss_jet(*jet, t11, t22, law.sigma)
        a, b, det = kernels.inverse_prox(u, v, l_u, l_v, l_uu, l_uv, l_vv, law.V)
        a = a - law.shift
        if place in _AT_SECOND_DEGREE:
            exponent.append((a * a + b * b) / (-2 * law.variance))
        if place in _CORNERS:
            linear[0].append(a / law.variance)
            linear[1].append(b / law.variance)
        curvature = l_uu * l_vv - l_uv * l_uv
        # d det/dV = det Tr K, and half its derivative is det K times det
        trace = l_uu + l_vv + 2 * law.V * curvature
        averaged = (1, loss, l_u * l_u + l_v * l_v, -l_u, -l_v)
        norm, loss, g_squared, g_u, g_v = (det * value for value in averaged)
        values = (norm, trace, curvature, loss, g_squared, g_u, g_v)
        for name, value in zip(NAMES, values, strict=True):
            columns[name].append(value)
    if law.slope != 0:
        exponent += [*linear[0], *linear[1], u * 0 + 1]
    det, det_trace = (
        [columns[name][place] for place in _AT_SECOND_DEGREE] for name in ("norm", "trace")
    )
    return Student(exponent, det, det_trace, columns)


def target(kernels: ModuleType, u_star: Any, v_star: Any, law: Law) -> Target:
    """At h* = (u_star, v_star), rotated."""
    zero = law.omega * 0
    s11, s22 = kernels.target(u_star, v_star, zero, zero, zero)
    exponent = second = basis(2, s11, s22)
    if law.slope != 0:
        a, b = law.slope * u_star, law.slope * v_star
        first = basis(1, s11, s22)
        exponent = [*second, *(a * value for value in first), *(b * value for value in first)]
        exponent.append((a * a + b * b) / (-2 * law.variance))
    return Target(exponent, second, basis(_HIGHEST, s11, s22))
