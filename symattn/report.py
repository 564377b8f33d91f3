"""The main job: derivation checked, branches followed, thresholds found, one figure."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any, TypeVar

from symattn import __version__
from symattn._files import write_results
from symattn._packages import require
from symattn._progress import Progress
from symattn.baselines import LinearBaseline, linear_baseline
from symattn.errors import ComputationFailed, NotFound
from symattn.fixed_points import FixedPoint, solve
from symattn.model import AttentionModel
from symattn.thresholds import CROSSINGS, Threshold, threshold

_T = TypeVar("_T")

#: The branches between which the transition happens.
_RIVALS = ("semantic", "positional")

#: Where both branches are given with all their numbers: one of the published sample complexities.
ALPHA = 11 / 7

#: Sample complexities of the curves, which start from the fixed points at `ALPHA`.
ALPHAS = (0.05, *(k / 10 for k in range(1, 26)))

# More than a figure can show, and half the work of six.
_DIGITS_OF_CURVES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What the main job found.

    Attributes
    ----------
    model : AttentionModel
    fixed_points : tuple of FixedPoint
        The semantic and the positional one at `ALPHA`, to six digits.
    curves : mapping
        For each branch its fixed points at `ALPHAS` as far as it exists on either side of `ALPHA`,
        in the order of rising alpha, to four digits.
    ends : mapping
        For each branch the first alphas on either side at which it was not found, and why.
    thresholds : mapping
        alpha_c and alpha_l, to six digits.
    baseline : LinearBaseline
    absent : mapping
        Branches and thresholds that were searched for and not found, and why.
    failures : mapping
        Which part of the job failed, and why. That something is not there is no failure.
    """

    model: AttentionModel
    fixed_points: tuple[FixedPoint, ...]
    curves: Mapping[str, tuple[FixedPoint, ...]]
    ends: Mapping[str, Mapping[float, str]]
    thresholds: Mapping[str, Threshold]
    baseline: LinearBaseline
    absent: Mapping[str, str]
    failures: Mapping[str, str]

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON-able values; every number has its error beside it."""
        return {
            "version": __version__,
            "model": self.model.to_dict(),
            "fixed_points": [_at_alpha(point) for point in self.fixed_points],
            "thresholds": {name: found.to_dict() for name, found in self.thresholds.items()},
            "curves": {name: [_at_alpha(p) for p in curve] for name, curve in self.curves.items()},
            "ends": {
                name: [{"alpha": alpha, "reason": reason} for alpha, reason in ends.items()]
                for name, ends in self.ends.items()
            },
            "linear_test_error": self.baseline.test_error,
            "errors": {"linear_test_error": self.baseline.error},
            "absent": dict(self.absent),
            "failures": dict(self.failures),
        }


def _at_alpha(point: FixedPoint) -> dict[str, Any]:
    return {"alpha": point.alpha, **point.to_dict()}


def make_report(model: AttentionModel, progress: Progress) -> Report:
    """Do the main job for a model of the class that is solved.

    A part that fails is named in `failures` and does not stop the others.

    Raises
    ------
    InvalidInput
        When the model is not of the class L = 2, r = t = 1, isotropic.
    ComputationFailed
        When matplotlib is missing, or the linear baseline cannot be computed.
    """
    model.require_solvable()
    require("plot", "matplotlib")
    absent: dict[str, str] = {}
    failures: dict[str, str] = {}

    def attempt(part: str, compute: Callable[[], _T]) -> list[_T]:
        """What is computed, or nothing and why."""
        progress(part)
        try:
            return [compute()]
        except NotFound as error:
            absent[part] = str(error)
            return []
        except ComputationFailed as error:
            failures[part] = str(error)
            return []

    attempt("derivation", lambda: _check_derivation(progress))
    fixed_points: list[FixedPoint] = []
    for branch in _RIVALS:
        at_alpha = partial(solve, model, ALPHA, branch=branch)
        for solution in attempt(f"{branch} branch", at_alpha):
            fixed_points.extend(solution.fixed_points)
    thresholds = {
        name: found
        for name in CROSSINGS
        for found in attempt(name, partial(threshold, model, name))
    }
    followed = {point.branch: _follow(model, point, progress) for point in fixed_points}
    return Report(
        model=model,
        fixed_points=tuple(fixed_points),
        curves={branch: curve for branch, (curve, _) in followed.items()},
        ends={branch: ends for branch, (_, ends) in followed.items()},
        thresholds=thresholds,
        baseline=linear_baseline(model),
        absent=absent,
        failures=failures,
    )


def _check_derivation(progress: Progress) -> None:
    from symattn.symbolic import regenerate

    differing = regenerate(check=True, progress=progress)
    if differing:
        raise ComputationFailed(f"{', '.join(differing)}: not what the derivation gives")


def _follow(
    model: AttentionModel, origin: FixedPoint, progress: Progress
) -> tuple[tuple[FixedPoint, ...], dict[float, str]]:
    """The branch of `origin` at `ALPHAS`, to both sides until it ends, and why it does."""
    points: list[FixedPoint] = []
    ends: dict[float, str] = {}
    below = [alpha for alpha in reversed(ALPHAS) if alpha < origin.alpha]
    above = [alpha for alpha in ALPHAS if alpha > origin.alpha]
    for side in (below, above):
        start = origin
        for alpha in side:
            progress(f"{origin.branch} branch at alpha = {alpha:.4g}")
            try:
                solution = solve(
                    model,
                    alpha,
                    branch=origin.branch,
                    digits=_DIGITS_OF_CURVES,
                    start=start,
                )
            except ComputationFailed as error:
                ends[alpha] = str(error)
                break
            start = solution[origin.branch]
            points.append(start)
    return tuple(sorted(points, key=lambda point: point.alpha)), ends


def write_report(report: Report, out: Path) -> tuple[Path, ...]:
    """Write `report.json` and the figure `overlaps.png`, `overlaps.svg`; return their paths.

    Raises
    ------
    ComputationFailed
        When they cannot be written.
    """
    from symattn.plotting import curves_figure, save

    figure = curves_figure(report.curves, report.thresholds, report.baseline, report.model)
    contents = {
        "report.json": (json.dumps(report.to_dict(), indent=2, allow_nan=False) + "\n").encode()
    }
    for suffix in ("png", "svg"):
        buffer = BytesIO()
        save(figure, buffer, suffix)
        contents[f"overlaps.{suffix}"] = buffer.getvalue()
    return write_results(contents, out)
