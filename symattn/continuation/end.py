"""Where a branch ends."""

from __future__ import annotations

import numpy as np

from symattn._frozen import FrozenMapping
from symattn.continuation.curve import At, Curve
from symattn.continuation.points import branch_point
from symattn.continuation.results import SpecialPoint
from symattn.continuation.walk import LONGEST_STEP
from symattn.overlaps import Overlaps

#: Relative to rho: q below this at the end of a branch is on its way to Q = 0.
_SMALL_Q = 1e-2
#: Share of the extrapolated distance up to which a parabola and a line may differ.
_LINEAR = 0.03
#: By how much a difference, of grids or of extrapolations, is taken larger.
_SAFETY = 2.0


def end_point(curve: Curve, nodes: list[At]) -> SpecialPoint:
    """Where no further point was found: at Q = 0 when q went to 0, linearly in the parameter."""
    last = nodes[-1]
    parameter, overlaps = curve.parameter(last.y), last.step.overlaps
    rho = curve.setting(parameter)[0].rho
    if len(nodes) > 2 and overlaps.q < _SMALL_Q * rho:
        coarse = _at_zero(curve, nodes[-3:])
        fine = _at_zero(curve.finer(1e-2), nodes[-3:])
        if coarse is not None and fine is not None:
            error = abs(fine[1] - fine[0])
            covered = abs(fine[0] - parameter)
            note = "q goes to 0 (extrapolated): the branch ends at Q = 0"
            if error > _LINEAR * covered:  # not linear in q: a root or a logarithm
                error = _SAFETY * covered
                note = "q goes to 0, but not linearly: extrapolated roughly"
            error += _SAFETY * abs(fine[0] - coarse[0])
            return SpecialPoint(
                kind="end",
                parameter=fine[0],
                overlaps=Overlaps(0.0, 0.0, last.step.overlaps.V, 0.0),
                errors=FrozenMapping(
                    {
                        "parameter": error,
                        **dict.fromkeys(Overlaps._fields, 0.0),
                        "V": _SAFETY * abs(last.step.overlaps.V - nodes[-3].step.overlaps.V),
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


def _at_zero(curve: Curve, nodes: list[At]) -> tuple[float, float] | None:
    """The parameter extrapolated to q = 0, by a parabola and by a line."""
    across = np.zeros(len(nodes[0].y))
    across[0] = 1.0
    again = [curve.correct(at.y, across) for at in nodes]
    if any(at is None for at in again):
        return None
    q = [at.y[0] for at in again if at is not None]
    values = [curve.parameter(at.y) for at in again if at is not None]
    parabola = np.polynomial.Polynomial.fit(q, values, 2)
    line = np.polynomial.Polynomial.fit(q[-2:], values[-2:], 1)
    return float(parabola(0.0)), float(line(0.0))
