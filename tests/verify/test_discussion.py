"""What fails is put down to what the numbers point to."""

from dataclasses import replace

from tests.verify.made_up import estimate
from verify.discussion import discussion
from verify.predictions import Finding, Prediction


def _prediction(name, verdict="fails", jump_share=0.0, curvature_p=None):
    return Prediction(
        name=name,
        statement="It is.",
        symbol="q",
        predicted=0.1,
        measured=replace(estimate(0.2, 0.01), curvature_p=curvature_p),
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
    assert discussion([]) == told


def test_broken_replica_symmetry_comes_first_where_jumps_are_notable():
    [told] = discussion(
        _findings(_prediction("a", jump_share=0.12), _prediction("b", jump_share=0.03))
    )
    assert told.startswith("a, b: ")
    assert "12 % of V_hat" in told
    assert "replica symmetry is therefore the likelier cause" in told
    assert "cannot be seen" in told


def test_curvature_is_weighed_against_jumps():
    straight, curved = (
        discussion(_findings(_prediction("a", jump_share=0.1, curvature_p=p)))[0]
        for p in (0.5, 1e-3)
    )
    assert "linear in 1/d within their errors" in straight
    assert "although a show curvature in 1/d" in curved


def test_what_is_curved_without_jumps_is_put_down_to_the_dimension():
    [told] = discussion(_findings(_prediction("a", jump_share=1e-4, curvature_p=1e-3)))
    assert told.startswith("a: the means are not linear in 1/d")
    assert "larger dimensions would tell" in told


def test_what_nothing_explains_is_said_to_be_unexplained():
    told = discussion(
        _findings(
            _prediction("a", curvature_p=0.4),
            _prediction("b", jump_share=0.1, curvature_p=1e-3),
            _prediction("c"),
            _prediction("d", curvature_p=1e-3),
            _prediction("e", "holds"),
        )
    )
    assert [paragraph.split(":")[0] for paragraph in told] == ["b", "d", "a, c"]
    assert "Neither broken replica symmetry nor a finite dimension" in told[2]
