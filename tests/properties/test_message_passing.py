"""One iteration of message passing on training sets against one step of state evolution.

Overlaps of d dimensions are off by O(1/d) on average, which two sizes take off, and their error is
that of the scatter over seeds. Of all comparisons together, one or more is beyond its bound with
probability 1e-3, if the theory holds.
"""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

pytest.importorskip("torch", reason="torch is not installed")

import torch

from symattn.overlaps import Overlaps
from tests.properties.strategies import alphas, log_floats, models
from verify.message_passing import (
    predicted_trajectory,
    run_message_passing,
    weights_with_overlaps,
)
from verify.samples import draw_samples

FALSE_ALARMS = 1e-3
NAMES = Overlaps._fields


@st.composite
def starts(draw):
    """A model, sample complexity and overlaps that a student can have."""
    model = draw(models(sigma=(0.3, 0.6), lam=(0.05, 0.5)))
    m = draw(st.one_of(st.just(0.0), st.floats(-0.4, 0.4)))
    theta = model.rho * draw(st.one_of(st.just(0.0), st.floats(-0.5, 0.5)))
    # in few dimensions |Q*|^2/d may be a third below 1, and theta then takes more of q
    q = model.rho * (m**2 + draw(log_floats(0.02, 0.5))) + 1.5 * theta**2 / model.rho
    # V sigma^2 up to 2.5, so that jumps are drawn, too
    V = draw(log_floats(0.1, 2.5)) / model.rho
    return model, draw(alphas.map(lambda alpha: max(alpha, 0.5))), Overlaps(q, m, V, theta)


def iterated(model, alpha, overlaps, dimension, seeds):
    """Overlaps after one iteration, (4, seeds)."""
    samples = draw_samples(model, dimension, round(alpha * dimension), seeds)
    source = torch.Generator().manual_seed(10**6 + seeds[0])
    weights = weights_with_overlaps(samples, overlaps, source)
    _, after = run_message_passing(samples, weights, overlaps.V, 1).states
    return np.array([entries.numpy() for entries in after])


def assert_obeys_state_evolution(start, size, seeds, comparisons):
    model, alpha, overlaps = start
    # whole numbers of samples at both sizes
    alpha = round(alpha * size) / size
    expected = predicted_trajectory(model, alpha, overlaps, 1, accuracy=1e-5)
    small = iterated(model, alpha, overlaps, size, range(seeds))
    large = iterated(model, alpha, overlaps, 2 * size, range(seeds, 2 * seeds))
    limit = 2.0 * large.mean(axis=1) - small.mean(axis=1)
    variances = [4.0 * large.var(axis=1, ddof=1), small.var(axis=1, ddof=1)]
    error = np.sqrt(sum(variances) / seeds)
    # seeds - 1 degrees of freedom at least, of the two means together
    unlikely = stats.t.ppf(1.0 - 0.5 * FALSE_ALARMS / comparisons, seeds - 1)
    bound = unlikely * error + expected.errors[1]
    for k, name in enumerate(NAMES):
        assert abs(limit[k] - expected.states[1][k]) <= bound[k], name
    # errors that tell the iteration from none
    q, _, V, _ = np.maximum(overlaps, expected.states[1])
    scale = np.array([q, math.sqrt(q) / model.sigma, V, math.sqrt(q) * model.sigma])
    assert (error < 0.2 * scale).all()


EXAMPLES, MANY = 4, 60


@settings(max_examples=EXAMPLES)
@given(starts())
def test_an_iteration_from_any_overlaps_obeys_state_evolution(start):
    assert_obeys_state_evolution(start, 120, 24, 4 * EXAMPLES)


@pytest.mark.slow
@settings(max_examples=MANY)
@given(starts())
def test_an_iteration_from_many_overlaps_obeys_state_evolution(start):
    assert_obeys_state_evolution(start, 200, 48, 4 * MANY)
