"""Matrices over replicas against explicit ones, in exact arithmetic."""

import pytest
import sympy as sp

from symattn.symbolic import symbols as y
from symattn.symbolic.replicas import ReplicaMatrix

OWN = sp.Matrix([[3, 1], [1, 2]])
SHARED = sp.Matrix([[1, sp.Rational(1, 2)], [sp.Rational(1, 2), 1]])
FIRST = ReplicaMatrix(OWN, SHARED)
SECOND = ReplicaMatrix(SHARED + sp.eye(2), -OWN / 3)


def explicit(replicas, count):
    everywhere = sp.kronecker_product(sp.ones(count), replicas.shared)
    return sp.kronecker_product(sp.eye(count), replicas.own) + everywhere


@pytest.mark.parametrize("count", range(1, 7))
def test_determinant_inverse_and_trace_at_whole_numbers(count):
    whole = explicit(FIRST, count)
    found = sp.exp(FIRST.log_determinant().subs(y.n, count))
    assert sp.simplify(found) == whole.det()
    block = sp.Matrix([[1, 2], [3, 4]])
    summed = (whole.inv() * sp.kronecker_product(sp.ones(count), block)).trace()
    assert FIRST.summed_inverse_with(block).subs(y.n, count) == summed
    product = (whole * explicit(SECOND, count)).trace()
    assert FIRST.trace_with(SECOND).subs(y.n, count) == product


def test_the_slope_of_the_trace_is_its_derivative_at_no_replicas():
    slope = FIRST.trace_with(SECOND).diff(y.n).subs(y.n, 0)
    assert FIRST.trace_slope(SECOND) == slope
