"""One store from those of several shards."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from symattn.errors import InvalidInput
from symattn.sweep.point import Outcome
from symattn.sweep.store import create_or_open, open_existing


def merge(parts: Sequence[str | Path], store: str | Path) -> int:
    """Put the points of stores of one sweep into one, which is made if need be; their number.

    The parts are left as they are. A point that several have is taken from the first; the same
    request gives the same numbers everywhere.

    Raises
    ------
    InvalidInput
        When one is no store, or of another sweep than the first.
    ComputationFailed
        When a file cannot be read or written.
    """
    if not parts:
        raise InvalidInput.of("parts", parts, "one file at least")
    with open_existing(Path(parts[0])) as first:
        grid = first.grid
    for part in parts:
        with open_existing(Path(part)) as opened:
            if opened.grid != grid:
                raise InvalidInput(
                    f"{part} is of another sweep than {parts[0]}; merge those of one"
                )
    count = 0
    with create_or_open(Path(store), grid) as whole:
        for part in parts:
            lines: dict[tuple[str, int], list[tuple[int, Outcome]]] = {}
            with open_existing(Path(part)) as opened:
                for branch, line, place, outcome in opened.outcomes():
                    lines.setdefault((branch, line), []).append((place, outcome))
            for (branch, line), outcomes in lines.items():
                whole.put(branch, line, outcomes)
                count += len(outcomes)
    return count
