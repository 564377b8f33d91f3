"""Rows are there or not, come back as they were, and never those of another sweep."""

import sqlite3
from contextlib import closing

import pytest

from symattn import AttentionModel, InvalidInput, SymattnError
from symattn.sweep import store as module
from symattn.sweep.grid import Axis
from symattn.sweep.point import Outcome
from symattn.sweep.store import create_or_open, open_existing
from tests.sweep.made_up import found, grid


def rows(path):
    with open_existing(path) as store:
        return sorted(store.outcomes(), key=lambda row: row[:3])


def test_outcomes_come_back_as_they_were(tmp_path):
    path = tmp_path / "a.db"
    outcomes = [
        (0, found(1 / 3, growth=0.1 + 0.2, fold=1e-300, seconds=0.25)),
        (1, Outcome(status="absent", reason="beyond 'the' end; é")),
        (2, Outcome(status="failed", reason="4 digits")),
    ]
    with create_or_open(path, grid()) as store:
        store.put("semantic", 2, outcomes)
    assert rows(path) == [("semantic", 2, place, outcome) for place, outcome in outcomes]
    with open_existing(path) as store:
        assert store.grid == grid()


def test_rows_stay_but_those_that_were_not_started(tmp_path):
    path = tmp_path / "a.db"
    with create_or_open(path, grid()) as store:
        store.put("semantic", 0, [(0, Outcome(status="unstarted")), (1, found(1.0))])
        store.put("semantic", 0, [(0, found(2.0)), (1, found(2.0))])
    assert [row[3] for row in rows(path)] == [found(2.0), found(1.0)]


def test_all_rows_of_a_call_or_none(tmp_path):
    path = tmp_path / "a.db"
    with create_or_open(path, grid()) as store, pytest.raises(SymattnError):
        store.put("semantic", 0, [(0, found()), (1, found(status=object()))])
    assert rows(path) == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"model": AttentionModel(lam=0.1)}, "its model is"),
        ({"accuracy": 1e-4}, "its accuracy is 1e-05, not 0.0001"),
        ({"x": Axis(name="alpha", values=(1.0, 2.0))}, "it has other values of alpha"),
    ],
)
def test_a_store_of_another_sweep_is_refused_and_left(tmp_path, changes, words):
    path = tmp_path / "a.db"
    with create_or_open(path, grid()) as store:
        store.put("semantic", 0, [(0, found())])
    before = path.read_bytes()
    with pytest.raises(InvalidInput, match=words), create_or_open(path, grid(**changes)):
        raise AssertionError
    assert path.read_bytes() == before


def test_another_schema_is_refused_and_left(tmp_path, monkeypatch):
    path = tmp_path / "a.db"
    with create_or_open(path, grid()):
        pass
    before = path.read_bytes()
    monkeypatch.setattr(module, "SCHEMA", 2)
    for opened in (create_or_open(path, grid()), open_existing(path)):
        with pytest.raises(InvalidInput, match="schema 1, this version of symattn reads 2"), opened:
            raise AssertionError
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "content", [b"not a database", b"SQLite format 3\0" + bytes(200), b"a,b\n1"]
)
def test_what_is_no_store_is_refused_and_left(tmp_path, content):
    path = tmp_path / "a.db"
    path.write_bytes(content)
    for opened in (create_or_open(path, grid()), open_existing(path)):
        with pytest.raises(InvalidInput, match="the file of a sweep"), opened:
            raise AssertionError
    assert path.read_bytes() == content


def test_a_database_of_others_is_refused(tmp_path):
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE about (name, value)")
    with pytest.raises(InvalidInput, match="the file of a sweep"), create_or_open(path, grid()):
        raise AssertionError


def test_a_store_that_is_not_there_is_not_made_by_reading(tmp_path):
    path = tmp_path / "a.db"
    with pytest.raises(InvalidInput, match="the file of a sweep"), open_existing(path):
        raise AssertionError
    assert not path.exists()


@pytest.mark.parametrize("name", ["", "missing/a.db"])
def test_where_no_file_can_be_it_is_said(tmp_path, name):
    with pytest.raises(InvalidInput, match="store = "), create_or_open(tmp_path / name, grid()):
        raise AssertionError


def test_one_sweep_at_a_time_and_any_number_of_readers(tmp_path):
    path = tmp_path / "a.db"
    with create_or_open(path, grid()) as store:
        store.put("semantic", 0, [(0, found())])
        assert len(rows(path)) == 1
        with (
            pytest.raises(InvalidInput, match="in use by another sweep"),
            create_or_open(path, grid()),
        ):
            raise AssertionError
        store.put("semantic", 0, [(1, found())])
    assert len(rows(path)) == 2
