"""The errors that symattn raises on purpose.

Every one carries a single line that can be shown to a user as it stands.
"""

from __future__ import annotations

from typing import ClassVar

_LONGEST_SHOWN = 80


def shown(value: object) -> str:
    """`repr(value)` on one line and at most 80 characters long, for use in a message."""
    text = " ".join(repr(value).split())
    if len(text) > _LONGEST_SHOWN:
        text = text[: _LONGEST_SHOWN - 3] + "..."
    return text


class SymattnError(Exception):
    """Base of all errors that symattn raises on purpose.

    `exit_code` is the status with which the command line ends.
    """

    exit_code: ClassVar[int] = 1


class InvalidInput(SymattnError, ValueError):
    """The input is outside what is allowed; nothing was computed.

    `parameter` is the name of the offending parameter when there is one; the message then starts
    with that name, so that a command line can put its option in that place.
    """

    exit_code: ClassVar[int] = 2

    def __init__(self, message: str, parameter: str | None = None) -> None:
        super().__init__(message)
        self.parameter = parameter

    @classmethod
    def of(cls, parameter: str, value: object, allowed: str) -> InvalidInput:
        """The error for `parameter = value` where `allowed` says what it must be."""
        return cls(f"{parameter} = {shown(value)} is not allowed: it must be {allowed}", parameter)


class ComputationFailed(SymattnError, RuntimeError):
    """A valid question whose answer was not reached: not converged, or not to the accuracy asked.

    The message says what was reached and what to try.
    """


class NotFound(ComputationFailed):
    """What was asked for was searched for and not found: evidence that it is absent, no proof.

    The message says where the searches ended.
    """
