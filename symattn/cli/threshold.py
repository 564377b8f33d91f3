"""`symattn threshold`: one threshold in the sample complexity."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from symattn._parsing import whole_number
from symattn.cli._console import Console
from symattn.cli._options import add_common, model_of, output_file, values_over
from symattn.errors import InvalidInput

if TYPE_CHECKING:
    from symattn.model import AttentionModel

SUMMARY = "compute a threshold in the sample complexity, with its error"
EXAMPLES = """\
examples:
  symattn threshold alpha_c                                    to 6 digits
  symattn threshold spinodal_semantic --digits 4               to 4
  symattn threshold weak_positional --lambda 0.1               to 15 digits
  symattn threshold weak_bulk --lambda 0.1 --digits 50 --json  for a program to read
  symattn threshold alpha_l --over omega=0:0.4:9 --out l.csv   a curve, one row a point

names: alpha_c (semantic and positional branch have equal training loss), alpha_l (the semantic test
error equals that of the best linear map), spinodal_semantic, spinodal_positional (the branch stops
being stable), weak_positional, weak_semantic, weak_bulk (Q = 0 becomes unstable towards m, theta or
a random direction). Errors are absolute. A threshold that does not exist, or digits that cannot be
reached, end with status 1 and the reason; along a curve they are a row without a number."""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="which one, see below")
    parser.add_argument(
        "--digits",
        type=whole_number,
        metavar="N",
        help="certified significant digits of alpha, 1 to 1000 (6; 15 for weak_*)",
    )
    parser.add_argument(
        "--certificate",
        metavar="KIND",
        help="what stands behind the error: estimated, or proved by ball arithmetic, for weak_* "
        "and with python-flint (proved up to 30 digits where it is installed)",
    )
    parser.add_argument(
        "--all", action="store_true", help="all of them in 0.05 <= alpha <= 5, not the lowest alone"
    )
    parser.add_argument(
        "--over",
        metavar="NAME=A:B:N",
        help="at N values of omega, lambda or sigma from A to B, to 15 digits at most",
    )
    parser.add_argument(
        "--out",
        metavar="FILE",
        help="with --over: write every point to a CSV file when it is done, and leave out those "
        "that the file has already",
    )
    add_common(parser)


def run(arguments: argparse.Namespace, console: Console) -> None:
    model = model_of(arguments)
    if arguments.over is not None:
        _curve(model, arguments, console)
        return
    if arguments.out is not None:
        raise InvalidInput("out goes with --over only", "out")

    from symattn.thresholds import all_thresholds, threshold

    request: dict[str, Any] = {
        "digits": arguments.digits,
        "certificate": arguments.certificate,
        "progress": console.progress,
    }
    if arguments.all:
        several = all_thresholds(model, arguments.name, **request)
    else:
        several = (threshold(model, arguments.name, **request),)
    if arguments.json:
        found = [one.to_dict() for one in several]
        console.json({"thresholds": found} if arguments.all else found[0])
        return

    from symattn._tables import threshold_table

    console.result("\n\n".join(map(threshold_table, several)))


def _curve(model: AttentionModel, arguments: argparse.Namespace, console: Console) -> None:
    for option in ("all", "certificate"):
        if getattr(arguments, option):
            raise InvalidInput(f"{option} does not go with --over", option)
    over, values = values_over(arguments.over)
    path = None if arguments.out is None else output_file(arguments.out, (".csv",))

    from symattn.threshold_curves import threshold_curve

    curve = threshold_curve(
        model,
        arguments.name,
        over=over,
        values=values,
        digits=arguments.digits,
        path=path,
        progress=console.progress,
    )
    if arguments.json:
        console.json(curve.to_dict())
    else:
        console.result(str(curve))
