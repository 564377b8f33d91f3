"""The hats of trained layers against training again without a sample, and against the theory."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from symattn import AttentionModel, InvalidInput, solve
from tests.verify.draws import random_weights
from verify.forces import measured_hats
from verify.overlaps import measured_overlaps
from verify.response import risk_hessian
from verify.risk import Risk
from verify.samples import draw_samples
from verify.training import minimise, positional_start, semantic_start


def test_a_force_moves_the_fields_of_its_sample_by_the_response():
    """Two runs, with the last sample and without it: its fields differ by V g.

    Sample by sample that holds up to relative order d^(-1/2), so the slope over the 2 fields of 16
    training sets is 1 within some percent.
    """
    model, d, count = AttentionModel(lam=0.1), 200, 400
    samples = draw_samples(model, d, count, range(16))
    risk = replace(Risk.of(samples, 2), counts=torch.tensor([count, count - 1]))
    start = positional_start(samples).unsqueeze(1).expand(-1, 2, -1, -1)
    trained = minimise(risk, start, tolerance=1e-9)
    assert trained.converged.all()
    fields = risk.fields(trained.weights)[:, :, 0, :, -1]
    shift = (fields[:, 0] - fields[:, 1]).numpy()
    gradients = risk.losses(risk.fields(trained.weights))[1]
    force = -gradients[:, 0, 0, :, -1].numpy()
    V = risk_hessian(risk, trained.weights, seed=0, run=0).response().V
    slope = (shift * force).sum() / (V * force**2).sum()
    assert slope == pytest.approx(1, abs=0.1)
    assert np.corrcoef(shift.ravel(), force.ravel())[0, 1] > 0.98


@pytest.mark.parametrize(
    ("branch", "model"),
    [
        ("semantic", AttentionModel(lam=0.05, omega=0.1)),
        ("positional", AttentionModel(lam=0.1)),
    ],
    ids=["semantic", "positional"],
)
def test_trained_layers_have_the_overlaps_and_hats_of_the_theory(branch, model):
    """Where nothing jumps: within four standard errors of 8 training sets and a bias of 4/d."""
    d, alpha, sets = 300, 4.0, 8
    samples = draw_samples(model, d, round(alpha * d), range(sets))
    risk = Risk.of(samples, 1)
    start = semantic_start(samples) if branch == "semantic" else positional_start(samples)
    trained = minimise(risk, start.unsqueeze(1))
    assert trained.converged.all()
    responses = [risk_hessian(risk, trained.weights, seed=b, run=0).response() for b in range(sets)]
    V, V_hat, replicon = (
        torch.tensor([[getattr(r, name)] for r in responses], dtype=torch.float64)
        for name in ("V", "V_hat", "replicon")
    )
    overlaps = measured_overlaps(samples, trained.weights).scalars()
    hats = measured_hats(risk, trained.weights, V, V_hat)
    sign = torch.sign(overlaps.theta if branch == "semantic" else overlaps.m)
    found = {
        "q": overlaps.q,
        "m": sign * overlaps.m,
        "V": V,
        "theta": sign * overlaps.theta,
        "q_hat": hats.q_hat,
        "m_hat": sign * hats.m_hat,
        "V_hat": V_hat,
        "theta_hat": sign * hats.theta_hat,
        "replicon": replicon,
        "train_loss": trained.risk / d,
        "envelope": hats.envelope,
    }
    point = solve(model, alpha, branch=branch, digits=4)[branch]
    assert point.stable
    expected = {
        **point.overlaps._asdict(),
        **point.hats._asdict(),
        "replicon": point.replicon,
        "train_loss": point.train_loss,
        "envelope": point.envelope,
    }
    for name, values in found.items():
        error = float(values.std()) / math.sqrt(sets)
        bias = 4 / d * abs(expected[name])
        assert float(values.mean()) == pytest.approx(expected[name], abs=4 * error + bias), name


def test_numbers_are_for_two_tokens():
    model = AttentionModel(length=3, mixing=((0.2, 0.3, 0.5),) * 3)
    samples = draw_samples(model, 8, 5, [1])
    one = torch.ones((1, 1), dtype=torch.float64)
    with pytest.raises(InvalidInput, match=r"^length = 3"):
        measured_hats(Risk.of(samples, 1), random_weights(1, 1, 1, 8), one, one)
