"""Real processes and a real cluster: nothing is lost or done twice, whoever is killed."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from symattn import InvalidInput, open_store
from symattn.sweep.engines import dask_cluster

ROOT = Path(__file__).parents[2]

# A smooth model, whose points take a fraction of a second.
WORDS = ("--lambda", "0.1", "--over", "alpha=1.2:3:5", "--over", "omega=0.3:0.4:2")

pytestmark = pytest.mark.slow


def swept(store, *words):
    return [sys.executable, "-m", "symattn", "sweep", "--store", str(store), *WORDS, *words]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """An undisturbed sweep."""
    path = tmp_path_factory.mktemp("whole") / "a.db"
    subprocess.run(swept(path), check=True, cwd=ROOT)
    return open_store(path)


def done(path):
    return int((open_store(path).status != "unstarted").sum()) if path.exists() else 0


def wait_for(condition, seconds=120):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def children(process):
    """The processes that it has started."""
    path = Path(f"/proc/{process}/task/{process}/children")
    return [int(number) for number in path.read_text().split()] if path.exists() else []


def is_running(process):
    path = Path(f"/proc/{process}/stat")
    return path.exists() and path.read_text().rsplit(")", 1)[1].split()[0] != "Z"


@pytest.mark.skipif(not Path("/proc").exists(), reason="processes are looked for in /proc")
def test_a_killed_sweep_goes_on_and_leaves_no_process(whole, tmp_path):
    path = tmp_path / "a.db"
    running = subprocess.Popen(swept(path), cwd=ROOT, stdout=subprocess.DEVNULL)
    wait_for(lambda: done(path) >= 3)
    started = children(running.pid)
    assert started
    running.send_signal(signal.SIGKILL)
    running.wait()
    kept = done(path)
    assert 3 <= kept < whole.status.size
    wait_for(lambda: not any(map(is_running, started)), 10)
    finished = subprocess.run(swept(path), check=True, cwd=ROOT, capture_output=True, text=True)
    assert f"{whole.status.size - kept} computed now" in finished.stdout
    assert open_store(path).identical(whole)


def test_an_interrupt_is_one_line_and_keeps_what_is_done(whole, tmp_path):
    path = tmp_path / "a.db"
    running = subprocess.Popen(
        swept(path), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    wait_for(lambda: done(path) >= 2)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=30)
    assert (running.returncode, out, err) == (130, "", "symattn: interrupted\n")
    assert done(path) >= 2


def test_a_killed_process_ends_the_sweep_with_one_line(tmp_path):
    path = tmp_path / "a.db"
    running = subprocess.Popen(
        swept(path), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    wait_for(lambda: done(path) >= 1)
    for process in children(running.pid):
        if b"spawn_main" in Path(f"/proc/{process}/cmdline").read_bytes():
            os.kill(process, signal.SIGKILL)
    out, err = running.communicate(timeout=60)
    assert running.returncode == 1
    assert out == ""
    assert err.startswith("symattn: a process ended early")
    assert len(err.splitlines()) == 1


@contextmanager
def cluster(directory, workers):
    """A Dask scheduler and its workers as processes of their own: its address, and they."""
    pytest.importorskip("distributed", reason="distributed is not installed")
    log = directory / "scheduler.log"
    with ExitStack() as stack:

        def start(*words, to):
            file = stack.enter_context(to.open("w"))
            process = subprocess.Popen(
                [sys.executable, "-m", "distributed.cli.dask_" + words[0], *words[1:]],
                stdout=file,
                stderr=subprocess.STDOUT,
                cwd=ROOT,
                env={**os.environ, "SYMATTN_THREADS": "1"},
            )
            stack.callback(process.wait)
            stack.callback(process.kill)
            return process

        address_file = directory / "scheduler.json"
        start(
            "scheduler",
            *("--host", "127.0.0.1", "--port", "0", "--no-dashboard"),
            *("--scheduler-file", str(address_file)),
            to=log,
        )
        wait_for(address_file.exists, 60)
        wait_for(lambda: address_file.read_text().strip().endswith("}"), 10)
        address = json.loads(address_file.read_text())["address"]
        started = [
            start(
                "worker",
                address,
                *("--nthreads", "1", "--no-nanny", "--no-dashboard"),
                *("--local-directory", str(directory / f"worker{k}")),
                to=directory / f"worker{k}.log",
            )
            for k in range(workers)
        ]
        yield address, started


def test_a_cluster_that_loses_a_worker_loses_nothing(whole, tmp_path):
    path = tmp_path / "a.db"
    with cluster(tmp_path, 2) as (address, workers):
        running = subprocess.Popen(
            swept(path, "--scheduler", address),
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        wait_for(lambda: done(path) >= 4)
        workers[0].kill()
        out, err = running.communicate(timeout=180)
    assert running.returncode == 0, err
    assert f"{whole.status.size} computed now" in out
    assert open_store(path).identical(whole)


@pytest.mark.parametrize("address", ["here", "tcp://", "tcp://127.0.0.1:1", "127.0.0.1:8786"])
def test_a_scheduler_that_does_not_answer_is_refused(address):
    refused = pytest.raises(InvalidInput, match="the address of a running Dask scheduler")
    with refused, dask_cluster(address):
        raise AssertionError
