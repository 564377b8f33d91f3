"""Numbers of students of rank two: closed forms, rank one, and rotations of the columns."""

import json
import math

import numpy as np
import pytest
import torch

from symattn.model import AttentionModel
from verify.device import choose_device
from verify.ranks import Ranks, numbers_of_rank
from verify.risk import Risk
from verify.samples import draw_samples
from verify.trained_sets import measured_numbers, start_weights
from verify.training import Trained, minimise

D = 60
TWO = AttentionModel(student_rank=2)
TEST_ERROR = 1e-3  # relative: it is a mean over points, which lie otherwise after a rotation


def measured(model, columns, seeds=(3,)):
    """Numbers of untrained weights, columns: (B, r, d)."""
    risk = Risk.of(draw_samples(model, D, 70, seeds), 1)
    weights = columns(risk.samples).unsqueeze(1)
    value = risk.value_and_gradient(weights)[0]
    trained = Trained(
        weights=weights,
        risk=value,
        gradient_norm=torch.zeros_like(value),
        evaluations=torch.ones_like(value, dtype=torch.int64),
        converged=torch.ones_like(value, dtype=torch.bool),
    )
    return risk, trained


def turned(columns):
    angle = 0.7
    cosine, sine = math.cos(angle), math.sin(angle)
    return columns.new_tensor([[cosine, -sine], [sine, cosine]]) @ columns


def semantic_and_positional(samples):
    """One column along the part of Q* across p_1, one along p_1."""
    along = samples.encoding[0]
    teacher = samples.teacher[0, 0]
    across = teacher - (teacher @ along) * along
    return torch.stack([0.8 * across, 2.0 * along]).unsqueeze(0)


def test_axes_of_a_semantic_and_a_positional_column():
    risk, trained = measured(TWO, lambda s: turned(semantic_and_positional(s)))
    found = {name: float(x) for name, x in numbers_of_rank(risk, trained).items()}
    across = semantic_and_positional(risk.samples)[0, 0] / 0.8
    squared = float(across.square().sum())
    assert found["q_1"] == pytest.approx(0.25 * 0.64 * squared / D)
    assert found["q_2"] == pytest.approx(0.25 * 4.0 / D)
    assert found["q"] == pytest.approx(found["q_1"] + found["q_2"])
    assert found["theta_1"] == pytest.approx(0.25 * 0.8 * squared / D)
    assert found["m_2"] == pytest.approx(2.0 / math.sqrt(D))
    assert found["m_1"] == pytest.approx(0.0, abs=1e-12)
    assert found["m"] == pytest.approx(found["m_2"])
    assert found["theta"] == pytest.approx(math.hypot(found["theta_1"], found["theta_2"]))


def test_rotations_change_nothing():
    one, two = (
        numbers_of_rank(*measured(TWO, columns))
        for columns in (semantic_and_positional, lambda s: turned(semantic_and_positional(s)))
    )
    for name, value in one.items():
        tolerance = TEST_ERROR if name == "test_error" else 1e-6
        assert float(two[name]) == pytest.approx(float(value), rel=tolerance, abs=1e-12), name


def test_a_column_of_zero_makes_it_rank_one():
    def padded(samples):
        return torch.cat([0.6 * samples.teacher, torch.zeros_like(samples.teacher)], dim=1)

    two = numbers_of_rank(*measured(TWO, padded, seeds=(3, 4)))
    one = measured_numbers(*measured(AttentionModel(), lambda s: 0.6 * s.teacher, seeds=(3, 4)))
    for name in ("q", "m", "theta", "train_loss", "test_error", "zero_loss", "teacher"):
        expected = np.abs(one[name]) if name in ("m", "theta") else np.array(one[name])
        tolerance = TEST_ERROR if name == "test_error" else 1e-10
        assert two[name].numpy() == pytest.approx(expected, rel=tolerance), name
    assert two["q_2"].abs().max() < 1e-15


def test_a_unit_has_the_minima_of_both_ranks():
    starts = ("semantic 1", "positional 1")
    unit = Ranks(
        experiment="tiny",
        model=AttentionModel(),
        dimension=40,
        seeds=(5, 2**62),
        alpha=1.5,
        starts=starts,
    )
    rows = unit.run(choose_device("cpu"))
    assert json.loads(json.dumps(rows)) == rows
    assert {(r["seed"], r["rank"], r["start"]) for r in rows} == {
        (seed, rank, start) for seed in unit.seeds for rank in (1, 2) for start in starts
    }
    samples = draw_samples(AttentionModel(), 40, 60, unit.seeds)
    for k, start in enumerate(starts):
        weights = start_weights(samples, start).unsqueeze(1)
        risk = minimise(Risk.of(samples, 1), weights).risk[:, 0] / 40
        for b, seed in enumerate(unit.seeds):
            [row] = [r for r in rows if (r["seed"], r["rank"], r["start"]) == (seed, 1, starts[k])]
            assert row["train_loss"] == pytest.approx(float(risk[b]), rel=1e-7)
