"""The same expectations by sampling: scrambled Sobol points, every prox from many starts."""

import math

import numpy as np
from numba import njit
from scipy.special import ndtri
from scipy.stats import qmc

from tests.reference.energy import descend, loss, target
from tests.reference.expectations import N_OUT, NAMES, Parameters


@njit(cache=True)
def global_minimum(w1, w2, t1, t2, sigma2, V):
    """Lowest minimum reached from w and from 36 points that fill the disc that must hold it."""
    radius = math.sqrt(2.0 * V * loss(w1, w2, t1, t2, sigma2))
    best = descend(w1, w2, w1, w2, t1, t2, sigma2, V)
    for ring in range(1, 4):
        for spoke in range(12):
            angle = (spoke + 0.5 * ring) * math.pi / 6.0
            x1 = w1 + radius * ring / 3.0 * math.cos(angle)
            x2 = w2 + radius * ring / 3.0 * math.sin(angle)
            found = descend(x1, x2, w1, w2, t1, t2, sigma2, V)
            if found[0] < best[0]:
                best = found
    return best


@njit(cache=True)
def sample_mean(normal, m, V, slope, s, sigma, omega, a11, a22):
    total = np.zeros(N_OUT)
    sigma2 = sigma * sigma
    for z in normal:
        h1 = sigma * z[0]
        h2 = sigma * z[1]
        w1 = m + slope * h1 + s * z[2]
        w2 = -m + slope * h2 + s * z[3]
        t1, t2 = target(h1, h2, omega, a11, a22)
        e, x1, x2, f, _soft = global_minimum(w1, w2, t1, t2, sigma2, V)
        g1 = (x1 - w1) / V
        g2 = (x2 - w2) / V
        total[0] += 1.0
        total[1] += e
        total[2] += g1 * g1 + g2 * g2
        total[3] += g1 - g2
        total[4] += (g1 * z[2] + g2 * z[3]) / s
        total[5] += g1 * h1 + g2 * h2
        total[6] += f
        total[7] += loss(w1, w2, t1, t2, sigma2)
    return total / normal.shape[0]


def sampled_expectations(p: Parameters, log2_size: int, replicates: int = 16, seed: int = 0):
    """({name: mean}, {name: standard error}) from independent scramblings of 2^log2_size points."""
    rho = p.sigma**2
    s = math.sqrt(p.q - p.theta**2 / rho)
    means = np.empty((replicates, N_OUT))
    for row, child in zip(means, np.random.default_rng(seed).spawn(replicates), strict=True):
        points = qmc.Sobol(4, rng=child).random_base2(log2_size)
        normal = ndtri(np.clip(points, 1e-16, None))
        row[:] = sample_mean(normal, p.m, p.V, p.theta / rho, s, p.sigma, p.omega, p.a11, p.a22)
    error = means.std(axis=0, ddof=1) / math.sqrt(replicates)
    statistics = (means.mean(axis=0).tolist(), error.tolist())
    return tuple(dict(zip(NAMES, row, strict=True)) for row in statistics)
