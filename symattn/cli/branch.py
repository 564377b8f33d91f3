"""`symattn branch`: branches of fixed points in a parameter, with their special points."""

from __future__ import annotations

import argparse
import csv
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING

from symattn._parsing import number, whole_number
from symattn.cli._console import Console
from symattn.cli._options import add_common, model_of, output_file, span

if TYPE_CHECKING:
    from symattn.continuation import BranchMap

SUMMARY = "follow branches of fixed points in a parameter, through folds, with special points"
EXAMPLES = """\
examples:
  symattn branch --branch semantic --over alpha=0.4:3          table of special points
  symattn branch --branch all --over alpha=0.05:3 --out map.csv   every point of every branch
  symattn branch --branch positional --over lambda=0.005:0.5 --alpha 1.5 --json

branches: semantic (m = 0), positional (theta = 0), uninformed (m = theta = 0), mixed (neither, the
first that leaves another one), or all: the first three, those that leave them, and where training
losses are equal. Special points are folds, symmetry breakings (another branch leaves), mergers (the
branch's own overlap reaches 0) and crossings with the best linear map. Errors are absolute."""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--branch",
        required=True,
        metavar="NAME",
        help="semantic, positional, uninformed, mixed or all",
    )
    parser.add_argument(
        "--over",
        required=True,
        metavar="NAME=A:B",
        help="alpha, lambda, omega or sigma, and its range",
    )
    parser.add_argument(
        "--alpha", type=number, metavar="X", help="sample complexity, when that is not followed in"
    )
    parser.add_argument(
        "--digits",
        type=whole_number,
        default=4,
        metavar="N",
        help="significant digits of the special points, 2 to 8 (4)",
    )
    parser.add_argument(
        "--out", metavar="FILE", help="write all points to FILE, ending in .csv or .json"
    )
    add_common(parser)


def run(arguments: argparse.Namespace, console: Console) -> None:
    model = model_of(arguments)
    over, low, high = span(arguments.over)
    out = None if arguments.out is None else output_file(arguments.out, (".csv", ".json"))

    from symattn.continuation import BranchMap, follow_all, follow_branch

    request = {
        "over": over,
        "low": low,
        "high": high,
        "alpha": arguments.alpha,
        "digits": arguments.digits,
        "progress": console.progress,
    }
    if arguments.branch == "all":
        found = follow_all(model, **request)
    else:
        found = BranchMap.of(follow_branch(model, arguments.branch, **request))
    if out is not None:
        _write(out, found)
    if arguments.json:
        console.json(found.to_dict())
    else:
        console.result(str(found) if out is None else f"{found}\n\nWritten: {out}")


def _write(path: Path, found: BranchMap) -> None:
    from symattn._files import write_file

    if path.suffix == ".json":
        text = json.dumps(found.to_dict(), indent=2, allow_nan=False) + "\n"
    else:
        table = io.StringIO()
        csv.writer(table, lineterminator="\n").writerows(found.rows())
        text = table.getvalue()
    write_file(path, text.encode())
