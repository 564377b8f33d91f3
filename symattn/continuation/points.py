"""A point of the walk as a result: with losses, stability and errors."""

from __future__ import annotations

import math

import numpy as np

from symattn._frozen import FrozenMapping
from symattn._typing import FloatArray
from symattn.continuation.curve import SAFETY, At, Curve, own_overlaps
from symattn.continuation.results import BranchPoint
from symattn.overlaps import Overlaps


def branch_point(curve: Curve, at: At) -> BranchPoint:
    """The point with its errors, from grids ten times as fine."""
    fine_curve = curve.finer(0.1)
    fine = fine_curve.at(at.y)
    step, rows = fine.step, curve.unknowns
    moved = np.zeros(4)
    try:
        inverse = np.linalg.inv(fine.matrix[:, :-1])
        spread = SAFETY * np.abs(fine.residual - at.residual) + fine.noise * np.abs(at.y[:-1])
        moved[rows] = np.abs(inverse @ fine.residual) + np.abs(inverse) @ spread
    except np.linalg.LinAlgError:
        moved[rows] = math.inf
    test = fine_curve.test_error(fine)
    hats_moved = SAFETY * np.abs(np.subtract(step.hats, at.step.hats))
    hats_moved += np.abs(step.hats_jacobian) @ moved + fine.noise * np.abs(step.hats)
    eigenvalues = np.linalg.eigvals(step.jacobian)
    return BranchPoint(
        parameter=curve.parameter(at.y),
        overlaps=step.overlaps,
        train_loss=step.train_loss,
        train_loss_slope=curve.train_loss_slope(at),
        test_error=test.value,
        stable=bool(np.max(eigenvalues.real) <= 1.0),
        errors=FrozenMapping(
            {
                **dict(zip(Overlaps._fields, map(float, moved), strict=True)),
                "train_loss": train_loss_error(fine, at, moved, hats_moved),
                "test_error": test.error
                + float(np.abs(test.gradient) @ moved)
                + fine.noise * test.value,
            }
        ),
        eigenvalues=tuple(complex(z) for z in eigenvalues),
    )


def is_resolved(curve: Curve, point: BranchPoint) -> bool:
    """Whether the branch's own overlaps differ from 0, which next to a merger may not be known."""
    return all(
        abs(point.overlaps[k]) > point.errors[Overlaps._fields[k]] for k in own_overlaps(curve)
    )


def train_loss_error(fine: At, at: At, moved: FloatArray, hats_moved: FloatArray) -> float:
    """Error of the extremal form: of its own means, and products of errors."""
    own = SAFETY * abs(fine.step.train_loss - at.step.train_loss)
    pairs = moved @ hats_moved[[2, 1, 0, 3]]
    return float(own + pairs + fine.noise * abs(fine.step.train_loss))
