"""`symattn sweep`: both branches over two parameters, in a file."""

from __future__ import annotations

import argparse
import re

from symattn._parsing import number, whole_number
from symattn.cli._console import Console
from symattn.cli._options import add_common, model_of, values_over
from symattn.errors import InvalidInput

SUMMARY = "compute both branches over two parameters, resumably, into a file"
EXAMPLES = """\
examples:
  symattn sweep --store map.db                                 alpha = 0.2 to 2.5, omega = 0 to 0.5
  symattn sweep --over alpha=0.5:3:51 --over omega=0:0.4:41 --store map.db
  symattn sweep --over lambda=0.005:0.1:20 --over omega=0:0.5:11 --alpha 1.5 --store other.db
  symattn sweep --store part2.db --shard 2/8                   one of eight machines; then merge
  symattn sweep --store map.db --scheduler tcp://node1:8786    on a Dask cluster

The store is an SQLite file; the same command goes on where an earlier one ended. Look at it with
symattn plot and symattn export, or symattn.open_store in Python."""

_OVER = ("alpha=0.2:2.5:26", "omega=0:0.5:26")
_SHARD = re.compile(r"(\d{1,4})/(\d{1,4})", re.ASCII)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--store", required=True, metavar="FILE", help="the file of the sweep")
    parser.add_argument(
        "--over",
        action="append",
        metavar="NAME=A:B:N",
        help="twice: alpha, omega, lambda or sigma, and N values from A to B "
        f"({_OVER[0]}, {_OVER[1]})",
    )
    parser.add_argument(
        "--alpha", type=number, metavar="X", help="sample complexity, when that is not swept over"
    )
    parser.add_argument(
        "--accuracy",
        type=number,
        default=1e-5,
        metavar="X",
        help="relative error of overlaps and losses, 1e-9 to 0.01 (1e-5)",
    )
    parser.add_argument(
        "--workers", type=whole_number, metavar="N", help="processes (as many as there are cores)"
    )
    parser.add_argument("--shard", metavar="I/N", help="only part I of N, for one of N machines")
    parser.add_argument(
        "--scheduler", metavar="ADDRESS", help="a Dask scheduler, whose workers compute"
    )
    add_common(parser)


def run(arguments: argparse.Namespace, console: Console) -> None:
    model = model_of(arguments)
    texts = _OVER if arguments.over is None else arguments.over
    if len(texts) != 2:
        raise InvalidInput.of("over", ", ".join(texts), "given twice, each NAME=A:B:N")
    axes = [values_over(text) for text in texts]
    shard = (1, 1) if arguments.shard is None else _shard(arguments.shard)

    from symattn.sweep.grid import Axis
    from symattn.sweep.run import sweep

    done = sweep(
        model,
        [Axis(name=name, values=tuple(values)) for name, values in axes],
        arguments.store,
        alpha=arguments.alpha,
        accuracy=arguments.accuracy,
        workers=arguments.workers,
        shard=shard,
        scheduler=arguments.scheduler,
        progress=console.progress,
    )
    if arguments.json:
        console.json({"store": arguments.store, **done._asdict()})
    else:
        console.result(
            f"{arguments.store}: {done.found} fixed points, {done.absent} points without, "
            f"{done.failed} not to the accuracy; {done.computed} computed now"
        )


def _shard(text: str) -> tuple[int, int]:
    match = _SHARD.fullmatch(text)
    if match is None:
        raise InvalidInput.of("shard", text, "I/N with 1 <= I <= N, as in 2/8")
    return int(match[1]), int(match[2])
