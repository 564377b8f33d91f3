"""A number and its error as text."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import ROUND_CEILING, Context, Decimal, localcontext
from typing import Any

#: Significant digits up to which results are doubles; beyond they are mpmath's numbers.
DOUBLE_DIGITS = 15

_MOST_FIGURES = 17  # what a double has
#: More than the digits that any number has.
_CONTEXT = Context(prec=2000)


def significant_digits(relative: float) -> int:
    """The significant digits that a relative error leaves; none if it is not finite."""
    if not math.isfinite(relative):
        return 0
    return max(0, math.floor(-math.log10(max(2.0 * relative, 1e-300))))


def rounded_up(value: Any) -> float:
    """A bound as a double that is not below it; 0 stays what it is."""
    return math.nextafter(float(value), math.inf) if value else 0.0


def with_error(value: Any, error: float) -> tuple[str, str]:
    """`value` and `error` in decimal, the value to the second figure of the error.

    The error shown also covers the rounding of the value shown. What is 0 by symmetry is `exact`;
    an error that is not known, and what it belongs to, is shown as such. value: a float or one of
    mpmath's numbers.
    """
    double = isinstance(value, float)
    if not math.isfinite(value) or not math.isfinite(error):
        return "not known", ""
    with localcontext(_CONTEXT):
        exact = Decimal(value) if double else _decimal(value)
        if error == 0:
            return ("0" if value == 0 else repr(value)), "exact"
        finest = exact.adjusted() - _MOST_FIGURES + 1 if value and double else -10000
        place = max(Decimal(error).adjusted() - 1, finest)
        rounded = _to_place(exact, place)
        bound = Decimal(error) + abs(exact - rounded)
        bound = bound.quantize(_unit(bound.adjusted() - 1), ROUND_CEILING)
        return _plain(rounded, place), f"{bound:.1e}"


def written(
    values: Mapping[str, Any], errors: Mapping[str, float]
) -> tuple[dict[str, Any], dict[str, float]]:
    """Numbers and their errors as JSON has them: mpmath's numbers as text, rounded to their error.

    The rounding is part of the error.
    """
    texts, bounds = dict(values), dict(errors)
    for name, value in values.items():
        if not isinstance(value, float):
            texts[name], bound = with_error(value, errors[name])
            bounds[name] = 0.0 if bound == "exact" else float(bound)
    return texts, bounds


def _decimal(value: Any) -> Decimal:
    """mpmath's number, exactly."""
    sign, mantissa, exponent, _ = value._mpf_
    digits, place = int(mantissa), 0
    if exponent >= 0:
        digits <<= exponent
    else:
        digits, place = digits * 5**-exponent, int(exponent)
    return Decimal((sign, tuple(map(int, str(digits))), place))


def _to_place(exact: Decimal, place: int) -> Decimal:
    rounded = exact.quantize(_unit(place))
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
