"""Balls of python-flint: their working precision, and numbers into and out of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from flint import arb, ctx, fmpq
from mpmath import mp, mpf


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Work with so many bits within the block."""
    before = ctx.prec
    ctx.prec = bits
    try:
        yield
    finally:
        ctx.prec = before


def ball(exact: Any) -> Any:
    """The ball that holds a fraction."""
    return arb(fmpq(exact.numerator, exact.denominator))


def from_mpf(value: Any) -> Any:
    """mpmath's number as a ball, exactly."""
    sign, mantissa, exponent, _ = value._mpf_
    number = arb(int(mantissa)) * arb(2) ** int(exponent)
    return -number if sign else number


def to_mpf(value: Any) -> Any:
    """The middle of a ball as mpmath's number, exactly whatever the working precision is."""
    mantissa, exponent = value.mid().man_exp()
    with mp.workprec(max(53, int(mantissa).bit_length())):
        return mp.ldexp(mpf(int(mantissa)), int(exponent))
