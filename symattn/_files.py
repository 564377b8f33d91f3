"""Writing files so that an interruption leaves the old one or the new one."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from symattn.errors import ComputationFailed, InvalidInput


def replace_file(path: Path, content: bytes) -> None:
    """Write a file, and the directories to it, at once."""
    path = path.resolve()  # what a link points to, not the link
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())  # before it gets the name: that must not come to an empty file
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_file(path: Path, content: bytes, hint: str = "try another place") -> None:
    """Write a file that a user asked for.

    Raises
    ------
    ComputationFailed
        When it cannot be written, with a hint what to do.
    """
    try:
        replace_file(path, content)
    except OSError as error:
        raise ComputationFailed(f"{path}: {error.strerror}; {hint}") from error


def lock(file: IO[bytes], path: Path, user: str, other: str) -> None:
    """Have a file alone among those that ask, until it is closed.

    Raises
    ------
    InvalidInput
        When another process has it: `user` says of what kind, and `other` what to name instead.
    """
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise InvalidInput(
            f"{path} is in use by another {user}; wait for its end or name another {other}"
        ) from error


def write_results(contents: Mapping[str, bytes], out: Path) -> tuple[Path, ...]:
    """Write files, by their names in the directory `out`; return their paths.

    Raises
    ------
    ComputationFailed
        When one cannot be written.
    """
    paths = []
    for name, content in contents.items():
        path = out / name
        write_file(path, content, "name a directory that can be written")
        paths.append(path)
    return tuple(paths)
