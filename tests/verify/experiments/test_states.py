"""Cosines are those of the vectors, and the larger one names the state."""

import pytest
import torch

from symattn.model import AttentionModel
from tests.verify.experiments.made_up_rows import along
from verify.experiments.states import LEAST_COSINE, cosines, state
from verify.overlaps import measured_overlaps
from verify.samples import draw_samples


def test_cosines_are_those_of_the_vectors():
    samples = draw_samples(AttentionModel(), 40, 1, [3])
    q = 0.7 * samples.teacher[:, None] + 2.0 * samples.encoding[1]
    overlaps = measured_overlaps(samples, q).scalars()
    teacher = float(samples.teacher.square().sum() / 40 - 1)
    row = {name: float(value) for name, value in overlaps._asdict().items()}
    found = cosines({**row, "teacher": teacher}, 0.25)
    vector = q.flatten()
    similarity = torch.nn.functional.cosine_similarity
    assert found.semantic == pytest.approx(
        abs(float(similarity(vector, samples.teacher.flatten(), dim=0)))
    )
    assert found.positional == pytest.approx(
        abs(float(similarity(vector, samples.encoding[0], dim=0)))
    )


@pytest.mark.parametrize(
    ("semantic", "positional", "expected"),
    [
        (0.9, 0.1, "semantic"),
        (-0.9, 0.1, "semantic"),
        (0.5, 0.6, "positional"),
        (0.5, -0.6, "positional"),
        (LEAST_COSINE - 0.01, LEAST_COSINE - 0.02, "neither"),
        (LEAST_COSINE + 0.01, 0.0, "semantic"),
    ],
)
def test_the_larger_cosine_names_the_state(semantic, positional, expected):
    teacher = 0.3
    assert state({**along(semantic, positional, 0.05, teacher), "teacher": teacher}, 0.25) == (
        expected
    )


def test_no_weights_are_in_no_state():
    row = {"q": 0.0, "m": 0.0, "theta": 0.0, "teacher": 0.0}
    assert cosines(row, 0.25) == (0.0, 0.0)
    assert state(row, 0.25) == "neither"
