"""`symattn solve`: fixed points of state evolution at one sample complexity."""

from __future__ import annotations

import argparse

from symattn._parsing import number, whole_number
from symattn.cli._console import Console
from symattn.cli._options import add_common, model_of

SUMMARY = "compute the fixed points at one sample complexity, with errors"
EXAMPLES = """\
examples:
  symattn solve --alpha 1.5                                   every branch
  symattn solve --alpha 1.5 --branch semantic --digits 8      one, to 8 significant digits
  symattn solve --alpha 4 --lambda 0.1 --json                 for a program to read
  symattn solve --alpha 1.5 --lambda 0.1 --branch positional --digits 20

branches: semantic (m = 0), positional (theta = 0), uninformed (m = theta = 0), zero (Q = 0);
all of them, or the best, which has the lowest training loss. Errors are absolute. A branch that
does not exist, or digits that cannot be reached, end with status 1 and the reason. More digits than
a double has (13 to 15) take python-flint and a prox that does not jump; alpha and the options of
the model then stand for their decimals, a fraction like 11/7 for the double nearest to it."""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--alpha", type=number, required=True, metavar="X", help="sample complexity n/d, above 0"
    )
    parser.add_argument(
        "--branch",
        default="all",
        metavar="NAME",
        help="semantic, positional, uninformed, zero, best or all (all)",
    )
    parser.add_argument(
        "--digits",
        type=whole_number,
        default=6,
        metavar="N",
        help="certified significant digits of every overlap, loss and error, 1 to 1000 (6)",
    )
    add_common(parser)


def run(arguments: argparse.Namespace, console: Console) -> None:
    model = model_of(arguments)

    from symattn.fixed_points import solve

    solution = solve(
        model,
        arguments.alpha,
        branch=arguments.branch,
        digits=arguments.digits,
        progress=console.progress,
    )
    if arguments.json:
        console.json(solution.to_dict())
    else:
        console.result(str(solution))
