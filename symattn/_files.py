"""Writing files so that an interruption leaves the old one or the new one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from symattn.errors import ComputationFailed


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
        try:
            replace_file(path, content)
        except OSError as error:
            raise ComputationFailed(
                f"{path}: {error.strerror}; name a directory that can be written"
            ) from error
        paths.append(path)
    return tuple(paths)
