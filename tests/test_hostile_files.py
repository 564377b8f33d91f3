"""Files that were cut, changed or are of something else: one line of error, or a right result."""

import json
import math
import os
import shutil
import sqlite3
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symattn import AttentionModel, InvalidInput, SymattnError, open_store, threshold_curve
from symattn._frozen import FrozenMapping
from symattn.errors import shown
from symattn.sweep import merge
from symattn.sweep.dataset import export
from symattn.sweep.store import create_or_open, open_existing
from symattn.threshold_curves import CurvePoint
from tests.sweep import planted
from verify.trained_table import read_trained


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    path = tmp_path_factory.mktemp("store") / "good.db"
    planted.write_store(path)
    return path


def rows(path):
    with open_existing(path) as store:
        return sorted(store.outcomes(), key=lambda row: row[:3])


def attempt(read):
    """What is read and no message, or nothing and the message of the error."""
    try:
        return read(), ""
    except SymattnError as error:
        return None, str(error)


@contextmanager
def refused(path, kind=InvalidInput):
    """An error of one short line that names the file, which stays as it is."""
    before = path.read_bytes()
    with pytest.raises(kind) as caught:
        yield
    # a long path is cut
    assert str(path) in str(caught.value) or shown(str(path)) in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
    assert len(str(caught.value)) < 1000
    assert path.read_bytes() == before


def changed(good, tmp_path, *statements):
    """A copy of the store after statements of SQL."""
    path = tmp_path / "changed.db"
    shutil.copy(good, path)
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(*([statement] if isinstance(statement, str) else statement))
    return path


FOUND = "WHERE status = 'found'"
FIRST = "WHERE branch = 'semantic' AND line = 0 AND place = 9"
STATEMENTS = {
    "NaN as text": [f"UPDATE points SET q = 'NaN' {FOUND}"],
    "text": [f"UPDATE points SET theta_hat = 'abc' {FOUND}"],
    "infinity": [f"UPDATE points SET m = 9e999 {FOUND}"],
    "nothing": [f"UPDATE points SET V = NULL {FOUND}"],
    "bytes": [f"UPDATE points SET V = x'00ff' {FOUND}"],
    "no growth": [f"UPDATE points SET growth = NULL {FOUND}"],
    "no error": [f"UPDATE points SET q_error = NULL {FOUND}"],
    "a negative error": [f"UPDATE points SET train_loss_error = -1e-9 {FOUND}"],
    "an infinite error": [f"UPDATE points SET train_loss_error = 9e999 {FOUND}"],
    "an unknown status": ["UPDATE points SET status = 'odd'"],
    "a long status": [(f"UPDATE points SET status = ? {FIRST}", ("found\n" * 100_000,))],
    "an unknown branch": [f"UPDATE points SET branch = 'odd' {FIRST}"],
    "a line beyond the last": ["UPDATE points SET line = line + 6"],
    "a line before the first": [f"UPDATE points SET line = -1 {FIRST}"],
    "half a line": [f"UPDATE points SET line = 0.5 {FIRST}"],
    "a line in words": [f"UPDATE points SET line = 'first' {FIRST}"],
    "a place beyond the last": [f"UPDATE points SET place = 11 {FIRST}"],
    "rows without end": [
        "ALTER TABLE points RENAME TO hidden",
        "CREATE VIEW points AS WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n) "
        "SELECT hidden.* FROM hidden, n",
    ],
    "a missing table": ["DROP TABLE points"],
    "a missing column": ["ALTER TABLE points RENAME COLUMN q TO p"],
    "another column": ["ALTER TABLE about RENAME COLUMN value TO content"],
    "another schema": ["UPDATE about SET value = '2' WHERE name = 'schema'"],
    "a long schema": [("UPDATE about SET value = ? WHERE name = 'schema'", ("9" * 1_000_000,))],
    "a schema in bytes": ["UPDATE about SET value = x'ff31' WHERE name = 'schema'"],
    "text that is no UTF-8": [
        "UPDATE about SET value = CAST(x'fffe' AS TEXT) WHERE name = 'grid'",
    ],
    "another format": ["UPDATE about SET value = 'odd' WHERE name = 'format'"],
    "no grid": ["DELETE FROM about WHERE name = 'grid'"],
}


