"""The published algorithm that the benchmarks time, against what was published."""

import itertools

import numpy as np
import pytest
from scipy.special import factorial2

from benchmarks.published_algorithm import gaussian_cubature, solve_published


def gaussian_moment(powers):
    if any(power % 2 for power in powers):
        return 0.0
    return float(np.prod([factorial2(power - 1) if power else 1.0 for power in powers]))


def test_cubature_has_degree_seven():
    nodes, weights = gaussian_cubature()
    assert nodes.shape == (144, 4)
    assert len(np.unique(nodes.round(9), axis=0)) == 144
    for powers in itertools.product(range(9), repeat=4):
        if sum(powers) <= 7:
            value = weights @ np.prod(nodes ** np.array(powers), axis=1)
            assert value == pytest.approx(gaussian_moment(powers), abs=1e-12)
    assert abs(weights @ nodes[:, 0] ** 8 - gaussian_moment((8,))) > 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("branch", "published"),
    [
        ("semantic", (0.0969, 0.0, 14.92, 0.1400)),
        ("positional", (0.0488, 0.2564, 12.78, 0.0)),
    ],
)
def test_lands_on_the_published_overlaps(branch, published):
    """Overlaps of arXiv 2402.03902's public data at alpha = 11/7, which stop at 1e-4."""
    found = solve_published(11 / 7, branch=branch)
    np.testing.assert_allclose(
        [found.q, abs(found.m), found.V, found.theta], published, rtol=0.01, atol=1e-6
    )
