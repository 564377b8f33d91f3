"""Units of work done by several processes, which end with the process that started them.

Every process uses one thread, so that results do not depend on how many there are. A unit goes to
one as a pickle on its standard input, and its result comes back on standard output. Standard input
stays open: a process whose starter is gone reads its end there, and ends too.
"""

from __future__ import annotations

import os
import pickle
import queue
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import IO, Any, NamedTuple

from symattn._processes import LIMIT, processes
from symattn.errors import ComputationFailed
from verify.device import Device
from verify.units import Chain, Json, Unit, in_order

_THREADS = (LIMIT, "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


class Done(NamedTuple):
    """A unit, its result, and the seconds that it took."""

    unit: Unit
    result: Json
    seconds: float


def work(pieces: Sequence[Unit | Chain], device: Device) -> Iterator[Done]:
    """The results of units, as they come: on a processor by as many processes as there are cores.

    A chain is done by one of them.

    Raises
    ------
    Exception
        What a unit raises; those at work are given up.
    ComputationFailed
        When a process does not end well.
    """
    if device.kind != "cpu":
        yield from (_timed(unit, device) for piece in pieces for unit in in_order(piece))
        return
    count = min(processes(), len(pieces))
    waiting: queue.SimpleQueue[Unit | Chain] = queue.SimpleQueue()
    finished: queue.SimpleQueue[Done | Exception] = queue.SimpleQueue()
    for piece in pieces:
        waiting.put(piece)
    with ExitStack() as stack:
        for _ in range(count):
            worker = stack.enter_context(_Worker(device))
            threading.Thread(target=_serve, args=(worker, waiting, finished), daemon=True).start()
        for _ in (unit for piece in pieces for unit in in_order(piece)):
            done = finished.get()
            if isinstance(done, Exception):
                raise done
            yield done


def _serve(
    worker: _Worker,
    waiting: queue.SimpleQueue[Unit | Chain],
    finished: queue.SimpleQueue[Done | Exception],
) -> None:
    """Give units to a process until none is left."""
    while True:
        try:
            piece = waiting.get_nowait()
        except queue.Empty:
            return
        try:
            for unit in in_order(piece):
                finished.put(worker.run(unit))
        except Exception as error:
            finished.put(error)
            return


class _Worker:
    """A process that does one unit after the other; leaving the block ends it."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", __name__],  # not what lies in the working directory
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # An interrupt from the keyboard is for the starter, whose end ends this one too.
            process_group=0,
            env={
                **os.environ,
                **dict.fromkeys(_THREADS, "1"),
                "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            },
        )

    def __enter__(self) -> _Worker:
        return self

    def run(self, unit: Unit) -> Done:
        """Have it do a unit."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        try:
            pickle.dump((unit, self._device), stdin)
            stdin.flush()
            reply = pickle.load(stdout)
        except (EOFError, OSError, pickle.UnpicklingError, ValueError) as error:
            raise ComputationFailed(
                f"the process of {unit.key[:-13]} ended early, with status {self._process.wait()}, "
                "perhaps for lack of memory; run the command again to go on"
            ) from error
        if isinstance(reply, Exception):
            raise reply
        result, seconds = reply
        return Done(unit, result, seconds)

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()


def _timed(unit: Unit, device: Device) -> Done:
    before = time.monotonic()
    result = unit.run(device)
    return Done(unit, result, time.monotonic() - before)


def _main() -> None:
    """What a worker does."""
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    # What a library prints is no reply.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(sys.stdin.buffer, requests), daemon=True).start()
    while True:
        unit, device = requests.get()
        try:
            reply: tuple[Json, float] | Exception = _timed(unit, device)[1:]
        except Exception as error:
            reply = error
        pickle.dump(reply, replies)
        replies.flush()


def _read(stream: IO[bytes], requests: queue.SimpleQueue[Any]) -> None:
    """Pass requests on; end with the starter, also in the middle of a unit."""
    try:
        while True:
            requests.put(pickle.load(stream))
    except EOFError:
        pass
    except Exception:
        # A unit that cannot be read: without an end of this process, both would wait for ever.
        traceback.print_exc()
    os._exit(1)


if __name__ == "__main__":
    _main()
