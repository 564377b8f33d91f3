"""Which predictions hold, with one rate of false alarms for all of a suite."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from symattn.errors import InvalidInput
from verify.predictions import Finding, Prediction


def holm(p_values: ArrayLike, rate: float) -> NDArray[np.bool_]:
    """Which hypotheses are rejected by the step-down method of Holm and Bonferroni.

    If every hypothesis is true, any is rejected with probability `rate` at most, whatever the
    dependence between the p-values.

    Parameters
    ----------
    p_values : array-like, shape (.., M)
        Families of M hypotheses along the last axis.
    rate : float

    Returns
    -------
    array of bool, shape (.., M)
    """
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, axis=-1)
    passed = np.take_along_axis(p, order, axis=-1) <= rate / np.arange(p.shape[-1], 0, -1)
    rejected = np.empty(p.shape, dtype=np.bool_)
    np.put_along_axis(rejected, order, np.logical_and.accumulate(passed, axis=-1), axis=-1)
    return rejected


def judge(predictions: Sequence[Prediction], family_rate: float) -> tuple[Prediction, ...]:
    """The predictions with verdict, p, z and the smallest deviation that would have been seen.

    All that are to be tested are one family for `holm`: if the theory is right in all of them, the
    probability that any fails is at most `family_rate`. Those that are only shown get p and z where
    they can be compared, for orientation. Those that are checked are left as they are.

    Raises
    ------
    InvalidInput
        When `family_rate` is not between 0 and 1/2.
    """
    if not 0 < family_rate < 0.5:
        raise InvalidInput.of("family_rate", family_rate, "between 0 and 1/2")
    weighed = [_weighed(prediction) for prediction in predictions]
    tested = {i: w.p for i, w in enumerate(weighed) if w.tested and w.p is not None}
    rejected = holm(list(tested.values()), family_rate)
    # What is not rejected was held against this rate last.
    last_rate = family_rate / max(1, len(tested) - int(rejected.sum()))
    for i, failed in zip(tested, rejected.tolist(), strict=True):
        weighed[i] = replace(
            weighed[i],
            verdict="fails" if failed else "holds",
            smallest_seen=_smallest_seen(weighed[i], last_rate),
        )
    return tuple(weighed)


def judge_findings(findings: Sequence[Finding], family_rate: float) -> tuple[Finding, ...]:
    """The findings with the predictions of all of them judged as one family; see `judge`."""
    judged = iter(judge([p for finding in findings for p in finding.predictions], family_rate))
    return tuple(
        replace(finding, predictions=tuple(next(judged) for _ in finding.predictions))
        for finding in findings
    )


def _weighed(prediction: Prediction) -> Prediction:
    """With p and z where it can be compared; not judged yet. What is checked has its verdict."""
    if prediction.kind == "checked":
        return prediction
    measured, predicted = prediction.measured, prediction.predicted
    if measured is None or predicted is None:
        return replace(prediction, verdict="shown")
    error = prediction.predicted_error
    if prediction.kind == "one-sided":
        # The bound may lie lower by its error, in favour of the prediction.
        p, z = measured.p_value_of_more(predicted - error), measured.z(predicted, error)
    else:
        p, z = measured.p_value(predicted, error), measured.z(predicted, error)
    return replace(prediction, verdict="shown", p=p, z=z)


def _smallest_seen(prediction: Prediction, rate: float) -> float | None:
    if prediction.measured is None:
        return None
    level = 1 - (2 * rate if prediction.kind == "one-sided" else rate)
    return prediction.measured.half_width(level) + prediction.predicted_error
