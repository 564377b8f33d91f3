"""`symattn report`: the main job, from the derivation to the figure."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from symattn.cli._console import Console
from symattn.cli._options import add_common, model_of, output_directory
from symattn.errors import ComputationFailed

if TYPE_CHECKING:
    from symattn.report import Report

SUMMARY = "check the derivation, solve both branches, find where they cross, draw the figure"
EXAMPLES = """\
examples:
  symattn report --out results
  symattn report --out results/asymmetric --mixing asymmetric

It writes report.json with every number and its error, and the figure as overlaps.png and
overlaps.svg. A part that fails does not stop the others; the status is then 1. A branch or a
threshold that is searched for and not found is no failure; it is listed, with where the searches
ended. Nothing positional is found for the asymmetric mixing."""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", required=True, metavar="DIR", help="where the files go")
    add_common(parser)


def run(arguments: argparse.Namespace, console: Console) -> None:
    model = model_of(arguments)
    out = output_directory(arguments.out)

    from symattn.report import make_report, write_report

    report = make_report(model, console.progress)
    paths = write_report(report, out)
    if arguments.json:
        console.json(report.to_dict())
    else:
        console.result(_table(report, paths))
    if report.failures:
        raise ComputationFailed(
            "; ".join(f"{part}: {reason}" for part, reason in report.failures.items())
        )


def _table(report: Report, paths: tuple[Path, ...]) -> str:
    from symattn._tables import baseline_lines, fixed_point_lines, threshold_lines

    lines = [str(report.model)]
    if "derivation" not in report.failures:
        lines.append("Every step of the derivation holds, and the kernels are what it gives.")
    if report.fixed_points:
        lines.append(f"alpha = {report.fixed_points[0].alpha!r}")
    for point in report.fixed_points:
        lines += ["", *fixed_point_lines(point)]
    lines += ["", *baseline_lines(report.baseline.test_error, report.baseline.error)]
    if report.thresholds:
        lines += ["", *threshold_lines(report.thresholds.values())]
    if any(report.ends.values()):
        lines += ["", "ends of branches"]
    for branch, ends in report.ends.items():
        lines += [f"  {branch}: not found at alpha = {alpha!r}" for alpha in ends]
    if report.absent:
        lines += ["", "searched for and not found"]
        lines += [f"  {part}: {why}" for part, why in report.absent.items()]
    return "\n".join([*lines, "", "Written:", *map(str, paths)])
