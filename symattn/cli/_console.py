"""What is written where: results to standard output, all else to standard error."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
from collections.abc import Mapping
from typing import Any, TextIO

from symattn.errors import ComputationFailed

_LONGEST_NOTE = 600


class Console:
    """The two streams of a command.

    On a terminal, progress is one line that is written over and disappears at the end. Elsewhere
    it is left out, unless `verbose`: then every step is a line of its own.
    """

    def __init__(self) -> None:
        self.verbose = False
        self._transient = False

    def progress(self, text: str) -> None:
        """Tell what is going on."""
        if self.verbose:
            self._to_stderr(f"{one_line(text)}\n")
        elif sys.stderr is not None and sys.stderr.isatty():
            width = shutil.get_terminal_size().columns - 1
            self._erase()
            self._to_stderr(one_line(text)[:width])
            self._transient = True

    def note(self, text: str) -> None:
        """Write one line, after the program's name, to standard error."""
        self._erase()
        line = one_line(text)
        if len(line) > _LONGEST_NOTE:
            # What is allowed stands at the end.
            line = f"{line[: _LONGEST_NOTE // 2]} ... {line[-_LONGEST_NOTE // 2 :]}"
        self._to_stderr(f"symattn: {line}\n")

    def result(self, text: str) -> None:
        """Write lines to standard output, now.

        Raises
        ------
        BrokenPipeError
            When nobody reads it any more.
        ComputationFailed
            When it cannot be written for another reason.
        """
        self._erase()
        stream = sys.stdout
        if stream is None:
            raise ComputationFailed("standard output is closed; open it or redirect it to a file")
        encoding = stream.encoding or "utf-8"
        try:
            stream.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")
            stream.flush()
        except OSError as error:
            _abandon(stream)
            if isinstance(error, BrokenPipeError):
                raise
            raise ComputationFailed(
                f"standard output: {error.strerror}; redirect it to where there is room"
            ) from error

    def json(self, value: Mapping[str, Any]) -> None:
        """Write one JSON object to standard output."""
        self.result(json.dumps(value, indent=2, allow_nan=False))

    def _erase(self) -> None:
        if self._transient:
            self._to_stderr("\r\x1b[2K")
            self._transient = False

    def _to_stderr(self, text: str) -> None:
        if sys.stderr is None:
            return
        # There is no other place to complain to.
        with contextlib.suppress(OSError):
            sys.stderr.write(text)
            sys.stderr.flush()


def one_line(text: str) -> str:
    """The text without line breaks, and with escapes for what does not print."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in " ".join(text.split())
    )


def _abandon(stream: TextIO) -> None:
    """Let what is still buffered go nowhere: the interpreter would fail on it when it ends."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
