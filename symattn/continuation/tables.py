"""Branches and their special points as tables for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from symattn._numbers import with_error
from symattn.continuation.results import Branch, BranchMap, LossCrossing


def map_table(branches: BranchMap) -> str:
    """Every branch with its special points, the loss crossings, and what is absent."""
    setting = "" if branches.over == "alpha" else f", alpha = {branches.alpha:g}"
    lines = [f"{branches.model}{setting}"]
    for branch in branches.branches:
        lines += ["", *_branch_lines(branch)]
    if branches.loss_crossings:
        lines += ["", *_crossing_lines(branches.over, branches.loss_crossings)]
    if branches.absent:
        lines += ["", "absent"]
        lines += [f"  {name}: {reason}" for name, reason in branches.absent.items()]
    return "\n".join(lines)


def branch_table(branch: Branch) -> str:
    """One branch with its special points."""
    return "\n".join([str(branch.model), *_branch_lines(branch)])


def _branch_lines(branch: Branch) -> Iterator[str]:
    first, last = branch.points[0], branch.points[-1]
    stable = sum(point.stable for point in branch.points)
    yield (
        f"{branch.name} branch, {len(branch.points)} points from {branch.over} = "
        f"{first.parameter:.6g} to {last.parameter:.6g}, {stable} of them stable"
    )
    if not branch.special_points:
        yield "  no special points"
        return
    rows: list[tuple[str, ...]] = [
        ("", "special point", branch.over, "error", "q", "m", "V", "theta", "")
    ]
    for count, point in enumerate(branch.special_points, 1):
        value, error = with_error(point.parameter, point.error)
        rows.append(
            (
                f"#{count}",
                point.kind,
                value,
                error,
                *(f"{value:.5g}" for value in point.overlaps),
                point.note,
            )
        )
    yield from _aligned(rows)


def _crossing_lines(over: str, crossings: Iterable[LossCrossing]) -> Iterator[str]:
    yield "equal training losses"
    rows: list[tuple[str, ...]] = [("", "branches", over, "error", "train_loss", "")]
    for crossing in crossings:
        value, error = with_error(crossing.parameter, crossing.error)
        loss, _ = with_error(crossing.train_loss, crossing.train_loss_error)
        lower, higher = crossing.branches
        note = f"{lower} is lower at smaller {over}"
        rows.append(("", f"{lower}, {higher}", value, error, loss, note))
    yield from _aligned(rows)


def _aligned(rows: list[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        yield ("  " + "  ".join(cells)).rstrip()
