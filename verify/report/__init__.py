"""The report of a suite: a page, its numbers, and its figures."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path

from symattn._files import write_results
from symattn.plotting import save
from verify.predictions import SuiteResult
from verify.report.page import page


def write_report(result: SuiteResult, out: Path) -> tuple[Path, ...]:
    """Write `report.html`, `report.json` and `figures/NAME.png`, `.svg`; return their paths.

    The page has the figures in it and needs no other file. The same result gives the same bytes.

    Raises
    ------
    ComputationFailed
        When they cannot be written.
    """
    figures: dict[str, bytes] = {}
    drawings = {}
    for finding in result.findings:
        for figure in finding.figures:
            for kind in ("png", "svg"):
                buffer = BytesIO()
                save(figure.drawing, buffer, kind)
                figures[f"figures/{figure.name}.{kind}"] = buffer.getvalue()
            drawings[figure.name] = figures[f"figures/{figure.name}.svg"].decode()
    contents = {
        **figures,
        "report.json": (json.dumps(result.to_dict(), indent=2, allow_nan=False) + "\n").encode(),
        "report.html": page(result, drawings).encode(),
    }
    return write_results(contents, out)
