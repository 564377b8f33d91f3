"""Units by several processes: the same results, and no process left, whatever happens."""

import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from symattn.errors import ComputationFailed, InvalidInput
from tests.verify.tiny_units import (
    Failing,
    Killed,
    Large,
    Sleeping,
    Square,
    Talking,
    Unreadable,
)
from verify.device import choose_device
from verify.units import Chain
from verify.workers import work

_CPU = choose_device("cpu")
_ROOT = Path(__file__).parents[2]
_NUMBERS = (1.5, -2.0, 3.0, 0.1, 7.0)

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals")


@pytest.fixture
def processes(monkeypatch):
    return lambda count: monkeypatch.setattr("verify.workers.processes", lambda: count)


def _is_running(process):
    try:
        with open(f"/proc/{process}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def _wait(condition, seconds=20.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _begun(place):
    return [int(path.name.removeprefix("begun-")) for path in place.glob("begun-*")]


@pytest.mark.parametrize("count", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_results_do_not_depend_on_how_many_processes_there_are(count, processes):
    processes(count)
    chain = Chain((Square(6.0), Talking(9.0), Square(-3.5)))
    pieces = [*map(Square, _NUMBERS), chain, Large(4.0)]
    units = [*map(Square, _NUMBERS), *chain.units, Large(4.0)]
    done = list(work(pieces, _CPU))
    assert {d.unit for d in done} == set(units)
    assert len(done) == len(units)
    for unit, result, seconds in done:
        assert result["square"] == unit.number**2
        assert result["device"] == "cpu"
        assert seconds >= 0
        # One thread in each process: a sum does not depend on how many share it.
        assert result["threads"] == 1
    used = {d.result["process"] for d in done}
    assert os.getpid() not in used
    assert len(used) <= count
    assert not any(map(_is_running, used))
    [large] = [d.result for d in done if isinstance(d.unit, Large)]
    assert large["filling"] == 600_000 * "0"
    # One process does a chain, in order.
    of_chain = [d for d in done if d.unit in chain.units]
    assert tuple(d.unit for d in of_chain) == chain.units
    assert len({d.result["process"] for d in of_chain}) == 1


@pytest.mark.slow
def test_a_long_chain_leaves_other_work_to_other_processes(processes, tmp_path):
    """And there are no more processes than pieces."""
    processes(8)
    chain = Chain(tuple(Sleeping(n, place=tmp_path, seconds=1.0) for n in (1.0, 2.0, 3.0)))
    done = list(work([chain, *map(Square, _NUMBERS)], _CPU))
    assert len(done) == 3 + len(_NUMBERS)
    of_chain = [d for d in done if d.unit in chain.units]
    assert tuple(d.unit for d in of_chain) == chain.units
    [its] = {d.result["process"] for d in of_chain}
    others = {d.result["process"] for d in done if d.unit not in chain.units}
    assert its not in others
    assert len(_begun(tmp_path)) == 1


def test_one_unit_has_one_process_of_its_own(processes, tmp_path, monkeypatch):
    """And modules that lie in the working directory are not taken for those of the package."""
    (tmp_path / "torch.py").write_text("raise ImportError('of the working directory')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(_ROOT), *(p for p in sys.path if p)])
    processes(8)
    [done] = work([Square(2.0)], _CPU)
    assert done.result["square"] == 4.0
    assert done.result["process"] != os.getpid()
    assert list(work([], _CPU)) == []


def test_on_a_gpu_there_is_one_process():
    """That of the starter, which holds the GPU's memory already."""
    gpu = replace(_CPU, kind="cuda")
    assert [d.result["process"] for d in work([Square(2.0), Square(3.0)], gpu)] == 2 * [os.getpid()]
    with pytest.raises(ComputationFailed, match="no square"):
        list(work([Failing(3.0)], gpu))
    chain = Chain((Square(3.0), Square(1.0)))
    done = list(work([Square(2.0), chain, Square(4.0)], gpu))
    assert [d.unit.number for d in done] == [2.0, 3.0, 1.0, 4.0]


@pytest.mark.parametrize("kind", ["cuda", pytest.param("cpu", marks=pytest.mark.slow)])
def test_after_a_failure_the_rest_of_a_chain_is_not_begun(kind, processes, tmp_path):
    processes(1)
    chain = Chain((Square(1.0), Failing(3.0), Sleeping(2.0, place=tmp_path, seconds=0.0)))
    results = work([chain], replace(_CPU, kind=kind))
    assert next(results).result["square"] == 1.0
    with pytest.raises(ComputationFailed, match="no square"):
        next(results)
    assert _begun(tmp_path) == []


@pytest.mark.parametrize(
    ("how", "kind", "words"),
    [
        ("failed", ComputationFailed, r"^3\.0 has no square; try another$"),
        pytest.param(
            "input", InvalidInput, r"^number = 3\.0 is not allowed", marks=pytest.mark.slow
        ),
        pytest.param("mistake", ZeroDivisionError, "^$", marks=pytest.mark.slow),
    ],
)
def test_what_a_unit_raises_reaches_the_caller(how, kind, words, processes):
    processes(1)
    with pytest.raises(kind, match=words) as caught:
        list(work([Failing(3.0, how=how), Square(1.0)], _CPU))
    if kind is InvalidInput:
        assert caught.value.parameter == "number"


@pytest.mark.parametrize(
    ("unit", "status"),
    [(Killed(3.0), -9), pytest.param(Unreadable(3.0), 1, marks=pytest.mark.slow)],
)
def test_a_process_that_ends_early_is_one_line_and_those_at_work_are_ended(
    unit, status, processes, tmp_path, capfd
):
    processes(2)
    began = time.monotonic()
    with pytest.raises(ComputationFailed, match=f"ended early, with status {status}") as caught:
        list(work([Sleeping(1.0, place=tmp_path), unit], _CPU))
    assert time.monotonic() - began < 30
    assert "\n" not in str(caught.value)
    assert "run the command again" in str(caught.value)
    assert f"the process of {unit.kind} 3.0 ended" in str(caught.value)
    assert not any(map(_is_running, _begun(tmp_path)))
    assert ("ImportError: of another version" in capfd.readouterr().err) == (status == 1)


@pytest.mark.slow
def test_a_process_killed_from_outside_in_the_middle_is_one_line(processes, tmp_path):
    processes(2)
    units = [Square(1.0), Sleeping(2.0, place=tmp_path)]
    with closing(work(units, _CPU)) as results:
        assert next(results).unit == units[0]
        _wait(lambda: _begun(tmp_path))
        os.kill(_begun(tmp_path)[0], signal.SIGKILL)
        with pytest.raises(ComputationFailed, match="ended early, with status -9"):
            next(results)


def test_leaving_early_ends_all_processes(processes, tmp_path):
    processes(2)
    results = work([Square(1.0), *(Sleeping(n, place=tmp_path) for n in (2.0, 3.0))], _CPU)
    first = next(results)
    _wait(lambda: len(_begun(tmp_path)) == 2)
    results.close()
    assert not any(map(_is_running, [first.result["process"], *_begun(tmp_path)]))


_STARTER = """
import sys
from pathlib import Path
from tests.verify.tiny_units import Sleeping
from verify import workers
from verify.device import choose_device
workers.processes = lambda: 2
units = [Sleeping(n, place=Path(sys.argv[1])) for n in (1.0, 2.0, 3.0)]
list(workers.work(units, choose_device("cpu")))
"""


@pytest.mark.parametrize(
    "how",
    [
        pytest.param(signal.SIGKILL, marks=pytest.mark.slow),
        signal.SIGINT,
        pytest.param(signal.SIGTERM, marks=pytest.mark.slow),
    ],
)
def test_processes_end_with_the_one_that_started_them(how, tmp_path):
    """SIGINT goes to the starter's group, as from a keyboard, and the processes are not in it."""
    with subprocess.Popen(
        [sys.executable, "-c", _STARTER, str(tmp_path)],
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        start_new_session=True,
    ) as starter:
        try:
            _wait(lambda: len(_begun(tmp_path)) == 2)
            groups = {os.getpgid(process) for process in _begun(tmp_path)}
            assert len(groups - {starter.pid}) == 2
            if how == signal.SIGINT:
                os.killpg(starter.pid, how)
            else:
                starter.send_signal(how)
            starter.wait(timeout=20)
            _wait(lambda: not any(map(_is_running, _begun(tmp_path))), seconds=10)
        finally:
            starter.kill()
            for process in _begun(tmp_path):
                if _is_running(process):
                    os.kill(process, signal.SIGKILL)
        # The traceback of an interrupt is the starter's alone.
        assert starter.stderr.read().count(b"KeyboardInterrupt") == (how == signal.SIGINT)
