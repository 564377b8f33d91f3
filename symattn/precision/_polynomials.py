"""Polynomials in the two weights of the target, by their values at a few nodes.

Given x, all that is averaged over h* is a polynomial of low degree in t11 and t22. It is taken at
the nodes of the principal lattice of the triangle that holds S* = softmax(h* h*^T), whose corners
(s11, s22) are (1, 0), (0, 1) and (1, 1), and is its interpolation everywhere.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any


@cache
def nodes(degree: int) -> list[tuple[Fraction, Fraction]]:
    """(s11, s22) at the nodes, (degree + 1) (degree + 2)/2 of them."""
    return [(1 - Fraction(j, degree), 1 - Fraction(i, degree)) for i, j in _barycentric(degree)]


def shared(degree: int, coarser: int) -> list[int]:
    """Where among the nodes of `degree` those of a degree that divides it are, in their order."""
    ratio = degree // coarser
    return [
        place
        for place, (i, j) in enumerate(_barycentric(degree))
        if i % ratio == 0 and j % ratio == 0
    ]


def basis(degree: int, s11: Any, s22: Any) -> list[Any]:
    """The polynomials that are 1 at one node and 0 at the others, at (s11, s22).

    Any numbers or arrays will do, complex ones too.
    """
    first, second, third = (
        _ladder(degree, coordinate) for coordinate in (1 - s22, 1 - s11, s11 + s22 - 1)
    )
    return [first[i] * second[j] * third[degree - i - j] for i, j in _barycentric(degree)]


def _barycentric(degree: int) -> list[tuple[int, int]]:
    return [(i, j) for i in range(degree + 1) for j in range(degree + 1 - i)]


def _ladder(degree: int, coordinate: Any) -> list[Any]:
    """The products over k < n of (degree c - k)/(k + 1), for n from 0 to `degree`."""
    steps = [coordinate * 0 + 1]
    for k in range(degree):
        steps.append(steps[-1] * (degree * coordinate - k) / (k + 1))
    return steps
