"""Training against plain autograd and torch's own optimisers on the layer itself."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from symattn import AttentionModel, InvalidInput
from tests.verify.draws import random_weights
from verify.layer import AttentionLayer, inputs_and_labels, layer_risk
from verify.overlaps import measured_overlaps
from verify.response import risk_hessian
from verify.risk import Risk
from verify.samples import draw_samples
from verify.training import (
    adam,
    gradient_descent,
    minimise,
    positional_start,
    random_start,
    semantic_start,
)

THREE_TOKENS = AttentionModel(
    length=3,
    student_rank=2,
    target_rank=1,
    sigma=0.7,
    lam=0.05,
    mixing=((0.2, 0.3, 0.5), (0.6, 0.3, 0.1), (0.1, 0.1, 0.8)),
)


def layer_trained_by(optimiser, samples, weights, steps):
    """Q after some steps of a torch optimiser on the plain layer of the first training set."""
    x, y = inputs_and_labels(samples, 0)
    layer = AttentionLayer(weights.T, samples.encoding)
    chosen = optimiser(layer.parameters())
    for _ in range(steps):
        chosen.zero_grad()
        layer_risk(layer, x, y, samples.model.lam).backward()
        chosen.step()
    return layer.Q.detach().T


@pytest.mark.parametrize("model", [AttentionModel(), THREE_TOKENS], ids=["L = 2", "L = 3"])
@pytest.mark.parametrize(
    ("ours", "theirs", "step"),
    [(gradient_descent, torch.optim.SGD, 0.15), (adam, torch.optim.Adam, 0.01)],
    ids=["gradient descent", "adam"],
)
def test_steps_are_those_of_torch_on_the_layer(model, ours, theirs, step):
    samples = draw_samples(model, 30, 50, [1, 2])
    start = random_weights(2, 2, model.student_rank, 30)
    trained = ours(Risk.of(samples, 2), start, step=step, steps=40)
    for k in range(2):
        expected = layer_trained_by(
            lambda parameters: theirs(parameters, lr=step), samples, start[0, k], 40
        )
        torch.testing.assert_close(trained.weights[0, k], expected, rtol=1e-9, atol=1e-10)
    assert not torch.allclose(trained.weights[0, 0], start[0, 0])
    assert (trained.evaluations == 41).all()
    assert not trained.converged.any()


@pytest.mark.parametrize("model", [AttentionModel(), THREE_TOKENS], ids=["L = 2", "L = 3"])
def test_a_minimum_is_one_of_the_layer(model):
    """The gradient by autograd is as small as said, and no start near by leads lower."""
    samples = draw_samples(model, 60, 90, [1, 2])
    start = torch.stack([semantic_start(samples), positional_start(samples)], dim=1)
    trained = minimise(Risk.of(samples, 2), start)
    assert trained.converged.all()
    for b in range(2):
        x, y = inputs_and_labels(samples, b)
        for k in range(2):
            layer = AttentionLayer(trained.weights[b, k].T, samples.encoding)
            risk = layer_risk(layer, x, y, model.lam)
            risk.backward()
            risk = risk.detach()
            norm = float(torch.linalg.vector_norm(layer.Q.grad))
            assert norm == pytest.approx(float(trained.gradient_norm[b, k]), abs=1e-9)
            assert norm < 1e-6
            assert float(trained.risk[b, k]) == pytest.approx(float(risk), rel=1e-12)
            with torch.no_grad():
                for seed in range(5):
                    layer.Q.copy_(trained.weights[b, k].T)
                    layer.Q += 1e-3 * random_weights(*layer.Q.shape, seed=seed)
                    assert layer_risk(layer, x, y, model.lam) > risk


def test_minima_are_those_of_another_optimiser():
    """With a strong penalty the two starts have one minimum each, which scipy finds as well."""
    model, d = AttentionModel(lam=0.1), 60
    samples = draw_samples(model, d, 300, [1])
    risk = Risk.of(samples, 1)
    for start in (semantic_start(samples), positional_start(samples)):
        trained = minimise(risk, start.unsqueeze(1), tolerance=1e-9)

        def objective(flat):
            value, gradient = risk.value_and_gradient(torch.from_numpy(flat).reshape(1, 1, 1, d))
            return float(value), gradient.numpy().ravel()

        found = minimize(
            objective, start.numpy().ravel(), jac=True, method="BFGS", options={"gtol": 1e-8}
        )
        assert float(trained.risk) == pytest.approx(found.fun, rel=1e-12)
        np.testing.assert_allclose(trained.weights.numpy().ravel(), found.x, atol=1e-6)


def test_a_minimum_has_a_positive_hessian():
    samples = draw_samples(AttentionModel(), 100, 150, [1, 2])
    start = torch.stack([semantic_start(samples), positional_start(samples)], dim=1)
    risk = Risk.of(samples, 2)
    trained = minimise(risk, start)
    for b in range(2):
        for k in range(2):
            assert float(risk_hessian(risk, trained.weights, seed=b, run=k).eigenvalues[0]) > 0


def test_runs_do_not_know_of_each_other():
    """Each run of a batch, with its own lambda and number of samples, is what it is alone."""
    model = AttentionModel()
    samples = draw_samples(model, 50, 80, [1, 2, 3])
    lam = torch.tensor([0.01, 0.1, 1.0], dtype=torch.float64)
    counts = torch.tensor([80, 60, 40])
    start = torch.stack(
        [semantic_start(samples), positional_start(samples), random_start(samples)], dim=1
    )
    together = minimise(Risk(samples=samples, lam=lam, counts=counts), start, tolerance=1e-8)
    assert together.converged.all()
    for b, seed in enumerate(samples.seeds):
        for k in range(3):
            alone = Risk(
                samples=draw_samples(model, 50, int(counts[k]), [seed]),
                lam=lam[k : k + 1],
                counts=counts[k : k + 1],
            )
            trained = minimise(alone, start[b : b + 1, k : k + 1], tolerance=1e-8)
            assert float(trained.risk) == pytest.approx(float(together.risk[b, k]), rel=1e-9)
            torch.testing.assert_close(
                trained.weights[0, 0], together.weights[b, k], rtol=0, atol=1e-5
            )


def test_a_run_that_did_not_converge_says_so():
    samples = draw_samples(AttentionModel(), 60, 90, [1])
    start = semantic_start(samples).unsqueeze(1)
    short = minimise(Risk.of(samples, 1), start, most_evaluations=3)
    assert not short.converged.any()
    assert int(short.evaluations) == 3
    assert float(short.gradient_norm) > 1e-6
    assert not gradient_descent(Risk.of(samples, 1), start, steps=5).converged.any()
    assert gradient_descent(Risk.of(samples, 1), start, steps=5, tolerance=1e3).converged.all()


def test_a_start_at_a_minimum_is_the_end():
    samples = draw_samples(AttentionModel(), 40, 60, [1])
    risk = Risk.of(samples, 1)
    once = minimise(risk, semantic_start(samples).unsqueeze(1))
    again = minimise(risk, once.weights)
    assert torch.equal(again.weights, once.weights)
    assert int(again.evaluations) == 1


def test_training_in_single_precision_ends_at_the_same_minimum():
    """The gradient is rounded to some 1e-6 of its terms: a tolerance above that is reached."""
    samples = draw_samples(AttentionModel(), 200, 300, [1, 2], precision=torch.float32)
    double = replace(samples, tokens=samples.tokens.double())
    start = semantic_start(samples).unsqueeze(1)
    trained = minimise(Risk.of(samples, 1), start, tolerance=1e-4)
    assert trained.converged.all()
    expected = minimise(Risk.of(double, 1), start)
    torch.testing.assert_close(trained.risk, expected.risk, rtol=1e-6, atol=0)
    found, reference = (
        measured_overlaps(double, weights).scalars().theta
        for weights in (trained.weights, expected.weights)
    )
    torch.testing.assert_close(found, reference, rtol=1e-3, atol=0)


def test_starts_have_the_overlaps_they_are_named_for():
    model = AttentionModel(student_rank=2, target_rank=1)
    samples = draw_samples(model, 400, 1, [1, 2])
    semantic = measured_overlaps(samples, semantic_start(samples).unsqueeze(1))
    norms = samples.teacher[:, 0].square().sum(dim=-1) / 400
    torch.testing.assert_close(semantic.theta[:, 0, 0, 0], 0.25 * norms)
    assert not semantic.theta[:, 0, 1].any()
    positional = measured_overlaps(samples, positional_start(samples, 0.4).unsqueeze(1))
    expected = 0.4 * (samples.encoding @ samples.encoding.T)
    torch.testing.assert_close(positional.m[0, 0], expected)


def test_random_starts_depend_on_seed_and_stream_alone():
    model = AttentionModel(student_rank=2)
    largest = 2**63 - 1
    both, one = (draw_samples(model, 500, 1, seeds) for seeds in ([1, largest], [largest]))
    start = random_start(both, size=0.3, stream=4)
    assert torch.equal(start[1:], random_start(one, size=0.3, stream=4))
    assert not torch.equal(start[0], start[1])
    assert not torch.equal(start, random_start(both, size=0.3, stream=5))
    # four standard deviations of the mean square of 2000 entries
    assert float(start.square().mean()) == pytest.approx(0.09, rel=4 * math.sqrt(2 / 2000))


@pytest.mark.parametrize("train", [minimise, gradient_descent, adam])
def test_a_start_of_another_shape_is_refused(train):
    samples = draw_samples(AttentionModel(), 10, 5, [1])
    with pytest.raises(InvalidInput, match=r"^start = \(1, 2, 1, 10\)"):
        train(Risk.of(samples, 1), random_weights(1, 2, 1, 10))


@pytest.mark.parametrize("train", [gradient_descent, adam])
def test_steps_that_lead_nowhere_are_refused(train):
    samples = draw_samples(AttentionModel(), 10, 5, [1])
    start = random_weights(1, 1, 1, 10)
    with pytest.raises(InvalidInput, match=r"^step = "):
        train(Risk.of(samples, 1), start, step=math.inf)
    with pytest.raises(InvalidInput, match=r"^steps = 0"):
        train(Risk.of(samples, 1), start, steps=0)
