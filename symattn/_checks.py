"""Checks of arguments that several functions share."""

from __future__ import annotations

import os
from pathlib import Path

from symattn.errors import InvalidInput
from symattn.model import AttentionModel, is_whole

_MOST_DIGITS = 1000


def checked_digits(digits: object) -> int:
    """`digits` as a whole number from 1 to 1000.

    Raises
    ------
    InvalidInput
        If it is anything else.
    """
    if not is_whole(digits) or not 1 <= int(digits) <= _MOST_DIGITS:  # type: ignore[call-overload]
        raise InvalidInput.of("digits", digits, f"a whole number from 1 to {_MOST_DIGITS}")
    return int(digits)  # type: ignore[call-overload]


def checked_path(name: str, path: object) -> Path:
    """`path` if it can be the path of a file; `name` is that of the argument.

    Raises
    ------
    InvalidInput
        If it is anything else.
    """
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(text, str) or not text or "\0" in text:
        raise InvalidInput.of(name, path, "the path of a file")
    return Path(text)


def checked_output(name: str, path: Path, source: str | Path) -> Path:
    """`path` if what is made from the file `source` can be written there.

    Raises
    ------
    InvalidInput
        If it is that file.
    """
    if path.exists() and path.samefile(source):
        raise InvalidInput.of(name, str(path), "another file than the store")
    return path


def checked_model(model: object) -> AttentionModel:
    """`model` if it is one.

    Raises
    ------
    InvalidInput
        If it is anything else.
    """
    if not isinstance(model, AttentionModel):
        raise InvalidInput.of("model", model, "an AttentionModel")
    return model
