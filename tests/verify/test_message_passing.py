"""Message passing: its fixed points, and its iterations against state evolution.

Statistics are Student's t over seeds: `unlikely` says how far a mean of that many seeds strays with
probability 1e-4. Overlaps of d dimensions are off by O(1/d), which two sizes take off where it is
not far below the error.
"""

import math
from functools import cache

import numpy as np
import pytest
import torch
from scipy import stats

from symattn import AttentionModel, ComputationFailed, InvalidInput, solve
from symattn.overlaps import Overlaps
from symattn.quadrature.expectations import Resolution
from symattn.state_evolution import evolve
from verify.message_passing import (
    predicted_trajectory,
    run_message_passing,
    weights_with_overlaps,
)
from verify.proximal import proximal_map
from verify.risk import Risk
from verify.samples import draw_samples, target_attention

ALPHA = 1.5
SMOOTH = AttentionModel(lam=0.1)
PAPER = AttentionModel()


@cache
def fixed_point(lam, branch):
    return solve(AttentionModel(lam=lam), ALPHA, branch=branch)[branch].overlaps


def start(samples, overlaps):
    source = torch.Generator().manual_seed(10**6 + samples.seeds[0])
    return weights_with_overlaps(samples, overlaps, source)


def drawn(model, dimension, seeds):
    return draw_samples(model, dimension, int(ALPHA * dimension), seeds)


def measured(model, overlaps, dimension, seeds, iterations):
    """Overlaps of undamped message passing: (iterations + 1, 4, B), in the order of `Overlaps`."""
    runs = []
    for k in range(0, len(seeds), 8):
        samples = drawn(model, dimension, seeds[k : k + 8])
        run = run_message_passing(samples, start(samples, overlaps), overlaps.V, iterations)
        runs.append(np.array([[entries.numpy() for entries in state] for state in run.states]))
    return np.concatenate(runs, axis=2)


def mean_and_error(values):
    return values.mean(axis=-1), values.std(axis=-1, ddof=1) / math.sqrt(values.shape[-1])


def unlikely(seeds):
    return stats.t.ppf(1.0 - 0.5e-4, seeds - 1)


def test_the_start_has_the_overlaps_asked_for():
    samples = drawn(PAPER, 60, range(3))
    q, m, _, theta = wanted = Overlaps(0.08, 0.1, 10.0, 0.05)
    weights = start(samples, wanted).numpy()
    teacher = samples.teacher[:, 0].numpy()
    np.testing.assert_allclose(0.25 * (weights**2).sum(axis=1) / 60, q)
    np.testing.assert_allclose(weights.sum(axis=1) / 60, m)
    np.testing.assert_allclose(0.25 * (weights * teacher).sum(axis=1) / 60, theta)
    with pytest.raises(InvalidInput, match=r"q = 0\.01 is not allowed: it must be above sigma\^2"):
        start(samples, Overlaps(0.01, 0.1, 10.0, 0.05))


@pytest.mark.parametrize(
    ("model", "branch", "damping"), [(SMOOTH, "positional", 0.0), (PAPER, "semantic", 0.5)]
)
def test_where_it_converges_the_gradient_of_the_risk_vanishes(model, branch, damping):
    samples = drawn(model, 300, range(4))
    overlaps = fixed_point(model.lam, branch)
    found = run_message_passing(
        samples, start(samples, overlaps), overlaps.V, 150, damping=damping, tolerance=1e-9
    )
    assert found.converged.sum() >= 3
    weights = found.weights[found.converged][:, None, None]
    _, gradient = Risk.of(samples, 1).value_and_gradient(found.weights[:, None, None])
    slope = torch.linalg.vector_norm(gradient[found.converged], dim=-1)
    assert (slope / (model.lam * torch.linalg.vector_norm(weights, dim=-1))).max() < 1e-6
    assert found.changes.shape == (len(found.hats), 4)
    assert len(found.states) == len(found.hats) + 1


def test_a_reflected_start_is_reflected():
    samples = drawn(PAPER, 200, range(2))
    weights = start(samples, Overlaps(0.06, 0.1, 14.0, 0.06))
    one, other = (run_message_passing(samples, sign * weights, 14.0, 3) for sign in (1, -1))
    for state, mirror in zip(one.states, other.states, strict=True):
        for name, sign in (("q", 1), ("m", -1), ("V", 1), ("theta", -1)):
            torch.testing.assert_close(getattr(state, name), sign * getattr(mirror, name))


