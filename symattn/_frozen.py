"""A mapping that does not change: results that hold one can be hashed, copied and pickled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

_V = TypeVar("_V")


class FrozenMapping(Mapping[str, _V]):
    """An immutable copy of a mapping from names to hashable values."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, _V]) -> None:
        self._values = dict(values)

    def __getitem__(self, name: str) -> _V:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __hash__(self) -> int:
        return hash(frozenset(self._values.items()))

    def __repr__(self) -> str:
        return repr(self._values)

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenMapping, (self._values,)