@pytest.mark.parametrize("name", STATEMENTS)
def test_a_store_that_was_changed_is_refused_and_left(name, good, tmp_path):
    path = changed(good, tmp_path, *STATEMENTS[name])
    for use in (
        lambda: rows(path),
        lambda: open_store(path),
        lambda: export(path, tmp_path / "a.csv"),
        lambda: merge([good, path], tmp_path / "merged.db"),
    ):
        with refused(path):
            use()
    assert {other.name for other in tmp_path.iterdir()} == {path.name}


GRIDS = {
    "a list": "[]",
    "null": "null",
    "a number": "3",
    "text": '"alpha"',
    "NaN": "NaN",
    "no JSON": "{",
    "deep": "[" * 200_000,
    "very deep": "[" * 10_000_000,
    "other names": '{"x": 1}',
}
CHANGES = {
    "accuracy as text": {"accuracy": "1e-5"},
    "no accuracy": {"accuracy": None},
    "a huge accuracy": {"accuracy": 10**400},
    "NaN": {"accuracy": math.nan},
    "alpha twice": {"alpha": 1.0},
    "no model": {"model": None},
    "a list as model": {"model": [1]},
    "an unknown parameter": {"model": {"__class__": 1}},
    "a parameter beyond its domain": {"model": {"omega": 2}},
    "an axis as text": {"x": "alpha"},
    "values that do not rise": {"x": {"name": "alpha", "values": [2, 1]}},
    "huge values": {"x": {"name": "alpha", "values": [1, 10**400]}},
    "nested values": {"x": {"name": "alpha", "values": [[1], [2]]}},
    "many values": {"x": {"name": "alpha", "values": list(range(1, 2000))}},
    "infinite values": {"x": {"name": "alpha", "values": [1, math.inf]}},
    "a list as name": {"x": {"name": ["alpha"], "values": [1, 2]}},
}


@pytest.mark.parametrize("name", [*GRIDS, *CHANGES])
def test_a_grid_that_was_changed_is_refused_and_left(name, good, tmp_path):
    with closing(sqlite3.connect(good)) as connection:
        [[text]] = connection.execute("SELECT value FROM about WHERE name = 'grid'")
    text = GRIDS.get(name) or json.dumps({**json.loads(text), **CHANGES[name]})
    statement = "UPDATE about SET value = ? WHERE name = 'grid'"
    path = changed(good, tmp_path, (statement, (text,)))
    with refused(path):
        rows(path)
    with refused(path), create_or_open(path, planted.grid()):
        raise AssertionError


def damaged(draw, content):
    """The content cut somewhere, or with some bytes changed."""
    if draw(st.booleans()):
        return content[: draw(st.integers(0, len(content) - 1))]
    changed = bytearray(content)
    for _ in range(draw(st.integers(1, 5))):
        changed[draw(st.integers(0, len(content) - 1))] ^= draw(st.integers(1, 255))
    return bytes(changed)


