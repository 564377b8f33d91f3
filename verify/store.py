"""Measurements kept in a file as they are made, so that an interrupted run goes on."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from symattn._files import lock
from symattn.errors import ComputationFailed, InvalidInput

_NAME = "measurements.jsonl"
_FORMAT = {"format": "symattn measurements", "version": 2}

# Hexadecimal digits of the checksum of a line.
_DIGITS = 16


class Store:
    """Finished units of work by key, one line of JSON each after a header that names the run.

    A line counts when it is complete: what a killed process left of one is dropped. One that was
    changed since does not have its checksum any more, and the file is refused. Floats come back as
    they were. One process at a time has the file.
    """

    def __init__(self, file: BinaryIO, path: Path, values: dict[str, Any]) -> None:
        self._file = file
        self._path = path
        self._values = values

    @classmethod
    def open(cls, out: Path, header: Mapping[str, str | int]) -> Store:
        """The store in the directory `out`, which is made if need be.

        header: what measurements depend on, such as suite, seed, device and versions. A file of
        another run is refused and left as it is.

        Raises
        ------
        InvalidInput
            When the file is of another run, is no such file or was changed, or is in use by another
            process.
        ComputationFailed
            When it cannot be read or written.
        """
        path = out / _NAME
        wanted = {**_FORMAT, **header}
        try:
            out.mkdir(parents=True, exist_ok=True)
            if path.exists() and not path.is_file():
                raise _no_store(path, 1)
            file = path.open("a+b")
        except OSError as error:
            raise _not_written(path, error) from error
        try:
            lock(file, path, "process", "directory")
            values = _read(file, path, wanted)
        except OSError as error:
            _close(file)
            raise _not_written(path, error) from error
        except BaseException:
            _close(file)
            raise
        return cls(file, path, values)

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give the file back to other processes."""
        _close(self._file)

    def get(self, key: str) -> Any:
        """What was put under this key, as JSON gives it back; None if nothing was."""
        return self._values.get(key)

    def put(self, key: str, value: Any) -> None:
        """Keep a value; it is on the disk when this returns.

        Raises
        ------
        ComputationFailed
            When a number in it is not finite, or the file cannot be written.
        """
        try:
            line = _line(key, value)
        except ValueError as error:
            raise ComputationFailed(f"{key}: a number that is not finite was measured") from error
        try:
            _append(self._file, line)
        except OSError as error:
            raise _not_written(self._path, error) from error
        self._values[key] = json.loads(line)["value"]


def _close(file: BinaryIO) -> None:
    """Close a file. All that counts was flushed; on a full disk the rest fails once more."""
    with contextlib.suppress(OSError):
        file.close()


def _read(file: BinaryIO, path: Path, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """The values in the file; a torn last line is cut off, and a missing header written."""
    file.seek(0)
    content = file.read()
    header = json.dumps(dict(wanted), allow_nan=False)
    complete = content[: content.rfind(b"\n") + 1]
    lines = complete.splitlines()
    if lines:
        _compare(_parsed(lines[0], path, 1), wanted, path)
    elif not header.encode().startswith(content):
        raise _no_store(path, 1)
    values = {}
    for number, line in enumerate(lines[1:], start=2):
        entry = _parsed(line, path, number)
        if entry.keys() != {"key", "value", "sha256"} or not isinstance(entry["key"], str):
            raise _no_store(path, number)
        if line.decode() != _line(entry["key"], entry["value"]):
            raise InvalidInput(
                f"{path}, line {number}, was changed since it was written; delete the line to have "
                "it measured again"
            )
        values[entry["key"]] = entry["value"]
    if len(complete) < len(content):
        file.truncate(len(complete))
    if not lines:
        _append(file, header)
    return values


def _line(key: str, value: Any) -> str:
    """An entry with its checksum, as it stands in the file."""
    entry = {"key": key, "value": value}
    content = json.dumps(entry, allow_nan=False)
    entry["sha256"] = hashlib.sha256(content.encode()).hexdigest()[:_DIGITS]
    return json.dumps(entry)


def _parsed(line: bytes, path: Path, number: int) -> dict[str, Any]:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise _no_store(path, number) from error
    if not isinstance(entry, dict):
        raise _no_store(path, number)
    return entry


def _compare(found: Mapping[str, Any], wanted: Mapping[str, Any], path: Path) -> None:
    if found.get("format") != wanted["format"]:
        raise _no_store(path, 1)
    for name in (*wanted, *found):
        if found.get(name) != wanted.get(name):
            raise InvalidInput(
                f"{path} is of a run with {name} = {found.get(name)!r}, not "
                f"{wanted.get(name)!r}; name another directory with --out, or delete the file"
            )


def _append(file: BinaryIO, line: str) -> None:
    file.write(line.encode() + b"\n")
    file.flush()
    os.fsync(file.fileno())


def _no_store(path: Path, number: int) -> InvalidInput:
    return InvalidInput(
        f"{path}, line {number}, is not a measurement of this program; name another directory "
        "with --out, or delete the file"
    )


def _not_written(path: Path, error: OSError) -> ComputationFailed:
    return ComputationFailed(f"{path}: {error.strerror}; name a directory that can be written")
