"""What holds of every proximal map, jumps or not."""

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from symattn.quadrature._minima import deepest_minimum, tilted_psi
from tests.properties import strategies
from tests.quadrature import energy_by_hand as by_hand

PITCH = 0.1
HALF_WIDTH = 6.0

shares = st.floats(0.0, 1.0)
channels = st.tuples(shares, shares, st.floats(0.2, 0.7), st.floats(0.1, 30.0))
coordinates = st.floats(-1.5, 1.5)
fields = st.tuples(coordinates, coordinates)
#: V up to 30 and sigma up to 1, with weights at the corners of the unit square.
all_channels = strategies.channels(V=(0.01, 30.0))
#: Where the prox jumps through w = 0: V sigma^2 (t11 + t22 - 1) > 1.
jumping_channels = st.tuples(
    st.floats(0.8, 1.0), st.floats(0.8, 1.0), st.floats(0.5, 0.8), st.floats(8.0, 30.0)
)


def prox(w, channel):
    """(u, v) of the global minimiser at w, and the least of psi(x) - w.x."""
    axis = np.arange(-HALF_WIDTH, HALF_WIDTH + PITCH / 2.0, PITCH)
    table = by_hand.psi(axis[:, None], axis[None, :], channel)
    u, v, value = deepest_minimum(*w, channel, table, axis[0], PITCH)
    return np.array([u, v]), value


def prox_of(channel, reach=2.0):
    """The prox as a function of w with |w| <= reach, on a table that holds all it may reach."""
    half_size = math.ceil((reach + 2.0 * channel[2] * math.sqrt(channel[3]) + 0.3) / PITCH)
    axis = PITCH * np.arange(-half_size, half_size + 1.0)
    with np.errstate(over="ignore"):
        table = by_hand.psi(axis[:, None], axis[None, :], channel)

    def at(w):
        return np.array(deepest_minimum(*w, channel, table, axis[0], PITCH)[:2])

    return at


def tilted(x, w, channel):
    """psi(x) - w.x by hand."""
    return by_hand.psi(*x, channel) - np.dot(w, x)


def is_settled(w, at):
    """No jump and no steep place of the prox comes within 1e-4 of w."""
    x = at(w)
    around = [(1e-4, 0.0), (-1e-4, 0.0), (0.0, 1e-4), (0.0, -1e-4)]
    return all(np.linalg.norm(at(np.add(w, step)) - x) < 1e-2 for step in around)


@given(channels, fields, fields)
def test_it_is_monotone(channel, w, other):
    x, _ = prox(w, channel)
    y, _ = prox(other, channel)
    assert (x - y) @ np.subtract(w, other) >= -1e-9


def jump_between(w, other, at):
    """Two fields closer than 1e-9 on the segment, with the largest move of the prox between them.

    Returned with the prox at both.
    """
    w, other = np.array(w), np.array(other)
    x, y = at(w), at(other)
    while np.linalg.norm(other - w) > 1e-9:
        middle = (w + other) / 2.0
        z = at(middle)
        if np.linalg.norm(z - x) > np.linalg.norm(z - y):
            other, y = middle, z
        else:
            w, x = middle, z
    return w, other, x, y


def test_at_a_jump_both_sides_are_equally_deep_and_in_the_order_of_their_fields():
    jumps = 0

    @settings(max_examples=60)
    @given(jumping_channels, st.floats(0.05, 0.3), st.floats(-0.1, 0.1), st.floats(-0.1, 0.1))
    def over_a_jump(channel, a, b, other):
        nonlocal jumps
        w, other, x, y = jump_between((a, b), (-a, other), prox_of(channel, 0.5))
        if np.linalg.norm(x - y) < 0.1:
            return
        jumps += 1
        assert abs(tilted(x, w, channel) - tilted(y, w, channel)) <= 1e-8
        assert (y - x) @ (other - w) > 0.0

    over_a_jump()
    assert jumps >= 30


