"""Rows of several groups of runs become columns by numbers of epochs."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symattn.errors import ComputationFailed
from verify.experiments.transformers import column, mean, means, over_epochs
from verify.histogram.segments import segments
from verify.histogram.task import HistogramTask
from verify.histogram.training import Plan

GROUPS = [
    list(segments("x", Plan(task=HistogramTask(), seeds=seeds), (1, 4, 9), Path("kept")))
    for seeds in ((3, 1), (2,))
]


def results(segment):
    return [
        {"seed": seed, "epoch": segment.last, "mechanism": {"index": seed / segment.last}}
        for seed in segment.plan.seeds
    ]


def test_rows_are_together_that_have_as_many_epochs():
    found = over_epochs(results, GROUPS)
    assert [[(row["seed"], row["epoch"]) for row in rows] for rows in found] == [
        [(seed, epoch) for seed in (3, 1, 2)] for epoch in (1, 4, 9)
    ]
    assert column(found[1], "epoch").tolist() == [4, 4, 4]
    assert column(found[1], "index").tolist() == [3 / 4, 1 / 4, 2 / 4]


@settings(max_examples=40)
@given(
    st.lists(st.integers(-1000, 1000), min_size=2, max_size=9, unique=True),
    st.floats(1e-3, 1e3),
)
def test_means_have_the_standard_error_of_a_mean(integers, unit):
    values = unit * np.array(integers, dtype=float)
    average = sum(values) / len(values)
    error = math.sqrt(sum((v - average) ** 2 for v in values) / (len(values) - 1) / len(values))
    estimate = mean(values)
    points = means("semantic", [3.0], [values], "mean")
    for found in ((estimate.value, estimate.error), (points.y[0], points.error[0])):
        assert found == pytest.approx((average, error), rel=1e-9, abs=1e-9 * unit)
    assert (estimate.count, estimate.freedom) == (len(values), len(values) - 1)
    # There is no dimension to go to infinity.
    assert estimate.bias is None


def test_one_run_has_no_error():
    with pytest.raises(ComputationFailed, match="1 measurements do not determine"):
        mean(np.array([0.5]))
