"""Global minima and the pieces of the convex hull against scipy."""

import numpy as np
import pytest
from scipy.optimize import fsolve

from symattn.quadrature._minima import (
    deepest_minimum,
    descend,
    flanking_minima,
    hull_contacts,
    slope,
    tilted_psi,
)
from tests.quadrature import energy_by_hand as by_hand

PITCH = 0.1


def table(channel, reach):
    axis = PITCH * np.arange(-np.ceil(reach / PITCH), np.ceil(reach / PITCH) + 1.0)
    with np.errstate(over="ignore"):
        return by_hand.psi(axis[:, None], axis[None, :], channel), axis[0]


def random_channels(rng, count):
    """Channels with V from 0.5 to 60, every third with T next to a corner of the unit square."""
    for k in range(count):
        sigma = rng.uniform(0.2, 1.0)
        V = np.exp(rng.uniform(np.log(0.5), np.log(60.0)))
        t = rng.uniform(0.0, 1.0, 2)
        if k % 3 == 0:
            t = np.abs(rng.integers(0, 2, 2) - 0.02 * t)
        yield float(t[0]), float(t[1]), sigma, V


def hessian(u, v, channel):
    """Of psi, by differences of complex-step slopes."""
    h = 1e-5
    by_u = by_hand.slope(u + h, v, channel) - by_hand.slope(u - h, v, channel)
    by_v = by_hand.slope(u, v + h, channel) - by_hand.slope(u, v - h, channel)
    return np.column_stack([by_u, by_v]) / (2.0 * h)


def test_psi_and_its_slope_are_those_of_the_definition():
    rng = np.random.default_rng(0)
    for channel in random_channels(rng, 30):
        u, v, a, b = rng.normal(size=4)
        expected = by_hand.psi(u, v, channel) - a * u - b * v
        assert tilted_psi(u, v, a, b, channel) == pytest.approx(expected, rel=1e-13, abs=1e-13)
        w_a, w_b, det = slope(u, v, channel)
        np.testing.assert_allclose([w_a, w_b], by_hand.slope(u, v, channel), rtol=1e-12)
        expected = np.linalg.det(hessian(u, v, channel))
        assert det == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_descent_ends_at_a_minimum_not_above_its_start():
    rng = np.random.default_rng(1)
    for channel in random_channels(rng, 60):
        a, b = rng.normal(size=2)
        u0, v0 = rng.normal(size=2) * 2.0
        u, v, value = descend(u0, v0, a, b, channel)
        assert value <= tilted_psi(u0, v0, a, b, channel)
        nearby = by_hand.descend(u, v, a, b, channel, size=1e-3)
        assert value == pytest.approx(nearby[0], abs=1e-12 * max(1.0, abs(value)))
        np.testing.assert_allclose(by_hand.slope(u, v, channel), [a, b], atol=1e-10)


def test_a_saddle_lies_between_its_minima():
    rng = np.random.default_rng(3)
    contacts = np.empty((3, 2))
    saddles = between = 0
    for channel in random_channels(rng, 600):
        x = rng.normal(size=2)
        curvature, axes = np.linalg.eigh(hessian(*x, channel))
        if min(abs(curvature)) < 0.05:
            continue
        is_saddle = curvature[0] < 0.0 < curvature[1]
        assert flanking_minima(*x, channel, contacts) == is_saddle
        if not is_saddle:
            continue
        w = by_hand.slope(*x, channel)
        above = by_hand.psi(*x, channel) - w @ x
        for minimum in contacts[:2]:
            np.testing.assert_allclose(by_hand.slope(*minimum, channel), w, atol=1e-9)
            assert by_hand.psi(*minimum, channel) - w @ minimum < above
        sides = (contacts[:2] - x) @ axes[:, 0]
        between += sides[0] * sides[1] < 0.0
        saddles += 1
    # both ways may lead round a maximum to the same minimum
    assert between >= 0.9 * saddles > 100


def test_the_deepest_minimum_is_the_one_scipy_finds_from_all_starts():
    rng = np.random.default_rng(2)
    not_from_w = 0
    for channel in random_channels(rng, 240):
        a, b = rng.normal(size=2) * rng.uniform(0.05, 2.5)
        expected = by_hand.deepest(a, b, channel)
        reach = np.hypot(a, b) + np.sqrt(2.0 * channel[3] * by_hand.loss(a, b, channel)) + 0.3
        u, v, value = deepest_minimum(a, b, channel, *table(channel, reach), PITCH)
        assert value == pytest.approx(expected[0], abs=1e-12)
        np.testing.assert_allclose([u, v], expected[1:], atol=1e-5)
        not_from_w += descend(a, b, a, b, channel)[2] > value + 1e-6
    # a descent from w alone would have failed
    assert not_from_w >= 10


