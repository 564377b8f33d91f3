"""A run does what is not done yet, and the same seed gives the same numbers."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from symattn._progress import silent
from symattn.errors import ComputationFailed, InvalidInput
from tests.verify.tiny_suite import Tiny
from verify import run
from verify.device import choose_device
from verify.run import FAMILY_RATE, code_digest, compare_table, run_suite

_CPU = choose_device("cpu")
# Units are done in this process, as on a GPU: one of their own takes seconds to begin.
_HERE = replace(_CPU, kind="cuda")


@pytest.fixture
def suite(monkeypatch, tmp_path):
    """The notes of what was done by a suite of two experiments that share their units."""
    notes = tmp_path / "notes"

    def experiments(_):
        return [
            Tiny(name="right", mean=3.0, predicted=3.0, notes=notes),
            Tiny(name="wrong", mean=3.0, predicted=300.0, notes=notes),
        ]

    monkeypatch.setattr(run, "SUITES", {"tiny": experiments})
    return notes


def _done(notes):
    return notes.read_text().splitlines() if notes.exists() else []


def _numbers(result):
    found = result.to_dict()
    return {name: found[name] for name in ("suite", "seed", "summary", "findings", "discussion")}


def test_a_suite_is_run_and_judged(suite, tmp_path):
    told = []
    result = run_suite("tiny", _HERE, 5, tmp_path / "out", told.append)
    assert [p.verdict for p in result.predictions()] == ["holds", "fails"]
    assert (result.suite, result.seed, result.family_rate) == ("tiny", 5, FAMILY_RATE)
    assert "wrong.mean" in result.discussion[0]
    assert {"symattn", "python", "torch", "numpy"} <= result.versions.keys()
    assert result.started <= result.finished
    # Units that both experiments have are done once.
    assert len(_done(suite)) == len(set(_done(suite))) == 6
    assert sum("of 6 done" in text for text in told) == 6
    # The mean of the numbers that were kept, whichever way they are read.
    lines = (tmp_path / "out" / "measurements.jsonl").read_text().splitlines()[1:]
    values = [json.loads(line)["value"]["result"]["value"] for line in lines]
    measured = next(result.predictions()).measured
    assert measured.value == pytest.approx(np.mean(values))
    assert measured.error == pytest.approx(np.std(values, ddof=1) / 6**0.5)


def test_too_few_measurements_for_one_experiment_leave_the_others(monkeypatch, tmp_path):
    notes = tmp_path / "notes"
    few = Tiny(name="few", mean=3.0, predicted=3.0, notes=notes, count=1)
    right = Tiny(name="right", mean=3.0, predicted=3.0, notes=notes)
    monkeypatch.setattr(run, "SUITES", {"tiny": lambda _: [few, right]})
    result = run_suite("tiny", _HERE, 5, tmp_path / "out", silent)
    [failure] = result.failures()
    assert failure.startswith("few: 1 measurements do not determine")
    assert [p.name for p in result.predictions("holds")] == ["right.mean"]


def test_what_is_done_is_not_done_again(suite, tmp_path):
    out = tmp_path / "out"
    first = run_suite("tiny", _HERE, 5, out, silent)
    path = out / "measurements.jsonl"
    content = path.read_bytes()
    again = run_suite("tiny", _HERE, 5, out, silent)
    assert len(_done(suite)) == 6
    assert path.read_bytes() == content
    assert _numbers(again) == _numbers(first)
    assert again.seconds == first.seconds
    # As if it had been interrupted after two of them, in the middle of a line.
    lines = content.splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:3]) + lines[3][:10])
    gone_on = run_suite("tiny", _HERE, 5, out, silent)
    assert len(_done(suite)) == 6 + 4
    assert _numbers(gone_on) == _numbers(first)


def test_a_failure_keeps_what_was_done_before_it(suite, tmp_path, monkeypatch):
    done = []

    def interrupted(text):
        done.append(text)
        if "3 of 6 done" in text:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_suite("tiny", _HERE, 5, tmp_path / "out", interrupted)
    assert len(_done(suite)) == 3
    run_suite("tiny", _HERE, 5, tmp_path / "out", silent)
    assert len(_done(suite)) == len(set(_done(suite))) == 6


def _chained(notes, **changes):
    """An experiment with one chain of six units."""
    given = {"name": "chained", "mean": 3.0, "predicted": 3.0, "chained": True}
    return Tiny(notes=notes, **{**given, **changes})


def _keys(experiment, seed=5):
    [chain] = experiment.units(seed)
    return [unit.key for unit in chain.units]


def test_a_chain_is_done_in_order_and_goes_on_where_it_was_interrupted(tmp_path, monkeypatch):
    notes = tmp_path / "notes"
    experiment = _chained(notes)
    monkeypatch.setattr(run, "SUITES", {"tiny": lambda _: [experiment]})
    told = []

    def interrupted(text):
        told.append(text)
        if "2 of 6 done" in text:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_suite("tiny", _HERE, 5, tmp_path / "out", interrupted)
    assert _done(notes) == _keys(experiment)[:2]
    gone_on = run_suite("tiny", _HERE, 5, tmp_path / "out", told.append)
    assert _done(notes) == _keys(experiment)
    assert told[0] == "6 pieces of work"
    assert sum("of 4 done" in text for text in told) == 4
    # The numbers are those of units by themselves.
    monkeypatch.setattr(run, "SUITES", {"tiny": lambda _: [replace(experiment, chained=False)]})
    alone = run_suite("tiny", _HERE, 5, tmp_path / "alone", silent)
    assert _numbers(gone_on) == _numbers(alone)


def test_what_is_done_of_a_chain_may_be_anywhere_in_it(tmp_path, monkeypatch):
    notes = tmp_path / "notes"
    experiment = _chained(notes)
    monkeypatch.setattr(run, "SUITES", {"tiny": lambda _: [experiment]})
    first = run_suite("tiny", _HERE, 5, tmp_path / "out", silent)
    path = tmp_path / "out" / "measurements.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], *lines[4:6]]))
    again = run_suite("tiny", _HERE, 5, tmp_path / "out", silent)
    keys = _keys(experiment)
    assert _done(notes)[6:] == [keys[1], keys[2], keys[5]]
    assert _numbers(again) == _numbers(first)


def test_a_chain_that_two_experiments_have_is_done_once(tmp_path, monkeypatch):
    notes = tmp_path / "notes"
    both = [_chained(notes), _chained(notes, name="other", predicted=300.0)]
    monkeypatch.setattr(run, "SUITES", {"tiny": lambda _: both})
    result = run_suite("tiny", _HERE, 5, tmp_path / "out", silent)
    assert _done(notes) == _keys(both[0])
    assert [p.verdict for p in result.predictions()] == ["holds", "fails"]


@pytest.mark.parametrize("order", [1, -1])
def test_chains_that_begin_alike_are_both_done(order, tmp_path, monkeypatch):
    """The units of the short one are the first of the long one."""
    notes = tmp_path / "notes"
    long, short = _chained(notes), _chained(notes, name="short", count=3)
    assert _keys(short) == _keys(long)[:3]
    monkeypatch.setattr(run, "SUITES", {"tiny": lambda _: [long, short][::order]})
    result = run_suite("tiny", _HERE, 5, tmp_path / "out", silent)
    assert set(_done(notes)) == set(_keys(long))
    counts = {p.name: p.measured.count for p in result.predictions()}
    assert counts == {"chained.mean": 6, "short.mean": 3}


def test_the_longest_piece_is_begun_first(tmp_path, monkeypatch):
    """Six units of cost 1 are one of cost 6, if they are a chain."""
    notes = tmp_path / "notes"
    experiments = [
        Tiny(name="single", mean=1.0, predicted=1.0, notes=notes),
        _chained(notes, name="short", mean=2.0, count=3),
        _chained(notes),
    ]
    monkeypatch.setattr(run, "SUITES", {"tiny": lambda _: experiments})
    run_suite("tiny", _HERE, 5, tmp_path / "out", silent)
    assert _done(notes)[:9] == _keys(experiments[2]) + _keys(experiments[1])
    assert len(set(_done(notes))) == 15


def test_experiments_may_keep_files_beside_the_measurements(tmp_path, monkeypatch):
    notes, places = tmp_path / "notes", []

    def experiments(place):
        places.append(place)
        return [_chained(notes)]

    monkeypatch.setattr(run, "SUITES", {"tiny": experiments})
    run_suite("tiny", _HERE, 5, tmp_path / "out", silent)
    [place] = places
    assert place.parent == tmp_path / "out"
    assert not place.is_file()


def test_the_same_seed_gives_the_same_numbers_and_another_one_others(suite, tmp_path):
    first, same, other = (
        run_suite("tiny", _HERE, seed, tmp_path / name, silent)
        for seed, name in ((5, "a"), (5, "b"), (6, "c"))
    )
    assert _numbers(first) == _numbers(same)
    values = [next(result.predictions()).measured.value for result in (first, other)]
    assert values[0] != values[1]


def test_another_seed_is_refused_in_the_same_place(suite, tmp_path):
    run_suite("tiny", _HERE, 5, tmp_path / "out", silent)
    with pytest.raises(InvalidInput, match="seed = 5, not 6; name another directory with --out"):
        run_suite("tiny", _HERE, 6, tmp_path / "out", silent)
    assert len(_done(suite)) == 6


def test_measurements_of_other_code_are_refused(suite, tmp_path, monkeypatch):
    run_suite("tiny", _HERE, 5, tmp_path / "out", silent)
    monkeypatch.setattr(run, "code_digest", lambda: "0123456789abcdef")
    with pytest.raises(InvalidInput, match=r"code = '[0-9a-f]{16}', not '0123456789abcdef'; "):
        run_suite("tiny", _HERE, 5, tmp_path / "out", silent)
    assert len(_done(suite)) == 6


def test_measurements_of_another_precision_are_refused(suite, tmp_path):
    result = run_suite("tiny", _HERE, 5, tmp_path / "out", silent)
    assert result.parameters["precision"] == "float64"
    single = replace(_HERE, precision=torch.float32)
    with pytest.raises(InvalidInput, match="precision = 'float64', not 'float32'"):
        run_suite("tiny", single, 5, tmp_path / "out", silent)
    assert run_suite("tiny", single, 5, tmp_path / "other", silent).parameters["precision"] == (
        "float32"
    )


def test_the_digest_is_that_of_the_code_that_measurements_depend_on(tmp_path, monkeypatch):
    packages = []
    for name in ("symattn", "verify"):
        for path in ("model.py", "report/page.py", "report.py", "cli/main.py"):
            file = tmp_path / name / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"# {name} {path}\n")
        packages.append(SimpleNamespace(__path__=[str(tmp_path / name)]))
    monkeypatch.setattr(run, "symattn", packages[0])
    monkeypatch.setattr(run, "verify", packages[1])
    first = code_digest()
    assert code_digest() == first
    for name in ("symattn", "verify"):
        for path, matters in (
            ("model.py", True),
            ("report.py", True),
            ("report/page.py", False),
            ("cli/main.py", False),
        ):
            file = tmp_path / name / path
            before = file.read_text()
            file.write_text(f"{before}x = 1\n")
            assert (code_digest() != first) == matters
            file.write_text(before)
    (tmp_path / "verify" / "model.py").rename(tmp_path / "verify" / "models.py")
    assert code_digest() != first


def test_a_unit_that_fails_ends_the_run(tmp_path, monkeypatch):
    experiment = Tiny(name="x", mean=1.0, predicted=1.0, notes=Path("/dev/full"))

    def fails(*_):
        raise ComputationFailed("no number; try another --seed")

    monkeypatch.setattr("tests.verify.tiny_suite.Noted.run", fails)
    monkeypatch.setattr(run, "SUITES", {"tiny": lambda _: [experiment]})
    with pytest.raises(ComputationFailed, match="try another --seed"):
        run_suite("tiny", _HERE, 5, tmp_path / "out", silent)


@pytest.mark.slow
@pytest.mark.parametrize("count", [2, 3])
def test_numbers_do_not_depend_on_how_many_processes_there_are(count, suite, tmp_path, monkeypatch):
    alone = run_suite("tiny", _HERE, 5, tmp_path / "alone", silent)
    monkeypatch.setattr("verify.workers.processes", lambda: count)
    together = run_suite("tiny", _CPU, 5, tmp_path / "together", silent)
    assert _numbers(together) == _numbers(alone)


def test_a_table_of_others_is_judged(tmp_path):
    path = tmp_path / "mine.csv"
    # Zero by symmetry, so that it is shown; and a loss that is off by far.
    path.write_text(
        "lambda,alpha,start,dimension,m,m_error,train_loss,train_loss_error\n"
        "0.1,8,semantic,500,0.001,0.001,1,1e-4\n"
        "0.1,8,semantic,1000,0.001,0.001,1,1e-4\n"
    )
    result = compare_table(path, silent)
    verdicts = {p.name: p.verdict for p in result.predictions()}
    assert verdicts == {"semantic.m@line=2": "shown", "semantic.train_loss@line=2": "fails"}
    assert "mine.csv" in result.suite
    assert "nothing was trained" in result.device
    assert result.discussion[0].startswith("semantic.train_loss@line=2: ")
    assert result.family_rate == FAMILY_RATE
