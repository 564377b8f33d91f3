"""`symattn threshold`: one threshold in the sample complexity."""

from __future__ import annotations

import argparse

from symattn.cli._console import Console
from symattn.cli._options import add_common, model_of, whole_number

SUMMARY = "compute a threshold in the sample complexity, with its error"
EXAMPLES = """\
examples:
  symattn threshold alpha_c                                    to 6 digits
  symattn threshold spinodal_semantic --digits 4               to 4
  symattn threshold weak_positional --lambda 0.1               to 15 digits
  symattn threshold weak_bulk --lambda 0.1 --digits 50 --json  for a program to read

names: alpha_c (semantic and positional branch have equal training loss), alpha_l (the semantic test
error equals that of the best linear map), spinodal_semantic, spinodal_positional (the branch stops
being stable), weak_positional, weak_semantic, weak_bulk (Q = 0 becomes unstable towards m, theta or
a random direction). Errors are absolute. A threshold that does not exist, or digits that cannot be
reached, end with status 1 and the reason."""


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
    add_common(parser)


def run(arguments: argparse.Namespace, console: Console) -> None:
    model = model_of(arguments)

    from symattn.thresholds import threshold

    found = threshold(
        model,
        arguments.name,
        digits=arguments.digits,
        certificate=arguments.certificate,
        progress=console.progress,
    )
    if arguments.json:
        console.json(found.to_dict())
        return

    from symattn._tables import threshold_table

    console.result(threshold_table(found))
