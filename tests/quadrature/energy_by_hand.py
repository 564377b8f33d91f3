"""The channel at one target, by numpy in the definition's terms, and its minima by scipy.

Nothing here comes from the package. A channel is (t11, t22, sigma, V), and

    psi(x) = |x|^2/2 + V sigma^2 [(t11 - S_11)^2 + (t22 - S_22)^2]

in the rotated coordinates u = (x_1 - x_2)/sqrt 2, v = (x_1 + x_2)/sqrt 2.
"""

import numpy as np
from scipy.optimize import minimize


def attention(u, v):
    """Diagonal of softmax(x x^T) by rows."""
    x1, x2 = (v + u) / np.sqrt(2.0), (v - u) / np.sqrt(2.0)
    s11 = 1.0 / (1.0 + np.exp(x1 * x2 - x1 * x1))
    s22 = 1.0 / (1.0 + np.exp(x1 * x2 - x2 * x2))
    return s11, s22


def loss(u, v, channel):
    t11, t22, sigma, _ = channel
    s11, s22 = attention(u, v)
    return sigma**2 * ((t11 - s11) ** 2 + (t22 - s22) ** 2)


def psi(u, v, channel):
    return (u * u + v * v) / 2.0 + channel[3] * loss(u, v, channel)


def slope(u, v, channel):
    """grad psi, by a complex step: no formula of it, and no rounding of a difference."""
    h = 1e-30
    return np.array([psi(u + 1j * h, v, channel).imag / h, psi(u, v + 1j * h, channel).imag / h])


def descend(u, v, a, b, channel, size=0.02):
    """(value, u, v) of the minimum of psi(x) - w.x that a simplex of this size at (u, v) finds."""
    found = minimize(
        lambda x: psi(x[0], x[1], channel) - a * x[0] - b * x[1],
        (u, v),
        method="Nelder-Mead",
        options={
            "initial_simplex": [(u, v), (u + size, v), (u, v + size)],
            "xatol": 1e-9,
            "fatol": 1e-15,
        },
    )
    return found.fun, *found.x


def deepest(a, b, channel, pitch=0.02):
    """(value, u, v) of the global minimum of psi(x) - w.x.

    loss >= 0 confines it to |x - w|^2 <= 2 V loss(w). That disc is searched on a grid, and
    every minimum of the grid that comes near the lowest is followed down.
    """
    radius = np.sqrt(2.0 * channel[3] * loss(a, b, channel)) + 3.0 * pitch
    steps = np.arange(-np.ceil(radius / pitch), np.ceil(radius / pitch) + 1.0) * pitch
    u, v = a + steps[:, None], b + steps[None, :]
    with np.errstate(over="ignore"):
        table = psi(u, v, channel) - a * u - b * v
    inner = table[1:-1, 1:-1]
    lowest = np.ones_like(inner, dtype=bool)
    for i in range(3):
        for j in range(3):
            lowest &= inner <= table[i : table.shape[0] - 2 + i, j : table.shape[1] - 2 + j]
    lowest &= inner < inner.min() + 0.01
    starts = np.argwhere(lowest) + 1
    return min(descend(a + steps[i], b + steps[j], a, b, channel) for i, j in starts)
