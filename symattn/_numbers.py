"""A number and its error as text."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context, Decimal

_MOST_FIGURES = 17  # what a double has
_CONTEXT = Context(prec=60)


def significant_digits(relative: float) -> int:
    """The significant digits that a relative error leaves."""
    return math.floor(-math.log10(max(2.0 * relative, 1e-17)))


def with_error(value: float, error: float) -> tuple[str, str]:
    """`value` and `error` in decimal, the value to the second figure of the error.

    The error shown also covers the rounding of the value shown. What is 0 by symmetry is `exact`;
    an error that is not known, and what it belongs to, is shown as such.
    """
    if not math.isfinite(value) or not math.isfinite(error):
        return "not known", ""
    exact = Decimal(value)
    if error == 0:
        return ("0" if value == 0 else repr(value)), "exact"
    finest = exact.adjusted() - _MOST_FIGURES + 1 if value else -400
    place = max(Decimal(error).adjusted() - 1, finest)
    rounded = _to_place(exact, place)
    bound = Decimal(error) + abs(exact - rounded)
    bound = bound.quantize(_unit(bound.adjusted() - 1), ROUND_CEILING, _CONTEXT)
    return _plain(rounded, place), f"{bound:.1e}"


def _to_place(exact: Decimal, place: int) -> Decimal:
    rounded = exact.quantize(_unit(place), context=_CONTEXT)
    return abs(rounded) if rounded.is_zero() else rounded


def _unit(place: int) -> Decimal:
    return Decimal(1).scaleb(place)


def _plain(rounded: Decimal, place: int) -> str:
    """Without an exponent where that is readable."""
    if rounded.is_zero():
        return "0"
    if rounded.adjusted() < -5 or place > 0:
        return f"{rounded:.{rounded.adjusted() - place}e}"
    return f"{rounded:f}"
