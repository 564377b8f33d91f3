"""`symattn merge`: the stores of shards as one."""

from __future__ import annotations

import argparse

from symattn.cli._console import Console
from symattn.cli._options import add_output

SUMMARY = "put the stores of several shards of a sweep into one"
EXAMPLES = """\
example:
  symattn merge part1.db part2.db part3.db --store map.db

The parts stay as they are; what the store has already stays."""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("parts", nargs="+", metavar="PART", help="stores of symattn sweep --shard")
    parser.add_argument("--store", required=True, metavar="FILE", help="where all points go")
    add_output(parser)


def run(arguments: argparse.Namespace, console: Console) -> None:
    from symattn.sweep.shards import merge

    count = merge(arguments.parts, arguments.store)
    if arguments.json:
        console.json({"store": arguments.store, "points": count})
    else:
        console.result(f"{arguments.store}: {count} points from {len(arguments.parts)} files")
