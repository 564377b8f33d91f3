"""Writing files so that an interruption leaves the old one or the new one."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from symattn.errors import ComputationFailed, InvalidInput


def replace_file(path: Path, content: bytes) -> None:
    """Write a file, and the directories to it, at once.

    Raises
    ------
    OSError
        When it cannot be written, or is there and is no file: a pipe or a device stays one.
    """
    try:
        path = path.resolve()  # what a link points to, not the link
    except RuntimeError as error:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from error
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and not path.is_file():
        raise OSError(errno.EEXIST, "it is there and is no file")
    temporary = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())  # before it gets the name: that must not come to an empty file
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def is_file(path: Path) -> bool:
    """Whether there is a file of that name; what cannot be the name of one is none."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def can_be_file(path: Path) -> bool:
    """Whether a file of that name is there, or nothing is."""
    try:
        # A link to nowhere is not there, one to itself cannot be looked at.
        path.stat()
        return path.is_file()
    except (FileNotFoundError, NotADirectoryError):
        return True  # whether there can be such a directory is another question
    except (OSError, ValueError):
        return False


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
