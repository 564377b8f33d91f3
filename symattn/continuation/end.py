"""Where a branch ends."""

from __future__ import annotations

import numpy as np

from symattn._frozen import FrozenMapping
from symattn._typing import FloatArray
from symattn.continuation.curve import SAFETY, At, Curve
from symattn.continuation.points import branch_point
from symattn.continuation.results import SpecialPoint
from symattn.continuation.walk import LONGEST_STEP
from symattn.overlaps import Overlaps

#: Relative to rho: q below this at the end of a branch is on its way to Q = 0.
_SMALL_Q = 1e-2
#: Share of the extrapolated distance up to which a parabola and a line may differ.
_LINEAR = 0.03


def end_point(curve: Curve, nodes: list[At]) -> SpecialPoint:
    """Where no further point was found: at Q = 0 when q went to 0, linearly in the parameter."""
    last = nodes[-1]
    parameter, overlaps = curve.parameter(last.y), last.step.overlaps
    rho = curve.setting(parameter)[0].rho
    if len(nodes) > 2 and overlaps.q < _SMALL_Q * rho:
        coarse = _at_zero(curve, nodes[-3:])
        fine = _at_zero(curve.finer(1e-2), nodes[-3:])
        if coarse is not None and fine is not None:
            parabola, line = fine
            errors = np.abs(line - parabola)
            covered = np.abs(parabola - [parameter, overlaps.V])
            linear = errors <= _LINEAR * covered
            note = "q goes to 0 (extrapolated): the branch ends at Q = 0"
            if not linear[0]:  # in q: a root or a logarithm
                note = "q goes to 0, but not linearly: extrapolated roughly"
            errors = np.where(linear & linear[0], errors, np.maximum(errors, SAFETY * covered))
            errors += SAFETY * np.abs(parabola - coarse[0])
            return SpecialPoint(
                kind="end",
                parameter=float(parabola[0]),
                overlaps=Overlaps(0.0, 0.0, float(parabola[1]), 0.0),
                errors=FrozenMapping(
                    {
                        "parameter": float(errors[0]),
                        **dict.fromkeys(Overlaps._fields, 0.0),
                        "V": float(errors[1]),
                    }
                ),
                note=note,
            )
    found = branch_point(curve, last).errors
    return SpecialPoint(
        kind="end",
        parameter=parameter,
        overlaps=overlaps,
        errors=FrozenMapping(
            {
                **{name: found[name] for name in Overlaps._fields},
                "parameter": LONGEST_STEP * curve.unit(last.y),
            }
        ),
        note="the last point that was found; the branch may go on",
    )


def _at_zero(curve: Curve, nodes: list[At]) -> tuple[FloatArray, FloatArray] | None:
    """Parameter and V extrapolated to q = 0, by parabolas and by lines."""
    across = np.zeros(len(nodes[0].y))
    across[0] = 1.0
    again = [curve.correct(at.y, across) for at in nodes]
    if any(at is None for at in again):
        return None
    q = [at.y[0] for at in again if at is not None]
    values = [[curve.parameter(at.y), curve.overlaps(at.y).V] for at in again if at is not None]

    def at_zero(degree: int) -> FloatArray:
        fits = (
            np.polynomial.Polynomial.fit(q[-degree - 1 :], column[-degree - 1 :], degree)
            for column in zip(*values, strict=True)
        )
        return np.array([fit(0.0) for fit in fits])

    return at_zero(2), at_zero(1)
