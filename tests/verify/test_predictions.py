"""Predictions say what they are, and refuse what cannot be shown or judged."""

import json
import math

import pytest

from symattn.errors import InvalidInput
from tests.verify.made_up import SETTING, estimate, result, training
from verify.predictions import Figure, Finding, Prediction


def given(**changes):
    fields = {"name": "semantic.q", "statement": "It is.", "symbol": "q", "predicted": 0.1}
    return {**fields, "measured": estimate(0.2, 0.05), **changes}


def test_a_result_is_json_with_every_number():
    read = json.loads(json.dumps(result().to_dict(), allow_nan=False))
    assert read["summary"] == {"holds": 4, "fails": 1, "shown": 1}
    first = read["findings"][0]["predictions"][0]
    assert first["name"] == "semantic.theta@alpha=1.5"
    assert first["parameters"] == SETTING
    assert first["deviation"] == first["measured"]["value"] - first["predicted"]
    assert first["measured"]["freedom"] == 22
    exponent = read["findings"][1]["predictions"][0]
    assert exponent["measured"]["freedom"] is None
    assert read["findings"][0]["figures"][0]["name"] == "overlaps"


def test_predictions_are_found_by_verdict():
    made = result()
    assert [p.name for p in made.predictions("fails")] == ["positional.m@alpha=1.5"]
    assert len(list(made.predictions())) == 6


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"name": "a b"}, "name"),
        ({"name": "../a"}, "name"),
        ({"predicted": math.nan}, "finite"),
        ({"predicted_error": math.inf}, "finite"),
        ({"measured": estimate(math.nan, 0.1)}, "finite"),
        ({"measured": estimate(1.0, math.inf)}, "finite"),
        ({"measured": None}, "shown"),
        ({"predicted": None, "kind": "one-sided"}, "shown"),
    ],
)
def test_what_cannot_be_judged_is_refused(changes, words):
    with pytest.raises(InvalidInput, match=words):
        Prediction(**given(**changes))


def test_what_is_missing_can_be_shown():
    assert Prediction(**given(measured=None, kind="shown")).deviation is None
    assert Prediction(**given(predicted=None, kind="shown")).deviation is None


@pytest.mark.parametrize(
    ("kind", "tested"),
    [("two-sided", True), ("one-sided", True), ("checked", False), ("shown", False)],
)
def test_what_is_held_against_the_theory_is_tested(kind, tested):
    assert Prediction(**given(kind=kind)).tested == tested


def test_what_is_checked_needs_no_error_of_a_mean():
    checked = Prediction(**given(kind="checked", measured=None, verdict="holds"))
    assert (checked.deviation, checked.verdict) == (None, "holds")
    assert json.loads(json.dumps(checked.to_dict()))["kind"] == "checked"


def test_names_are_unique_in_a_suite():
    twice = Finding(title="x", text=(), predictions=(Prediction(**given()),) * 2)
    with pytest.raises(InvalidInput, match=r"prediction semantic\.q"):
        result(findings=(twice,))
    drawn = training().figures[0]
    with pytest.raises(InvalidInput, match="figure overlaps"):
        result(findings=(Finding(title="x", text=(), figures=(drawn, drawn)),))


def test_a_figure_is_a_file_by_its_name():
    with pytest.raises(InvalidInput, match="name"):
        Figure(name="a/b", caption="x", drawing=training().figures[0].drawing)
