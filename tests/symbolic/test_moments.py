"""Gaussian moments and integrals of polynomials and quadratics, against known ones."""

import pytest
import sympy as sp

from symattn.symbolic import laplace, moments, quadratic
from symattn.symbolic import symbols as y
from symattn.symbolic.checks import gaussian_mean


def test_moments_of_the_squared_norm_are_those_of_chi_square():
    d, sigma = y.d, y.sigma
    found = moments.mean_of_products([(0, 0)] * 3)
    assert sp.factor(found - sigma**6 * (d + 2) * (d + 4) / d**2) == 0


def test_tokens_that_appear_once_have_mean_zero():
    assert moments.mean_of_products([(0, 1), (0, 2)]) == 0


def test_three_tokens_in_a_ring():
    # E[(x.y)(y.z)(z.x)] = sigma^6 d, as each contraction ties one more component.
    assert moments.mean_of_products([(0, 1), (1, 2), (2, 0)]) == y.sigma**6 / y.d**2


def test_moments_of_a_normal_variable():
    a, variance = sp.symbols("a variance", positive=True)
    found = moments.mean_of_polynomial(a * y.z**6 + y.z**3 + 2, y.z, variance)
    assert found == 15 * a * variance**3 + 2


def test_the_exponential_of_a_quadratic_is_integrated():
    a, b, c = (sp.Rational(1, i) for i in (3, 5, 7))
    exponent = c + b * y.z - a * y.z**2
    density = sp.exp(-(y.z**2) / 2) / sp.sqrt(2 * sp.pi)
    expected = sp.log(sp.integrate(sp.exp(exponent) * density, (y.z, -sp.oo, sp.oo)))
    assert abs((quadratic.log_mean(exponent, y.z) - expected).evalf(30)) < 1e-28


def test_laplaces_method_gives_stirlings_series():
    # Gamma(beta + 1) = beta^(beta+1) int exp(-beta (x - ln x)) dx, at x* = 1; a flat weight is the
    # limit of a large V.
    V = sp.Symbol("V", positive=True)
    _, _, second = laplace.expansion(V)
    derivatives = [sp.diff(y.w - sp.log(y.w), y.w, i).subs(y.w, 1) for i in range(1, 5)]
    values = dict(zip(y.loss_slopes, derivatives, strict=True))
    assert sp.limit(second.subs(values), V, sp.oo) == -sp.Rational(1, 12)


@pytest.mark.parametrize(("power", "expected"), [(2, 1), (4, 3), (10, 945)])
def test_the_trapezoidal_rule_has_fifty_digits(power, expected):
    from mpmath import mp, mpf

    with mp.workdps(50):
        assert abs(gaussian_mean(lambda z: z**power) - expected) < mpf(10) ** -46
        grown = gaussian_mean(lambda z: mp.exp(8 * z))
        assert abs(grown / mp.exp(32) - 1) < mpf(10) ** -46
