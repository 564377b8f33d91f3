"""`symattn branch`: a branch of fixed points in a parameter, with its special points."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from symattn.cli._console import Console
from symattn.cli._options import add_common, model_of, number, span, whole_number

if TYPE_CHECKING:
    from symattn.continuation import Branch

SUMMARY = "follow a branch of fixed points in a parameter, through folds, with its special points"
EXAMPLES = """\
examples:
  symattn branch --branch semantic --over alpha=0.4:3          table of special points
  symattn branch --branch positional --over lambda=0.005:0.5 --alpha 1.5
  symattn branch --branch semantic --over alpha=0.4:3 --json   every point of it, for a program

branches: semantic (m = 0), positional (theta = 0), uninformed (m = theta = 0). Special points are
folds, symmetry breakings (m or theta begins to grow, and a mixed branch leaves), mergers (the
branch's own overlap reaches 0), and crossings with the best linear map. Errors are absolute."""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--branch", required=True, metavar="NAME", help="semantic, positional or uninformed"
    )
    parser.add_argument(
        "--over",
        type=span,
        required=True,
        metavar="NAME=A:B",
        help="alpha, lambda, omega or sigma, and its range",
    )
    parser.add_argument(
        "--alpha", type=number, metavar="X", help="sample complexity, when that is not followed"
    )
    parser.add_argument(
        "--digits",
        type=whole_number,
        default=4,
        metavar="N",
        help="digits that the grids are chosen for, 2 to 8 (4)",
    )
    add_common(parser)


def run(arguments: argparse.Namespace, console: Console) -> None:
    model = model_of(arguments)

    from symattn.continuation import follow_branch

    over, low, high = arguments.over
    branch = follow_branch(
        model,
        arguments.branch,
        over=over,
        low=low,
        high=high,
        alpha=arguments.alpha,
        digits=arguments.digits,
        progress=console.progress,
    )
    if arguments.json:
        console.json(branch.to_dict())
    else:
        console.result(_table(branch))


def _table(branch: Branch) -> str:
    from symattn._numbers import with_error

    first, last = branch.points[0], branch.points[-1]
    stable = sum(point.stable for point in branch.points)
    lines = [
        str(branch.model),
        f"{branch.name} branch from {branch.over} = {first.parameter:.6g} to {last.parameter:.6g}, "
        f"{len(branch.points)} points, {stable} of them stable",
        "",
        "special points",
    ]
    for point in branch.special_points:
        value, error = with_error(point.parameter, point.error)
        overlaps = ", ".join(f"{name} = {x:.5g}" for name, x in point.overlaps._asdict().items())
        lines.append(f"  {point.kind:<18} {branch.over} = {value} +- {error:<9} {point.note}")
        lines.append(f"  {'':<18} {overlaps}")
    if not branch.special_points:
        lines.append("  none")
    return "\n".join(lines)
