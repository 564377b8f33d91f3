"""The theory beside the training results of others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from symattn._frozen import FrozenMapping
from symattn._progress import Progress
from symattn.errors import ComputationFailed
from symattn.fixed_points import FixedPoint, solve
from symattn.model import AttentionModel
from verify.predictions import Finding, Parameters, Prediction
from verify.statistics import Estimate, extrapolate_means
from verify.theory import judged, jump_share
from verify.trained_table import TrainedRow, read_trained

# Beyond what training measures, and half the work of six.
_DIGITS = 4

_SIGNED = ("m", "theta")

_TEXT = (
    "Every mean is held against the fixed point of the branch that training was started on. "
    "m and theta are compared by modulus, since their signs are arbitrary.",
    "Where a setting has several dimensions, its means are extrapolated to infinite dimension, and "
    "tested. A mean at a single dimension differs from the limit by a bias of order 1/d that is "
    "not known: it is shown, with its z, and not tested.",
)


def compare(path: Path, progress: Progress) -> Finding:
    """The predictions for a table of training results; see `verify.trained_table.read_trained`.

    Not judged yet. Where a branch does not exist, its measurements are shown with the reason; where
    none of them can be compared, the finding has failed.

    Raises
    ------
    InvalidInput
        When the table is not as it must be.
    ComputationFailed
        When it cannot be read.
    """
    settings: dict[tuple[AttentionModel, float, str], list[TrainedRow]] = {}
    for row in read_trained(path):
        settings.setdefault((row.model, row.alpha, row.start), []).append(row)
    predictions: list[Prediction] = []
    for (model, alpha, branch), rows in settings.items():
        progress(f"{branch} branch at alpha = {alpha:g}")
        try:
            point = solve(model, alpha, branch=branch, digits=_DIGITS)[branch]
        except ComputationFailed as error:
            predictions += _without_theory(rows, str(error))
        else:
            predictions += _with_theory(rows, point)
    compared = any(prediction.comparable for prediction in predictions)
    return Finding(
        title=f"Results of {path.name}",
        text=_TEXT,
        predictions=tuple(predictions),
        failure="" if compared else "the theory has no branch at any of the settings",
    )


def _with_theory(rows: Sequence[TrainedRow], point: FixedPoint) -> Iterator[Prediction]:
    """One prediction for each quantity and setting, or for each row where all have one d."""
    for name, having in _by_quantity(rows).items():
        means = [_by_modulus(name, row.measured[name]) for row in having]
        dimensions = [row.dimension for row in having]
        if len(set(dimensions)) > 1:
            limit = extrapolate_means(means, dimensions)
            note = f"extrapolated from d = {', '.join(map(str, sorted(set(dimensions))))}"
            yield _prediction(having[0], name, limit, point, note, tested=True)
        else:
            for row, mean in zip(having, means, strict=True):
                note = f"at d = {row.dimension} alone, so a bias of order 1/d remains"
                yield _prediction(row, name, mean, point, note, tested=False)


def _without_theory(rows: Sequence[TrainedRow], reason: str) -> Iterator[Prediction]:
    for row in rows:
        for name, mean in row.measured.items():
            yield Prediction(
                name=_name(row, name),
                statement=f"Training from the {row.start} start gives {name}.",
                symbol=name,
                parameters=_parameters(row),
                measured=_by_modulus(name, mean),
                kind="shown",
                note=f"at d = {row.dimension}; no theory: {reason}",
            )


def _prediction(
    row: TrainedRow, name: str, measured: Estimate, point: FixedPoint, note: str, tested: bool
) -> Prediction:
    predicted, error = abs(float(point.numbers[name])), point.errors[name]
    if name in _SIGNED and predicted == 0:
        # The mean of a modulus is not 0 at any d.
        tested, note = False, f"{note}; 0 by symmetry, and a modulus is above it at every d"
    known = point.to_dict()
    kind, about = judged(known, row.start)
    note = "; ".join(part for part in (note, about) if part)
    return Prediction(
        name=_name(row, name),
        statement=f"Training from the {row.start} start gives {name} of the {row.start} branch.",
        symbol=name,
        parameters=_parameters(row),
        predicted=predicted,
        predicted_error=error,
        measured=measured,
        kind=kind if tested else "shown",
        note=note,
        jump_share=jump_share(known),
    )


def _by_quantity(rows: Sequence[TrainedRow]) -> dict[str, list[TrainedRow]]:
    having: dict[str, list[TrainedRow]] = {}
    for row in rows:
        for name in row.measured:
            having.setdefault(name, []).append(row)
    return having


def _by_modulus(name: str, mean: Estimate) -> Estimate:
    if name not in _SIGNED or mean.value >= 0:
        return mean
    return Estimate(value=-mean.value, error=mean.error, freedom=mean.freedom, count=mean.count)


def _name(row: TrainedRow, quantity: str) -> str:
    return f"{row.start}.{quantity}@line={row.line}"


def _parameters(row: TrainedRow) -> Parameters:
    (a11, a12), (a21, a22) = row.model.mixing
    return FrozenMapping(
        {
            "alpha": row.alpha,
            "omega": row.model.omega,
            "lambda": row.model.lam,
            "sigma": row.model.require_solvable(),
            "A": f"[[{a11:g}, {a12:g}], [{a21:g}, {a22:g}]]",
        }
    )
