"""What holds of every proximal map, jumps or not."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from symattn.quadrature._minima import deepest_minimum, tilted_psi
from tests.quadrature import energy_by_hand as by_hand

PITCH = 0.1
HALF_WIDTH = 6.0

shares = st.floats(0.0, 1.0)
channels = st.tuples(shares, shares, st.floats(0.2, 0.7), st.floats(0.1, 30.0))
coordinates = st.floats(-1.5, 1.5)
fields = st.tuples(coordinates, coordinates)


def prox(w, channel):
    """(u, v) of the global minimiser at w, and the least of psi(x) - w.x."""
    axis = np.arange(-HALF_WIDTH, HALF_WIDTH + PITCH / 2.0, PITCH)
    table = by_hand.psi(axis[:, None], axis[None, :], channel)
    u, v, value = deepest_minimum(*w, channel, table, axis[0], PITCH)
    return np.array([u, v]), value


@given(channels, fields, fields)
def test_it_is_monotone(channel, w, other):
    x, _ = prox(w, channel)
    y, _ = prox(other, channel)
    assert (x - y) @ np.subtract(w, other) >= -1e-9


@given(channels, fields, fields)
def test_nothing_lies_below_the_prox(channel, w, point):
    _, value = prox(w, channel)
    assert value <= tilted_psi(*point, *w, channel) + 1e-12


@given(channels, fields, fields)
def test_the_conjugate_of_psi_is_convex(channel, w, other):
    middle = prox(np.add(w, other) / 2.0, channel)[1]
    assert -middle <= -(prox(w, channel)[1] + prox(other, channel)[1]) / 2.0 + 1e-12


@given(channels, fields, st.floats(1.01, 3.0))
def test_the_envelope_falls_with_the_response_and_stays_below_the_loss(channel, w, factor):
    t11, t22, sigma, V = channel

    def envelope(V):
        return (prox(w, (t11, t22, sigma, V))[1] + math.hypot(*w) ** 2 / 2.0) / V

    here = envelope(V)
    assert here + 1e-12 >= 0.0
    assert here <= by_hand.loss(*w, channel) + 1e-12
    assert envelope(factor * V) <= here + 1e-12


@given(channels, fields)
def test_its_value_has_the_symmetries_of_the_energy(channel, w):
    t11, t22, sigma, V = channel
    _, value = prox(w, channel)
    reflected = prox((-w[0], -w[1]), channel)[1]
    exchanged = prox((-w[0], w[1]), (t22, t11, sigma, V))[1]
    assert abs(reflected - value) <= 1e-12
    assert abs(exchanged - value) <= 1e-12
