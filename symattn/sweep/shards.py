"""One store from those of several shards."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from symattn._checks import checked_path
from symattn.errors import InvalidInput
from symattn.sweep.point import Outcome
from symattn.sweep.store import create_or_open, open_existing


def merge(parts: Sequence[str | Path], store: str | Path) -> int:
    """Put the points of stores of one sweep into one, made if need be; how many it has then.

    The parts are left as they are. A point that several have is taken from the first; the same
    request gives the same numbers everywhere.

    Raises
    ------
    InvalidInput
        When one is no store, was changed, or is of another sweep than the first.
    ComputationFailed
        When a file cannot be read or written.
    """
    if isinstance(parts, str | Path) or not isinstance(parts, Sequence) or not parts:
        raise InvalidInput.of("parts", parts, "one file at least")
    paths = [checked_path("parts", part) for part in parts]
    with open_existing(paths[0]) as first:
        grid = first.grid
    # All are read before anything is written.
    lines: dict[tuple[int, str, int], list[tuple[int, Outcome]]] = {}
    for number, part in enumerate(paths):
        with open_existing(part) as opened:
            if opened.grid != grid:
                raise InvalidInput(
                    f"{part} is of another sweep than {paths[0]}; merge those of one"
                )
            for branch, line, place, outcome in opened.outcomes():
                lines.setdefault((number, branch, line), []).append((place, outcome))
    with create_or_open(checked_path("store", store), grid) as whole:
        for (_, branch, line), outcomes in lines.items():
            whole.put(branch, line, outcomes)
        return sum(1 for _ in whole.outcomes())
