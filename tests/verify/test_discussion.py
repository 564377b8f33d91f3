"""What fails is put down to what the numbers point to."""

from dataclasses import replace

import pytest

from tests.verify.made_up import estimate
from verify.discussion import discussion
from verify.predictions import Finding, Prediction


def _prediction(
    name, verdict="fails", jump_share=0.0, curvature_p=None, predicted=0.1, measured=0.11
):
    return Prediction(
        name=name,
        statement="It is.",
        symbol="q",
        predicted=predicted,
        measured=replace(estimate(measured, 0.001), curvature_p=curvature_p),
        jump_share=jump_share,
        verdict=verdict,
    )


def _findings(*predictions):
    return [Finding(title="x", text=(), predictions=(p,)) for p in predictions]


def test_where_nothing_fails_one_sentence_says_what_that_is_worth():
    told = discussion(
        _findings(
            _prediction("a", "holds", jump_share=0.1, curvature_p=1e-9),
            _prediction("b", "shown", jump_share=0.1),
        )
    )
    assert len(told) == 1
    assert "Nothing that was tested contradicts the theory" in told[0]


@pytest.mark.parametrize("kinds", [(), ("shown",), ("checked", "shown")])
def test_without_any_test_there_is_nothing_to_discuss(kinds):
    """Of the theory: what is checked on trained transformers may fail."""
    verdicts = {"checked": "fails", "shown": "shown"}
    made = [replace(_prediction(kind, verdicts[kind]), kind=kind) for kind in kinds]
    assert discussion(_findings(*made)) == ()


def test_what_is_checked_is_no_failure_of_the_theory():
    check = replace(_prediction("a", "fails"), kind="checked")
    [told] = discussion(_findings(check, _prediction("b", "holds")))
    assert "Nothing that was tested contradicts the theory" in told
    [told] = discussion(_findings(check, _prediction("b", "fails", curvature_p=1e-9)))
    assert told.startswith("b: ")


def test_broken_replica_symmetry_is_named_where_jumps_are_notable():
    [told] = discussion(
        _findings(_prediction("a", jump_share=0.12), _prediction("b", jump_share=0.05))
    )
    assert told.startswith("a, b: ")
    assert "12 % of V_hat" in told
    assert told.endswith("Broken replica symmetry is the likelier cause.")


@pytest.mark.parametrize(
    ("jump_share", "measured", "explained"),
    [
        (0.05, 0.1149, True),
        (0.05, 0.0851, True),
        # More than three times the share of the number.
        (0.05, 0.1151, False),
        (0.05, 0.0849, False),
        # Rarer than is worth a word, however small the deviation.
        (0.9e-3, 0.1001, False),
        (1.1e-3, 0.1001, True),
        # Not looked at.
        (None, 0.1001, False),
    ],
)
def test_jumps_explain_what_is_no_larger_than_they_make_plausible(jump_share, measured, explained):
    [told] = discussion(_findings(_prediction("a", jump_share=jump_share, measured=measured)))
    assert ("Broken replica symmetry" in told) == explained
    assert ("No cause is at hand" in told) != explained


def test_a_difference_that_is_to_be_zero_has_no_scale():
    [told] = discussion(_findings(_prediction("a", jump_share=0.01, predicted=0.0)))
    assert "Broken replica symmetry" in told


@pytest.mark.parametrize("jump_share", [0.0, 0.1, None])
def test_what_three_dimensions_say_of_1_over_d(jump_share):
    """Of several predictions some may be known."""
    for values, words in (
        ((0.5, 0.2), "the measured means are linear in 1/d within their errors"),
        ((None, None), "two dimensions do not show"),
        ((0.5, None), "within their errors where three dimensions show it"),
    ):
        predictions = [
            _prediction(name, jump_share=jump_share, curvature_p=p)
            for name, p in zip("ab", values, strict=True)
        ]
        [told] = discussion(_findings(*predictions))
        assert words in told


@pytest.mark.parametrize("jump_share", [1e-4, 0.1, None])
def test_what_is_curved_is_put_down_to_the_dimension_first(jump_share):
    [told] = discussion(_findings(_prediction("a", jump_share=jump_share, curvature_p=9e-3)))
    assert told.startswith("a: the means are not linear in 1/d (p below 0.01)")
    assert "larger dimensions would tell" in told
    [told] = discussion(_findings(_prediction("a", jump_share=jump_share, curvature_p=1.1e-2)))
    assert "not linear" not in told


def test_every_failure_is_discussed_once():
    told = discussion(
        _findings(
            _prediction("a", curvature_p=0.4),
            _prediction("b", jump_share=0.1),
            _prediction("c"),
            _prediction("d", jump_share=0.1, curvature_p=1e-3),
            _prediction("e", "holds"),
            _prediction("f", jump_share=None),
        )
    )
    assert [paragraph.split(":")[0] for paragraph in told] == ["b", "d", "a, c, f"]
