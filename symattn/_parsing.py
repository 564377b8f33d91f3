"""Numbers that a person typed, in an option or in a table."""

from __future__ import annotations

import math
import re
from fractions import Fraction

#: A decimal number. Every digit can be matched in one way only, so that no text takes long.
DECIMAL = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_NO_NUMBER = re.compile(r"[+-]?(nan|inf|infinity)", re.ASCII | re.IGNORECASE)
_FRACTION = re.compile(r"[+-]?\d{1,9}/[1-9]\d{0,8}", re.ASCII)
_WHOLE_NUMBER = re.compile(r"[+-]?\d{1,4}", re.ASCII)
_LONG_WHOLE_NUMBER = re.compile(r"[+-]?\d{1,18}", re.ASCII)


def number(text: str) -> float | str:
    """A number or a fraction, or the text as it is.

    Whoever checks the value then says what is allowed. What a double cannot hold stays text too, so
    that the message shows it as it was typed.
    """
    if _NO_NUMBER.fullmatch(text):
        return float(text)
    if _FRACTION.fullmatch(text):
        return float(Fraction(text))
    if not DECIMAL.fullmatch(text):
        return text
    value = float(text)
    vanished = value == 0.0 and any(digit in text.lower().split("e")[0] for digit in "123456789")
    return text if math.isinf(value) or vanished else value


def exact(text: str) -> Fraction:
    """What a text that is a finite `number` stands for.

    Of a decimal it is what its double is the shortest decimal of, so that neither the length nor
    the exponent of the text makes this long.
    """
    return Fraction(text) if _FRACTION.fullmatch(text) else Fraction(repr(float(text)))


def whole_number(text: str) -> int | str:
    """A whole number of at most four digits, all that most options allow, or the text."""
    return int(text) if _WHOLE_NUMBER.fullmatch(text) else text


def long_whole_number(text: str) -> int | str:
    """A whole number of at most 18 digits, as for a seed, or the text."""
    return int(text) if _LONG_WHOLE_NUMBER.fullmatch(text) else text