def test_the_minimum_at_a_corner_of_t_with_w_at_rest_is_one_of_two():
    # at w = 0 psi is even, so the prox is a pair of opposite points once V is large
    channel = (0.99, 0.98, 0.5, 40.0)
    u, v, value = deepest_minimum(0.0, 0.0, channel, *table(channel, 6.0), PITCH)
    assert np.hypot(u, v) > 1.0
    assert value == pytest.approx(by_hand.deepest(0.0, 0.0, channel)[0], abs=1e-12)
    assert by_hand.psi(-u, -v, channel) == pytest.approx(value, abs=1e-12)


def flat_piece_near(points, x, channel):
    """The 2 or 3 points near `points` with one tangent plane, below x for two, as rows."""

    def mismatch(flat):
        corners = flat.reshape(-1, 2)
        w = [by_hand.slope(*corner, channel) for corner in corners]
        heights = [by_hand.psi(*corner, channel) for corner in corners]
        first, *others = corners
        rows = []
        for other, slope_there, height in zip(others, w[1:], heights[1:], strict=True):
            rows.extend(slope_there - w[0])
            rows.append(height - heights[0] - (other - first) @ (slope_there + w[0]) / 2.0)
        if len(corners) == 2:
            along, offset = others[0] - first, x - first
            rows.append(along[0] * offset[1] - along[1] * offset[0])
        return rows

    found, info, _, _ = fsolve(mismatch, points.ravel(), xtol=1e-13, full_output=True)
    assert np.abs(info["fvec"]).max() < 1e-9
    return found.reshape(-1, 2)


def test_the_hull_is_touched_at_the_contacts_and_the_point_lies_between_them():
    rng = np.random.default_rng(3)
    seen = {1: 0, 2: 0, 3: 0}
    found = np.empty((3, 2))
    for channel in random_channels(rng, 150):
        x = rng.normal(size=2) * 0.7
        count = hull_contacts(*x, channel, *table(channel, 12.0), PITCH, found)
        seen[count] += 1
        contacts = found[:count]
        if count == 1:
            np.testing.assert_allclose(contacts[0], x, atol=1e-3)
        else:
            exact = flat_piece_near(contacts, x, channel)
            np.testing.assert_allclose(contacts, exact, atol=1e-2)
            contacts = exact
        a, b = by_hand.slope(*contacts[0], channel)
        height = by_hand.psi(*contacts[0], channel) - contacts[0] @ [a, b]
        assert height == pytest.approx(by_hand.deepest(a, b, channel)[0], abs=1e-9)
        shares = np.linalg.lstsq(np.vstack([contacts.T, np.ones(count)]), [*x, 1.0], rcond=None)[0]
        np.testing.assert_allclose(shares @ contacts, x, atol=2e-3)
        assert (shares > -1e-3).all()
    assert min(seen.values()) >= 5, seen


def test_no_well_is_missed_where_several_are_equally_deep():
    rng = np.random.default_rng(4)
    contacts = np.empty((3, 2))
    ties = 0
    for channel in random_channels(rng, 150):
        psi, origin = table(channel, 12.0)
        count = hull_contacts(*rng.normal(size=2) * 0.7, channel, psi, origin, PITCH, contacts)
        for u, v in contacts[: count if count > 1 else 0]:
            ties += 1
            a, b = by_hand.slope(u, v, channel)
            expected = by_hand.deepest(a, b, channel)[0]
            found = deepest_minimum(a, b, channel, psi, origin, PITCH)[2]
            assert found == pytest.approx(expected, abs=1e-11), (channel, a, b)
    assert ties > 50


@pytest.mark.parametrize(
    ("channel", "w"),
    [
        # a stiff well, deeper than its nearest table entry by more than the margin of the search
        ((0.0717, 0.2993, 1.0, 24.38), (-6.6803, -1.6974)),
        ((0.7188, 0.0809, 0.5, 57.24), (4.6110, -1.8192)),
        # two wells that the table sees as one
        ((0.6006, 0.66908, 0.4, 34.476), (0.116257, 0.624434)),
    ],
)
def test_wells_that_a_table_hides_are_found(channel, w):
    u, v, value = deepest_minimum(*w, channel, *table(channel, 12.0), PITCH)
    expected = by_hand.deepest(*w, channel)
    assert value == pytest.approx(expected[0], abs=1e-11)
    np.testing.assert_allclose([u, v], expected[1:], atol=1e-5)
