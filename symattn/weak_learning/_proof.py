"""A proof, by ball arithmetic, that an instability lies where the estimate says.

Let z = h*/sigma. The integrands are rational in the weights logistic(sigma^2 z_u (z_u +- z_v)).
While the imaginary parts of the logits stay within pi/2 the weights lie in the disc |S - 1/2| <=
1/2. So |tau| and |delta| are bounded there, and Re det(I + V H) >= D, its least value at the
corners of the triangle of targets: tau and delta are linear in the weights, Re(delta^2) <= (Re
delta)^2, and V sigma^2 tau + (V sigma^2 delta)^2/4 is convex in their real parts. With D > 0 the
integrands are analytic there and bounded by B (1 + |z|^2).

For fixed z_v the contour Im z_u = c/(2 |Re z_u| + |z_v| + kappa) stays inside, c = pi/(2 sigma^2);
for fixed z_u so does Im z_v = c/(|z_u| + kappa). Cauchy's theorem then bounds the error of the
trapezoidal rule, in z_v and z_u one after the other, by integrals of B (1 + |z|^2) exp(-|z|^2/2)
over exp(2 pi Im/h) - 1. The nodes left out are bounded by the same Gaussian.

What is proved: that G has a root in the interval, and none before it on the branch from alpha = 0;
that Q = 0 is a regular fixed point there (the energy at w = 0 is positive away from x = 0 at the
three corners, hence for every h*); and that V is the lower of the two roots of its equation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, reduce
from typing import Any

from flint import arb, fmpq
from mpmath import mp

from symattn._balls import ball, from_mpf, precision, to_mpf
from symattn._progress import Progress, silent
from symattn._rest_grid import Grid, binary
from symattn.kernels.generated.arb_l2_r1_t1 import channel, rest_integrands, target
from symattn.model import AttentionModel
from symattn.weak_learning._bounds import corner_targets, integrand_bounds, least_determinant

#: Part of the Gaussian that is kept to sum what the rest has bounded.
_KEPT = fmpq(1, 50)
_HEIGHTS = (0.5, 1.0, 2.0, 4.0, 8.0)
_CELL = fmpq(1, 16)
_FAR = 60

#: Relative half width of the interval on which G is shown to be monotonic, and digits there.
_WIDE, _FIRST, _ROUGH = (1e-3, 1e-4, 1e-5), 10, 5
_MOST_PIECES = 4000
_MOST_NODES = 1e7


class NotProved(Exception):
    """Why nothing is proved."""


@dataclass(frozen=True, slots=True)
class Problem:
    """The model's exact numbers as balls at the working precision, and the instability's column."""

    exact_sigma: Fraction
    sigma: Any
    lam: Any
    omega: Any
    a11: Any
    a22: Any
    mirrored: bool
    column: int

    @classmethod
    def of(cls, model: AttentionModel, column: int) -> Problem:
        (a11, _), (_, a22) = model.exact("mixing")
        numbers = (ball(model.exact(name)) for name in ("sigma", "lam", "omega"))
        sigma, lam, omega = numbers
        return cls(
            model.exact("sigma"), sigma, lam, omega, ball(a11), ball(a22), a11 == a22, column
        )


def prove(
    model: AttentionModel,
    column: int,
    V: Any,
    rises: bool,
    digits: int,
    report: Progress,
) -> tuple[Any, Any]:
    """Balls that hold V and alpha at the instability, whose V is near `V` (mpmath's number).

    Raises
    ------
    NotProved
        If any part of the proof fails, or the balls stay wider than `digits` digits.
    """
    with precision(96):
        report("proving that the root is the first, at a regular fixed point")
        monotone = _first_root(Problem.of(model, column), from_mpf(V), rises)
    for margin in (3, 6):
        with precision(int(3.33 * (digits + margin)) + 80):
            problem = Problem.of(model, column)
            V_ball, alpha = _enclosed(problem, from_mpf(V), monotone, digits + margin, report)
            if alpha.rad() * 2 * arb(10) ** (digits + 1) < alpha.mid():
                return V_ball, alpha
    raise NotProved("the enclosure is too wide")


@dataclass(frozen=True, slots=True)
class _Monotone:
    """A wide interval of V with one root of G, and enclosures of the slopes there."""

    interval: Any
    rate: Any
    p: Any
    p_by_V: Any


def _first_root(problem: Problem, V: Any, rises: bool) -> _Monotone:
    ridge = problem.sigma * problem.sigma / problem.lam
    monotone = _wide_root(problem, V)
    around = monotone.interval
    highest = around if rises else ridge
    _prove_regular(problem, highest.upper())
    if not rises and not ridge > around:
        raise NotProved("the root is not apart from alpha = 0")
    low, high = (ridge, around.lower()) if rises else (around.upper(), ridge)
    if low < high:
        _prove_no_root(problem, _hull(low, high))
    elif not rises or not around.contains(ridge):
        raise NotProved("the root is not apart from alpha = 0")
    if problem.column != 3:
        bulk = _means(problem, around, _ROUGH)[3]
        # alpha V p = 1 at the root
        if not bulk < monotone.p:
            raise NotProved("V is not shown to be the lower root")
    return monotone


def _wide_root(problem: Problem, V: Any) -> _Monotone:
    middle = V.mid()
    at_middle = _condition(problem, middle, _means(problem, middle, _FIRST))
    for width in _WIDE:
        around = arb(middle, middle * width)
        means = _means(problem, around, _ROUGH)
        rate = _rate(problem, around, means)
        if rate.contains(0):
            continue
        root = middle - at_middle / rate
        if around.contains_interior(root):
            return _Monotone(around, rate, means[problem.column], means[4 + problem.column])
    raise NotProved("G is not shown to be monotonic near the root")


def _enclosed(
    problem: Problem,
    V: Any,
    monotone: _Monotone,
    digits: int,
    report: Progress,
) -> tuple[Any, Any]:
    middle = V.mid()
    means = _means(problem, middle, digits, report)
    step = -_condition(problem, middle, means) / monotone.rate
    root = middle + step
    p = means[problem.column] + monotone.p_by_V * step
    return root, 1 / (root * p)


def _condition(problem: Problem, V: Any, means: list[Any]) -> Any:
    """G."""
    rest = problem.sigma * problem.sigma - problem.lam * V
    return means[problem.column] * rest - problem.sigma * problem.sigma * means[0]


def _rate(problem: Problem, V: Any, means: list[Any]) -> Any:
    """dG/dV."""
    rest = problem.sigma * problem.sigma - problem.lam * V
    p, p_by_V = means[problem.column], means[4 + problem.column]
    return p_by_V * rest - problem.lam * p - problem.sigma * problem.sigma * means[4]


def _prove_no_root(problem: Problem, whole: Any) -> None:
    """That G does not vanish on an interval of V."""
    pending = [whole]
    for _ in range(_MOST_PIECES):
        if not pending:
            return
        piece = pending.pop()
        middle = piece.mid()
        rate = _rate(problem, piece, _means(problem, piece, _ROUGH))
        value = _condition(problem, middle, _means(problem, middle, _ROUGH))
        if not rate.is_finite() or (value + rate * (piece - middle)).contains(0):
            pending += [_hull(piece.lower(), middle), _hull(middle, piece.upper())]
    raise NotProved("G is not shown to be without an earlier root")


def _prove_regular(problem: Problem, V: Any) -> None:
    """That x = 0 alone minimises the energy at w = 0 for this V, and so for smaller ones."""
    nu = V * problem.sigma * problem.sigma
    for t11, t22 in corner_targets(problem.omega, problem.a11, problem.a22):
        _prove_minimum(t11, t22, nu)


def _prove_minimum(t11: Any, t22: Any, nu: Any) -> None:
    """That |x|^2/(2 nu) + loss(x) - loss(0) > 0 for x other than 0, at sigma = 1."""
    at_rest = channel(arb(0), arb(0), t11, t22, arb(1))[0]
    half = arb(1)
    for _ in range(30):
        box = arb(0, half)
        _, _, _, l_uu, l_uv, l_vv = channel(box, box, t11, t22, arb(1))
        if l_vv + 1 / nu > 0 and (l_uu + 1 / nu) * (l_vv + 1 / nu) - l_uv * l_uv > 0:
            break
        half = half / 2
    else:
        raise NotProved("the energy is not shown to be convex near x = 0")
    # beyond, |x|^2/(2 nu) > loss(0)
    far = (2 * nu * at_rest).sqrt().upper()
    pending = [(_hull(arb(0), far), _hull(-far, far))]
    for _ in range(5 * _MOST_PIECES):
        if not pending:
            return
        u, v = pending.pop()
        if abs(u) < half and abs(v) < half:
            continue
        if (u * u + v * v) / (2 * nu) > at_rest:
            continue
        _, l_u, l_v, *_ = channel(u, v, t11, t22, arb(1))
        middle_u, middle_v = u.mid(), v.mid()
        middle = channel(middle_u, middle_v, t11, t22, arb(1))[0]
        middle += (middle_u * middle_u + middle_v * middle_v) / (2 * nu)
        slopes = (l_u + u / nu) * (u - middle_u) + (l_v + v / nu) * (v - middle_v)
        if middle + slopes > at_rest:
            continue
        for part in (_hull(u.lower(), u.mid()), _hull(u.mid(), u.upper())):
            pending += [
                (part, _hull(v.lower(), v.mid())),
                (part, _hull(v.mid(), v.upper())),
            ]
    raise NotProved("x = 0 is not shown to be the minimiser at the corners of the targets")


def _means(
    problem: Problem,
    V: Any,
    digits: int,
    report: Progress = silent,
) -> list[Any]:
    """Balls that hold the means over h* of what `rest_integrands` returns after det."""
    bounds = _bounds(problem, V)
    # the bounds may be far above the means, which are of the order of sigma^2 times weights
    excess = math.log10(max(10.0, _float(10 * bounds[0] / (problem.sigma * problem.sigma))))
    grid, error = _rule(problem.exact_sigma, digits + 1 + min(math.ceil(excess), 6))
    report(f"enclosing {digits} digits, about {grid.nodes:.1e} nodes of h*")
    sums = _sums(problem, V, grid)
    return [
        value + arb(0, (bound * error).upper()) for value, bound in zip(sums, bounds, strict=True)
    ]


def _bounds(problem: Problem, V: Any) -> list[Any]:
    """B, for |integrand| <= B (1 + |z|^2), in the order of `_sums`."""
    target_law = (problem.omega, problem.a11, problem.a22)
    nu = V * problem.sigma * problem.sigma
    least = least_determinant(nu, *target_law, lowest=lambda dets: reduce(arb.min, dets))
    if not least > 0:
        raise NotProved("det(I + V H) is not shown to be positive")
    return integrand_bounds(V, problem.sigma, *target_law, least)


@lru_cache(maxsize=64)
def _rule(exact_sigma: Fraction, digits: int) -> tuple[Grid, Any]:
    """A grid, and a bound on its error over B, that is below 10^-digits."""
    sigma = ball(exact_sigma)
    goal = arb(10) ** -digits / 3
    step_u, bound_u = _step(sigma, goal, of_u=True)
    step_v, bound_v = _step(sigma, goal, of_u=False)
    radius = math.sqrt(2.0 * digits * math.log(10.0))
    spread = (2 * arb.pi() / _KEPT).sqrt()
    while True:
        tail = (-(1 - arb(_KEPT)) * arb(radius) ** 2 / 2).exp() * (1 + arb(radius) ** 2)
        tail = tail * (spread + arb(step_u)) * (spread + arb(step_v)) / (2 * arb.pi())
        if tail < goal:
            break
        radius += 0.1
    grid = Grid(step_u, step_v, radius)
    if grid.nodes > _MOST_NODES:
        raise NotProved(f"a proof needs {grid.nodes:.1e} nodes of h*")
    return grid, bound_u + bound_v + tail


def _step(sigma: Any, goal: Any, *, of_u: bool) -> tuple[float, Any]:
    """The longest step (within a few percent) whose error is below the goal, and that error."""
    best: tuple[float, Any] | None = None
    for height in _HEIGHTS:
        step = 1.0 if best is None else 1.05 * best[0]
        if best is not None and not _discretisation(sigma, step, height, of_u) < goal:
            continue
        while not (bound := _discretisation(sigma, step, height, of_u)) < goal:
            step *= 0.95
            if step < 1e-4:
                break
        else:
            best = (step, bound)
    if best is None:
        raise NotProved("a proof needs steps below 1e-4 standard deviations of h*")
    # shorter steps have smaller errors
    return binary(best[0]), best[1]


def _discretisation(sigma: Any, step: float, height: float, of_u: bool) -> Any:
    """The error of the trapezoidal rule in one direction, over B."""
    with precision(64):
        c = arb.pi() / (2 * sigma**2)
        kappa = c / arb(height)
        slope = arb(5).sqrt() if of_u else arb(1)
        kept = 1 - arb(_KEPT)
        largest = arb(0)
        cell, top = arb(_CELL), 1 + arb(height) ** 2
        for k in range(_FAR * _CELL.q):
            near, far = cell * k, cell * (k + 1)
            lift = 2 * arb.pi() * c / ((slope * far + kappa) * arb(step))
            value = (-kept * near * near / 2).exp() * (top + far * far) / lift.expm1()
            largest = largest.max(value)
            if k > 160 and value * 10**30 < largest:
                break
        # beyond, by 1/(exp(x) - 1) <= 1/x, and decreasing
        rest = (-kept * far * far / 2).exp() * (top + far * far) * (slope * far + kappa)
        largest = largest.max(rest * arb(step) / (2 * arb.pi() * c))
        spread = (2 * arb.pi() / _KEPT).sqrt()
        factor = (arb(height) ** 2 / 2).exp() / arb.pi()
        if of_u:
            # arc length of the contour; the sum over z_v with a step of at most 1
            factor = factor * (1 + 2 * arb(height) ** 2 / c) * spread * (spread + 1)
        else:
            factor = factor * spread**2
        return (factor * largest).upper()


def _sums(problem: Problem, V: Any, grid: Grid) -> list[Any]:
    """The trapezoidal sums, over nodes within the radius."""
    sigma = problem.sigma
    step_u, step_v = arb(grid.step_u), arb(grid.step_v)
    totals = [arb(0)] * 8
    rows = grid.rows(problem.mirrored)
    most = max(columns.stop for _, columns in rows)
    decay = [_gaussian(step_v * j) for j in range(most + 1)]
    axis = [sigma * step_v * j for j in range(most + 1)]
    for i, columns in rows:
        u = sigma * step_u * i
        line = [arb(0)] * 8
        for j in columns:
            v = axis[j] if j >= 0 else -axis[-j]
            t11, t22 = target(u, v, problem.omega, problem.a11, problem.a22)
            _, *values = rest_integrands(t11, t22, u, v, sigma, V)
            weight = decay[abs(j)] * grid.multiplicity(i, j, problem.mirrored)
            line = [total + weight * value for total, value in zip(line, values, strict=True)]
        outer = _gaussian(step_u * i)
        totals = [total + outer * part for total, part in zip(totals, line, strict=True)]
    area = step_u * step_v / (2 * arb.pi())
    return [area * total for total in totals]


def _gaussian(z: Any) -> Any:
    return (-z * z / 2).exp()


def distance(enclosure: Any, value: Any) -> Any:
    """How far any point of the ball can be from mpmath's number, as mpmath's number."""
    with precision(mp.prec + 64):
        farthest = abs(enclosure - from_mpf(value)).upper()
        # a little more than what mpmath rounds off
        return to_mpf(farthest) * (1 + mp.ldexp(1, 4 - mp.prec))


def _hull(low: Any, high: Any) -> Any:
    return low.union(high)


def _float(value: Any) -> float:
    return float(value.upper())
