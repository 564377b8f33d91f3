"""The replica-symmetric free energy: its limits by sympy, and its published form."""

import pytest
import sympy as sp

from symattn.symbolic import Size, free_energy, losses, ridge
from symattn.symbolic import symbols as y
from symattn.symbolic.channel import determinant, inverse
from symattn.symbolic.overlaps import order_parameters

SIZES = [Size(), Size(3), Size(2, 2, 2)]


@pytest.fixture(params=SIZES, ids=lambda size: size.tag)
def p(request):
    return order_parameters(request.param)


def numbers(expression):
    """Small rational values that keep every determinant positive."""
    symbols = sorted(expression.free_symbols, key=str)
    values = {x: sp.Rational(1, 7 + place) for place, x in enumerate(symbols)}
    return {x: 3 if x.name in ("lam", "beta") else value for x, value in values.items()}


def test_the_free_entropy_is_the_derivative_of_the_action_at_no_replicas(p):
    symmetric = free_energy.unscaled(p)
    own = symmetric.precision.own
    found = symmetric.free_entropy(
        sp.Integer(0), sp.log(determinant(own)), inverse(own), symmetric.source
    )
    expected = symmetric.overlap_action().diff(y.n).subs(y.n, 0)
    difference = (found - expected).subs(numbers(found))
    assert abs(difference.evalf(40)) < sp.Rational(1, 10**35)


def test_the_action_of_no_replicas_vanishes(p):
    action = free_energy.unscaled(p).overlap_action()
    assert sp.simplify(action.subs(y.n, 0)) == 0


def test_zero_temperature_is_the_published_extremal_form(p):
    overlaps, hats = p.overlaps, p.hats
    resolvent, source = ridge.resolvent_symbol(p), ridge.source_symbol(p)
    published = (
        y.alpha * y.envelope
        + (hats.q * overlaps.V - hats.V * overlaps.q).trace() / 2
        + (overlaps.m * hats.m.T).trace()
        + (overlaps.theta * hats.theta.T).trace()
        - (resolvent * source).trace() / 2
    )
    found = free_energy.zero_temperature(p, y.envelope, resolvent, source)
    assert sp.expand(found - published) == 0


def test_the_ridge_side_is_made_of_the_published_matrices(p):
    hats, rank = p.hats, p.overlaps.q.rows
    denominator = y.lam * sp.eye(rank) + y.sigma**2 * hats.V
    source = (
        y.sigma**2 * hats.q
        + hats.m.T * p.gram * hats.m
        + y.sigma**2 * hats.theta * p.rho * hats.theta.T
    )
    assert (losses.ridge_denominator(p) - denominator).applyfunc(sp.expand) == sp.zeros(rank)
    assert (losses.ridge_source(p) - source).applyfunc(sp.expand) == sp.zeros(rank)


def test_the_thermal_part_vanishes_at_zero_temperature(p):
    thermal = free_energy.thermal_part(p, y.log_hessian)
    values = {x: value for x, value in numbers(thermal).items() if x != y.beta}
    assert sp.limit(thermal.subs(values), y.beta, sp.oo) == 0


def test_the_replicon_is_the_published_one():
    published = 1 - y.alpha * sp.Symbol("V", positive=True) ** 2 * y.curvature2
    assert free_energy.replicon(order_parameters(Size()), y.curvature2) == published
