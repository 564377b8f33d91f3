"""Double tangents: points moved onto their curve, its tangent, what lies below and in sight."""

import numpy as np
import pytest

from symattn.quadrature._double_tangent import (
    excess_of_third,
    nearest_double_tangent,
    out_of_sight,
    tangent,
)
from tests.quadrature import energy_by_hand as by_hand
from tests.quadrature.curves import CORNERED, SYMMETRIC, TILTED, start_on, table


@pytest.mark.parametrize("channel", [SYMMETRIC, TILTED])
def test_a_start_nearby_is_moved_onto_the_curve(channel):
    z = start_on(channel)
    p, n = z[:2] + z[2:], z[:2] - z[2:]
    slopes = by_hand.slope(*p, channel), by_hand.slope(*n, channel)
    np.testing.assert_allclose(slopes[0], slopes[1], atol=1e-10)
    rise = by_hand.psi(*p, channel) - by_hand.psi(*n, channel)
    assert rise == pytest.approx((p - n) @ slopes[0], abs=1e-10)


@pytest.mark.parametrize("channel", [SYMMETRIC, TILTED])
def test_the_tangent_stays_on_the_curve_to_second_order(channel):
    z = start_on(channel)
    unit = np.empty(4)
    tangent(z, channel, unit)
    assert np.linalg.norm(unit) == pytest.approx(1.0)
    gaps = []
    for step in (1e-2, 5e-3):
        ahead = z + step * unit
        moved = ahead.copy()
        assert nearest_double_tangent(moved, channel)
        gaps.append(np.linalg.norm(moved - ahead))
    assert gaps[1] == pytest.approx(gaps[0] / 4.0, rel=0.1)


@pytest.mark.parametrize("width", [1.0, 0.1, 0.02])
def test_a_segment_that_crosses_the_disc_is_in_sight(width):
    # w along a segment, by a scan so fine that no crossing is missed; V large, so w moves fast
    rng = np.random.default_rng(0)
    channel = (0.9, 0.9, 0.5, 40.0)
    crossings = 0
    for _ in range(200):
        z = np.concatenate([rng.normal(size=2) * 0.3, rng.normal(size=2)])
        tau = np.linspace(-1.0, 1.0, 20_001)
        w = by_hand.slope(z[0] + tau * z[2], z[1] + tau * z[3], channel)
        a, b = rng.normal(size=2) * 0.5
        nearest = np.hypot(w[0] - a, w[1] - b).min()
        if nearest < 0.9 * width:
            crossings += 1
            assert not out_of_sight(z, channel, a, b, width), (z, a, b)
    assert crossings > 3


def test_the_third_minimum_is_measured_against_the_pair():
    z = start_on(CORNERED)
    # past the triple point the same two wells still tie, but a third lies lower
    undercut = 0
    for X_v in np.linspace(0.1, 1.3, 13):
        z[1] = X_v
        z[[0, 2, 3]] = 0.0, 0.6, 0.0
        if not nearest_double_tangent(z, CORNERED) or np.hypot(*z[2:]) < 0.05:
            continue
        p, n = z[:2] + z[2:], z[:2] - z[2:]
        a, b = by_hand.slope(*p, CORNERED)
        level = by_hand.psi(*p, CORNERED) - p @ [a, b]
        expected = by_hand.deepest(a, b, CORNERED)[0] - level
        found, u, v = excess_of_third(z, CORNERED, *table(CORNERED))
        assert found == pytest.approx(expected, abs=1e-10)
        if expected < -1e-6:
            undercut += 1
            assert by_hand.psi(u, v, CORNERED) - a * u - b * v < level
            assert min(np.hypot(*(p - [u, v])), np.hypot(*(n - [u, v]))) > 0.05
    assert undercut >= 1
