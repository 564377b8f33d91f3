"""Hessians against autograd, and the response at Q = 0 against the theory."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from symattn import AttentionModel, ComputationFailed, InvalidInput, threshold
from symattn.zero_point import zero_point
from tests.verify.draws import random_weights
from verify.layer import AttentionLayer, inputs_and_labels, layer_risk
from verify.response import Hessian, risk_hessian
from verify.risk import Risk
from verify.samples import draw_samples

MIXING = {
    2: ((0.3, 0.7), (0.8, 0.2)),
    3: ((0.2, 0.3, 0.5), (0.6, 0.3, 0.1), (0.1, 0.1, 0.8)),
    4: ((0.1, 0.2, 0.3, 0.4),) * 4,
}


@pytest.mark.parametrize("length", [2, 3, 4])
def test_hessian_is_that_of_the_layer(length):
    model = AttentionModel(length=length, mixing=MIXING[length], sigma=0.8)
    samples = draw_samples(model, 10, 14, [1, 2])
    risk = Risk(
        samples=samples,
        lam=torch.tensor([0.01, 0.5], dtype=torch.float64),
        counts=torch.tensor([14, 9]),
    )
    weights = 1.5 * random_weights(2, 2, 1, 10)
    x, y = inputs_and_labels(samples, 1)

    def layer_risk_at(Q):
        layer = AttentionLayer(Q, samples.encoding)
        output = torch.func.functional_call(layer, {"Q": Q.unsqueeze(1)}, x[:9])
        return (y[:9] - output).square().sum() / 20 + 0.25 * Q.square().sum()

    Q = weights[1, 1, 0]
    plain = layer_risk(AttentionLayer(Q.unsqueeze(1), samples.encoding), x[:9], y[:9], 0.5)
    torch.testing.assert_close(layer_risk_at(Q), plain.detach())
    expected = torch.autograd.functional.hessian(layer_risk_at, Q)
    found = risk_hessian(risk, weights, seed=1, run=1)
    torch.testing.assert_close(found.matrix, expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(found.eigenvalues, np.linalg.eigvalsh(expected), atol=1e-11)
    assert (found.lam, found.rho) == (0.5, pytest.approx(0.64))


def test_response_of_a_known_spectrum():
    matrix = torch.diag(torch.tensor([0.5, 1.0, 2.0, 4.0], dtype=torch.float64))
    hessian = Hessian(matrix=matrix, eigenvalues=torch.diagonal(matrix), rho=0.25, lam=0.1)
    response = hessian.response()
    V = 0.25 * 3.75 / 4
    expected = (V, (0.25 / V - 0.1) / 0.25, V**2 / (0.0625 * 5.3125 / 4))
    assert (response.V, response.V_hat, response.replicon) == pytest.approx(expected)
    assert hessian.stiffness_along(torch.tensor([3.0, 0.0, 0.0, 4.0]).double()) == pytest.approx(
        1 / (0.36 / 0.5 + 0.64 / 4)
    )


def test_no_response_where_there_is_no_minimum():
    """Far beyond its threshold Q = 0 is a saddle."""
    samples = draw_samples(AttentionModel(), 30, 120, [1])
    hessian = risk_hessian(Risk.of(samples, 1), torch.zeros(1, 1, 1, 30).double(), seed=0, run=0)
    with pytest.raises(ComputationFailed, match="no minimum"):
        hessian.response()


def test_rank_two_is_refused():
    samples = draw_samples(AttentionModel(student_rank=2), 10, 5, [1])
    with pytest.raises(InvalidInput, match=r"^student_rank = 2"):
        risk_hessian(Risk.of(samples, 1), random_weights(1, 1, 2, 10), seed=0, run=0)


def _at_zero(model, alpha, d, seeds):
    """Hessians at Q = 0 and the training sets' positions."""
    for seed in seeds:
        samples = draw_samples(model, d, round(alpha * d), [seed])
        risk = Risk.of(samples, 1)
        weights = torch.zeros((1, 1, 1, d), dtype=torch.float64)
        yield risk_hessian(risk, weights, seed=0, run=0), samples


def _within(found, expected, *, bias):
    """Whether the mean of `found` is within four standard errors, and a relative bias."""
    error = np.std(found, ddof=1) / math.sqrt(len(found))
    assert np.mean(found) == pytest.approx(expected, abs=4 * error + bias * abs(expected))


def test_response_at_zero_is_that_of_the_theory():
    """Traces vary by 1/d and have biases of that order."""
    model, d = AttentionModel(lam=0.1), 400
    expected = zero_point(model, 0.8)
    responses = [hessian.response() for hessian, _ in _at_zero(model, 0.8, d, range(8))]
    _within([r.V for r in responses], expected.V, bias=1 / d)
    _within([r.V_hat for r in responses], expected.V_hat, bias=8 / d)
    _within([r.replicon for r in responses], expected.replicon, bias=4 / d)
    assert np.std([r.V for r in responses]) < 0.01 * expected.V


def test_zero_is_soft_towards_the_positions_at_its_threshold():
    """At the threshold of the theory the stiffness along p_1 vanishes; at half of it, it does not.

    sigma^2/V is the stiffness in a direction at random.
    """
    model = AttentionModel(lam=0.1)
    alpha = threshold(model, "weak_positional", digits=6).alpha
    scale = model.rho / zero_point(model, alpha).V
    stiffness = {
        share: [
            hessian.stiffness_along(samples.encoding[0]) / scale
            for hessian, samples in _at_zero(model, share * alpha, 400, range(8))
        ]
        for share in (0.5, 1.0)
    }
    error = np.std(stiffness[1.0], ddof=1) / math.sqrt(8)
    assert abs(np.mean(stiffness[1.0])) < 4 * error
    assert error < 0.05
    assert np.mean(stiffness[0.5]) > 0.4


def test_the_penalty_adds_to_every_eigenvalue():
    model = AttentionModel(lam=0.1)
    samples = draw_samples(model, 30, 40, [1])
    weights = random_weights(1, 2, 1, 30)[:, :1].expand(1, 2, 1, 30)
    risk = replace(Risk.of(samples, 2), lam=torch.tensor([0.1, 0.7], dtype=torch.float64))
    low, high = (risk_hessian(risk, weights, seed=0, run=k).eigenvalues for k in range(2))
    torch.testing.assert_close(high - low, torch.full_like(low, 0.6))
