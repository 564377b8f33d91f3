"""Fractions as mpmath's numbers."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from mpmath import mpf


def number(exact: Fraction) -> Any:
    """A fraction as mpmath's number at the working precision."""
    return mpf(exact.numerator) / exact.denominator
