"""What vanishes at the special points of a curve."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from symattn.baselines import linear_baseline
from symattn.continuation.curve import At, Curve
from symattn.overlaps import Overlaps


@dataclass(frozen=True, slots=True)
class Condition:
    """What vanishes at a special point.

    Attributes
    ----------
    kind, direction : str
        As in `SpecialPoint`.
    value : callable
        Its value at a point of a curve.
    size : float
        Against which relative errors of the value are taken.
    """

    kind: str
    direction: str
    value: Callable[[Curve, At], float]
    size: float = 1.0


def fold() -> Condition:
    """An eigenvalue within the branch's subspace is +1."""
    return Condition("fold", "", lambda _, at: float(np.linalg.det(at.matrix[:, :-1])))


def symmetry_breaking(k: int) -> Condition:
    """The eigenvalue in the direction of the overlap k, which vanishes on the branch, is +1."""
    return Condition(
        "symmetry breaking",
        Overlaps._fields[k],
        lambda _, at: float(1.0 - at.step.jacobian[k, k]),
    )


def baseline_crossing(curve: Curve, at: At) -> Condition:
    """The test error is that of the best linear positional map."""

    def above(curve: Curve, at: At) -> float:
        model, _ = curve.setting(curve.parameter(at.y))
        return curve.test_error(at)[0] - linear_baseline(model).test_error

    model, _ = curve.setting(curve.parameter(at.y))
    return Condition("baseline crossing", "", above, size=linear_baseline(model).test_error)


def instabilities(curve: Curve) -> Iterator[Condition]:
    """The conditions under which an eigenvalue of the Jacobian is +1."""
    yield fold()
    for k in sorted({1, 3} - {*curve.unknowns}):
        yield symmetry_breaking(k)
