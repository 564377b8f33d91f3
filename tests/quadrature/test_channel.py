"""Means over w at one h*: against brute force, identities, symmetries."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.optimize import brentq, fsolve

from symattn.quadrature import _columns as columns
from tests.quadrature import energy_by_hand as by_hand
from tests.quadrature.channels_given_target import (
    COLUMNS,
    brute_force,
    evaluate,
    random_parameters,
)
from tests.reference.energy import target
from tests.reference.expectations import SCALES, Parameters

SEMANTIC = Parameters(q=0.0972, m=0.0, V=15.46, theta=0.1386)
POSITIONAL = Parameters(q=0.0499, m=0.2553, V=13.25, theta=0.0)
# A = [[.3, .7], [.8, .2]]
TILTED = Parameters(q=0.15, m=0.1, V=25.0, theta=0.1, a11=0.3, a22=0.2)
STRONG = Parameters(q=0.3, m=0.05, V=30.0, theta=0.1, sigma=0.6, omega=0.1)


def assert_agrees(row, expected, tolerance):
    found = {name: row[column] for name, column in COLUMNS.items()}
    bounds = dict(zip(COLUMNS, tolerance * SCALES, strict=False))
    errors = {name: found[name] - expected[name] for name in COLUMNS}
    assert all(abs(errors[name]) <= bounds[name] for name in COLUMNS), errors


@pytest.mark.parametrize(
    ("p", "h"),
    [
        (SEMANTIC, (0.9, 0.1)),
        (SEMANTIC, (1.3, -0.7)),
        (POSITIONAL, (0.8, 0.5)),
        (POSITIONAL, (-0.2, 1.1)),
        (TILTED, (0.3, 0.4)),
        (TILTED, (-1.1, 0.6)),
        (STRONG, (1.2, 0.0)),
        (STRONG, (0.9, 1.4)),
        (STRONG, (-0.1, -0.2)),
    ],
)
def test_means_are_those_of_global_minimisations(p, h):
    row, report = evaluate(p, *h)
    assert_agrees(row, brute_force(p, *h), 1e-7)
    assert report[columns.UNCOVERED] <= 1e-9


def test_means_at_random_parameters_with_sheets_and_triple_points():
    rng = np.random.default_rng(0)
    jumping = several = triple = 0
    for _ in range(16):
        p = random_parameters(rng)
        h = rng.normal(size=2) * p.sigma * 1.5
        row, report = evaluate(p, *h, accuracy=1e-10)
        assert_agrees(row, brute_force(p, *h), 2e-7)
        jumping += report[columns.FOLD] > 1e-4
        several += report[columns.SEEDS] > 1.0
        triple += report[columns.TRIANGLES] > 0.0
    assert min(jumping, several, triple) >= 4, (jumping, several, triple)


def test_a_narrow_distribution_of_w_across_a_long_segment():
    # w sweeps many s along a segment of the hull
    p = Parameters(q=0.01, m=0.5 / np.sqrt(2.0), V=40.0, theta=0.0, omega=1.0, a11=0.9, a22=0.9)
    row, report = evaluate(p, 0.0, 0.0, accuracy=1e-6)
    assert report[columns.UNCOVERED] == 0.0
    assert_agrees(row, brute_force(p, 0.0, 0.0), 1e-3)
    row, _ = evaluate(p, 0.0, 0.0, accuracy=1e-9)
    assert_agrees(row, brute_force(p, 0.0, 0.0), 1e-5)


CASES = {
    "sheets": (Parameters(q=0.15, m=0.1, V=25.0, theta=0.1, a11=0.3, a22=0.2), (1.2, 0.4)),
    "triple point": (
        Parameters(q=0.09, m=0.05, V=12.0, theta=0.05, omega=0.05, sigma=0.6),
        (1.0, 0.1),
    ),
}

DERIVATIVES = {
    columns.DQ_G_SQUARED: (columns.G_SQUARED, "q"),
    columns.DM_G_SQUARED: (columns.G_SQUARED, "m"),
    columns.DTHETA_G_SQUARED: (columns.G_SQUARED, "theta"),
    columns.DQ_G_MEAN: (columns.G_MEAN, "q"),
    columns.DM_G_MEAN: (columns.G_MEAN, "m"),
    columns.DTHETA_G_MEAN: (columns.G_MEAN, "theta"),
    columns.DQ_G_TARGET: (columns.G_TARGET, "q"),
    columns.DTHETA_G_TARGET: (columns.G_TARGET, "theta"),
    columns.DQ_G_DIV: (columns.G_DIV, "q"),
}


@cache
def at(case):
    p, h = CASES[case]
    return p, *evaluate(p, *h, accuracy=1e-10)


@cache
def by_differences(case, name):
    """Fourth-order central difference of the row by an overlap."""
    p, h = CASES[case]
    step = 2e-4 * getattr(p, name)
    rows = []
    for k in (-2, -1, 1, 2):
        moved = replace(p, **{name: getattr(p, name) + k * step})
        rows.append(evaluate(moved, *h, accuracy=1e-10)[0])
    far_below, below, above, far_above = rows
    return (8.0 * (above - below) - (far_above - far_below)) / (12.0 * step)


@pytest.mark.parametrize("case", CASES)
def test_columns_of_derivatives_are_derivatives(case):
    p, row, report = at(case)
    assert report[columns.FOLD] > 1e-3
    assert report[columns.TRIANGLES] > 0.0 or case != "triple point"
    for column, (of, name) in DERIVATIVES.items():
        expected = by_differences(case, name)[of]
        scale = abs(row[of] / getattr(p, name))
        assert row[column] == pytest.approx(expected, rel=1e-6, abs=1e-6 * scale), (column, name)
    by_V = by_differences(case, "V")[columns.G_SQUARED]
    assert -2.0 * row[columns.RESPONSE] == pytest.approx(by_V, rel=1e-6)


@pytest.mark.parametrize("case", CASES)
def test_the_envelope_generates_the_other_means(case):
    # M is continuous where the prox jumps, dM/dw = -g and dM/dV = -|g|^2/2
    p, row, _ = at(case)
    by_theta = -(row[columns.G_TARGET] - p.theta * row[columns.G_DIV]) / p.sigma**2
    expected = {
        "V": -row[columns.G_SQUARED] / 2.0,
        "q": -row[columns.G_DIV] / 2.0,
        "m": -row[columns.G_MEAN],
        "theta": by_theta,
    }
    found = {name: by_differences(case, name)[columns.ENVELOPE] for name in expected}
    assert found == pytest.approx(expected, rel=1e-6)
    half_square = p.V * row[columns.G_SQUARED] / 2.0
    assert row[columns.ENVELOPE] == pytest.approx(half_square + row[columns.LOSS], rel=1e-12)


def test_reflection_and_exchange():
    signs = np.ones(columns.COLUMNS)
    odd_in_m = [columns.G_MEAN, columns.DM_G_SQUARED, columns.DQ_G_MEAN, columns.DTHETA_G_MEAN]
    signs[odd_in_m] = -1.0
    rng = np.random.default_rng(5)
    for _ in range(6):
        p = random_parameters(rng)
        u, v = rng.normal(size=2) * p.sigma * 1.5
        row, report = evaluate(p, u, v)
        scale = np.abs(row).max() + np.abs(row)
        # (w, h*) -> -(w, h*)
        reflected, _ = evaluate(replace(p, m=-p.m), -u, -v)
        np.testing.assert_allclose(reflected * signs, row, rtol=1e-6, atol=1e-9 * scale.max())
        # tokens exchanged: u, m -> -u, -m and T_11 <-> T_22
        exchanged, _ = evaluate(replace(p, m=-p.m, a11=p.a22, a22=p.a11), -u, v)
        np.testing.assert_allclose(exchanged * signs, row, rtol=1e-6, atol=1e-9 * scale.max())
        assert report[columns.UNCOVERED] <= 1e-9


def test_the_length_of_the_jumps_along_a_straight_arc():
    # t11 = t22: the arc is the segment a = 0, |b| < b_end, across which u jumps by 2 u(0, b)
    channel = (0.75, 0.75, 0.5, 12.0)
    p = Parameters(q=0.01, m=0.0, V=12.0, theta=0.0, omega=1.0, a11=0.75, a22=0.75)
    _, report = evaluate(p, 0.0, 0.0)

    def half_jump(b):
        return abs(by_hand.deepest(0.0, b, channel)[1])

    # the jump ends like a square root
    b_end = brentq(lambda b: half_jump(b) - 1e-3, 0.2, 1.0, xtol=1e-9)
    angle = np.linspace(-0.5 * np.pi, 0.5 * np.pi, 81)[1:-1]
    b = b_end * np.sin(angle)
    density = np.exp(-0.5 * b**2 / p.q) / (2.0 * np.pi * p.q)
    jump = np.array([2.0 * half_jump(x) for x in b])
    expected = np.sum(density * jump * b_end * np.cos(angle)) * (angle[1] - angle[0])
    assert report[columns.JUMP_LENGTH] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("mean", [0.0, 0.1])
def test_the_probability_of_several_minima_is_that_of_a_sample(mean):
    channel = (0.9, 0.8, 0.5, 14.0)
    p = Parameters(q=0.25, m=mean, V=14.0, theta=0.0, omega=1.0, a11=channel[0], a22=channel[1])
    _, report = evaluate(p, 0.0, 0.0, accuracy=1e-6, diagnose=True)
    axis = np.arange(-5.0, 5.0, 0.04)
    psi = by_hand.psi(axis[:, None], axis[None, :], channel)
    rng = np.random.default_rng(2)
    several = 0
    samples = 1500
    for xi in rng.normal(size=(samples, 2)):
        a, b = np.sqrt(2.0) * mean + 0.5 * xi[0], 0.5 * xi[1]
        here = psi - a * axis[:, None] - b * axis[None, :]
        inner = here[1:-1, 1:-1]
        lowest = np.ones_like(inner, dtype=bool)
        for i in range(3):
            for j in range(3):
                if (i, j) != (1, 1):
                    lowest &= inner < here[i : i + inner.shape[0], j : j + inner.shape[1]]
        several += lowest.sum() > 1
    share = several / samples
    assert 0.1 < share < 0.9
    spread = 4.0 * np.sqrt(share * (1.0 - share) / samples)
    assert report[columns.SEVERAL_MINIMA] == pytest.approx(share, abs=spread)


def test_the_smooth_response_where_nothing_jumps():
    p = Parameters(q=0.05, m=0.1, V=2.0, theta=0.05)
    u_star, v_star = 0.4, 0.3
    _, report = evaluate(p, u_star, v_star, diagnose=True)
    assert report[columns.FOLD] < 1e-12
    t11, t22 = target((v_star + u_star) / 2**0.5, (v_star - u_star) / 2**0.5, 0.3, 0.6, 0.6)
    channel = (t11, t22, p.sigma, p.V)
    mean = np.array([np.sqrt(2.0) * p.m + p.theta / 0.25 * u_star, p.theta / 0.25 * v_star])
    s = np.sqrt(p.q - p.theta**2 / 0.25)
    nodes, weights = np.polynomial.hermite_e.hermegauss(16)
    weights = weights / weights.sum()
    h = 1e-3
    along_a, along_b = np.array([h, 0.0]), np.array([0.0, h])

    def g(w):
        x = fsolve(lambda x: by_hand.slope(*x, channel) - w, w, xtol=1e-13)
        return (x - w) / p.V

    expected = 0.0
    for xi, share in zip(nodes, weights, strict=True):
        for eta, other in zip(nodes, weights, strict=True):
            if share * other > 1e-9:
                w = mean + s * np.array([xi, eta])
                by_a = (g(w + along_a) - g(w - along_a)) / (2.0 * h)
                by_b = (g(w + along_b) - g(w - along_b)) / (2.0 * h)
                expected += share * other * (by_a @ by_a + by_b @ by_b)
    assert report[columns.SMOOTH_RESPONSE] == pytest.approx(expected, rel=1e-5)
