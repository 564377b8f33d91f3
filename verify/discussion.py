"""What failed predictions are likelier due to: finite dimension, or broken replica symmetry."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from verify.predictions import Finding, Prediction
from verify.theory import NOTABLE_JUMPS

# p-value of a straight line in 1/d below which higher orders are seen.
_CURVED = 0.01


def discussion(findings: Sequence[Finding]) -> tuple[str, ...]:
    """Paragraphs on the judged predictions that fail; one sentence if none does."""
    failed = [p for finding in findings for p in finding.predictions if p.verdict == "fails"]
    if not failed:
        return (
            "Nothing that was tested contradicts the theory. What could have been seen stands "
            "beside every prediction: a deviation smaller than that may be there.",
        )
    broken = [p for p in failed if p.jump_share >= NOTABLE_JUMPS]
    curved = [p for p in failed if p not in broken and _is_curved(p)]
    others = [p for p in failed if p not in broken and p not in curved]
    paragraphs = []
    if broken:
        largest = max(p.jump_share for p in broken)
        paragraphs.append(
            f"{_names(broken)}: at these fixed points the prox jumps (jumps make up to "
            f"{100 * largest:.2g} % of V_hat), so that replica symmetry is not exact and the state "
            "has many minima. Training ends in one of them, the replica-symmetric theory speaks of "
            "the lowest. Broken replica symmetry is therefore the likelier cause. A finite "
            f"dimension is the less likely one{_bias(broken)}."
        )
    if curved:
        paragraphs.append(
            f"{_names(curved)}: the means are not linear in 1/d (p below {_CURVED:g}), and nothing "
            "jumps in the theory. Higher orders in 1/d, which the extrapolation leaves out, are "
            "the likelier cause; larger dimensions would tell."
        )
    if others:
        paragraphs.append(
            f"{_names(others)}: nothing jumps in the theory, and the means show no curvature in "
            "1/d. Neither broken replica symmetry nor a finite dimension is an explanation at "
            "hand; another seed and larger dimensions would tell whether it stays."
        )
    return tuple(paragraphs)


def _is_curved(prediction: Prediction) -> bool:
    measured = prediction.measured
    return (
        measured is not None and measured.curvature_p is not None and measured.curvature_p < _CURVED
    )


def _bias(failed: Iterable[Prediction]) -> str:
    """What the curvature in 1/d says, where it is known."""
    known = [p for p in failed if p.measured is not None and p.measured.curvature_p is not None]
    if not known:
        return ": 1/d is fitted, and higher orders cannot be seen from the dimensions there are"
    curved = [p for p in known if _is_curved(p)]
    if curved:
        return f", although {_names(curved)} show curvature in 1/d"
    return ": the measured means are linear in 1/d within their errors"


def _names(predictions: Iterable[Prediction]) -> str:
    return ", ".join(prediction.name for prediction in predictions)
