"""Brute-force expectations at four points, kept because a point takes minutes.

`python -m tests.reference.stored` computes them anew and writes values.json.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.reference.expectations import NAMES, Parameters, expectations

FILE = Path(__file__).with_name("values.json")
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
        for name, entry in json.loads(FILE.read_text()).items()
    ]


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


if __name__ == "__main__":
    entries = {name: computed(p) for name, p in POINTS.items()}
    FILE.write_text(json.dumps(entries, indent=1) + "\n")
