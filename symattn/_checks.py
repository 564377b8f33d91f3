"""Checks of arguments that several functions share."""

from __future__ import annotations

from symattn.errors import InvalidInput

_MOST_DIGITS = 1000


def checked_digits(digits: object) -> int:
    """`digits` as a whole number from 1 to 1000.

    Raises
    ------
    InvalidInput
        If it is anything else.
    """
    if isinstance(digits, bool) or not isinstance(digits, int) or not 1 <= digits <= _MOST_DIGITS:
        raise InvalidInput.of("digits", digits, f"a whole number from 1 to {_MOST_DIGITS}")
    return digits
