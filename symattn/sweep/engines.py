"""Where the points of a sweep are computed: processes of this machine, or a cluster of Dask."""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any

from symattn._packages import require
from symattn._processes import LIMIT
from symattn.errors import InvalidInput
from symattn.sweep.point import Outcome, Request, compute

_ADDRESS = re.compile(r"(tcp|tls)://[^\s:/]+:\d{1,5}", re.ASCII)

#: Begins the computation of a request.
Submit = Callable[[Request], "Future[Outcome]"]


@contextmanager
def local_processes(count: int) -> Iterator[Submit]:
    """So many processes with one thread each, which end with this one."""
    pool = ProcessPoolExecutor(
        count, mp_context=multiprocessing.get_context("spawn"), initializer=_begin
    )
    try:
        yield lambda request: pool.submit(compute, request)
    finally:
        _abandon(pool)


@contextmanager
def dask_cluster(address: str) -> Iterator[Submit]:
    """The workers of the Dask scheduler at this address.

    What a worker that dies was computing is computed by another one.

    Raises
    ------
    InvalidInput
        When no scheduler answers there.
    ComputationFailed
        When `distributed` is not installed.
    """
    allowed = "the address of a running Dask scheduler, as tcp://host:8786"
    if not _ADDRESS.fullmatch(address):
        raise InvalidInput.of("scheduler", address, allowed)
    require("cluster", "distributed")
    import distributed

    connect: Any = distributed.Client
    try:
        client = connect(address, timeout=10, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise InvalidInput.of("scheduler", address, allowed) from error
    with client:
        executor = client.get_executor(pure=False, retries=3)
        try:
            yield lambda request: executor.submit(compute, request)
        finally:
            executor.shutdown(wait=False)


def _begin() -> None:
    """In a new process of the pool."""
    # An interrupt from the keyboard is for the starter, whose end ends this one too.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ[LIMIT] = "1"
    threading.Thread(target=_end_with_starter, daemon=True).start()


def _end_with_starter() -> None:
    starter = multiprocessing.parent_process()
    if starter is not None:
        starter.join()
    os._exit(1)


def _abandon(pool: ProcessPoolExecutor) -> None:
    """End the processes at once, also in the middle of a point."""
    processes = list((pool._processes or {}).values())
    pool.shutdown(wait=False, cancel_futures=True)
    for process in processes:
        process.kill()
    for process in processes:
        process.join()
