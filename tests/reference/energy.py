"""The channel by hand, in token coordinates, and the proximal point by brute force.

loss(x) = sigma^2 [(t_1 - S_11)^2 + (t_2 - S_22)^2] with S_11 = s(x_1^2 - x_1 x_2),
S_22 = s(x_2^2 - x_1 x_2), s the logistic function; energy(x; w) = |x - w|^2/(2V) + loss(x).
"""

import math

import numpy as np
from numba import njit

ROOT_HALF = math.sqrt(0.5)
GRID_STEP = 0.04
MAX_STARTS = 12


@njit(cache=True)
def logistic(z):
    if z >= 0.0:
        return 1.0 / (1.0 + math.exp(-z))
    e = math.exp(z)
    return e / (1.0 + e)


@njit(cache=True)
def target(h1, h2, omega, a11, a22):
    """Diagonal (T_11, T_22) of (1 - omega) softmax(h h^T) + omega A."""
    t1 = (1.0 - omega) * logistic(h1 * h1 - h1 * h2) + omega * a11
    t2 = (1.0 - omega) * logistic(h2 * h2 - h1 * h2) + omega * a22
    return t1, t2


@njit(cache=True)
def loss(x1, x2, t1, t2, sigma2):
    e1 = logistic(x1 * x1 - x1 * x2) - t1
    e2 = logistic(x2 * x2 - x1 * x2) - t2
    return sigma2 * (e1 * e1 + e2 * e2)


@njit(cache=True)
def loss_derivatives(x1, x2, t1, t2, sigma2):
    """(loss, d1, d2, d11, d12, d22) in token coordinates."""
    s1 = logistic(x1 * x1 - x1 * x2)
    s2 = logistic(x2 * x2 - x1 * x2)
    e1 = s1 - t1
    e2 = s2 - t2
    p1 = s1 * (1.0 - s1)
    p2 = s2 * (1.0 - s2)
    slope1 = e1 * p1
    slope2 = e2 * p2
    bend1 = p1 * p1 + slope1 * (1.0 - 2.0 * s1)
    bend2 = p2 * p2 + slope2 * (1.0 - 2.0 * s2)
    # z_1 = x_1^2 - x_1 x_2 has gradient (2 x_1 - x_2, -x_1) and Hessian [[2, -1], [-1, 0]].
    y1 = 2.0 * x1 - x2
    y2 = 2.0 * x2 - x1
    c = 2.0 * sigma2
    d1 = c * (slope1 * y1 - slope2 * x2)
    d2 = c * (slope2 * y2 - slope1 * x1)
    d11 = c * (bend1 * y1 * y1 + bend2 * x2 * x2 + 2.0 * slope1)
    d12 = c * (-bend1 * y1 * x1 - bend2 * y2 * x2 - slope1 - slope2)
    d22 = c * (bend1 * x1 * x1 + bend2 * y2 * y2 + 2.0 * slope2)
    return sigma2 * (e1 * e1 + e2 * e2), d1, d2, d11, d12, d22


@njit(cache=True)
def descend(x1, x2, w1, w2, t1, t2, sigma2, V):
    """Local minimum of the energy below (x1, x2): Newton, shifted where the Hessian is indefinite.

    Returns (energy, x1, x2, loss, softness); softness = V times the smallest Hessian eigenvalue.
    """
    f, d1, d2, d11, d12, d22 = loss_derivatives(x1, x2, t1, t2, sigma2)
    e = ((x1 - w1) ** 2 + (x2 - w2) ** 2) / (2.0 * V) + f
    low = 0.0
    for _ in range(100):
        g1 = (x1 - w1) / V + d1
        g2 = (x2 - w2) / V + d2
        k11 = 1.0 / V + d11
        k22 = 1.0 / V + d22
        half = 0.5 * (k11 - k22)
        low = 0.5 * (k11 + k22) - math.sqrt(half * half + d12 * d12)
        floor = 1e-3 / V
        shift = 0.0
        if low < floor:
            shift = 2.0 * floor - low if low > -floor else floor - 2.0 * low
        k11 += shift
        k22 += shift
        det = k11 * k22 - d12 * d12
        p1 = -(k22 * g1 - d12 * g2) / det
        p2 = -(k11 * g2 - d12 * g1) / det
        size = math.sqrt(p1 * p1 + p2 * p2)
        if size > 0.5:
            p1 *= 0.5 / size
            p2 *= 0.5 / size
        scale = 1.0
        stuck = True
        for _ in range(40):
            n1 = x1 + scale * p1
            n2 = x2 + scale * p2
            fn, a1, a2, a11, a12, a22 = loss_derivatives(n1, n2, t1, t2, sigma2)
            en = ((n1 - w1) ** 2 + (n2 - w2) ** 2) / (2.0 * V) + fn
            if en <= e + 1e-15:
                stuck = False
                break
            scale *= 0.5
        if stuck:
            break
        x1, x2, e, f = n1, n2, en, fn
        d1, d2, d11, d12, d22 = a1, a2, a11, a12, a22
        if scale * size < 1e-9 and shift == 0.0:
            # Newton squares the error: the step just taken leaves about 1e-16.
            break
    return e, x1, x2, f, V * low


