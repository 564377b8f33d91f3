"""Curves of double tangents to test on, each with a point nearby."""

import numpy as np

from symattn.quadrature._double_tangent import nearest_double_tangent
from symattn.quadrature._trace import trace
from tests.quadrature import energy_by_hand as by_hand
from tests.quadrature.jump_sets import PITCH, RULE, grid

# symmetric under exchange, the arc ends at two cusps
SYMMETRIC = (0.75, 0.75, 0.5, 12.0)
TILTED = (0.80, 0.66, 0.5, 13.0)
# its curve runs into a triple point
CORNERED = (0.95, 0.94, 0.5, 12.0)
# from TILTED's arc at w near 0, far from its ends
NEAR_ARC = {
    SYMMETRIC: (0.0, 0.05, 0.6, 0.0),
    TILTED: (0.0, 0.05, 0.6, 0.1),
    CORNERED: (0.0, 0.01, 1.0, 0.0),
}


def table(channel):
    axis, _ = grid(6.0, 1)
    return by_hand.psi(axis[:, None], axis[None, :], channel), axis[0], PITCH


def start_on(channel):
    z = np.array(NEAR_ARC[channel])
    assert nearest_double_tangent(z, channel)
    return z


def traced(channel, z, direction, sight=(0.0, 0.0, 50.0), longest_step=0.2):
    """Nodes of one curve, how it ended, and the triple point it ended at."""
    psi, origin, pitch = table(channel)
    nodes, weights = np.empty((4000, 8)), np.empty(4000)
    mask = np.zeros(psi.shape, np.uint8)
    corner = np.full(6, np.nan)
    count, ending = trace(
        z, direction, longest_step, RULE, channel, sight, psi, origin, pitch, mask, 1, pitch,
        nodes, weights, 0, corner,
    )  # fmt: skip
    return nodes[:count], weights[:count], ending, corner
