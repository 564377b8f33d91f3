"""Jump sets found by the package for given channels, with the grids its integrals use."""

from dataclasses import dataclass

import numpy as np

from symattn.quadrature._jump_set import MOST_NODES, MOST_TRIPLE_POINTS, find_jump_set
from tests.quadrature import energy_by_hand as by_hand

PITCH = 0.1
RULE = np.array(np.polynomial.legendre.leggauss(8))
SEGMENT_RULE = np.polynomial.legendre.leggauss(20)


@dataclass(frozen=True)
class JumpSet:
    """Nodes (X_u, X_v, D_u, D_v and their rates by rows), their weights, triangles, mask."""

    channel: tuple
    mean: tuple
    s: float
    nodes: np.ndarray
    weights: np.ndarray
    triangles: np.ndarray
    fold: float
    uncovered: float
    doubled: float
    mask: np.ndarray
    axis: np.ndarray

    @property
    def pairs(self):
        """The two points of each node."""
        X, D = self.nodes[:, 0:2], self.nodes[:, 2:4]
        return X + D, X - D

    def swept_area(self):
        """Area of the x plane that the segments and the triangles cover, by the weights."""
        _, _, D_u, D_v, dX_u, dX_v, dD_u, dD_v = self.nodes.T
        area = 0.0
        for tau, share in zip(*SEGMENT_RULE, strict=True):
            swept = (dX_u + tau * dD_u) * D_v - (dX_v + tau * dD_v) * D_u
            area += share * float(self.weights @ np.abs(swept))
        for p_u, p_v, q_u, q_v, r_u, r_v in self.triangles:
            area += abs((q_u - p_u) * (r_v - p_v) - (r_u - p_u) * (q_v - p_v)) / 2.0
        return area


def grid(reach, division):
    """Axis of the coarse table and of the mask, `division` times as fine."""
    half = int(np.ceil(reach / PITCH))
    return PITCH * np.arange(-half, half + 1), PITCH / division * np.arange(
        -half * division, half * division + 1
    )


def determinant(u, v, channel):
    """det(I + V Hess loss) by differences of complex-step slopes."""
    h = 1e-6
    by_u = (by_hand.slope(u + h, v, channel) - by_hand.slope(u - h, v, channel)) / (2.0 * h)
    by_v = (by_hand.slope(u, v + h, channel) - by_hand.slope(u, v - h, channel)) / (2.0 * h)
    return by_u[0] * by_v[1] - by_u[1] * by_v[0]


def jump_set(channel, mean, s, *, cut_off=6.0, division=3, longest_step=0.2):
    """The jump set that w ~ N(mean, s^2) meets within `cut_off` standard deviations."""
    # beyond the disc, x* - w is at most the step that the loss can pay for
    reach = np.hypot(*mean) + cut_off * s + min(5.0, np.sqrt(4.0 * channel[3]) * channel[2])
    coarse, fine = grid(reach, division)
    table = by_hand.psi(coarse[:, None], coarse[None, :], channel)
    u, v = np.meshgrid(fine, fine, indexing="ij")
    w = by_hand.slope(u, v, channel)
    y2 = ((w[0] - mean[0]) ** 2 + (w[1] - mean[1]) ** 2) / s**2
    near = np.argwhere(y2 < cut_off**2)
    det = determinant(fine[near[:, 0]], fine[near[:, 1]], channel)
    folded = near[det < 0.0]
    density = np.exp(-0.5 * y2[*folded.T]) / (2.0 * np.pi * s**2)
    weight = -det[det < 0.0] * density * (fine[1] - fine[0]) ** 2
    mask = np.zeros((len(fine), len(fine)), np.uint8)
    nodes = np.empty((MOST_NODES, 8))
    weights = np.empty(MOST_NODES)
    triangles = np.empty((MOST_TRIPLE_POINTS, 6))
    count, n_triangles, _, uncovered, doubled = find_jump_set(
        channel, (*mean, cut_off * s), RULE, longest_step, table, coarse[0], PITCH, mask,
        fine[1] - fine[0], np.ascontiguousarray(folded), weight, 1e-3 * np.exp(-0.5 * cut_off**2),
        nodes, weights, triangles,
    )  # fmt: skip
    return JumpSet(
        channel=channel,
        mean=mean,
        s=s,
        nodes=nodes[:count],
        weights=weights[:count],
        triangles=triangles[:n_triangles],
        fold=float(weight.sum()),
        uncovered=uncovered,
        doubled=doubled,
        mask=mask,
        axis=fine,
    )


def random_jump_sets(seed, count, largest_V=30.0):
    """Jump sets of random channels, T in a corner of the unit square or anywhere, or symmetric."""
    rng = np.random.default_rng(seed)
    found = 0
    while found < count:
        V = float(np.exp(rng.uniform(np.log(3.0), np.log(largest_V))))
        sigma = float(rng.uniform(0.3, 0.8))
        t = rng.uniform(0.0, 1.0, 2)
        if found % 3 == 0:
            t = np.abs(rng.integers(0, 2, 2) - 0.02 * t)
        elif found % 3 == 1:
            t[1] = t[0]
        mean = rng.normal(size=2) * 0.5
        s = float(rng.uniform(0.2, 0.5))
        jumps = jump_set((float(t[0]), float(t[1]), sigma, V), (float(mean[0]), float(mean[1])), s)
        if jumps.fold > 1e-6:
            found += 1
            yield jumps
