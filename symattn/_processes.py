"""How many processors are used."""

from __future__ import annotations

import os

#: Environment variable that limits the processors that one process uses.
LIMIT = "SYMATTN_THREADS"


def processes() -> int:
    """The processors that this process may use, at most as many as `SYMATTN_THREADS` says."""
    there = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    limit = os.environ.get(LIMIT, "")
    return min(there, int(limit)) if limit.isascii() and limit.isdigit() and int(limit) else there