@given(data=st.data())
def test_a_damaged_store_is_refused_or_has_whole_rows(data, good, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "damaged.db"
    content = damaged(data.draw, good.read_bytes())
    path.write_bytes(content)
    found, error = attempt(lambda: rows(path))
    assert len(error.splitlines()) <= 1
    for _, _, _, outcome in found or []:
        if outcome.status == "found":
            assert all(map(math.isfinite, outcome.values.values()))
            assert all(0.0 <= error < math.inf for error in outcome.errors.values())
    assert path.read_bytes() == content


def test_shards_that_differ_in_a_point_keep_the_first(good, tmp_path):
    other = changed(good, tmp_path, f"UPDATE points SET q = q + 1 {FOUND}")
    for parts in ([good, other], [other, good]):
        whole = tmp_path / "whole.db"
        whole.unlink(missing_ok=True)
        merge(parts, whole)
        assert rows(whole) == rows(parts[0])


MODEL = AttentionModel()
OMEGAS = (0.1, 0.2, 0.3)


def curve(path, compute, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("symattn.threshold_curves._point", compute)
        return threshold_curve(MODEL, "alpha_l", over="omega", values=OMEGAS, path=path)


def made_up(_, value, *__):
    names = ("q", "m", "V", "theta", "replicon", "jump_flux")
    at = FrozenMapping({name: value / 7 + k for k, name in enumerate(names)})
    return CurvePoint(
        value=value,
        alpha=1.0 + value / 3,
        error=1e-7,
        certificate="estimated",
        at=FrozenMapping({"semantic": at}),
    )


def absent(_, value, *__):
    return CurvePoint(value=value, reason="not looked for")


def test_a_table_of_a_curve_that_was_cut_is_refused_or_has_whole_rows(tmp_path, monkeypatch):
    path = tmp_path / "curve.csv"
    whole = curve(path, made_up, monkeypatch)
    content = path.read_bytes()
    for length in range(0, len(content), 3):
        path.write_bytes(content[:length])
        found, error = attempt(lambda: curve(path, absent, monkeypatch))
        if found is None:
            assert "out = " in error
            assert path.read_bytes() == content[:length]
            continue
        for point, other in zip(found.points, whole.points, strict=True):
            assert point == other or point.reason == "not looked for"


@pytest.mark.parametrize(
    "change",
    [
        lambda content: b"\xff" + content,
        lambda content: content.replace(b"symattn", b"other").replace(b'"name"', b'"nom"'),
        lambda content: content.replace(b"1e-07", b"nan"),
        lambda content: content.replace(b"1e-07", b"-1e-07"),
        lambda content: content.replace(b"1e-07", b"0.0"),
        lambda content: content.replace(b"1e-07", b"inf"),
        lambda content: content + b"0.4,1,2\n",
        lambda content: content + b",,,,,,,,,,\n",
        lambda content: content.replace(b"estimated,", b""),
        lambda content: content.replace(b"\n", b"\n\n", 1),
        lambda content: content.replace(b'"omega"', b'"lambda"'),
    ],
)
def test_a_table_of_a_curve_that_was_changed_is_refused_and_left(change, tmp_path, monkeypatch):
    path = tmp_path / "curve.csv"
    curve(path, made_up, monkeypatch)
    before = path.read_bytes()
    path.write_bytes(change(before))
    assert path.read_bytes() != before
    with refused(path):
        curve(path, absent, monkeypatch)


TABLE = (
    b"alpha,start,dimension,omega,q,q_error,m,m_std,seeds\n"
    b"1.5,semantic,100,0.3,0.1,0.01,,,8\n"
    b"1.5,positional,200,0.3,0.2,0.02,0.3,0.1,8\n"
)


@given(data=st.data())
def test_damaged_measurements_are_refused_or_read_with_errors(data, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "measured.csv"
    content = damaged(data.draw, TABLE)
    path.write_bytes(content)
    found, error = attempt(lambda: read_trained(path))
    assert len(error.splitlines()) <= 1
    for row in found or []:
        assert 0.0 < row.alpha < math.inf
        for estimate in row.measured.values():
            assert math.isfinite(estimate.value)
            assert 0.0 < estimate.error < math.inf
    assert path.read_bytes() == content


@pytest.mark.parametrize("name", ["x" * 5000, "loop", "pipe", "folder", "missing/store", "a\0b"])
def test_what_is_no_file_is_refused_at_once(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    before = sorted(tmp_path.iterdir())
    for use in (
        lambda: open_store(name),
        lambda: merge([name], "whole.db"),
        lambda: rows(Path(name)),
    ):
        with pytest.raises(InvalidInput, match=r"= '.*the (path of a file|file of a sweep)"):
            use()
    with pytest.raises(InvalidInput), create_or_open(Path(name), planted.grid()):
        raise AssertionError
    assert sorted(tmp_path.iterdir()) == before
