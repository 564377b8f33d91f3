"""`symattn sweep`, `merge` and `export`: bad input, and what is printed."""

import json
from pathlib import Path

import pytest

from symattn.cli import main
from symattn.sweep import run
from tests.sweep.made_up import here, where


@pytest.fixture
def quick(monkeypatch):
    """Points that are made up at once: the semantic branch from alpha = 1 on, the other always."""
    compute = where(lambda branch, alpha, _: branch == "positional" or alpha >= 1.0)
    monkeypatch.setattr(run, "local_processes", lambda count: here(compute))


WORDS = ["--over", "alpha=0.5:2.5:5", "--over", "omega=0.1:0.3:3"]


def test_a_sweep_is_counted_and_goes_on(quick, tmp_path, capsys):
    store = str(tmp_path / "a.db")
    assert main(["sweep", "--store", store, *WORDS]) == 0
    said = "27 fixed points, 3 points without, 0 not to the accuracy"
    assert capsys.readouterr().out == f"{store}: {said}; 30 computed now\n"
    assert main(["sweep", "--store", store, *WORDS, "--json"]) == 0
    counts = {"found": 27, "absent": 3, "failed": 0, "computed": 0}
    assert json.loads(capsys.readouterr().out) == {"store": store, **counts}


def test_shards_are_merged_and_exported(quick, tmp_path, capsys):
    parts = [str(tmp_path / f"{k}.db") for k in (1, 2)]
    for k, part in enumerate(parts, start=1):
        assert main(["sweep", "--store", part, *WORDS, "--shard", f"{k}/2"]) == 0
    whole, table = str(tmp_path / "whole.db"), str(tmp_path / "a.csv")
    capsys.readouterr()
    assert main(["merge", *parts, "--store", whole]) == 0
    assert capsys.readouterr().out == f"{whole}: 30 points from 2 files\n"
    assert main(["export", whole, "--to", table]) == 0
    assert capsys.readouterr().out == f"Written: {table}\n"
    lines = [line for line in Path(table).read_text().splitlines() if not line.startswith("#")]
    assert len(lines) == 31


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["--over", "alpha=2:1:3"], "--over = 'alpha=2:1:3'"),
        (["--over", "alpha=1:2:1"], "--over = 'alpha=1:2:1'"),
        (["--over", "alpha=1:2:-3"], "--over = 'alpha=1:2:-3'"),
        (["--over", "alpha=1:2"], "--over = 'alpha=1:2'"),
        (["--over", "alpha=1:2:3"], "given twice"),
        (["--over", "alpha=1:2:3"] * 2, "two different parameters"),
        (["--over", "alpha=1:2:3", "--over", "d=1:2:3"], "one of alpha, omega, lambda, sigma"),
        (["--over", "lambda=0.1:0.2:3", "--over", "omega=0:1:3"], "--alpha is missing"),
        ([*WORDS, "--alpha", "1"], "--alpha = 1.0"),
        (["--over", "alpha=1:2:3", "--over", "omega=0:2:3"], "--omega = 2.0"),
        ([*WORDS, "--accuracy", "0"], "--accuracy = 0.0"),
        ([*WORDS, "--accuracy", "high"], "--accuracy = 'high'"),
        ([*WORDS, "--workers", "0"], "--workers = 0"),
        ([*WORDS, "--workers", "two"], "--workers = 'two'"),
        ([*WORDS, "--shard", "1"], "--shard = '1'"),
        ([*WORDS, "--shard", "4/3"], "--shard = '4/3'"),
        ([*WORDS, "--shard", "0/3"], "--shard = '0/3'"),
        ([*WORDS, "--shard", "1/4"], "the number of lines"),
        ([*WORDS, "--scheduler", "here"], "--scheduler = 'here'"),
        ([*WORDS, "--length", "3"], "--length = 3"),
    ],
)
def test_bad_input_is_one_line_and_status_2(words, wanted, quick, tmp_path, capsys):
    store = tmp_path / "a.db"
    assert main(["sweep", "--store", str(store), *words]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1
    assert wanted in captured.err
    assert not store.exists()


@pytest.mark.parametrize(
    "words",
    [
        ["export", "missing.db", "--to", "a.csv"],
        ["merge", "missing.db", "--store", "new.db"],
        ["sweep"],
        ["merge", "--store", "new.db"],
    ],
)
def test_what_is_missing_is_said(words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_an_export_to_another_format_is_refused(quick, tmp_path, capsys):
    store = str(tmp_path / "a.db")
    main(["sweep", "--store", store, *WORDS])
    capsys.readouterr()
    assert main(["export", store, "--to", str(tmp_path / "a.xlsx")]) == 2
    assert "--to = " in capsys.readouterr().err
