"""Solvable attention: exact asymptotics of one attention layer, derived and checked by machine."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from symattn.errors import ComputationFailed, InvalidInput, NotFound, SymattnError

if TYPE_CHECKING:
    from symattn.baselines import LinearBaseline, linear_baseline
    from symattn.continuation import Branch, BranchMap, follow_all, follow_branch
    from symattn.fixed_points import FixedPoint, Solution, solve
    from symattn.model import ASYMMETRIC, STANDARD, AttentionModel
    from symattn.overlaps import Hats, Overlaps
    from symattn.symbolic.regenerate import derive
    from symattn.threshold_curves import CurvePoint, ThresholdCurve, threshold_curve
    from symattn.thresholds import Threshold, all_thresholds, threshold

__version__ = "0.1.0"

__all__ = [
    "ASYMMETRIC",
    "STANDARD",
    "AttentionModel",
    "Branch",
    "BranchMap",
    "ComputationFailed",
    "CurvePoint",
    "FixedPoint",
    "Hats",
    "InvalidInput",
    "LinearBaseline",
    "NotFound",
    "Overlaps",
    "Solution",
    "SymattnError",
    "Threshold",
    "ThresholdCurve",
    "all_thresholds",
    "derive",
    "follow_all",
    "follow_branch",
    "linear_baseline",
    "open_store",
    "solve",
    "threshold",
    "threshold_curve",
]

# Imported when first asked for, so that `import symattn` costs milliseconds: most of these modules
# load numerical or symbolic libraries.
_HOMES = {
    "ASYMMETRIC": "symattn.model",
    "AttentionModel": "symattn.model",
    "Branch": "symattn.continuation",
    "BranchMap": "symattn.continuation",
    "CurvePoint": "symattn.threshold_curves",
    "FixedPoint": "symattn.fixed_points",
    "Hats": "symattn.overlaps",
    "LinearBaseline": "symattn.baselines",
    "Overlaps": "symattn.overlaps",
    "STANDARD": "symattn.model",
    "Solution": "symattn.fixed_points",
    "Threshold": "symattn.thresholds",
    "ThresholdCurve": "symattn.threshold_curves",
    "all_thresholds": "symattn.thresholds",
    "derive": "symattn.symbolic.regenerate",
    "follow_all": "symattn.continuation",
    "follow_branch": "symattn.continuation",
    "linear_baseline": "symattn.baselines",
    "open_store": "symattn.sweep",
    "solve": "symattn.fixed_points",
    "threshold": "symattn.thresholds",
    "threshold_curve": "symattn.threshold_curves",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
