"""argparse with errors on one line."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable
from typing import Any, NoReturn

from symattn.errors import InvalidInput

_NEGATIVE = re.compile(r"-(\d|\.\d|inf|nan)", re.IGNORECASE)


class Parser(argparse.ArgumentParser):
    """A parser that takes whole option names only and raises `InvalidInput` on bad words."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(
            formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False, **settings
        )

    def error(self, message: str) -> NoReturn:
        raise InvalidInput(f"{message}; see {self.prog} --help")


def join_negative_values(words: Iterable[str]) -> list[str]:
    """`--option -1e-3` as `--option=-1e-3`.

    argparse takes such words for options, and would say that a value is missing instead of why
    this one is not allowed.
    """
    joined: list[str] = []
    for word in words:
        names_option = bool(joined) and re.fullmatch(r"--[a-z]+", joined[-1]) is not None
        if names_option and _NEGATIVE.match(word):
            joined[-1] += f"={word}"
        else:
            joined.append(word)
    return joined
