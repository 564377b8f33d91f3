"""The first point of a branch."""

from __future__ import annotations

import numpy as np

from symattn._progress import Progress
from symattn._search import SearchEnded, find
from symattn.continuation.curve import At, Curve
from symattn.errors import NotFound

#: Where in the range, from 0 to 1 in the curve's coordinate, a branch is looked for, in this order.
_SHARES = (0.5, 1.0, 0.75, 0.25, 0.0)


def first_point(curve: Curve, low: float, high: float, progress: Progress) -> At:
    """A point of the curve with the parameter in [low, high].

    Raises
    ------
    NotFound
        If none is found.
    """
    reasons = []
    first, last = curve.coordinate(low), curve.coordinate(high)
    for share in _SHARES:
        coordinate = (1.0 - share) * first + share * last
        parameter = min(max(curve.parameter(np.array([coordinate])), low), high)
        model, alpha = curve.setting(parameter)
        try:
            overlaps = find(model, alpha, curve.name, None, progress, thorough=False)
        except SearchEnded as error:
            reasons.append(str(error))
            continue
        at = curve.correct_at(curve.pack(overlaps, parameter), parameter)
        if at is not None:
            return at
        reasons.append(f"{curve.over} = {parameter:.4g}: lost on finer grids")
    raise NotFound(
        f"no {curve.name} fixed point found for {curve.over} in [{low:g}, {high:g}] "
        f"at {len(reasons)} values, the first of them: {reasons[0]}"
    )
