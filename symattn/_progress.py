"""How a computation tells what it is doing: one line of text now and then."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Progress: TypeAlias = Callable[[str], None]


def silent(_: str) -> None:
    """Progress that nobody wants to see."""
