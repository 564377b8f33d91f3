"""Measured transformers of the histogram task, by numbers of epochs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from symattn._typing import FloatArray
from verify.experiments import Results
from verify.histogram.segments import Segment
from verify.predictions import Prediction
from verify.report.figures import Points
from verify.statistics import extrapolate

Rows: TypeAlias = Sequence[Mapping[str, Any]]
"""What `verify.histogram.segments.Segment` says of each run."""


def over_epochs(results: Results, groups: Sequence[Sequence[Segment]]) -> list[Rows]:
    """The rows of all groups of runs, in one list for each number of epochs."""
    return [
        [row for segment in same for row in results(segment)] for same in zip(*groups, strict=True)
    ]


def column(rows: Rows, name: str) -> FloatArray:
    """A number of each run, also of its mechanism; the index of those runs that have one."""
    numbers = [row["mechanism"][name] if name in row["mechanism"] else row[name] for row in rows]
    return np.array([number for number in numbers if number is not None], dtype=np.float64)


def shown(values: FloatArray, *, note: str = "", **said: Any) -> Prediction:
    """The mean of numbers of runs, which have no dimension to extrapolate in."""
    measured = None
    if values.size > 1 and np.ptp(values) > 0:
        measured = extrapolate(values, np.ones(values.size))
    else:
        same = f"every run has {values[0]:g}" if values.size else "no run has one"
        note = "; ".join(filter(None, (same, note)))
    return Prediction(measured=measured, kind="shown", note=note, **said)


def checked(
    values: FloatArray, bound: float, runs: int, *, note: str = "", **said: Any
) -> Prediction:
    """The statement that a number is larger than a bound in each of so many runs."""
    every = values.size == runs and float(values.min()) > bound
    least = f"least of {values.size} runs: {values.min():.4g}" if values.size else ""
    missing = f"{runs - values.size} runs have none" if values.size < runs else ""
    return replace(
        shown(values, note="; ".join(filter(None, (least, missing, note))), **said),
        kind="checked",
        predicted=bound,
        verdict="holds" if every else "fails",
    )


def means(branch: str, x: Sequence[float], values: Sequence[FloatArray], label: str) -> Points:
    """Means over runs with standard errors, where there are several, for a figure."""
    drawn = [(at, v) for at, v in zip(x, values, strict=True) if v.size > 1]
    y = [float(v.mean()) for _, v in drawn]
    error = [float(v.std(ddof=1)) / v.size**0.5 for _, v in drawn]
    return Points(branch=branch, x=[at for at, _ in drawn], y=y, error=error, label=label)
