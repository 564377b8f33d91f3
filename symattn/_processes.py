"""How many processes may run side by side."""

from __future__ import annotations

import os


def processes() -> int:
    """The processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
