"""A true theory fails in a suite no more often than was asked for, and a false one is found."""

import math

import numpy as np
import pytest
from scipy import stats

from symattn.errors import InvalidInput
from verify.judgement import holm, judge, judge_findings
from verify.predictions import Finding, Prediction
from verify.statistics import Estimate


def prediction(name, t, freedom=math.inf, **changes):
    """Measured t errors above what is predicted."""
    measured = Estimate(value=2.0 + 0.1 * t, error=0.1, freedom=freedom, count=9)
    given = {"name": name, "statement": "It is.", "symbol": "q", "predicted": 2.0}
    return Prediction(**{**given, "measured": measured, **changes})


@pytest.mark.parametrize("correlation", [0.0, 0.5, 1.0])
def test_false_alarms_of_a_suite_keep_to_the_rate(correlation):
    generator = np.random.default_rng(41)
    suites, rate = 20000, 0.05
    common = generator.standard_normal((suites, 1))
    own = generator.standard_normal((suites, 30))
    z = math.sqrt(correlation) * common + math.sqrt(1 - correlation) * own
    alarms = holm(2 * stats.norm.sf(np.abs(z)), rate).any(axis=1)
    assert stats.binomtest(int(alarms.sum()), suites, rate, alternative="greater").pvalue > 1e-3
    if correlation == 0.0:
        # 1 - (1 - rate/30)^30 for independent ones
        wanted = 1 - (1 - rate / 30) ** 30
        assert stats.binomtest(int(alarms.sum()), suites, wanted).pvalue > 1e-3


def test_true_ones_keep_to_the_rate_beside_false_ones():
    generator = np.random.default_rng(42)
    z = generator.standard_normal((20000, 10)) + np.array([20.0] * 6 + [0.0] * 4)
    rejected = holm(2 * stats.norm.sf(np.abs(z)), 0.05)
    assert rejected[:, :6].all()
    alarms = int(rejected[:, 6:].any(axis=1).sum())
    # the four true ones are held against rate/4: all of the rate is used
    assert stats.binomtest(alarms, 20000, 1 - (1 - 0.05 / 4) ** 4).pvalue > 1e-3


def test_holm_by_hand():
    # 0.01 <= 0.05/4, 0.015 <= 0.05/3, but 0.03 > 0.05/2 keeps what comes after, too.
    assert holm([0.03, 0.01, 0.04, 0.015], 0.05).tolist() == [False, True, False, True]


def test_verdicts_and_numbers():
    judged = judge(
        [
            prediction("far", 8.0),
            prediction("near", 1.0, freedom=7),
            prediction("above", 5.0, kind="one-sided"),
            prediction("below", -6.0, kind="one-sided"),
            prediction("look", 9.0, kind="shown"),
            prediction("none", 0.0, kind="shown", predicted=None),
            prediction("missing", 0.0, kind="shown", measured=None),
        ],
        0.01,
    )
    verdicts = {p.name: p.verdict for p in judged}
    assert verdicts == {
        "far": "fails", "near": "holds", "above": "holds", "below": "fails",
        "look": "shown", "none": "shown", "missing": "shown",
    }  # fmt: skip
    by_name = {p.name: p for p in judged}
    assert by_name["far"].z == pytest.approx(8.0)
    assert by_name["near"].p == pytest.approx(2 * stats.t.sf(1.0, 7))
    assert by_name["above"].p == pytest.approx(stats.norm.cdf(5.0))
    assert by_name["below"].p == pytest.approx(stats.norm.cdf(-6.0))
    assert by_name["look"].z == pytest.approx(9.0)
    assert by_name["none"].z is by_name["missing"].p is None


def test_the_smallest_deviation_seen_is_where_the_verdict_turns():
    others = [prediction(f"other{i}", t) for i, t in enumerate((0.5, 0.5, 30.0, 30.0))]
    for kind, sign in (("two-sided", 1), ("one-sided", -1)):
        [edge, *_] = judge(
            [prediction("x", 0.0, 5, kind=kind, predicted_error=0.03), *others], 0.05
        )
        for factor, verdict in ((0.999, "holds"), (1.001, "fails")):
            t = sign * factor * edge.smallest_seen / 0.1
            moved = prediction("x", t, 5, kind=kind, predicted_error=0.03)
            assert judge([moved, *others], 0.05)[0].verdict == verdict


def test_what_is_checked_is_left_as_it_is():
    """Whatever its numbers say, also where there are none."""
    checks = [
        prediction("true", -9.0, kind="checked", verdict="holds"),
        prediction("false", 9.0, kind="checked", verdict="fails"),
        prediction("missing", 0.0, kind="checked", measured=None, verdict="fails"),
    ]
    assert judge(checks, 0.01) == tuple(checks)


def test_what_is_checked_is_not_of_the_family():
    """Two-sided p-values of 0.0124 and 0.0027: 0.02 is shared by two, and not by a hundred."""
    tests = [prediction("x", 2.5), prediction("y", 3.0)]
    checks = [prediction(f"c{i}", 0.0, kind="checked", verdict="holds") for i in range(98)]
    alone = judge(tests, 0.02)
    assert [p.verdict for p in alone] == ["fails", "fails"]
    assert judge([*checks, *tests], 0.02)[98:] == alone
    # As tests they would leave 0.0002 for the first.
    more = [prediction(f"c{i}", 0.0) for i in range(98)]
    assert {p.verdict for p in judge([*more, *tests], 0.02)} == {"holds"}


def test_findings_are_one_family():
    # two-sided p-value 0.0124: found alone at rate 0.02, not among five
    alone = [Finding(title="a", text=(), predictions=(prediction("x", 2.5),))]
    [judged] = judge_findings(alone, 0.02)
    assert judged.predictions[0].verdict == "fails"
    more = Finding(title="b", text=(), predictions=tuple(prediction(f"o{i}", 0) for i in range(4)))
    first, second = judge_findings([*alone, more], 0.02)
    assert first.predictions[0].verdict == "holds"
    assert [p.name for p in second.predictions] == ["o0", "o1", "o2", "o3"]


def test_nothing_to_test_is_no_failure():
    assert judge([], 0.01) == ()


@pytest.mark.parametrize("rate", [0.0, 0.5, 1.0, math.nan])
def test_a_rate_is_a_small_probability(rate):
    with pytest.raises(InvalidInput, match="family_rate"):
        judge([], rate)
