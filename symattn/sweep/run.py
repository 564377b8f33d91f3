"""Sweeps over two parameters of both branches, which go on where they were interrupted."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from numbers import Real
from pathlib import Path
from typing import NamedTuple, TypeVar

from symattn._checks import checked_model, checked_path
from symattn._processes import processes
from symattn._progress import Progress, silent
from symattn.errors import ComputationFailed, InvalidInput
from symattn.model import AttentionModel, is_whole
from symattn.sweep.engines import Submit, dask_cluster, local_processes
from symattn.sweep.grid import ALLOWED, BRANCHES, Axis, Grid, Line
from symattn.sweep.point import Outcome, Request
from symattn.sweep.store import SweepStore, create_or_open

#: Relative error of overlaps and losses.
ACCURACY = 1e-5

_T = TypeVar("_T")

_MOST_WORKERS = 1024


def sweep(
    model: AttentionModel,
    over: Sequence[Axis],
    store: str | Path,
    *,
    alpha: float | None = None,
    accuracy: float = ACCURACY,
    workers: int | None = None,
    shard: tuple[int, int] = (1, 1),
    scheduler: str | None = None,
    progress: Progress | None = None,
) -> Swept:
    """Both branches on a grid of two parameters, in a file; `symattn.open_store` reads it.

    Every line along alpha (or the first parameter) is walked from where the branch is found, by
    continuation from the neighbours, until it is lost. What is done is kept: the same call goes on
    after any interruption, repeats no finished point, and ends with the same rows.

    Parameters
    ----------
    over : two Axis
        Parameters and their values.
    store : path
        An SQLite file, made if it is not there.
    alpha : float, optional
        Sample complexity, where that is not swept over.
    accuracy : float
        Relative error of overlaps and losses, 1e-9 to 0.01.
    workers : int, optional
        Processes with one thread each; as many as there are cores.
    shard : (i, n)
        Only the lines i, i + n, ..; for one of n machines, each with a file of its own, see
        `symattn.sweep.merge`.
    scheduler : str, optional
        Address of a Dask scheduler, whose workers compute in place of processes of this machine.
    progress : callable, optional
        Called with one line of text now and then.

    Raises
    ------
    InvalidInput
        For arguments outside their domain, or a file of another sweep, which is left as it is.
    ComputationFailed
        When the file cannot be written, or a process ends early.
    """
    checked_model(model)
    axes = isinstance(over, Sequence) and all(isinstance(axis, Axis) for axis in over)
    if not axes or len(over) != 2:
        raise InvalidInput.of("over", over, "two parameters, each an Axis")
    path = checked_path("store", store)
    grid = Grid(
        model=model,
        alpha=None if alpha is None else _double("alpha", alpha),
        x=over[0],
        y=over[1],
        accuracy=_double("accuracy", accuracy),
    )
    lines = [
        Line(grid=grid, branch=branch, row=row)
        for row in _rows_of_shard(len(grid.y.values), shard)
        for branch in BRANCHES
    ]
    count = processes() if workers is None else workers
    if not is_whole(count) or not 1 <= count <= _MOST_WORKERS:
        raise InvalidInput.of("workers", count, f"a whole number from 1 to {_MOST_WORKERS}")
    report = progress or silent
    engine = local_processes(count) if scheduler is None else dask_cluster(scheduler)
    with engine as submit, create_or_open(path, grid) as opened:
        walks = _walks(lines, opened)
        left = sum(len(grid.x.values) - walk.finished for walk in walks)
        _run(walks, opened, submit, left, report)
    states = Counter(outcome.status for walk in walks for outcome in walk.known.values())
    return Swept(
        found=states["found"], absent=states["absent"], failed=states["failed"], computed=left
    )


class Swept(NamedTuple):
    """How many points, of both branches, a sweep has in its store, and how many are new."""

    found: int
    absent: int
    failed: int
    computed: int


@dataclass(slots=True, kw_only=True)
class _Walk:
    """A line and what is known of it."""

    line: Line
    known: dict[int, Outcome] = field(default_factory=dict)
    asked: set[int] = field(default_factory=set)

    @property
    def finished(self) -> int:
        """Points that need no more work."""
        return sum(outcome.status != "unstarted" for outcome in self.known.values())


def _double(name: str, value: object) -> float:
    """A number as a double; what is none, or too large for one, is refused."""
    if not isinstance(value, bool) and isinstance(value, Real):
        with suppress(OverflowError):
            return float(value)
    raise InvalidInput.of(name, value, ALLOWED[name])


def _rows_of_shard(rows: int, shard: tuple[int, int]) -> range:
    allowed = f"i/n with 1 <= i <= n <= {rows}, the number of lines"
    if not isinstance(shard, tuple) or len(shard) != 2 or not all(map(is_whole, shard)):
        raise InvalidInput.of("shard", shard, f"(i, n), for {allowed}")
    part, parts = shard
    if not 1 <= part <= parts <= rows:
        raise InvalidInput.of("shard", f"{part}/{parts}", allowed)
    return range(part - 1, rows, parts)


def _walks(lines: Sequence[Line], store: SweepStore) -> list[_Walk]:
    walks = {(line.branch, line.row): _Walk(line=line) for line in lines}
    for branch, row, place, outcome in store.outcomes():
        if (branch, row) in walks:
            walks[branch, row].known[place] = outcome
    return list(walks.values())


def _run(
    walks: Sequence[_Walk], store: SweepStore, submit: Submit, left: int, progress: Progress
) -> None:
    """Submit what can be done next and keep what is done, until nothing is left."""
    running: dict[Future[Outcome], tuple[_Walk, int]] = {}
    begun, done = time.monotonic(), 0
    for walk in walks:
        done += _go_on(walk, store, submit, running)
    while running:
        finished, _ = wait(running, return_when=FIRST_COMPLETED)
        kept = []
        # What is lost comes last, so that nothing else is.
        for future in sorted(finished, key=_is_lost):
            walk, place = running.pop(future)
            outcome = _result(future.result)
            done += _keep(walk, store, [(place, outcome)])
            kept.append((walk, place, outcome))
        for walk, place, outcome in kept:
            done += _go_on(walk, store, submit, running)
            minutes = (time.monotonic() - begun) * (left - done) / max(done, 1) / 60
            progress(
                f"{done} of {left} points done, about {minutes:.1f} min left: {walk.line.branch}, "
                f"{_named(walk.line, place)}, {outcome.status}"
            )


def _go_on(
    walk: _Walk,
    store: SweepStore,
    submit: Submit,
    running: dict[Future[Outcome], tuple[_Walk, int]],
) -> int:
    """Submit the next points of a line; how many were settled without computation."""
    settled = 0
    ready = list(walk.line.next(walk.known))
    at_once = [(place, item) for place, item in ready if isinstance(item, Outcome)]
    if at_once:
        settled = _keep(walk, store, at_once)
    for place, item in ready:
        if isinstance(item, Request) and place not in walk.asked:
            walk.asked.add(place)
            running[_result(partial(submit, item))] = (walk, place)
    return settled


def _keep(walk: _Walk, store: SweepStore, outcomes: Sequence[tuple[int, Outcome]]) -> int:
    """Write outcomes; how many points they finish."""
    before = walk.finished
    store.put(walk.line.branch, walk.line.row, outcomes)
    for place, outcome in outcomes:
        walk.known[place] = outcome
        walk.asked.discard(place)
    return walk.finished - before


def _is_lost(future: Future[Outcome]) -> bool:
    return future.cancelled() or future.exception() is not None


def _result(ask: Callable[[], _T]) -> _T:
    """What a process has, or a place in its queue."""
    try:
        return ask()
    except Exception as error:
        raise ComputationFailed(
            f"a process ended early ({type(error).__name__}), perhaps for lack of memory; run the "
            "command again to go on"
        ) from error


def _named(line: Line, place: int) -> str:
    grid = line.grid
    return f"{grid.x.name} = {grid.x.values[place]:g}, {grid.y.name} = {grid.y.values[line.row]:g}"