@given(all_channels, strategies.fields())
def test_its_field_is_the_slope_of_psi_and_psi_curves_up_there(channel, w):
    x = prox_of(channel, 2.9)(w)
    np.testing.assert_allclose(by_hand.slope(*x, channel), w, rtol=0.0, atol=1e-10)
    h = 1e-5
    bends = [
        (by_hand.slope(*(x + step), channel) - by_hand.slope(*(x - step), channel)) / (2.0 * h)
        for step in h * np.eye(2)
    ]
    assert np.linalg.eigvalsh(bends).min() >= -1e-7 * (1.0 + np.abs(bends).max())


@settings(max_examples=60)
@given(all_channels, strategies.fields(), st.lists(strategies.fields(8.0), min_size=6, max_size=6))
def test_no_descent_from_anywhere_ends_below_the_prox(channel, w, starts):
    value = tilted(prox_of(channel, 2.9)(w), w, channel)
    with np.errstate(over="ignore"):
        for start in starts:
            found = minimize(
                tilted,
                start,
                (w, channel),
                jac=lambda x, w, channel: by_hand.slope(*x, channel) - w,
            )
            assert value <= found.fun + 1e-12 * (1.0 + abs(value))


@given(channels, fields, fields)
def test_nothing_lies_below_the_prox(channel, w, point):
    _, value = prox(w, channel)
    assert value <= tilted_psi(*point, *w, channel) + 1e-12


@given(channels, fields, fields)
def test_the_conjugate_of_psi_is_convex(channel, w, other):
    middle = prox(np.add(w, other) / 2.0, channel)[1]
    assert -middle <= -(prox(w, channel)[1] + prox(other, channel)[1]) / 2.0 + 1e-12


@given(all_channels, strategies.fields(), strategies.fields())
def test_it_is_a_subgradient_of_the_conjugate_of_psi_even_at_a_jump(channel, w, other):
    at = prox_of(channel, 2.9)
    x, y = at(w), at(other)
    rise = tilted(x, w, channel) - tilted(y, other, channel)
    slack = 1e-12 * (1.0 + abs(tilted(y, other, channel)))
    assert x @ np.subtract(other, w) <= rise + slack
    assert rise <= y @ np.subtract(other, w) + slack


def test_the_gradient_of_the_envelope_is_the_way_from_the_prox_over_the_response():
    settled = 0

    @given(all_channels, strategies.fields())
    def by_differences(channel, w):
        nonlocal settled
        at = prox_of(channel, 3.0)
        if not is_settled(w, at):
            return
        settled += 1
        V = channel[3]

        def envelope(w):
            x = at(w)
            return np.sum((x - w) ** 2) / (2.0 * V) + by_hand.loss(*x, channel)

        h = 1e-5
        found = [(envelope(w + step) - envelope(w - step)) / (2.0 * h) for step in h * np.eye(2)]
        # an envelope of size 1 is rounded at 1e-16, and curves by at most |dx/dw| < 100 over h
        expected = (w - at(w)) / V
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8 * (1.0 + 1.0 / V))

    by_differences()
    assert settled >= 60


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


def test_it_moves_with_every_symmetry_of_the_energy():
    settled = 0

    @given(all_channels, strategies.fields())
    def under_the_group(channel, w):
        nonlocal settled
        t11, t22, sigma, V = channel
        at, exchanged_at = prox_of(channel, 3.0), prox_of((t22, t11, sigma, V), 3.0)
        if not is_settled(w, at):
            return
        settled += 1
        x = at(w)
        # x -> -x, the exchange of the tokens u -> -u, and both: v -> -v
        for signs, moved in (
            (np.array([-1.0, -1.0]), at),
            (np.array([-1.0, 1.0]), exchanged_at),
            (np.array([1.0, -1.0]), exchanged_at),
        ):
            np.testing.assert_allclose(moved(signs * w), signs * x, rtol=0.0, atol=1e-9)

    under_the_group()
    assert settled >= 60
