"""The reference methods are themselves held to identities, symmetry and sampling."""

import math

import numpy as np
import pytest

from tests.reference import energy
from tests.reference.expectations import (
    N_OUT,
    NAMES,
    RULE_G,
    RULE_W,
    RULE_X,
    SCALES,
    find_jumps,
    integrate_plane,
)
from tests.reference.monte_carlo import sampled_expectations
from tests.reference.stored import stored_points

SIGMA2 = 0.25


def line_at(b, t1, t2, V):
    grid = np.linspace(-3.0, 3.0, 151)
    table = energy.loss_table(grid, grid, t1, t2, SIGMA2)
    depth, place = np.empty((2, grid.size)), np.zeros((2, grid.size))
    energy.minimise_columns(grid, grid, table, b, t1, t2, SIGMA2, V, depth, place)
    return grid, depth, place


def plane(h1, h2, *, m, V, slope, s, omega=0.3, a11=0.6, a22=0.6):
    out = np.empty(N_OUT)
    integrate_plane(
        h1, h2, m, V, slope, s, math.sqrt(SIGMA2), omega, a11, a22, 1e-8 * SCALES, 40, out
    )
    return dict(zip(NAMES, out.tolist(), strict=True))


def slope_of(function, x, step):
    """Central difference of fourth order."""
    far = function(x + 2 * step) - function(x - 2 * step)
    near = function(x + step) - function(x - step)
    return (8 * near - far) / (12 * step)


@pytest.mark.parametrize(("weights", "degree"), [(RULE_W, 23), (RULE_G, 13)])
def test_rules_integrate_polynomials(weights, degree):
    for power in range(degree + 1):
        exact = (1 - (-1) ** (power + 1)) / (power + 1)
        assert weights @ RULE_X**power == pytest.approx(exact, abs=1e-14)
    assert abs(weights @ RULE_X ** (degree + 1) - 2 / (degree + 2)) > 1e-12


def test_derivatives_of_the_loss():
    rng = np.random.default_rng(3)
    for x1, x2 in rng.normal(size=(20, 2)):
        _, d1, d2, d11, d12, d22 = energy.loss_derivatives(x1, x2, 0.7, 0.4, SIGMA2)
        assert d1 == pytest.approx(
            slope_of(lambda x, y=x2: energy.loss(x, y, 0.7, 0.4, SIGMA2), x1, 1e-3), abs=1e-10
        )
        assert d2 == pytest.approx(
            slope_of(lambda y, x=x1: energy.loss(x, y, 0.7, 0.4, SIGMA2), x2, 1e-3), abs=1e-10
        )

        def gradient(x, y):
            return np.array(energy.loss_derivatives(x, y, 0.7, 0.4, SIGMA2)[1:3])

        by_x1 = slope_of(lambda x, y=x2: gradient(x, y), x1, 1e-3)
        by_x2 = slope_of(lambda y, x=x1: gradient(x, y), x2, 1e-3)
        np.testing.assert_allclose([d11, d12, d12, d22], [*by_x1, *by_x2], atol=1e-10)


def test_prox_is_the_lowest_point_of_a_dense_grid():
    rng = np.random.default_rng(5)
    fine = np.linspace(-3.0, 3.0, 1201)
    u, v = np.meshgrid(fine, fine, indexing="ij")
    x1, x2 = (v + u) / math.sqrt(2), (v - u) / math.sqrt(2)
    s1, s2 = 1 / (1 + np.exp(-x1 * (x1 - x2))), 1 / (1 + np.exp(-x2 * (x2 - x1)))
    for t1, t2, V in [(0.85, 0.8, 14.0), (0.25, 0.9, 20.0), (0.6, 0.6, 3.0)]:
        surface = SIGMA2 * ((t1 - s1) ** 2 + (t2 - s2) ** 2)
        for a, b in rng.normal(scale=0.4, size=(6, 2)):
            dense = ((u - a) ** 2 + (v - b) ** 2) / (2 * V) + surface
            found = energy.prox_on_line(a, b, *line_at(b, t1, t2, V), t1, t2, SIGMA2, V)
            # The grid's best point is 0.0025 away at most, where the energy is flat.
            assert dense.min() - 1e-5 < found[0] <= dense.min() + 1e-15


def test_jump_lies_on_the_axis_of_symmetry():
    V = 14.0
    for b in (0.0, 0.1, -0.3):
        jumps = np.empty(16)
        # Equal targets make the energy even in u where a = 0.
        count = find_jumps(
            -1.0, 1.3, b, 37, *line_at(b, 0.85, 0.85, V), 0.85, 0.85, SIGMA2, V, jumps
        )
        assert count == 1
        assert jumps[0] == pytest.approx(0.0, abs=1e-13)


@pytest.mark.parametrize(
    ("h1", "h2", "m", "V", "slope", "s", "mixing"),
    [
        (1.2, -0.9, 0.25, 13.0, 0.0, 0.22, (0.6, 0.6)),
        (0.9, -0.3, 0.0, 15.0, 0.56, 0.14, (0.6, 0.6)),
        (0.3, 0.8, 0.05, 14.0, 0.48, 0.18, (0.3, 0.2)),
    ],
)
def test_expectations_are_derivatives_of_the_envelope(h1, h2, m, V, slope, s, mixing):
    """d E[M|h*] / d(V, m, s, slope) by the envelope theorem, jumps of the prox or not."""
    base = {"m": m, "V": V, "slope": slope, "s": s}

    def envelope_slope(name, step):
        def at(x):
            return plane(h1, h2, **{**base, name: x}, a11=mixing[0], a22=mixing[1])["M"]

        return slope_of(at, base[name], step)

    mean = plane(h1, h2, **base, a11=mixing[0], a22=mixing[1])
    assert mean["one"] == pytest.approx(1.0, abs=1e-10)
    assert mean["g2"] == pytest.approx(-2 * envelope_slope("V", 0.02), rel=1e-6)
    assert mean["gm"] == pytest.approx(-envelope_slope("m", 2e-3), rel=1e-6)
    assert mean["div"] == pytest.approx(-envelope_slope("s", 1e-3) / s, rel=1e-6)
    assert mean["gh"] == pytest.approx(-envelope_slope("slope", 2e-3), rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("point", stored_points(), ids=lambda point: point.name)
def test_stored_values_against_sampling(point):
    mean, error = sampled_expectations(point.parameters, log2_size=14)
    for name, value in point.values.items():
        assert abs(mean[name] - value) < 4.5 * error[name]
