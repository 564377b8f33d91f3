"""Equations in sympy against the formulas that the theory is known by, written out here."""

import pytest
import sympy as sp

from symattn.symbolic import Size, channel, hats, ridge
from symattn.symbolic import symbols as y
from symattn.symbolic.coordinates import coordinates
from symattn.symbolic.losses import ridge_denominator, ridge_source
from symattn.symbolic.overlaps import order_parameters


@pytest.fixture
def paper():
    return order_parameters(Size())


def in_hats(p, expression):
    """An expression with D^-1 and B written out, for one direction."""
    parts = {
        ridge.resolvent_symbol(p)[0]: 1 / ridge_denominator(p)[0],
        ridge.source_symbol(p)[0]: ridge_source(p)[0],
    }
    return expression.xreplace(parts)


def test_ridge_side_of_the_paper(paper):
    q_hat, m_hat, V_hat, theta_hat = paper.hats.symbols
    sigma, lam = y.sigma, y.lam
    D, rho = lam + sigma**2 * V_hat, sigma**2
    published = [
        sigma**2 * (sigma**2 * q_hat + m_hat**2 + sigma**2 * rho * theta_hat**2) / D**2,
        m_hat / D,
        sigma**2 / D,
        sigma**2 * rho * theta_hat / D,
    ]
    for found, expected in zip(ridge.ridge_updates(paper).values(), published, strict=True):
        assert sp.simplify(in_hats(paper, found) - expected) == 0


def test_hats_of_the_paper(paper):
    e_g2, e_gm, e_div, e_gh = paper.means.symbols
    V_hat, theta = paper.hats.V[0], paper.overlaps.theta[0]
    published = [
        y.alpha * e_g2,
        y.alpha * e_gm,
        -y.alpha * e_div,
        (y.alpha * e_gh + theta * V_hat) / y.sigma**2,
    ]
    for found, expected in zip(hats.hat_updates(paper).values(), published, strict=True):
        assert sp.expand(found - expected) == 0


@pytest.mark.parametrize("size", [Size(3), Size(2, 2, 2), Size(3, 2, 1)], ids=lambda s: s.tag)
def test_ridge_side_as_matrix_equations(size):
    p = order_parameters(size)
    resolvent, source = ridge.resolvent_symbol(p), ridge.source_symbol(p)
    expected = {
        "q": y.sigma**2 * resolvent * source * resolvent,
        "m": p.gram * p.hats.m * resolvent,
        "V": y.sigma**2 * resolvent,
        "theta": y.sigma**2 * resolvent * p.hats.theta * p.rho,
    }
    updates = ridge.ridge_updates(p)
    for name, matrix in expected.items():
        symbols = getattr(p.overlaps, name)
        for symbol, value in zip(symbols, matrix, strict=True):
            assert sp.expand(updates[symbol] - value) == 0


@pytest.mark.parametrize("size", [Size(3), Size(2, 2, 2)], ids=lambda s: s.tag)
def test_hats_as_matrix_equations(size):
    p = order_parameters(size)
    expected = {
        "q": y.alpha * p.means.gg,
        "m": y.alpha * p.means.g,
        "V": -y.alpha * p.means.div,
        "theta": (y.alpha * p.means.gh + p.hats.V * p.overlaps.theta) * p.rho.inv(),
    }
    updates = hats.hat_updates(p)
    for name, matrix in expected.items():
        for symbol, value in zip(getattr(p.hats, name), matrix, strict=True):
            assert sp.expand(updates[symbol] - value) == 0


@pytest.mark.parametrize("order", [1, 2, 3, 4, 5])
def test_determinant_is_sympys(order):
    matrix = sp.Matrix(order, order, lambda i, j: sp.Symbol(f"a{i}{j}"))
    assert sp.expand(channel.determinant(matrix) - matrix.det(method="berkowitz")) == 0


@pytest.mark.parametrize("order", [1, 2, 3])
def test_inverse_times_matrix_is_the_identity(order):
    matrix = y.symmetric("a", order)
    product = (channel.inverse(matrix) * matrix).applyfunc(sp.cancel)
    assert product == sp.eye(order)


def test_rotation_keeps_products_of_fields():
    c = coordinates(Size())
    tokens = c.tokens(c.x)
    assert sp.expand((tokens.T * tokens)[0] - (c.x.T * c.x)[0]) == 0
    assert (c.rotated(tokens) - c.x).applyfunc(sp.expand) == sp.zeros(2, 1)


def test_equations_that_are_not_linear_in_one_unknown_are_refused():
    a, b = sp.symbols("a b")
    for equations in ([a * b - 1, b], [a**2 - 1, b], [a - 1, 2 * a - 2]):
        with pytest.raises(ValueError, match=r"linear in exactly one|do not determine"):
            ridge.solve_each(equations, [a, b])