@pytest.mark.parametrize(
    ("model", "overlaps"),
    [
        (SMOOTH, Overlaps(0.0045, 0.11, 2.66, 0.003)),
        (PAPER, Overlaps(0.075, 0.0, 16.0, 0.108)),
        (PAPER, Overlaps(0.05, 0.25, 13.6, 0.0)),
    ],
    ids=["no jumps", "semantic", "jumps"],
)
def test_the_first_iteration_obeys_state_evolution(model, overlaps):
    expected = predicted_trajectory(model, ALPHA, overlaps, 1).states[1]
    small, small_error = mean_and_error(measured(model, overlaps, 200, range(64), 1)[1])
    large, large_error = mean_and_error(measured(model, overlaps, 400, range(64, 128), 1)[1])
    error = np.sqrt(4.0 * large_error**2 + small_error**2)
    assert (np.abs(2.0 * large - small - expected) < unlikely(64) * error).all()
    # an error this small tells the iteration from none
    assert (error < 0.1 * np.abs([expected.q, 1.0, expected.V, 1.0])).all()


def test_the_response_knows_of_the_jumps():
    overlaps = Overlaps(0.05, 0.25, 13.6, 0.0)
    expected = evolve(PAPER, ALPHA, overlaps, Resolution.for_accuracy(1e-6)).hats.V_hat
    samples = drawn(PAPER, 800, range(16))
    weights = start(samples, overlaps)
    found = run_message_passing(samples, weights, overlaps.V, 1).hats[0].V_hat.numpy()
    mean, error = mean_and_error(found)
    assert abs(mean - expected) < unlikely(16) * error
    # the derivative where the prox is smooth, at the same fields, is told from it
    attention = target_attention(PAPER, samples.target_fields)
    target = torch.stack((attention[:, 0, 0], attention[:, 1, 1]), dim=1)
    fields = Risk.of(samples, 1).fields(weights[:, None, None])[:, 0, 0]
    V = torch.full((16,), overlaps.V, dtype=torch.float64)
    sigma = torch.full_like(fields[:, 0], PAPER.sigma)
    smooth = -ALPHA * proximal_map(fields, target, sigma, V).divergence.mean(dim=1).numpy()
    mean, error = mean_and_error(smooth)
    assert mean - expected > unlikely(16) * error


def test_the_trajectory_without_jumps():
    point = fixed_point(0.1, "positional")
    overlaps = Overlaps(0.8 * point.q, 0.8 * point.m, point.V, 0.0)
    expected = predicted_trajectory(SMOOTH, ALPHA, overlaps, 5)
    means, errors = mean_and_error(measured(SMOOTH, overlaps, 500, range(200, 232), 5))
    assert (np.abs(means - expected.states)[1:] < unlikely(32) * errors[1:]).all()
    # it ends elsewhere than it starts by more than that
    assert means[-1][1] - means[0][1] > unlikely(32) * errors[-1][1]


@pytest.mark.slow
@pytest.mark.parametrize("start_at", [0.8, 1.0])
def test_every_iteration_obeys_state_evolution_from_its_own_overlaps(start_at):
    # step by step, as deviations of O(d^-1/2) in m grow by 1.6 in an iteration
    q, _, V, theta = fixed_point(0.01, "semantic")
    overlaps = Overlaps(start_at * q, 0.0, V, start_at * theta)
    grids = Resolution.for_accuracy(1e-3)

    def deviations(dimension, seeds):
        """Of each iteration from one of state evolution: (iterations, 4), with errors."""
        states = measured(PAPER, overlaps, dimension, seeds, 3)
        images = [
            [evolve(PAPER, ALPHA, Overlaps(*column), grids).image for column in before.T]
            for before in states[:-1]
        ]
        return mean_and_error(states[1:] - np.swapaxes(images, 1, 2))

    small, small_error = deviations(400, range(300, 332))
    large, large_error = deviations(800, range(332, 364))
    error = np.sqrt(4.0 * large_error**2 + small_error**2)
    assert (np.abs(2.0 * large - small) < unlikely(32) * error).all()


def test_the_errors_of_the_prediction_hold():
    overlaps = Overlaps(0.075, 0.0, 16.0, 0.108)
    rough = predicted_trajectory(PAPER, ALPHA, overlaps, 3, accuracy=1e-4)
    fine = predicted_trajectory(PAPER, ALPHA, overlaps, 3, accuracy=1e-8)
    off = np.abs(np.subtract(rough.states, fine.states))
    assert (off <= np.add(rough.errors, fine.errors)).all()
    assert np.max(np.array(fine.errors)[:, 0]) < 1e-6
    assert rough.states[0] == overlaps


def test_what_cannot_be_done_is_refused():
    samples = drawn(PAPER, 100, range(4))
    overlaps = fixed_point(0.01, "positional")
    weights = start(samples, overlaps)
    with pytest.raises(InvalidInput, match="iterations = 0 is not allowed"):
        run_message_passing(samples, weights, overlaps.V, 0)
    with pytest.raises(InvalidInput, match=r"damping = 1\.0 is not allowed"):
        run_message_passing(samples, weights, overlaps.V, 1, damping=1.0)
    with pytest.raises(InvalidInput, match=r"V = -1\.0 is not allowed"):
        run_message_passing(samples, weights, -1.0, 1)
    # undamped it runs away there, as an eigenvalue of state evolution is -4.5
    with pytest.raises(ComputationFailed, match="try"):
        run_message_passing(samples, weights, overlaps.V, 50)
