"""Several processes for one job, ended with the process that started them.

A job goes to a helper as a pickle on its standard input, its sums come back on standard output.
Standard input stays open: a helper whose starter is gone reads its end there, and ends too.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
from contextlib import ExitStack
from dataclasses import replace

from symattn._processes import processes
from symattn._progress import Progress
from symattn.errors import ComputationFailed
from symattn.precision._job import Job, Sums, run

#: Seconds of work that a process must have, to be worth its start.
_WORTH = 1.0
#: Seconds from which on it is told how far it is.
_LONG = 5.0


def compute(job: Job, seconds: float, doing: str, progress: Progress) -> Sums:
    """The sums of a job that takes one process about so many `seconds`.

    doing: what `progress` says before the share that is done.

    Raises
    ------
    ComputationFailed
        If a helper does not end well.
    """
    count = max(1, min(processes(), int(seconds / _WORTH), len(job.tiles)))
    parts = [replace(job, tiles=job.tiles[first::count]) for first in range(count)]
    with ExitStack() as stack:
        helpers = [stack.enter_context(_Helper(part)) for part in parts[1:]]
        told = 0

        def report(share: float) -> None:
            nonlocal told
            if seconds > _LONG and told < int(10 * share) < 10:
                told = int(10 * share)
                progress(f"{doing}, {10 * told} % done")

        sums = run(parts[0], report)
        for helper in helpers:
            sums = sums + helper.result()
    return sums


class _Helper:
    """A process that runs one job; leaving the block ends it."""

    def __init__(self, job: Job) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        self._job = job

    def __enter__(self) -> _Helper:
        assert self._process.stdin is not None
        try:
            pickle.dump(self._job, self._process.stdin)
            self._process.stdin.flush()
        except OSError as error:
            self.__exit__()
            raise ComputationFailed("a helping process did not start; try again") from error
        return self

    def result(self) -> Sums:
        assert self._process.stdout is not None
        try:
            sums = pickle.load(self._process.stdout)
        except (EOFError, pickle.UnpicklingError) as error:
            raise ComputationFailed(
                f"a helping process ended early, with status {self._process.wait()}; try again"
            ) from error
        assert isinstance(sums, Sums)
        return sums

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()


def _help() -> None:
    """What a helper does."""
    # an interrupt from the keyboard reaches it as well; its starter is the one to react
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    job = pickle.load(sys.stdin.buffer)
    threading.Thread(target=_end_with_starter, daemon=True).start()
    sums = run(job, lambda _: None)
    pickle.dump(sums, sys.stdout.buffer)
    sys.stdout.buffer.flush()
    os._exit(0)


def _end_with_starter() -> None:
    os.read(sys.stdin.fileno(), 1)
    os._exit(1)


if __name__ == "__main__":
    _help()
