"""Expectations over (h*, w) by nested integration in the w plane, split where the prox jumps.

Four adaptive integrals, from outside in: along h*_1 + h*_2, h*_1 - h*_2, b = (w_1+w_2)/sqrt2 and
a = (w_1-w_2)/sqrt2, with w = mean(h*) + s xi.  On each line in the w plane the jumps of the prox
are bracketed by bisection with global minimisations, then found by Newton on the equality of the
two energies; the innermost rule works between them, so that it never sees a jump.  Where jump
curves end, meet or appear, what is left has a bounded slope, and halving the panels resolves it.
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np
from numba import njit

from tests.reference.energy import (
    GRID_STEP,
    ROOT_HALF,
    descend,
    loss,
    loss_table,
    minimise_columns,
    prox_on_line,
    target,
)

NAMES = ("one", "M", "g2", "gm", "div", "gh", "loss", "test_error")
N_OUT = len(NAMES)
REACH = 7.0
MAX_JUMPS = 16

# Nodes of the seven-point Gauss rule and its fifteen-point Kronrod extension on [-1, 1].
KRONROD_X = np.array(
    [
        0.991455371120812639206854697526329,
        0.949107912342758524526189684047851,
        0.864864423359769072789712788640926,
        0.741531185599394439863864773280788,
        0.586087235467691130294144691538508,
        0.405845151377397166906606412076961,
        0.207784955007898467600689403773245,
        0.0,
    ]
)
KRONROD_W = np.array(
    [
        0.022935322010529224963732008058970,
        0.063092092629978553290700663189204,
        0.104790010322250183839876322541518,
        0.140653259715525918745189590510238,
        0.169004726639267902826583426598550,
        0.190350578064785409913256402421014,
        0.204432940075298892414161999234649,
        0.209482141084727828012999174891714,
    ]
)
GAUSS_W = np.array(
    [
        0.0,
        0.129484966168869693270611432679082,
        0.0,
        0.279705391489276667901467771423780,
        0.0,
        0.381830050505118944950369775488975,
        0.0,
        0.417959183673469387755102040816327,
    ]
)
RULE_X = np.concatenate((-KRONROD_X, KRONROD_X[:-1][::-1]))
RULE_W = np.concatenate((KRONROD_W, KRONROD_W[:-1][::-1]))
RULE_G = np.concatenate((GAUSS_W, GAUSS_W[:-1][::-1]))


@dataclass(frozen=True)
class Parameters:
    """Overlaps and model parameters of one evaluation (isotropic, L = 2, r = t = 1)."""

    q: float
    m: float
    V: float
    theta: float
    sigma: float = 0.5
    omega: float = 0.3
    a11: float = 0.6
    a22: float = 0.6


@njit(cache=True)
def find_jumps(low, high, b, steps, u_grid, depth, place, t1, t2, sigma2, V, jumps):
    """Places along the line where the prox jumps, ascending; returns their number."""
    stack_l = np.empty((64, 4))
    stack_r = np.empty((64, 4))
    count = 0
    width = (high - low) / steps
    _e, l1, l2, _f, l_soft = prox_on_line(low, b, u_grid, depth, place, t1, t2, sigma2, V)
    left = low
    for step in range(1, steps + 1):
        right = low + step * width
        _e, r1, r2, _f, r_soft = prox_on_line(right, b, u_grid, depth, place, t1, t2, sigma2, V)
        top = 0
        stack_l[0] = (left, l1, l2, l_soft)
        stack_r[0] = (right, r1, r2, r_soft)
        while top >= 0:
            pl, pl1, pl2, pl_soft = stack_l[top]
            pr, pr1, pr2, pr_soft = stack_r[top]
            top -= 1
            gap = math.sqrt((pr1 - pl1) ** 2 + (pr2 - pl2) ** 2)
            # |dx/dw| <= 1/softness: what the slope at the gentler end explains is no jump.
            if gap * max(pl_soft, pr_soft) < 1.5 * (pr - pl) or pr - pl < 1e-13:
                continue
            if pr - pl < 1e-4 * (high - low):
                ok, place_a = jump_between(pl, pl1, pl2, pr, pr1, pr2, b, t1, t2, sigma2, V)
                if ok and count < MAX_JUMPS:
                    jumps[count] = place_a
                    count += 1
                    continue
            mid = 0.5 * (pl + pr)
            _e, m1, m2, _f, m_soft = prox_on_line(mid, b, u_grid, depth, place, t1, t2, sigma2, V)
            top += 1
            stack_l[top] = (mid, m1, m2, m_soft)
            stack_r[top] = (pr, pr1, pr2, pr_soft)
            top += 1
            stack_l[top] = (pl, pl1, pl2, pl_soft)
            stack_r[top] = (mid, m1, m2, m_soft)
        left, l1, l2, l_soft = right, r1, r2, r_soft
    return count


@njit(cache=True)
def jump_between(pl, l1, l2, pr, r1, r2, b, t1, t2, sigma2, V):
    """(found, a): Newton on the equality of two energies; not found if the minima are the same."""
    a = 0.5 * (pl + pr)
    for _ in range(20):
        w1 = (b + a) * ROOT_HALF
        w2 = (b - a) * ROOT_HALF
        el, l1, l2, _f, _s = descend(l1, l2, w1, w2, t1, t2, sigma2, V)
        er, r1, r2, _f, _s = descend(r1, r2, w1, w2, t1, t2, sigma2, V)
        gap = ((r1 - r2) - (l1 - l2)) * ROOT_HALF
        if gap < 1e-5:
            return False, a
        # d energy/da = (a - u)/V at each minimum.
        move = (er - el) * V / gap
        a += move
        if a < pl - 1e-12 or a > pr + 1e-12:
            return False, a
        if abs(move) < 1e-14:
            break
    return True, a


@njit(cache=True)
def accumulate(a, b, weight, fields, u_grid, depth, place, out):
    t1, t2, h1, h2, mean1, mean2, s2, sigma2, V = fields
    e, x1, x2, f, _s = prox_on_line(a, b, u_grid, depth, place, t1, t2, sigma2, V)
    w1 = (b + a) * ROOT_HALF
    w2 = (b - a) * ROOT_HALF
    g1 = (x1 - w1) / V
    g2 = (x2 - w2) / V
    out[0] += weight
    out[1] += weight * e
    out[2] += weight * (g1 * g1 + g2 * g2)
    out[3] += weight * (g1 - g2)
    out[4] += weight * (g1 * (w1 - mean1) + g2 * (w2 - mean2)) / s2
    out[5] += weight * (g1 * h1 + g2 * h2)
    out[6] += weight * f
    out[7] += weight * loss(w1, w2, t1, t2, sigma2)


@njit(cache=True)
def accept(kronrod, gauss, tolerance):
    return np.all(np.abs(kronrod - gauss) <= tolerance)


@njit(cache=True)
def integrate_line(
    b, centre, s, tolerance, fields, steps, u_grid, v_grid, table, depth, place, out
):
    """Integral over a of N(a; centre, s^2) phi at fixed b."""
    t1, t2, _h1, _h2, _m1, _m2, _s2, sigma2, V = fields
    minimise_columns(u_grid, v_grid, table, b, t1, t2, sigma2, V, depth, place)
    low = centre - REACH * s
    high = centre + REACH * s
    jumps = np.empty(MAX_JUMPS)
    count = find_jumps(low, high, b, steps, u_grid, depth, place, t1, t2, sigma2, V, jumps)
    out[:] = 0.0
    stack = np.empty((256, 2))
    kronrod = np.empty(N_OUT)
    gauss = np.empty(N_OUT)
    point = np.empty(N_OUT)
    start = low
    for piece in range(count + 1):
        end = jumps[piece] if piece < count else high
        panels = max(1, math.ceil((end - start) / (2.34 * s)))
        top = -1
        for p in range(panels):
            top += 1
            stack[top, 0] = start + (end - start) * p / panels
            stack[top, 1] = start + (end - start) * (p + 1) / panels
        while top >= 0:
            pl, pr = stack[top]
            top -= 1
            half = 0.5 * (pr - pl)
            mid = 0.5 * (pr + pl)
            kronrod[:] = 0.0
            gauss[:] = 0.0
            for i in range(RULE_X.size):
                a = mid + half * RULE_X[i]
                z = (a - centre) / s
                density = math.exp(-0.5 * z * z) / (s * math.sqrt(2.0 * math.pi))
                point[:] = 0.0
                accumulate(a, b, density * half, fields, u_grid, depth, place, point)
                for k in range(N_OUT):
                    kronrod[k] += RULE_W[i] * point[k]
                    gauss[k] += RULE_G[i] * point[k]
            if accept(kronrod, gauss, tolerance) or half < 1e-9 * s or top > 250:
                for k in range(N_OUT):
                    out[k] += kronrod[k]
            else:
                top += 1
                stack[top] = (mid, pr)
                top += 1
                stack[top] = (pl, mid)
        start = end
    return count


@njit(cache=True)
def integrate_plane(h1, h2, m, V, slope, s, sigma, omega, a11, a22, tolerance, steps, out):
    """Conditional expectations given h*; returns the number of lines used."""
    sigma2 = sigma * sigma
    t1, t2 = target(h1, h2, omega, a11, a22)
    mean1 = m + slope * h1
    mean2 = -m + slope * h2
    a_centre = (mean1 - mean2) * ROOT_HALF
    b_centre = (mean1 + mean2) * ROOT_HALF
    fields = (t1, t2, h1, h2, mean1, mean2, s * s, sigma2, V)
    # energy(x*) <= loss(w) bounds |x* - w|.
    worst = 0.0
    for i in range(-14, 15):
        for j in range(-14, 15):
            a = a_centre + 0.5 * i * s
            b = b_centre + 0.5 * j * s
            f = loss((b + a) * ROOT_HALF, (b - a) * ROOT_HALF, t1, t2, sigma2)
            worst = max(worst, f)
    radius = math.sqrt(2.0 * V * worst) + REACH * s + GRID_STEP
    n = int(2.0 * radius / GRID_STEP) + 2
    u_grid = a_centre + np.linspace(-radius, radius, n)
    v_grid = b_centre + np.linspace(-radius, radius, n)
    table = loss_table(u_grid, v_grid, t1, t2, sigma2)
    depth = np.empty((2, n))
    place = np.zeros((2, n))
    line_tolerance = tolerance * 0.05 / (2.0 * REACH * s)
    line = np.empty(N_OUT)
    kronrod = np.empty(N_OUT)
    gauss = np.empty(N_OUT)
    stack = np.empty((256, 2))
    out[:] = 0.0
    lines = 0
    panels = 6
    top = -1
    for p in range(panels):
        top += 1
        stack[top, 0] = b_centre + REACH * s * (2.0 * p / panels - 1.0)
        stack[top, 1] = b_centre + REACH * s * (2.0 * (p + 1) / panels - 1.0)
    while top >= 0:
        pl, pr = stack[top]
        top -= 1
        half = 0.5 * (pr - pl)
        mid = 0.5 * (pr + pl)
        kronrod[:] = 0.0
        gauss[:] = 0.0
        for i in range(RULE_X.size):
            b = mid + half * RULE_X[i]
            z = (b - b_centre) / s
            density = math.exp(-0.5 * z * z) / (s * math.sqrt(2.0 * math.pi))
            integrate_line(
                b,
                a_centre,
                s,
                line_tolerance / density,
                fields,
                steps,
                u_grid,
                v_grid,
                table,
                depth,
                place,
                line,
            )
            lines += 1
            for k in range(N_OUT):
                kronrod[k] += RULE_W[i] * half * density * line[k]
                gauss[k] += RULE_G[i] * half * density * line[k]
        if accept(kronrod, gauss, tolerance) or half < 1e-9 * s or top > 250:
            for k in range(N_OUT):
                out[k] += kronrod[k]
        else:
            top += 1
            stack[top] = (mid, pr)
            top += 1
            stack[top] = (pl, mid)
    return lines


def adaptive(integrand, ends, panels, tolerance):
    """Integral of a vector function, panels halved until Kronrod and Gauss agree in each entry."""
    edges = np.linspace(ends[0], ends[1], panels + 1)
    todo = list(itertools.pairwise(edges))
    total = np.zeros(N_OUT)
    while todo:
        low, high = todo.pop()
        half, mid = 0.5 * (high - low), 0.5 * (high + low)
        values = np.array([integrand(mid + half * x) for x in RULE_X])
        kronrod = half * RULE_W @ values
        gauss = half * RULE_G @ values
        if accept(kronrod, gauss, tolerance) or half < 1e-6 * (ends[1] - ends[0]):
            total += kronrod
        else:
            todo += [(mid, high), (low, mid)]
    return total


# Sizes of the expectations at the paper's parameters: tolerances are relative to these.
SCALES = np.array([1.0, 1e-3, 5e-5, 3e-3, 2e-2, 3e-3, 1e-3, 1e-3])


def expectations(p: Parameters, tolerance: float, steps: int = 40, panels: int = 4):
    """Expectations by name at the overlaps and parameters p.

    tolerance bounds, relative to SCALES, the disagreement of the Gauss and Kronrod rules in each
    panel of h*; the integrals inside are asked for twenty times more at each level.  panels is the
    least number of panels per seven standard deviations of h*, steps the number of places on each
    line in the w plane where a global minimisation looks for jumps.  The names:
    one (the normalisation), M, g2 = |g|^2, gm = g_1 - g_2, div = div_w g (by Stein's lemma),
    gh = g.h*, loss (at the prox), test_error.
    """
    rho = p.sigma**2
    s = math.sqrt(p.q - p.theta**2 / rho)
    reach = REACH * p.sigma
    # h* -> -h*, alone at theta = 0 and together with w -> -w at m = 0.
    even = p.m == 0.0 or p.theta == 0.0
    # Exchange of the tokens together with u -> -u.
    mirror = p.a11 == p.a22
    fold = (2.0 if even else 1.0) * (2.0 if mirror else 1.0)
    u_ends = (0.0 if even else -reach, reach)
    v_ends = (0.0 if mirror else -reach, reach)

    def density(h):
        return math.exp(-0.5 * h * h / rho) / math.sqrt(2.0 * math.pi * rho)

    def along_u(v, tolerances):
        def at(u):
            weight = density(u)
            plane = np.empty(N_OUT)
            integrate_plane(
                (v + u) * ROOT_HALF,
                (v - u) * ROOT_HALF,
                p.m,
                p.V,
                p.theta / rho,
                s,
                p.sigma,
                p.omega,
                p.a11,
                p.a22,
                tolerances * 0.05 / (reach * weight),
                steps,
                plane,
            )
            return weight * plane

        return adaptive(at, u_ends, panels if even else 2 * panels, tolerances)

    def at(v):
        weight = density(v)
        return weight * along_u(v, tolerance * SCALES * 0.05 / (reach * weight))

    total = fold * adaptive(at, v_ends, panels if mirror else 2 * panels, tolerance * SCALES)
    result = dict(zip(NAMES, total.tolist(), strict=True))
    # Odd under the symmetry that was used: only half of the cancelling pair was added.
    if p.m == 0.0:
        result["gm"] = 0.0
    if p.theta == 0.0:
        result["gh"] = 0.0
    return result
