"""The test error and the linear baseline by ball arithmetic: smooth means, with no prox.

With w Gaussian given h*, N(w | h*) is a product of functions of (u*, a) and of (v*, b). So

    E (T - S)^2 = E T^2 - 2 E T S + E S^2

takes sums over two dimensions, and one over four that is two products of matrices.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from flint import arb, arb_mat
from mpmath import mpf

from symattn._balls import ball, from_mpf, precision, to_mpf
from symattn._rest_grid import binary
from symattn._typing import FloatArray
from symattn.kernels.generated.arb_l2_r1_t1 import student_jet, target
from symattn.model import AttentionModel
from symattn.overlaps import Overlaps
from symattn.precision._steps import Growth, steepest
from symattn.quadrature import generalization_error

#: Relative accuracy of gradients.
_GRADIENT = 1e-12
_GUARD = 10
_SAMPLES = 41


def loss_gradient(model: AttentionModel, overlaps: Overlaps) -> FloatArray:
    """Derivatives of eps_g by q, m, V and theta, shape (4,), in double precision."""
    at = Overlaps(*map(float, overlaps))
    return generalization_error.mean_test_loss(model, at, _GRADIENT).gradient


def mean_test_loss(model: AttentionModel, overlaps: Overlaps, aim: float) -> Any:
    """eps_g = (1/2) E Tr (T[h*] - S[w]) rho (T[h*] - S[w])^T for about `aim` digits.

    overlaps: mpmath's numbers, as the result.
    """
    cut_off = aim * math.log(10.0) + 3.0
    with precision(math.ceil((aim + _GUARD) * math.log2(10.0))):
        sigma = ball(model.exact("sigma"))
        q, m, theta = (from_mpf(x) for x in (overlaps.q, overlaps.m, overlaps.theta))
        shift, slope = arb(2).sqrt() * m, theta / (sigma * sigma)
        variance = q - theta * slope
        # shifted by i y, the weight of (h*, w) grows like exp(y^2/2 (1/sigma^2 + slope^2/s^2)) in
        # h*, in units of sigma here, and like exp(y^2/(2 s^2)) in w
        spread, tilt = float(variance), float(slope * sigma) ** 2
        at_h = _steps(float(sigma), 1.0 / (1.0 + tilt / spread), 0.0, cut_off)
        scale = math.sqrt(float(q))
        at_w = _steps(scale, spread / float(q), float(shift), cut_off)
        first = _Axis(sigma, at_h[0], arb(0), cut_off), _Axis(sigma, at_h[1], arb(0), cut_off)
        root = q.sqrt()
        second = _Axis(root, at_w[0], shift, cut_off), _Axis(root, at_w[1], arb(0), cut_off)
        targets = _table(first, lambda u, v: _targets(model, u, v))
        students = _table(second, lambda a, b: _students(a, b))
        plain = sum(_mean(first, [[t * t for t in row] for row in part]) for part in targets)
        plain += sum(_mean(second, [[x * x for x in row] for row in part]) for part in students)
        crossed = arb(0)
        links = [
            _link(one, other, slope, variance, middle)
            for one, other, middle in zip(first, second, (shift, arb(0)), strict=True)
        ]
        for t, x in zip(targets, students, strict=True):
            inner = links[0] * arb_mat(x) * links[1].transpose()
            rows = [[value * inner[i, j] for j, value in enumerate(row)] for i, row in enumerate(t)]
            crossed += _mean(first, rows)
        return to_mpf(sigma * sigma * (plain - 2 * crossed))


def linear_test_error(model: AttentionModel, digits: int) -> tuple[Any, float]:
    """Test error of the best linear positional map to so many digits, and its absolute error.

    sigma^2 (Var T_11 + Var T_22), as mpmath's number.
    """
    rough, value = (_linear(model, digits + more) for more in (2, 5))
    return value, float(abs(value - rough) + abs(value) * mpf(10) ** (-digits - 3))


def _linear(model: AttentionModel, aim: float) -> Any:
    cut_off = aim * math.log(10.0) + 3.0
    with precision(math.ceil((aim + _GUARD) * math.log2(10.0))):
        sigma = ball(model.exact("sigma"))
        steps = _steps(float(sigma), 1.0, 0.0, cut_off)
        axes = _Axis(sigma, steps[0], arb(0), cut_off), _Axis(sigma, steps[1], arb(0), cut_off)
        total = arb(0)
        for part in _table(axes, lambda u, v: _targets(model, u, v)):
            mean = _mean(axes, part)
            total += _mean(axes, [[t * t for t in row] for row in part]) - mean * mean
        return to_mpf(sigma * sigma * total)


class _Axis:
    """Nodes middle + scale step k of one coordinate, and their weights under N(middle, scale^2)."""

    def __init__(self, scale: Any, step: float, middle: Any, cut_off: float) -> None:
        most = math.ceil(math.sqrt(2.0 * cut_off) / step)
        lattice = [arb(k) * arb(step) for k in range(-most, most + 1)]
        self.step = scale * arb(step)
        self.nodes = [middle + scale * x for x in lattice]
        unit = arb(step) / (2 * arb.pi()).sqrt()
        self.weights = [unit * (-x * x / 2).exp() for x in lattice]


def _steps(scale: float, narrowness: float, middle: float, cut_off: float) -> tuple[float, float]:
    """Steps of a rotated pair of coordinates in units of `scale`, their standard deviation.

    narrowness: variance of one coordinate given the others', over its own. middle: of the first.
    """
    radius = math.sqrt(2.0 * cut_off)
    axis = np.linspace(-radius, radius, _SAMPLES)
    x, y = (part.ravel() for part in np.meshgrid(axis, axis, indexing="ij"))
    inside = x**2 + y**2 < radius**2
    u, v = middle + scale * x[inside], scale * y[inside]
    outer = -0.5 * (x[inside] ** 2 + y[inside] ** 2)
    shifts = np.array([0.0, *(0.3 * 1.2 ** np.arange(-12, 24))]) * math.sqrt(narrowness)
    logs = outer[:, None] + 0.5 * shifts**2 / narrowness
    logs += 2.0 * math.log(axis[1] - axis[0])

    def step(slope: FloatArray) -> float:
        poles = np.asarray(math.pi / (scale * slope + 1e-9), dtype=float)
        return binary(Growth(logs, np.asarray(shifts, dtype=float), poles).step(cut_off))

    return step(steepest(u, v)), step(np.abs(u))


def _targets(model: AttentionModel, u: Any, v: Any) -> tuple[Any, Any]:
    (a11, _), (_, a22) = model.exact("mixing")
    t11, t22 = target(u, v, ball(model.exact("omega")), ball(a11), ball(a22))
    return t11 - arb(0.5), t22 - arb(0.5)


def _students(a: Any, b: Any) -> tuple[Any, Any]:
    jet = student_jet(a, b)
    return jet[0] - arb(0.5), jet[6] - arb(0.5)


def _table(axes: tuple[_Axis, _Axis], function: Any) -> tuple[list[list[Any]], list[list[Any]]]:
    """Both values of a function at all pairs of nodes, by rows."""
    both = [[function(u, v) for v in axes[1].nodes] for u in axes[0].nodes]
    return [[x for x, _ in row] for row in both], [[y for _, y in row] for row in both]


def _mean(axes: tuple[_Axis, _Axis], rows: list[list[Any]]) -> Any:
    left, right = arb_mat([axes[0].weights]), arb_mat([[x] for x in axes[1].weights])
    return (left * arb_mat(rows) * right)[0, 0]


def _link(one: _Axis, other: _Axis, slope: Any, variance: Any, middle: Any) -> Any:
    """The density of w at the nodes of `other` given h* at those of `one`, times the step of w."""
    unit = other.step / (2 * arb.pi() * variance).sqrt()
    return arb_mat(
        [
            [
                unit * (-(w - middle - slope * h) * (w - middle - slope * h) / (2 * variance)).exp()
                for w in other.nodes
            ]
            for h in one.nodes
        ]
    )
