"""How many digits the grids aim at for a number of digits asked for."""

from __future__ import annotations

#: How often grids are refined until the errors are below what is asked for.
ATTEMPTS = 3
#: Digits that the test error loses, small against the moments that it is a difference of.
CANCELLED = 4.0

_MARGIN = 2.0
_FINER = 1.15


def first_aim(digits: int) -> float:
    """Digits for the coarser of two grids whose difference is the error."""
    return digits + _MARGIN


def next_aim(aim: float, digits: int, reached: int) -> float:
    """The same when fewer digits than asked for were reached."""
    return aim + digits - reached + 1


def finer(aim: float) -> float:
    """Digits for the finer grid; it has some twice as many nodes."""
    return _FINER * aim + 1.0
