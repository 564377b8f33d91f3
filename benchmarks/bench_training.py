"""Training one layer to its minimum at d = 1000 and alpha = 1.5, against the plain way.

The plain way is gradient descent by autograd through the layer, step 0.15, from the same start,
until its risk is within a stated share of that of the minimum. To do just that would take half an
hour: the steps it needs are counted with the fast gradient, which gives the same iterates, the time
of a step is measured on 50 of them, and the product is what is compared. It is printed and in
`extra_info`.
"""

from __future__ import annotations

import time

import pytest
import torch

from symattn import AttentionModel
from verify.layer import AttentionLayer, inputs_and_labels, layer_risk
from verify.risk import Risk
from verify.samples import draw_samples
from verify.training import minimise, positional_start, semantic_start

DIMENSION, COUNT = 1000, 1500
STEP = 0.15
PRECISIONS = (1e-4, 1e-6, 1e-9)
MOST_STEPS = 100_000
TIMED_STEPS = 50
STARTS = {"semantic": semantic_start, "positional": positional_start}


def steps_to_the_minimum(risk, start, least):
    """Steps of gradient descent to risks within each of PRECISIONS of `least`, and the last Q."""
    weights, found = start.clone(), {}
    for step in range(MOST_STEPS):
        value, gradient = risk.value_and_gradient(weights)
        for precision in PRECISIONS:
            if precision not in found and float(value) <= least * (1 + precision):
                found[precision] = step
        if len(found) == len(PRECISIONS):
            return found, weights
        weights -= STEP * gradient
    raise AssertionError(f"the risk is {float(value)!r} after {MOST_STEPS} steps, not {least!r}")


def seconds_a_plain_step(samples, start):
    """Time of a step of torch's own gradient descent on the plain layer."""
    x, y = inputs_and_labels(samples, 0)
    layer = AttentionLayer(start[0, 0].T, samples.encoding)
    optimiser = torch.optim.SGD(layer.parameters(), lr=STEP)

    def take(steps):
        for _ in range(steps):
            optimiser.zero_grad()
            layer_risk(layer, x, y, samples.model.lam).backward()
            optimiser.step()

    take(3)
    begun = time.perf_counter()
    take(TIMED_STEPS)
    return (time.perf_counter() - begun) / TIMED_STEPS


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.benchmark(group="training one layer, d = 1000, alpha = 1.5")
def test_minimise_against_plain_gradient_descent(benchmark, start):
    samples = draw_samples(AttentionModel(), DIMENSION, COUNT, [1])
    risk = Risk.of(samples, 1)
    weights = STARTS[start](samples).unsqueeze(1)
    plain = seconds_a_plain_step(samples, weights)
    trained = benchmark.pedantic(minimise, (risk, weights), rounds=5, warmup_rounds=1)
    assert trained.converged.all()
    steps, ended = steps_to_the_minimum(risk, weights, float(trained.risk))
    # the same minimum, not another one as low
    distance = torch.linalg.vector_norm(ended - trained.weights)
    assert distance < 1e-3 * torch.linalg.vector_norm(trained.weights)
    fast = benchmark.stats.stats.median
    ratios = {f"{p:g}": plain * count / fast for p, count in steps.items()}
    benchmark.extra_info.update(
        evaluations=int(trained.evaluations), plain_seconds_a_step=plain, ratios=ratios
    )
    print(f"\n{start}: {fast:.3f} s, {int(trained.evaluations)} evaluations")
    for precision, count in steps.items():
        print(
            f"  plainly to {precision:g}: {count} steps of {1e3 * plain:.1f} ms, "
            f"{plain * count / fast:.0f} times as long"
        )
