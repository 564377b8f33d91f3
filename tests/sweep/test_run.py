"""A sweep does each point once, goes on where it ended, and ends with the same rows."""

from contextlib import contextmanager

import pytest

from symattn import AttentionModel, ComputationFailed, InvalidInput, open_store
from symattn.sweep import Axis, merge, run, sweep
from symattn.sweep.store import open_existing
from tests.sweep.made_up import ALPHAS, OMEGAS, here, where

AXES = [Axis(name="alpha", values=ALPHAS), Axis(name="omega", values=OMEGAS)]


def exists(branch, alpha, omega):
    return alpha >= 1.0 if branch == "semantic" else alpha <= 2.0 + omega


def rows(path):
    with open_existing(path) as store:
        return {row[:3]: row[3] for row in store.outcomes()}


@pytest.fixture
def computed(monkeypatch):
    """Requests in the order in which they were computed, at once and here."""
    done = []

    def compute(request):
        done.append((request.branch, request.alpha, request.model.omega, bool(request.starts)))
        return where(exists)(request)

    monkeypatch.setattr(run, "local_processes", lambda count: here(compute))
    return done


def test_every_point_is_done_once(computed, tmp_path):
    told = []
    swept = sweep(AttentionModel(), AXES, tmp_path / "a.db", progress=told.append)
    assert swept.found == sum(
        exists(b, a, o) for b in ("semantic", "positional") for a in ALPHAS for o in OMEGAS
    )
    assert swept.found + swept.absent == 30 == swept.computed == len(rows(tmp_path / "a.db"))
    assert len(set(computed)) == len(computed)
    assert told[-1].startswith("30 of 30 points done")
    computed.clear()
    again = sweep(AttentionModel(), AXES, tmp_path / "a.db")
    assert again == swept._replace(computed=0)
    assert computed == []


@pytest.mark.parametrize("after", [0, 1, 7, 20])
def test_an_interrupted_sweep_goes_on(computed, monkeypatch, tmp_path, after):
    sweep(AttentionModel(), AXES, tmp_path / "whole.db")
    whole = list(computed)
    computed.clear()
    engine = run.local_processes

    @contextmanager
    def interrupted(count):
        with engine(count) as submit:

            def or_stop(request):
                if len(computed) >= after:
                    raise KeyboardInterrupt
                return submit(request)

            yield or_stop

    with monkeypatch.context() as patch:
        patch.setattr(run, "local_processes", interrupted)
        with pytest.raises(KeyboardInterrupt):
            sweep(AttentionModel(), AXES, tmp_path / "parts.db")
    sweep(AttentionModel(), AXES, tmp_path / "parts.db")
    assert rows(tmp_path / "parts.db") == rows(tmp_path / "whole.db")
    # Points that were asked for but not kept when it stopped are computed again, others are not:
    # at most two of each of six lines.
    assert len(computed) - len(whole) <= 12


def test_a_process_that_ends_is_told_and_what_is_done_stays(monkeypatch, tmp_path):
    def compute(request):
        if request.branch == "positional" and request.alpha < 1.5:
            raise RuntimeError("killed")
        return where(exists)(request)

    @contextmanager
    def engine(count):
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(1) as pool:
            yield lambda request: pool.submit(compute, request)

    monkeypatch.setattr(run, "local_processes", engine)
    with pytest.raises(ComputationFailed, match="a process ended early"):
        sweep(AttentionModel(), AXES, tmp_path / "a.db")
    assert rows(tmp_path / "a.db")


def test_shards_make_the_whole(computed, tmp_path):
    sweep(AttentionModel(), AXES, tmp_path / "whole.db")
    parts = [tmp_path / f"{k}.db" for k in (1, 2)]
    for k, part in enumerate(parts, start=1):
        sweep(AttentionModel(), AXES, part, shard=(k, 2))
    assert [len(rows(part)) for part in parts] == [20, 10]
    assert merge(parts, tmp_path / "merged.db") == 30
    assert rows(tmp_path / "merged.db") == rows(tmp_path / "whole.db")
    assert open_store(tmp_path / "merged.db").identical(open_store(tmp_path / "whole.db"))
    # Once more changes nothing.
    merge(parts, tmp_path / "merged.db")
    assert rows(tmp_path / "merged.db") == rows(tmp_path / "whole.db")


def test_parts_of_other_sweeps_are_refused(computed, tmp_path):
    sweep(AttentionModel(), AXES, tmp_path / "a.db", shard=(1, 3))
    sweep(AttentionModel(lam=0.1), AXES, tmp_path / "b.db", shard=(1, 3))
    with pytest.raises(InvalidInput, match="of another sweep than"):
        merge([tmp_path / "a.db", tmp_path / "b.db"], tmp_path / "c.db")
    assert not (tmp_path / "c.db").exists()
    with pytest.raises(InvalidInput, match="one file at least"):
        merge([], tmp_path / "c.db")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"over": AXES[:1]}, "two parameters"),
        ({"workers": 0}, "workers = 0"),
        ({"workers": 1025}, "workers = 1025"),
        ({"shard": (0, 2)}, "shard = '0/2'"),
        ({"shard": (3, 2)}, "shard = '3/2'"),
        ({"shard": (1, 4)}, "the number of lines"),
        ({"scheduler": "here"}, "scheduler = 'here'"),
        ({"model": "paper"}, "model"),
    ],
)
def test_bad_input_is_refused_and_nothing_made(computed, tmp_path, changes, words):
    given = {"model": AttentionModel(), "over": AXES, "store": tmp_path / "a.db", **changes}
    with pytest.raises(InvalidInput, match=words):
        sweep(given.pop("model"), given.pop("over"), given.pop("store"), **given)
    assert not (tmp_path / "a.db").exists()
    assert computed == []
