"""What failed predictions are likelier due to: finite dimension, or broken replica symmetry."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from verify.predictions import Finding, Prediction
from verify.statistics import CURVED
from verify.theory import NOTABLE_JUMPS

# A deviation of more than so many jump shares, relative to the number, is not for the jumps to
# explain.
_MOST_SHARES = 3.0

# z from which on a prediction that holds is named.
_REMARKABLE = 3.0


def discussion(findings: Sequence[Finding]) -> tuple[str, ...]:
    """Paragraphs on the tests of the theory that fail; one if none does, none without any test."""
    tested = [p for finding in findings for p in finding.predictions if p.tested]
    failed = [p for p in tested if p.verdict == "fails"]
    if not tested:
        return ()
    if not failed:
        return (
            "Nothing that was tested contradicts the theory at the rate of false alarms of the "
            "suite. What could have been seen stands beside every prediction: a deviation smaller "
            "than that may be there.",
            *_largest(findings),
        )
    curved = [p for p in failed if _is_curved(p)]
    broken = [p for p in failed if p not in curved and _jumps_may_explain(p)]
    others = [p for p in failed if p not in curved and p not in broken]
    paragraphs = []
    if broken:
        largest = max(p.jump_share or 0.0 for p in broken)
        paragraphs.append(
            f"{_names(broken)}: the prox jumps there (jumps make up to {100 * largest:.2g} % of "
            "V_hat), so that replica symmetry is not exact and a state can have many minima. "
            "Training ends in one of them, the theory speaks of the lowest. The deviations are not "
            f"larger than such jumps make plausible, and {_line(broken)}. Broken replica symmetry "
            "is the likelier cause."
        )
    if curved:
        paragraphs.append(
            f"{_names(curved)}: the means are not linear in 1/d (p below {CURVED:g}). Higher "
            "orders in 1/d, which the extrapolation leaves out, are the likelier cause; larger "
            "dimensions would tell."
        )
    if others:
        paragraphs.append(
            f"{_names(others)}: {_line(others)}, and jumps of the prox are rare in the theory, "
            "explain too little, or were not looked at. No cause is at hand; another seed and "
            "larger dimensions would tell whether it stays."
        )
    return (*paragraphs, *_largest(findings))


def _largest(findings: Sequence[Finding]) -> list[str]:
    """Of the predictions that hold those which would be remarkable by themselves."""
    found = [
        p
        for finding in findings
        for p in finding.predictions
        if p.verdict == "holds" and p.kind == "two-sided" and abs(p.z or 0.0) >= _REMARKABLE
    ]
    if not found:
        return []
    found.sort(key=lambda p: -abs(p.z or 0.0))
    listed = ", ".join(
        f"{p.name} (z = {p.z:.1f}"
        + (f", jumps make {100 * p.jump_share:.2g} % of V_hat)" if p.jump_share else ")")
        for p in found
    )
    return [
        f"Of those that hold, these deviate by {_REMARKABLE:g} standard deviations or more, which "
        f"one prediction by itself would do once in 370 times: {listed}."
    ]


def _is_curved(prediction: Prediction) -> bool:
    p = prediction.measured.curvature_p if prediction.measured is not None else None
    return p is not None and p < CURVED


def _jumps_may_explain(prediction: Prediction) -> bool:
    share, deviation = prediction.jump_share, prediction.deviation
    if share is None or share < NOTABLE_JUMPS or deviation is None:
        return False
    # A difference that is to be 0 has no scale of its own.
    return not prediction.predicted or abs(deviation / prediction.predicted) < _MOST_SHARES * share


def _line(predictions: Iterable[Prediction]) -> str:
    """What is known of higher orders in 1/d."""
    known = [p.measured is not None and p.measured.curvature_p is not None for p in predictions]
    if all(known):
        return "the measured means are linear in 1/d within their errors"
    if not any(known):
        return "two dimensions do not show whether the means are linear in 1/d"
    return "the means are linear in 1/d within their errors where three dimensions show it"


def _names(predictions: Iterable[Prediction]) -> str:
    return ", ".join(prediction.name for prediction in predictions)
