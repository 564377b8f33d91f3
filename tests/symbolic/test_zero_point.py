"""The symbolic equations of Q = 0 against the program that solves them, and what they must obey."""

import numpy as np
import pytest
import sympy as sp

from symattn import AttentionModel
from symattn.symbolic import Size, jumps, zero_point
from symattn.symbolic import symbols as y
from symattn.symbolic.coordinates import coordinates
from symattn.zero_point import zero_point as solved

COORDINATES = coordinates(Size())
ALPHA = 0.8
MODEL = AttentionModel(omega=0.3, lam=0.1)


@pytest.fixture(scope="module")
def means():
    """E[Tr K] and the mean factors of m, theta and q at the program's V, by a grid in h*."""
    c = COORDINATES
    point = solved(MODEL, ALPHA)
    growth = zero_point.growth(c)
    K = dict(zero_point.curvature(c))
    factors = [zero_point.curvature_symbols(c).trace(), *(x.factor for x in growth)]
    written = [
        sp.sympify(x)
        .xreplace(K)
        .xreplace({y.det: zero_point.determinant(c)})
        .subs(dict(zero_point.target_parts(c)))
        for x in factors
    ]
    symbols = (*c.h, y.t11, y.t22, y.sigma, y.alpha, y.V)
    evaluate = sp.lambdify(symbols, written, "numpy")

    axis = np.linspace(-8, 8, 129)
    weights = np.exp(-(axis**2) / 2)
    weights = np.outer(weights, weights) / weights.sum() ** 2
    u, v = (MODEL.sigma * x for x in np.meshgrid(axis, axis, indexing="ij"))
    a11, a22 = MODEL.mixing[0][0], MODEL.mixing[1][1]
    t11, t22 = (
        (1 - MODEL.omega) / (1 + np.exp(-u * (u + sign * v))) + MODEL.omega * a
        for sign, a in ((1, a11), (-1, a22))
    )
    values = evaluate(u, v, t11, t22, MODEL.sigma, ALPHA, point.V)
    return point, [float(np.sum(weights * x)) for x in values]


def test_the_response_solves_its_equation(means):
    point, (trace, *_) = means
    update = zero_point.updated_response(COORDINATES, sp.Symbol("trace"))
    numbers = {"trace": trace, "alpha": ALPHA, "lam": MODEL.lam, "sigma": MODEL.sigma}
    V = update.subs({x: numbers[x.name] for x in update.free_symbols})
    assert float(V) == pytest.approx(point.V, rel=1e-12)
    assert ALPHA * trace == pytest.approx(point.V_hat, rel=1e-12)


def test_the_random_direction_is_the_replicon(means):
    point, (*_, bulk) = means
    assert 1 - bulk == pytest.approx(point.replicon, rel=1e-11)


def test_the_positional_direction_is_the_first_to_be_unstable(means):
    # At lambda = 0.1, omega = 0.3 zero becomes unstable towards position a little above 1.
    _, (_, positional, semantic, bulk) = means
    assert 0.7 < positional < 1
    assert semantic < positional
    assert bulk < positional


def test_growth_is_named_by_overlaps():
    pairs = [(x.overlap.name, x.source.name) for x in zero_point.growth(COORDINATES)]
    assert pairs == [("m", "m"), ("theta", "theta"), ("q", "q")]
    of_three = zero_point.growth(coordinates(Size(3)))
    assert len(of_three) == 9 + 2


def test_sheets_are_symmetric_where_the_tokens_are():
    above, below = (x.subs(y.delta, 0) for x in jumps.sheets(COORDINATES))
    assert above == -below == y.sigma * sp.sqrt(y.V)
