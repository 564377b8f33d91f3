"""Interpolation in the two weights of the target."""

from fractions import Fraction

import pytest

from symattn.precision._polynomials import basis, nodes, shared


@pytest.mark.parametrize("degree", [1, 2, 4])
def test_polynomials_of_the_degree_are_their_interpolations(degree):
    places = nodes(degree)
    assert len(places) == (degree + 1) * (degree + 2) // 2
    point = Fraction(3, 7), Fraction(5, 6)
    values = basis(degree, *point)
    for i in range(degree + 1):
        for j in range(degree + 1 - i):
            at_nodes = [x**i * y**j for x, y in places]
            found = sum(p * value for p, value in zip(at_nodes, values, strict=True))
            assert found == point[0] ** i * point[1] ** j


def test_basis_polynomials_are_one_at_their_node_and_zero_at_others():
    for k, place in enumerate(nodes(4)):
        assert basis(4, *place) == [int(k == n) for n in range(15)]


@pytest.mark.parametrize("coarser", [1, 2])
def test_nodes_of_a_degree_are_among_those_of_its_multiple(coarser):
    places = nodes(4)
    assert [places[k] for k in shared(4, coarser)] == nodes(coarser)


def test_nodes_lie_in_the_triangle_of_softmax_weights():
    # u (u + v) and u (u - v) have a sum >= 0, so the weights have one >= 1
    for s11, s22 in nodes(4):
        assert 0 <= s11 <= 1
        assert 0 <= s22 <= 1
        assert s11 + s22 >= 1
