"""A threshold as a function of a parameter of the model."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from symattn._checks import checked_digits, checked_model
from symattn._files import replace_file
from symattn._frozen import FrozenMapping
from symattn._numbers import DOUBLE_DIGITS
from symattn._progress import Progress, silent
from symattn._tables import curve_table
from symattn.errors import ComputationFailed, InvalidInput
from symattn.model import PARAMETERS, AttentionModel
from symattn.overlaps import Overlaps
from symattn.thresholds import (
    BRANCHES,
    CROSSINGS,
    DIGITS,
    THRESHOLDS,
    Threshold,
    threshold,
)

if TYPE_CHECKING:
    from symattn._crossing import Start

#: How often the way to the next value is halved before the threshold is looked for anew.
_HALVINGS = 3
_ON_THE_WAY = 3
_OF_A_BRANCH = (*Overlaps._fields, "replicon", "jump_flux")


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePoint:
    """The threshold at one value of the parameter.

    Attributes
    ----------
    value : float
        Of the parameter.
    alpha, error : float or None
        The threshold and its absolute error; None where there is none.
    certificate : str
        What the error is, as in `symattn.Threshold`.
    at : mapping
        For every branch of the threshold q, m, V and theta there, and how far replica symmetry can
        be trusted: replicon and jump_flux, as in `symattn.FixedPoint`.
    reason : str
        Why there is none.
    """

    value: float
    alpha: float | None = None
    error: float | None = None
    certificate: str = ""
    at: Mapping[str, Mapping[str, float]] = FrozenMapping({})
    reason: str = ""

    @classmethod
    def of(cls, value: float, found: Threshold) -> CurvePoint:
        at = {
            branch: FrozenMapping(
                {
                    **point.overlaps._asdict(),
                    "replicon": point.replicon,
                    "jump_flux": point.jump_flux,
                }
            )
            for branch, point in found.at.items()
        }
        return cls(
            value=value,
            alpha=found.alpha,
            error=found.error,
            certificate=found.certificate,
            at=FrozenMapping(at),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdCurve:
    """A threshold along a parameter.

    Attributes
    ----------
    name : str
        One of `symattn.thresholds.THRESHOLDS`.
    model : AttentionModel
        Its parameter `over` is replaced by the value of each point.
    over : str
        One of `symattn.model.PARAMETERS`.
    digits : int
        Significant digits asked for.
    points : tuple of CurvePoint
        In the order of the values asked for.
    """

    name: str
    model: AttentionModel
    over: str
    digits: int
    points: tuple[CurvePoint, ...]

    def __str__(self) -> str:
        """A table: a row for each value, with how far replica symmetry can be trusted there."""
        return curve_table(self)

    def to_dict(self) -> dict[str, Any]:
        """The curve as JSON-able values."""
        return {
            "name": self.name,
            "model": self.model.to_dict(),
            "over": self.over,
            "digits": self.digits,
            "points": [
                {
                    self.over: point.value,
                    "alpha": point.alpha,
                    "error": point.error,
                    "certificate": point.certificate,
                    "at": {branch: dict(values) for branch, values in point.at.items()},
                    "reason": point.reason,
                }
                for point in self.points
            ],
        }


def threshold_curve(
    model: AttentionModel,
    name: str,
    *,
    over: str,
    values: Iterable[float],
    digits: int | None = None,
    path: str | Path | None = None,
    progress: Progress | None = None,
) -> ThresholdCurve:
    """A threshold at several values of a parameter.

    alpha_c and alpha_l are continued: Newton's method starts at a value from the two before, and so
    may leave the range [0.05, 5]. Where that fails on shorter and shorter ways, the lowest one in
    this range is looked for anew, as everywhere with the other thresholds.

    Parameters
    ----------
    name : str
        One of `symattn.thresholds.THRESHOLDS`.
    over : str
        One of `symattn.model.PARAMETERS`.
    values : iterable of float
        Of the parameter, in the order in which to go; each is computed once.
    digits : int, optional
        Significant digits, 1 to 15; by default those of `symattn.threshold`.
    path : path, optional
        A CSV file that has every finished point at once; thresholds that it has already, from the
        same curve, are not computed again, and those that were not found are.
    progress : callable, optional
        Called with one line of text now and then.

    Raises
    ------
    InvalidInput
        For an argument outside its domain, a file that cannot be written, or one that holds
        something else.
    """
    checked_model(model).require_solvable()
    if name not in THRESHOLDS:
        raise InvalidInput.of("name", name, f"one of {', '.join(THRESHOLDS)}")
    if over not in PARAMETERS:
        raise InvalidInput.of("over", over, f"one of {', '.join(PARAMETERS)}")
    digits = checked_digits(DIGITS[name] if digits is None else digits)
    if digits > DOUBLE_DIGITS:
        raise InvalidInput.of("digits", digits, f"1 to {DOUBLE_DIGITS} along a curve")
    report = progress or silent
    curve = ThresholdCurve(name=name, model=model, over=over, digits=digits, points=())
    if not isinstance(values, Iterable):
        raise InvalidInput.of("values", values, "several numbers")
    asked = list(dict.fromkeys(values))
    for value in asked:
        _model_at(curve, value)
    known = {} if path is None else _read(Path(path), curve)
    points: list[CurvePoint] = []
    for value in asked:
        report(f"{name}: {over} = {value:.6g}, {len(points)} of {len(asked)} done")
        if value not in known:
            known[value] = _point(curve, value, points, report)
            if path is not None:
                _write(Path(path), curve, known.values())
        points.append(known[value])
    return replace(curve, points=tuple(points))


def _model_at(curve: ThresholdCurve, value: float) -> AttentionModel:
    changed: dict[str, Any] = {PARAMETERS[curve.over]: value}
    return replace(curve.model, **changed)


def _point(
    curve: ThresholdCurve, value: float, before: Sequence[CurvePoint], report: Progress
) -> CurvePoint:
    """The threshold at a value, by continuation of the points before or anew."""
    model = _model_at(curve, value)
    found = None
    if curve.name in CROSSINGS and before and before[-1].alpha is not None:
        found = _continued(curve, value, before, report)
    try:
        found = found or threshold(model, curve.name, digits=curve.digits, progress=report)
    except ComputationFailed as error:
        return CurvePoint(value=value, reason=str(error))
    return CurvePoint.of(value, found)


def _continued(
    curve: ThresholdCurve, value: float, before: Sequence[CurvePoint], report: Progress
) -> Threshold | None:
    """The crossing at a value, followed there from the points before; None where it is lost."""
    from symattn._crossing import crossing

    path = [point for point in before[-2:] if point.alpha is not None]
    way = 1.0
    while way >= 0.5**_HALVINGS:
        here = path[-1].value
        ahead = value if way == 1.0 else here + way * (value - here)
        model = _model_at(curve, ahead)
        digits = curve.digits if ahead == value else min(curve.digits, _ON_THE_WAY)
        try:
            found = crossing(model, curve.name, digits, _extrapolated(path, ahead), report)
        except ComputationFailed:
            way *= 0.5
            continue
        if ahead == value:
            return found
        path = [path[-1], CurvePoint.of(ahead, found)]
        way = 1.0
    return None


def _extrapolated(path: Sequence[CurvePoint], value: float) -> Start:
    """A crossing at a value in the straight line through the last two, or where the last one is."""
    from symattn._crossing import Start

    share = 0.0
    first, last = path[0], path[-1]
    if first.value != last.value:
        share = (value - last.value) / (last.value - first.value)
    assert first.alpha is not None
    assert last.alpha is not None
    return Start(
        max(last.alpha + share * (last.alpha - first.alpha), 0.5 * last.alpha),
        {
            branch: Overlaps(
                *(here[k] + share * (here[k] - first.at[branch][k]) for k in Overlaps._fields)
            )
            for branch, here in last.at.items()
        },
    )


def _description(curve: ThresholdCurve) -> str:
    """The first line of a file: what the curve is."""
    settings = {**curve.model.to_dict(), "name": curve.name, "digits": curve.digits}
    del settings[PARAMETERS[curve.over]]
    return json.dumps({"over": curve.over, **settings})


def _columns(curve: ThresholdCurve) -> list[str]:
    of_branches = [f"{branch}_{name}" for branch in BRANCHES[curve.name] for name in _OF_A_BRANCH]
    return [curve.over, "alpha", "error", "certificate", *of_branches, "reason"]


def _write(path: Path, curve: ThresholdCurve, points: Iterable[CurvePoint]) -> None:
    """The whole file at once, so that it is never seen half written."""
    text = io.StringIO()
    text.write(f"# {_description(curve)}\n")
    rows = csv.DictWriter(text, _columns(curve), lineterminator="\n")
    rows.writeheader()
    for point in sorted(points, key=lambda point: point.value):
        row = {curve.over: point.value, "reason": point.reason}
        if point.alpha is not None:
            row.update(alpha=point.alpha, error=point.error, certificate=point.certificate)
            for branch, values in point.at.items():
                row.update({f"{branch}_{name}": value for name, value in values.items()})
        rows.writerow(row)
    try:
        replace_file(path, text.getvalue().encode())
    except OSError as error:
        raise InvalidInput.of("out", str(path), "a file that can be written") from error


def _read(path: Path, curve: ThresholdCurve) -> dict[float, CurvePoint]:
    """The points of a file that `_write` wrote for the same curve; none if there is no file."""
    wanted = InvalidInput.of(
        "out", str(path), "a new file or one of the same curve, model and digits, unchanged"
    )
    try:
        if not path.exists():
            return {}
        first, *lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise wanted from error
    columns = _columns(curve)
    rows = csv.DictReader(lines)
    if first != f"# {_description(curve)}" or rows.fieldnames != columns:
        raise wanted
    points = {}
    try:
        for row in rows:
            value = float(row[curve.over])
            if None in row.values() or None in row:
                raise ValueError("a row of another length")
            if row["alpha"]:
                at = {
                    branch: FrozenMapping(
                        {name: float(row[f"{branch}_{name}"]) for name in _OF_A_BRANCH}
                    )
                    for branch in BRANCHES[curve.name]
                }
                if not (float(row["alpha"]) > 0.0 and 0.0 < float(row["error"]) < math.inf):
                    raise ValueError("no threshold with an error")
                points[value] = CurvePoint(
                    value=value,
                    alpha=float(row["alpha"]),
                    error=float(row["error"]),
                    certificate=row["certificate"],
                    at=FrozenMapping(at),
                )
    except (TypeError, ValueError) as error:
        raise wanted from error
    return points
