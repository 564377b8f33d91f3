"""Brute-force expectations at four points and two fixed points, kept because they take minutes.

`python -m tests.reference.stored` computes them anew and writes values.json, fixed_points.json.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.reference.expectations import NAMES, Parameters, expectations
from tests.reference.fixed_point import fixed_point

VALUES = Path(__file__).with_name("values.json")
FIXED_POINTS = Path(__file__).with_name("fixed_points.json")
POINTS = {
    "semantic": Parameters(q=0.0968805, m=0.0, V=14.92236, theta=0.139969),
    "positional": Parameters(q=0.0488174, m=0.2564304, V=12.784355, theta=0.0),
    "asymmetric": Parameters(q=0.09, m=0.0, V=14.0, theta=0.12, a11=0.3, a22=0.2),
    "smooth": Parameters(q=0.02, m=0.1, V=2.4, theta=0.02),
}


@dataclass(frozen=True)
class StoredPoint:
    """values and their absolute errors by name of the expectation (see `expectations`)."""

    name: str
    parameters: Parameters
    values: dict[str, float]
    errors: dict[str, float]


def stored_points() -> list[StoredPoint]:
    return [
        StoredPoint(name, Parameters(**entry["parameters"]), entry["values"], entry["errors"])
        for name, entry in json.loads(VALUES.read_text()).items()
    ]


@dataclass(frozen=True)
class StoredFixedPoint:
    """Overlaps of one branch at sample complexity alpha, regularisation lam, the paper's setting.

    relative_error bounds what the quadrature, with the slope of the update, leaves in each.
    """

    branch: str
    alpha: float
    lam: float
    overlaps: dict[str, float]
    relative_error: float


def stored_fixed_points() -> list[StoredFixedPoint]:
    return [StoredFixedPoint(**entry) for entry in json.loads(FIXED_POINTS.read_text())]


def computed(p: Parameters) -> dict[str, dict[str, float]]:
    """Values at the finer of two resolutions; errors from the change and the cut at 7 sigma."""
    coarse = expectations(p, 1e-5, steps=60)
    fine = expectations(p, 1e-6, steps=60)
    names = [name for name in NAMES if name != "one"]
    return {
        "parameters": asdict(p),
        "values": {name: fine[name] for name in names},
        "errors": {
            name: 3 * abs(fine[name] - coarse[name]) + 1e-9 * abs(fine[name]) for name in names
        },
    }


def solved(branch: str) -> dict[str, object]:
    """The fixed point that iteration reaches from the stored point of the same name.

    The values now kept took a cheaper way there: iterated at tolerance 1e-3, then one Newton step
    on the residual at 1e-5.
    """
    alpha, lam = 11 / 7, 0.01
    p, _, _ = fixed_point(POINTS[branch], alpha, lam, tolerance=1e-5)
    overlaps = {"q": p.q, "m": p.m, "V": p.V, "theta": p.theta}
    return asdict(StoredFixedPoint(branch, alpha, lam, overlaps, relative_error=3e-8))


if __name__ == "__main__":
    entries = {name: computed(p) for name, p in POINTS.items()}
    VALUES.write_text(json.dumps(entries, indent=1) + "\n")
    ends = [solved(branch) for branch in ("semantic", "positional")]
    FIXED_POINTS.write_text(json.dumps(ends, indent=1) + "\n")
