"""The jump set against its definition, and against the convex hull of psi by qhull."""

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from tests.quadrature import energy_by_hand as by_hand
from tests.quadrature.jump_sets import jump_set, random_jump_sets

# (t11, t22, sigma, V), mean and width of w; a single arc, several sheets, triple points
SETTINGS = {
    "arc": ((0.75, 0.75, 0.5, 12.0), (0.0, 0.0), 0.1),
    "triple points": ((0.95, 0.94, 0.5, 12.0), (0.0, 0.0), 0.3),
    "sheets": ((0.89, 0.23, 0.45, 12.0), (0.7, 0.7), 0.4),
    "forks": ((0.62, 0.93, 0.6, 20.0), (0.2, -0.3), 0.4),
    # a contact splits in two for a stretch of 0.04 of its curve
    "swallowtails": ((0.7972, 0.6665, 0.6, 28.95), (0.208, 0.0), 0.334),
    # curves between triple points lead round to where they began
    "loop": ((0.7523, 0.7365, 0.6, 28.95), (0.208, 0.0), 0.434),
    # the pair meets while its middle turns away at a curvature of 50
    "sharp cusp": ((0.7833, 0.4854, 0.6, 28.95), (0.208, 0.0), 0.37),
}


@pytest.fixture(scope="module", params=SETTINGS)
def jumps(request):
    return jump_set(*SETTINGS[request.param])


def touching_plane(points, channel):
    """Largest mismatch of slopes and of heights above the plane at the first point, and w."""
    slopes = np.array([by_hand.slope(*p, channel) for p in points])
    heights = np.array([by_hand.psi(*p, channel) - slopes[0] @ p for p in points])
    return np.abs(slopes - slopes[0]).max(), np.ptp(heights), slopes[0]


def test_pairs_have_equal_slopes_and_energies(jumps):
    assert len(jumps.nodes) > 0
    for pair in zip(*jumps.pairs, strict=True):
        slopes, energies, _ = touching_plane(pair, jumps.channel)
        assert slopes < 1e-10
        assert energies < 1e-10


def test_psi_lies_above_every_chord(jumps):
    plus, minus = jumps.pairs
    for p, n in zip(plus, minus, strict=True):
        a, b = by_hand.slope(*p, jumps.channel)
        level = by_hand.psi(*p, jumps.channel) - p @ [a, b]
        for share in np.linspace(0.05, 0.95, 19):
            x = share * p + (1.0 - share) * n
            assert by_hand.psi(*x, jumps.channel) - x @ [a, b] > level - 1e-12


def test_nothing_lies_lower_than_a_pair_anywhere(jumps):
    for p in jumps.pairs[0][:: max(1, len(jumps.nodes) // 40)]:
        a, b = by_hand.slope(*p, jumps.channel)
        level = by_hand.psi(*p, jumps.channel) - p @ [a, b]
        assert by_hand.deepest(a, b, jumps.channel)[0] > level - 1e-10


def test_triangles_touch_at_three_points_and_nothing_lies_lower():
    seen = 0
    for name in ("triple points", "forks"):
        jumps = jump_set(*SETTINGS[name])
        for triangle in jumps.triangles:
            points = triangle.reshape(3, 2)
            slopes, energies, (a, b) = touching_plane(points, jumps.channel)
            assert slopes < 1e-10
            assert energies < 1e-10
            level = by_hand.psi(*points[0], jumps.channel) - points[0] @ [a, b]
            assert by_hand.deepest(a, b, jumps.channel)[0] > level - 1e-10
            seen += 1
    assert seen >= 3


def test_rates_are_the_derivatives_along_the_curve(jumps):
    # a panel's parameter is linear in z, so each panel's nodes are polynomial data of its rates
    x, _ = np.polynomial.legendre.leggauss(8)
    panels = jumps.nodes.reshape(-1, 8, 8)
    for panel, weights in zip(panels, jumps.weights.reshape(-1, 8), strict=True):
        length = weights.sum()
        fits = np.polynomial.legendre.legfit(x, panel[:, :4], 7)
        rates = np.polynomial.legendre.legval(x, np.polynomial.legendre.legder(fits)).T
        # the parameter may run either way
        forward = np.abs(rates * 2.0 / length - panel[:, 4:]).max()
        backward = np.abs(rates * 2.0 / length + panel[:, 4:]).max()
        # a degree-7 fit of a smooth curve; a panel that changes branch misses by 0.1 or more
        assert min(forward, backward) < 1e-3


@pytest.mark.parametrize("name", SETTINGS)
def test_the_covered_region_is_where_psi_lies_above_its_convex_hull(name):
    channel, mean, s = SETTINGS[name]
    jumps = jump_set(channel, mean, s)
    step = jumps.axis[1] - jumps.axis[0]
    u, v = np.meshgrid(jumps.axis, jumps.axis, indexing="ij")
    psi = by_hand.psi(u, v, channel)
    hull = ConvexHull(np.column_stack([u.ravel(), v.ravel(), psi.ravel()]))
    touching = np.zeros(u.size, dtype=bool)
    touching[hull.vertices] = True
    touching = touching.reshape(u.shape)
    # only where w is in sight; on the rim of the region a node may go either way
    w = by_hand.slope(u, v, channel)
    seen = (w[0] - mean[0]) ** 2 + (w[1] - mean[1]) ** 2 < (5.0 * s) ** 2
    inner = np.zeros_like(seen)
    outer = np.zeros_like(seen)
    reach = 2
    core = slice(reach, -reach)
    inner[core, core] = outer[core, core] = True
    for i in range(-reach, reach + 1):
        for j in range(-reach, reach + 1):
            near = np.roll(touching, (i, j), axis=(0, 1))
            inner &= ~near
            outer &= near
    covered = jumps.mask.astype(bool)
    assert (inner & seen).sum() > 20
    assert covered[inner & seen].all()
    assert not covered[outer & seen].any()
    assert jumps.swept_area() == pytest.approx(covered.sum() * step**2, rel=0.02, abs=0.02)


@pytest.mark.parametrize("seed", range(3))
def test_every_fold_of_random_channels_is_covered_once(seed):
    with_triangles = 0
    for jumps in random_jump_sets(seed, 20):
        step = jumps.axis[1] - jumps.axis[0]
        assert jumps.uncovered <= 1e-3 * jumps.fold + 1e-9, jumps.channel
        assert jumps.doubled <= 0.02 * jumps.fold, jumps.channel
        covered = (jumps.mask > 0).astype(int)
        rim = np.abs(np.diff(covered, axis=0)).sum() * step
        rim += np.abs(np.diff(covered, axis=1)).sum() * step
        area = covered.sum() * step**2
        assert jumps.swept_area() == pytest.approx(area, abs=0.01 * area + 0.5 * rim * step)
        with_triangles += len(jumps.triangles) > 0
        middle = jumps.pairs[0][len(jumps.nodes) // 2]
        a, b = by_hand.slope(*middle, jumps.channel)
        level = by_hand.psi(*middle, jumps.channel) - middle @ [a, b]
        assert by_hand.deepest(a, b, jumps.channel)[0] > level - 1e-10
    assert with_triangles >= 2
