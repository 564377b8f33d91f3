"""Rows of several groups of runs become columns by numbers of epochs, and what is said of them."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verify.experiments.transformers import checked, column, means, over_epochs, shown
from verify.histogram.segments import segments
from verify.histogram.task import HistogramTask
from verify.histogram.training import Plan
from verify.judgement import judge

GROUPS = [
    list(segments("x", Plan(task=HistogramTask(), seeds=seeds), (1, 4, 9), Path("kept")))
    for seeds in ((3, 1), (2,))
]
SAID = {"name": "a", "statement": "It is so.", "symbol": "x"}


def results(segment):
    return [
        {
            "seed": seed,
            "epoch": segment.last,
            "mechanism": {"index": None if seed == 3 else seed / segment.last, "rest": 0.1 * seed},
        }
        for seed in segment.plan.seeds
    ]


def test_rows_are_together_that_have_as_many_epochs():
    found = over_epochs(results, GROUPS)
    assert [[(row["seed"], row["epoch"]) for row in rows] for rows in found] == [
        [(seed, epoch) for seed in (3, 1, 2)] for epoch in (1, 4, 9)
    ]
    assert column(found[1], "epoch").tolist() == [4, 4, 4]
    assert column(found[1], "rest") == pytest.approx([0.3, 0.1, 0.2])


def test_a_run_without_an_index_is_left_out_of_the_indices():
    found = over_epochs(results, GROUPS)
    assert column(found[1], "index").tolist() == [1 / 4, 2 / 4]
    assert column(found[1][:1], "index").tolist() == []


def mean_and_error(values):
    """By the formulas, in Python's own numbers."""
    average = math.fsum(values) / len(values)
    squares = math.fsum((v - average) ** 2 for v in values)
    return average, math.sqrt(squares / (len(values) - 1) / len(values))


RUNS = st.lists(st.integers(-1000, 1000), min_size=2, max_size=9, unique=True)


@settings(max_examples=40)
@given(RUNS, st.floats(1e-3, 1e3))
def test_means_have_the_standard_error_of_a_mean(integers, unit):
    values = unit * np.array(integers, dtype=float)
    prediction = shown(values, **SAID)
    measured, points = prediction.measured, means("semantic", [3.0], [values], "mean")
    for found in ((measured.value, measured.error), (points.y[0], points.error[0])):
        wanted = mean_and_error(values.tolist())
        assert found == pytest.approx(wanted, rel=1e-9, abs=1e-9 * unit)
    assert (measured.count, measured.freedom) == (len(values), len(values) - 1)
    # There is no dimension to go to infinity, and nothing that it is held against.
    assert measured.bias is None
    assert (prediction.kind, prediction.predicted, prediction.note) == ("shown", None, "")


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ([0.25, 0.25, 0.25], "every run has 0.25"),
        ([0.25], "every run has 0.25"),
        ([], "no run has one"),
    ],
)
def test_what_does_not_scatter_has_no_error_and_is_told_in_words(values, told):
    for note, words in (("", told), ("published: 1", f"{told}; published: 1")):
        prediction = shown(np.array(values), note=note, **SAID)
        assert (prediction.measured, prediction.note) == (None, words)
        assert (prediction.kind, prediction.verdict) == ("shown", None)


@settings(max_examples=60)
@given(RUNS, st.integers(-1000, 1000), st.sampled_from([0, 2, 3]))
def test_a_statement_holds_if_every_run_is_beyond_the_bound(integers, bound, missing):
    values = np.array(integers, dtype=float)
    found = checked(values, bound, len(values) + missing, **SAID)
    assert found.verdict == ("holds" if min(integers) > bound and not missing else "fails")
    assert (found.kind, found.predicted, found.predicted_error) == ("checked", bound, 0.0)
    wanted = mean_and_error(values.tolist())
    assert (found.measured.value, found.measured.error) == pytest.approx(wanted)
    assert f"least of {len(values)} runs: {min(integers):.4g}" in found.note
    assert (f"{missing} runs have none" in found.note) == (missing > 0)
    # It is no test, and no other rate of false alarms makes it one.
    assert not found.tested
    for rate in (1e-9, 0.4):
        assert judge([found], rate) == (found,)


@pytest.mark.parametrize(
    ("values", "runs", "verdict", "note"),
    [
        ([0.9, 0.9, 0.9], 3, "holds", "every run has 0.9; least of 3 runs: 0.9; published: 1"),
        ([0.5, 0.5, 0.5], 3, "fails", "every run has 0.5; least of 3 runs: 0.5; published: 1"),
        (
            [0.9, 0.9],
            4,
            "fails",
            "every run has 0.9; least of 2 runs: 0.9; 2 runs have none; published: 1",
        ),
        ([], 3, "fails", "no run has one; 3 runs have none; published: 1"),
    ],
)
def test_runs_that_do_not_scatter_are_checked_all_the_same(values, runs, verdict, note):
    found = checked(np.array(values), 0.5, runs, note="published: 1", **SAID)
    assert (found.measured, found.verdict, found.note) == (None, verdict, note)
    assert (found.kind, found.predicted) == ("checked", 0.5)


@pytest.mark.parametrize("worst", [0.5, 0.4999, -3.0])
def test_one_run_at_the_bound_or_below_is_enough_to_fail(worst):
    values = np.array([0.9, 0.8, worst, 0.95])
    assert checked(values, 0.5, 4, **SAID).verdict == "fails"
    others = values[values != worst]
    assert checked(others, 0.5, 3, **SAID).verdict == "holds"
    # The run cannot be left out.
    assert checked(others, 0.5, 4, **SAID).verdict == "fails"


def test_means_are_drawn_where_there_are_two_runs():
    values = [np.array([1.0, 3.0]), np.array([5.0]), np.array([]), np.array([2.0, 2.0, 5.0])]
    points = means("semantic", [1, 2, 4, 8], values, "mean over runs")
    assert (points.branch, points.label) == ("semantic", "mean over runs")
    assert (points.x, points.y) == ([1, 8], [2.0, 3.0])
    assert points.error == pytest.approx([1.0, 1.0])
