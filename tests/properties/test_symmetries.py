"""Symmetries of state evolution at overlaps drawn at random."""

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from symattn import AttentionModel
from symattn.overlaps import Overlaps
from symattn.quadrature.expectations import Resolution
from symattn.state_evolution import evolve

ROUGH = Resolution.for_accuracy(1e-3)

models = st.builds(
    lambda sigma, omega, a, b: AttentionModel(
        sigma=sigma, omega=omega, mixing=((a, 1.0 - a), (1.0 - b, b))
    ),
    st.floats(0.2, 0.6),
    st.floats(0.0, 1.0),
    st.floats(0.0, 1.0),
    st.floats(0.0, 1.0),
)


@st.composite
def starts(draw):
    """A model and overlaps with V up to 15, m and theta of either sign."""
    model = draw(models)
    q = model.rho * draw(st.floats(0.05, 1.0))
    theta = draw(st.floats(-0.9, 0.9)) * math.sqrt(q * model.rho)
    return model, Overlaps(q, draw(st.floats(-0.4, 0.4)), draw(st.floats(0.5, 15.0)), theta)


def image(model, overlaps):
    return np.array(evolve(model, 1.0, overlaps, ROUGH).image)


def assert_same(found, expected):
    np.testing.assert_allclose(found, expected, rtol=5e-3, atol=1e-5)


@settings(max_examples=15)
@given(starts())
def test_m_and_theta_may_change_sign(start):
    model, (q, m, V, theta) = start
    here = image(model, Overlaps(q, m, V, theta))
    assert_same(image(model, Overlaps(q, -m, V, theta)), here * [1, -1, 1, 1])
    assert_same(image(model, Overlaps(q, m, V, -theta)), here * [1, 1, 1, -1])


@settings(max_examples=15)
@given(starts())
def test_the_tokens_may_be_exchanged(start):
    model, overlaps = start
    (a11, a12), (a21, a22) = model.mixing
    exchanged = AttentionModel(
        sigma=model.sigma, omega=model.omega, mixing=((a22, a21), (a12, a11))
    )
    here = image(model, overlaps)
    assert_same(image(exchanged, overlaps._replace(m=-overlaps.m)), here * [1, -1, 1, 1])


@settings(max_examples=15)
@given(starts())
def test_the_image_is_admissible_where_the_response_is_positive(start):
    model, overlaps = start
    q, _, V, theta = evolve(model, 1.0, overlaps, ROUGH).image
    # q rho - theta^2 = (sigma^4 q_hat + sigma^2 m_hat^2) rho/D^2, a sum of squares
    assert q * model.rho >= theta**2
    assert math.isfinite(V)
