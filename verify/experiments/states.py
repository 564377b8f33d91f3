"""Which state a trained student is in: semantic, positional, or neither."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

#: The smallest cosine with Q* or p_1 that makes a state: half of the least one of a stable fixed
#: point at the paper's parameters and alpha from 0.5 to 2, which is 0.57 (positional). That of a
#: random direction is of order d^(-1/2).
LEAST_COSINE = 0.3

STATES = ("semantic", "positional", "neither")


class Cosines(NamedTuple):
    """Moduli of the cosines of Q with Q* and with p_1."""

    semantic: float
    positional: float


def cosines(student: Mapping[str, Any], rho: float) -> Cosines:
    """|Q.Q*| / (|Q| |Q*|) and |Q.p_1| / |Q| of a measured student; 0 where Q = 0.

    student: with the overlaps q, m, theta and `teacher` = |Q*|^2/d - 1.
    """
    q = student["q"]
    if q == 0:
        return Cosines(0.0, 0.0)
    teacher = rho * (1 + student["teacher"])
    return Cosines(
        semantic=abs(student["theta"]) / math.sqrt(q * teacher),
        positional=abs(student["m"]) * math.sqrt(rho / q),
    )


def state(student: Mapping[str, Any], rho: float) -> str:
    """One of `STATES`: the larger cosine decides, if it is at least `LEAST_COSINE`."""
    along = cosines(student, rho)
    if max(along) < LEAST_COSINE:
        return "neither"
    return "semantic" if along.semantic > along.positional else "positional"
