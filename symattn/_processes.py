"""How many processors are used."""

from __future__ import annotations

import os
import re

from symattn.errors import InvalidInput

#: Environment variable that limits the processors that one process uses.
LIMIT = "SYMATTN_THREADS"

_WHOLE_NUMBER = re.compile(r"0*[1-9]\d{0,8}", re.ASCII)


def processes() -> int:
    """The processors that this process may use, at most as many as `SYMATTN_THREADS` says.

    Raises
    ------
    InvalidInput
        When that is no whole number above 0.
    """
    there = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    limit = os.environ.get(LIMIT, "").strip()
    if not limit:
        return there
    if not _WHOLE_NUMBER.fullmatch(limit):
        raise InvalidInput.of(LIMIT, limit, "a whole number from 1 to 999999999, or unset")
    return min(there, int(limit))
