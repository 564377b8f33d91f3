"""The command line. The exit status is 0 on success, 2 on bad input, 1 when a computation fails.

Results go to standard output; progress, warnings and the one line about an error to standard
error. Loading it costs milliseconds: every command imports what it computes with when it runs. This
file imports next to nothing, so that an interruption is one line from the start.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence

#: What a shell reports of a program that SIGINT ends: 128 + SIGINT.
INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status.

    Parameters
    ----------
    argv : sequence of str, optional
        The words after the program's name; those of this process by default.

    Never raises: an error is one line on standard error and a status.
    """
    try:
        from symattn.cli._main import run

        return run(sys.argv[1:] if argv is None else list(argv))
    except KeyboardInterrupt:  # before there is a console that could say so
        if sys.stderr is not None:
            with contextlib.suppress(OSError):
                sys.stderr.write("symattn: interrupted\n")
        return INTERRUPTED