@njit(cache=True)
def loss_table(u_grid, v_grid, t1, t2, sigma2):
    """loss on the grid of rotated coordinates, u = (x_1-x_2)/sqrt2 by rows, v = (x_1+x_2)/sqrt2."""
    table = np.empty((u_grid.size, v_grid.size))
    for i in range(u_grid.size):
        for j in range(v_grid.size):
            x1 = (v_grid[j] + u_grid[i]) * ROOT_HALF
            x2 = (v_grid[j] - u_grid[i]) * ROOT_HALF
            table[i, j] = loss(x1, x2, t1, t2, sigma2)
    return table


@njit(cache=True)
def minimise_columns(u_grid, v_grid, table, b, t1, t2, sigma2, V, depth, place):
    """For each u the two lowest minima over v of (v-b)^2/(2V) + loss: depth (inf: none), place."""
    step = v_grid[1] - v_grid[0]
    n = v_grid.size
    parabola = (v_grid - b) ** 2 / (2.0 * V)
    for i in range(u_grid.size):
        u = u_grid[i]
        depth[0, i] = depth[1, i] = np.inf
        before = np.inf
        here = parabola[0] + table[i, 0]
        for j in range(n):
            after = parabola[j + 1] + table[i, j + 1] if j + 1 < n else np.inf
            if here <= before and here < after:
                v = v_grid[j]
                for _ in range(4):
                    x1 = (v + u) * ROOT_HALF
                    x2 = (v - u) * ROOT_HALF
                    _f, d1, d2, d11, d12, d22 = loss_derivatives(x1, x2, t1, t2, sigma2)
                    slope = (v - b) / V + (d1 + d2) * ROOT_HALF
                    bend = 1.0 / V + 0.5 * (d11 + 2.0 * d12 + d22)
                    if bend <= 0.0:
                        break
                    move = -slope / bend
                    move = min(max(move, -step), step)
                    v += move
                    if abs(move) < 1e-5:
                        break
                value = (v - b) ** 2 / (2.0 * V)
                value += loss((v + u) * ROOT_HALF, (v - u) * ROOT_HALF, t1, t2, sigma2)
                if value < depth[0, i]:
                    depth[1, i] = depth[0, i]
                    place[1, i] = place[0, i]
                    depth[0, i] = value
                    place[0, i] = v
                elif value < depth[1, i]:
                    depth[1, i] = value
                    place[1, i] = v
            before = here
            here = after


@njit(cache=True)
def prox_on_line(a, b, u_grid, depth, place, t1, t2, sigma2, V):
    """Global minimiser for w = (a, b) (rotated): Newton from every grid minimum that could be it.

    Returns (energy, x1, x2, loss, softness).
    """
    w1 = (b + a) * ROOT_HALF
    w2 = (b - a) * ROOT_HALF
    n = u_grid.size
    best = np.inf
    for i in range(n):
        value = depth[0, i] + (u_grid[i] - a) ** 2 / (2.0 * V)
        if value < best:
            best = value
    e, x1, x2, f, soft = np.inf, 0.0, 0.0, 0.0, 1.0
    margin = 2e-3
    for k in range(2):
        before = np.inf
        here = depth[k, 0] + (u_grid[0] - a) ** 2 / (2.0 * V)
        for i in range(n):
            after = np.inf
            if i + 1 < n:
                after = depth[k, i + 1] + (u_grid[i + 1] - a) ** 2 / (2.0 * V)
            if here <= before and here < after and here < best + margin:
                u = u_grid[i]
                v = place[k, i]
                found = descend((v + u) * ROOT_HALF, (v - u) * ROOT_HALF, w1, w2, t1, t2, sigma2, V)
                if found[0] < e:
                    e, x1, x2, f, soft = found
                if found[4] < 0.3:
                    # A soft minimum may have a twin closer than the grid can tell.
                    for offset in (-2, -1, 1, 2):
                        j = i + offset
                        if 0 <= j < n and depth[k, j] < np.inf:
                            u = u_grid[j]
                            v = place[k, j]
                            found = descend(
                                (v + u) * ROOT_HALF, (v - u) * ROOT_HALF, w1, w2, t1, t2, sigma2, V
                            )
                            if found[0] < e:
                                e, x1, x2, f, soft = found
            before = here
            here = after
    return e, x1, x2, f, soft
