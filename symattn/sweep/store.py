"""The file of a sweep: an SQLite database with one row for each point and branch.

Schema 1, all of it:

    about(name, value)      what the sweep is: `format`, `schema`, `symattn` (the version that made
                            it), `grid` (JSON: model, alpha, axes, accuracy)
    points(branch, line, place, status, reason, <numbers>, <numbers>_error, growth, fold, aim,
           seconds, version, finished)

`line` and `place` count from 0 along the second and the first axis. A row is written in one
transaction: after any end of the program it is there or not.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from symattn import __version__
from symattn._files import can_be_file, is_file, lock
from symattn._frozen import FrozenMapping
from symattn.errors import ComputationFailed, InvalidInput, shown
from symattn.model import AttentionModel
from symattn.sweep.grid import BRANCHES, Axis, Grid
from symattn.sweep.point import NUMBERS, Outcome

FORMAT, SCHEMA = "symattn sweep", 1

_NUMBERS = tuple(column for name in NUMBERS for column in (name, f"{name}_error"))
_COLUMNS = (
    *("branch", "line", "place", "status", "reason"),
    *_NUMBERS,
    *("growth", "fold", "aim", "seconds", "version", "finished"),
)
_TEXTS = ("branch", "status", "reason", "version", "finished")
_WHOLE = ("line", "place")
_STATES = ("found", "absent", "failed", "unstarted")
_OTHER = "delete it or name another file"
# Another process may be writing: wait that long.
_PATIENCE = 60.0


class SweepStore:
    """An open file of a sweep."""

    def __init__(self, connection: sqlite3.Connection, path: Path, grid: Grid) -> None:
        self._connection = connection
        self._path = path
        self.grid = grid

    def outcomes(self) -> Iterator[tuple[str, int, int, Outcome]]:
        """Branch, line, place and outcome of every row.

        Raises
        ------
        InvalidInput
            When there are rows that no sweep writes.
        ComputationFailed
            When they cannot be read.
        """
        most = len(BRANCHES) * len(self.grid.y.values) * len(self.grid.x.values)
        with _told(self._path):
            rows = self._connection.execute(
                f"SELECT {', '.join(_COLUMNS)} FROM points LIMIT {most + 1}"
            ).fetchall()
        if len(rows) > most:
            raise InvalidInput(f"{self._path} has more than the {most} rows of its grid; {_OTHER}")
        for row in rows:
            named = dict(zip(_COLUMNS, row, strict=True))
            if odd := next(_odd(named, self.grid), None):
                at = ", ".join(f"{name} {shown(named[name])}" for name in _COLUMNS[:3])
                raise InvalidInput(
                    f"{self._path} was changed: in the row of {at} {odd} is {shown(named[odd])}; "
                    f"{_OTHER}"
                )
            yield named["branch"], named["line"], named["place"], _outcome(named)

    def put(self, branch: str, line: int, outcomes: Iterable[tuple[int, Outcome]]) -> None:
        """Keep outcomes by place, all of them or none. They are on the disk when this returns.

        Rows that are there already stay, but for those that were only not started.

        Raises
        ------
        ComputationFailed
            When they cannot be written.
        """
        now = datetime.now(UTC).isoformat(timespec="seconds")
        rows = [_row(branch, line, place, outcome, now) for place, outcome in outcomes]
        marks = ", ".join(f":{column}" for column in _COLUMNS)
        changes = ", ".join(f"{c} = excluded.{c}" for c in _COLUMNS[3:])
        with _told(self._path), self._connection:
            self._connection.executemany(
                f"INSERT INTO points ({', '.join(_COLUMNS)}) VALUES ({marks}) "
                "ON CONFLICT (branch, line, place) DO UPDATE "
                f"SET {changes} WHERE points.status = 'unstarted'",
                rows,
            )


@contextmanager
def create_or_open(path: Path, grid: Grid) -> Iterator[SweepStore]:
    """The store of this grid, made if there is none.

    Raises
    ------
    InvalidInput
        When the file is no store, that of another grid, model or schema, or in use by another
        sweep; it is left as it is.
    ComputationFailed
        When it cannot be made or read.
    """
    with _alone(path), _opened(path, made=True) as connection:
        with _told(path), connection:
            connection.execute("BEGIN IMMEDIATE")
            if not _tables(connection):
                _make(connection, grid)
        found = _grid(connection, path)
        if found != grid:
            raise InvalidInput(
                f"{path} is of another sweep: {_difference(found, grid)}; name another file"
            )
        yield SweepStore(connection, path, grid)


@contextmanager
def open_existing(path: Path) -> Iterator[SweepStore]:
    """A store that is there, to read.

    Raises
    ------
    InvalidInput
        When there is none, or the file is none of this schema.
    """
    if not is_file(path):
        raise _no_store(path)
    with _opened(path, made=False) as connection:
        yield SweepStore(connection, path, _grid(connection, path))


@contextmanager
def _opened(path: Path, made: bool) -> Iterator[sqlite3.Connection]:
    # A reader too may have to roll back what a killed writer left.
    mode = "rwc" if made else "rw"
    uri = f"{path.absolute().as_uri()}?mode={mode}"
    with _told(path):
        connection = sqlite3.connect(uri, uri=True, timeout=_PATIENCE)
    # Text that is not UTF-8 is none that a sweep writes, and is refused where it matters.
    connection.text_factory = lambda text: text.decode(errors="replace")
    with closing(connection):
        yield connection


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """One sweep at a time has the file, others may read it."""
    # SQLite locks by fcntl, which does not see this one. Closing any descriptor of the file gives
    # the locks of SQLite up, so it is closed last.
    if not can_be_file(path):
        raise InvalidInput.of("store", str(path), "a file")
    try:
        file = path.open("ab")
    except OSError as error:
        raise InvalidInput.of("store", str(path), f"a file here ({error.strerror})") from error
    with file:
        lock(file, path, "sweep", "file")
        yield


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Errors of SQLite as ours."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise ComputationFailed(f"{path}: {error}; try another place") from error
    except sqlite3.DatabaseError as error:
        raise _no_store(path) from error


def _tables(connection: sqlite3.Connection) -> set[tuple[str, str]]:
    """Kind and name of what is in a database: a view may have rows without end."""
    return set(connection.execute("SELECT type, name FROM sqlite_master"))


def _make(connection: sqlite3.Connection, grid: Grid) -> None:
    kinds = {
        **dict.fromkeys(_COLUMNS, "REAL"),
        **dict.fromkeys(_TEXTS, "TEXT NOT NULL"),
        **dict.fromkeys(_WHOLE, "INTEGER NOT NULL"),
    }
    columns = ", ".join(f"{name} {kinds[name]}" for name in _COLUMNS)
    connection.execute("CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL)")
    connection.execute(f"CREATE TABLE points ({columns}, PRIMARY KEY (branch, line, place))")
    about = {
        "format": FORMAT,
        "schema": str(SCHEMA),
        "symattn": __version__,
        "grid": json.dumps(grid_to_dict(grid), sort_keys=True),
    }
    connection.executemany("INSERT INTO about VALUES (?, ?)", about.items())


def _grid(connection: sqlite3.Connection, path: Path) -> Grid:
    """The grid that the file says it is of."""
    with _told(path):
        if not {("table", "about"), ("table", "points")} <= _tables(connection):
            raise _no_store(path)
        for table, columns in (("about", ("name", "value")), ("points", _COLUMNS)):
            there = connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
            if not {(column,) for column in columns} <= set(there):
                raise _no_store(path)
        about = dict(connection.execute("SELECT name, value FROM about"))
    if about.get("format") != FORMAT:
        raise _no_store(path)
    if about.get("schema") != str(SCHEMA):
        raise InvalidInput(
            f"{path} has schema {_unquoted(about.get('schema'))}, this version of symattn reads "
            f"{SCHEMA}; name another file"
        )
    try:
        return grid_from_dict(json.loads(about["grid"]))
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise _no_store(path) from error


def grid_to_dict(grid: Grid) -> dict[str, Any]:
    """The grid as JSON-able values."""
    return {
        "model": grid.model.to_dict(),
        "alpha": grid.alpha,
        "x": {"name": grid.x.name, "values": grid.x.values},
        "y": {"name": grid.y.name, "values": grid.y.values},
        "accuracy": grid.accuracy,
    }


def grid_from_dict(values: Mapping[str, Any]) -> Grid:
    """The grid that `grid_to_dict` gave these values of."""
    x, y = (Axis(name=values[a]["name"], values=tuple(values[a]["values"])) for a in ("x", "y"))
    return Grid(
        model=AttentionModel.from_dict(values["model"]),
        alpha=values["alpha"],
        x=x,
        y=y,
        accuracy=values["accuracy"],
    )


def _difference(found: Grid, wanted: Grid) -> str:
    theirs, ours = ((grid.x, grid.y) for grid in (found, wanted))
    names = [" and ".join(axis.name for axis in axes) for axes in (theirs, ours)]
    if names[0] != names[1]:
        return f"it is over {names[0]}, not {names[1]}"
    for axis, other in zip(theirs, ours, strict=True):
        if axis.values != other.values:
            return f"it has other values of {axis.name}"
    for name in ("model", "alpha", "accuracy"):
        if getattr(found, name) != getattr(wanted, name):
            return f"its {name} is {getattr(found, name)}, not {getattr(wanted, name)}"
    return "it differs"


def _row(branch: str, line: int, place: int, outcome: Outcome, now: str) -> dict[str, Any]:
    numbers = {name: outcome.values.get(name) for name in NUMBERS}
    errors = {f"{name}_error": outcome.errors.get(name) for name in NUMBERS}
    return {
        "branch": branch,
        "line": line,
        "place": place,
        "status": outcome.status,
        "reason": outcome.reason,
        **numbers,
        **errors,
        "growth": outcome.growth,
        "fold": outcome.fold,
        "aim": outcome.aim,
        "seconds": outcome.seconds,
        "version": outcome.version or __version__,
        "finished": outcome.finished or now,
    }


def _odd(row: Mapping[str, Any], grid: Grid) -> Iterator[str]:
    """The columns in which a row has what no sweep writes."""
    allowed: dict[str, Sequence[Any]] = {
        "branch": BRANCHES,
        "line": range(len(grid.y.values)),
        "place": range(len(grid.x.values)),
        "status": _STATES,
    }
    yield from (name for name, values in allowed.items() if row[name] not in values)
    errors = [f"{name}_error" for name in NUMBERS]
    numbers = (*_NUMBERS, "growth", "fold") if row["status"] == "found" else ()
    for name in (*numbers, "seconds"):
        value = row[name]
        finite = isinstance(value, float) and math.isfinite(value)
        if not finite or (name in errors and value < 0.0):
            yield name
    for name in ("reason", "version", "finished"):
        if not isinstance(row[name], str):
            yield name


def _outcome(row: Mapping[str, Any]) -> Outcome:
    found = row["status"] == "found"
    values = {name: row[name] for name in NUMBERS} if found else {}
    errors = {name: row[f"{name}_error"] for name in NUMBERS} if found else {}
    return Outcome(
        values=FrozenMapping(values),
        errors=FrozenMapping(errors),
        growth=row["growth"],
        fold=row["fold"],
        aim=row["aim"],
        status=row["status"],
        reason=row["reason"],
        seconds=row["seconds"],
        version=row["version"],
        finished=row["finished"],
    )


def _unquoted(value: object) -> str:
    return shown(value).strip("'")


def _no_store(path: Path) -> InvalidInput:
    return InvalidInput.of("store", str(path), "the file of a sweep")
