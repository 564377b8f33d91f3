"""The attention weights as sympy functions."""

import pytest
import sympy as sp
from mpmath import mp, mpf

from symattn.symbolic.functions import inside, logistic, mean, softmax

x, y, z = sp.symbols("x y z", real=True)
POINT = {x: sp.Rational(3, 7), y: sp.Rational(-5, 4), z: sp.Rational(11, 9)}


def value(expression):
    return mp.mpf(str(expression.evalf(60, subs=POINT)))


@pytest.mark.parametrize("order", [1, 2, 3])
def test_derivatives_of_the_logistic_function_are_those_of_its_definition(order):
    with mp.workdps(50):
        expected = mp.diff(lambda t: 1 / (1 + mp.exp(-t)), mpf(3) / 7, order)
        assert mp.almosteq(value(logistic(x).diff(x, order)), expected, 1e-45)


@pytest.mark.parametrize("variable", [x, y, z])
@pytest.mark.parametrize("entry", [1, 2, 3])
def test_derivatives_of_softmax_are_those_of_its_definition(entry, variable):
    symbols = (x, y, z)
    place = symbols.index(variable)

    def by_definition(t):
        numbers = [mpf(int(POINT[s].p)) / int(POINT[s].q) for s in symbols]
        numbers[place] = t
        return mp.exp(numbers[entry - 1]) / mp.fsum(map(mp.exp, numbers))

    with mp.workdps(50):
        point = mpf(int(POINT[variable].p)) / int(POINT[variable].q)
        expected = mp.diff(by_definition, point)
        assert mp.almosteq(value(softmax(entry, *symbols).diff(variable)), expected, 1e-45)


def test_the_logistic_function_at_zero_is_exact():
    assert logistic(sp.Integer(0)) == sp.Rational(1, 2)


def test_a_derivative_is_a_polynomial_in_the_weight():
    weight = sp.Symbol("weight")
    assert logistic(x).diff(x).subs(logistic(x), weight).is_polynomial(weight)


def test_the_integrand_of_a_combination_of_means():
    assert inside(2 * mean(x * y) - mean(z)) == 2 * x * y - z
