"""Limits in which the theory is known in closed form, or to first order."""

import math
from functools import cache

import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from symattn import AttentionModel, Overlaps, solve
from symattn.quadrature.expectations import Resolution
from symattn.quadrature.generalization_error import mean_test_loss
from symattn.state_evolution import evolve
from symattn.zero_point import zero_point
from tests.properties.strategies import alphas, log_floats, mixings, models_and_overlaps

# Sums over h* by the trapezoidal rule: at twice the step they are the same.
STEP, REACH = 0.1, 8.5


@cache
def loss_by_hand():
    """Loss, gradient and Hessian in x = (x_1, x_2), from the definition, as functions of numbers.

    sigma^2 ((T_11 - S_11)^2 + (T_22 - S_22)^2) with S_ll the logistic function of
    x_l^2 - x_1 x_2.
    """
    x1, x2, t11, t22, sigma = sp.symbols("x1 x2 t11 t22 sigma")
    weights = [1 / (1 + sp.exp(-(x * x - x1 * x2))) for x in (x1, x2)]
    loss = sigma**2 * sum((t - s) ** 2 for t, s in zip((t11, t22), weights, strict=True))
    hessian = sp.hessian(loss, (x1, x2))
    return sp.lambdify((x1, x2, t11, t22, sigma), [loss, *hessian])


def hessians(x1, x2, t11, t22, sigma):
    """Of the loss at many x: shape (.., 2, 2)."""
    _, h11, h12, h21, h22 = loss_by_hand()(x1, x2, t11, t22, sigma)
    entries = np.broadcast_arrays(h11, h12, h21, h22, t11)[:4]
    return np.moveaxis(np.array(entries), 0, -1).reshape(*entries[0].shape, 2, 2)


def targets(model):
    """Nodes h_1 and h_2 of the rule over h*, T_11 and T_22 there, and the weights, all (nodes,)."""
    axis = np.arange(-REACH, REACH + STEP / 2.0, STEP)
    h1, h2 = (model.sigma * grid.ravel() for grid in np.meshgrid(axis, axis))
    weights = np.exp(-(h1**2 + h2**2) / (2.0 * model.rho))
    share, ((a11, _), (_, a22)) = 1.0 - model.omega, model.mixing
    t11 = share / (1.0 + np.exp(h1 * (h2 - h1))) + model.omega * a11
    t22 = share / (1.0 + np.exp(h2 * (h1 - h2))) + model.omega * a22
    return h1, h2, t11, t22, weights / weights.sum()


def curvatures_at_rest(model, V):
    """E tr K, and its first derivative by V, at x = 0: K = H (1 + V H)^-1, dK/dV = -K^2."""
    _, _, t11, t22, weights = targets(model)
    hessian = hessians(0.0, 0.0, t11, t22, model.sigma)
    kernel = hessian @ np.linalg.inv(np.eye(2) + V * hessian)
    trace = np.trace(kernel, axis1=1, axis2=2)
    square = np.trace(kernel @ kernel, axis1=1, axis2=2)
    return weights @ trace, -(weights @ square)


@cache
def expansion_of_the_response():
    """The first two orders in alpha of V from V (lambda + sigma^2 alpha k(V)) = sigma^2.

    As a function of V at alpha = 0, k and dk/dV there, and sigma.
    """
    alpha, V0, first, second, k, slope, sigma = sp.symbols("alpha V0 first second k slope sigma")
    V = V0 + alpha * first + alpha**2 * second
    curvature = k + slope * (V - V0)
    left = sp.expand(V * (sigma**2 / V0 + sigma**2 * alpha * curvature) - sigma**2)
    equations = [left.coeff(alpha, order) for order in (1, 2)]
    [orders] = sp.solve(equations, (first, second), dict=True)
    assert sp.simplify(left.coeff(alpha, 0)) == 0
    return sp.lambdify((V0, k, slope, sigma), [orders[first], orders[second]])


@st.composite
def weakly_curved(draw, strengths=(2.0, 10.0)):
    """Models whose prox stays at 0 at alpha = 0, since lambda is above sigma^4."""
    sigma = draw(st.floats(0.2, 0.8))
    return AttentionModel(
        sigma=sigma,
        lam=sigma**4 * draw(log_floats(*strengths)),
        omega=draw(st.floats(0.0, 1.0)),
        mixing=draw(mixings),
    )


@settings(max_examples=12)
@given(weakly_curved())
def test_the_response_at_small_alpha_has_the_first_two_orders_of_its_equation(model):
    V0 = model.rho / model.lam
    first, second = expansion_of_the_response()(V0, *curvatures_at_rest(model, V0), model.sigma)
    for alpha in (1e-3, 1e-4):
        share = (zero_point(model, alpha).V - V0 - alpha * first) / alpha**2
        assert share == pytest.approx(second, rel=50.0 * alpha, abs=50.0 * alpha * V0)


@settings(max_examples=12)
@given(weakly_curved(strengths=(1e3, 1e6)), alphas)
def test_a_strong_penalty_leaves_nothing_but_the_response_to_it(model, alpha):
    """To first order in 1/lambda, with the loss of uniform attention."""
    _, _, t11, t22, weights = targets(model)
    found = zero_point(model, alpha)
    small = model.rho / model.lam
    tau = weights @ (t11 + t22 - 1.0)
    # tr H = -sigma^2 tau, and V = small/(1 + alpha small E tr H)
    shift = (found.V / small - 1.0) / small
    assert shift == pytest.approx(alpha * model.rho * tau, abs=30.0 * alpha * small * model.rho)
    loss = model.rho * (weights @ ((t11 - 0.5) ** 2 + (t22 - 0.5) ** 2))
    assert found.loss == pytest.approx(loss, rel=1e-12)
    assert 0.0 <= 1.0 - found.replicon <= alpha * (small * model.rho) ** 2 * 4.0


@settings(max_examples=3)
@given(
    st.floats(0.0, 1.0),
    st.floats(0.3, 0.7),
    mixings,
    log_floats(0.5, 5.0),
)
def test_under_a_strong_penalty_only_the_untrained_layer_is_left(omega, sigma, mixing, alpha):
    model = AttentionModel(omega=omega, sigma=sigma, mixing=mixing, lam=100.0 * sigma**4 * alpha)
    found = solve(model, alpha, digits=3)
    [point] = found.fixed_points
    assert point.branch == "zero"
    assert point.train_loss == pytest.approx(alpha * point.test_error, rel=1e-12)


@settings(max_examples=12)
@given(weakly_curved(), alphas)
def test_the_loss_of_a_constant_target_is_a_sum_of_squares(model, alpha):
    # strong enough for all of the data
    lam = (1.0 + 5.0 * alpha) * model.lam
    model = AttentionModel.from_dict({**model.to_dict(), "omega": 1.0, "lam": lam})
    (a11, _), (_, a22) = model.mixing
    found = zero_point(model, alpha)
    expected = model.rho * ((a11 - 0.5) ** 2 + (a22 - 0.5) ** 2)
    assert found.loss == pytest.approx(expected, rel=1e-12, abs=1e-16)
    # one H for all samples: both sides of the equation for V in closed form
    hessian = hessians(0.0, 0.0, np.array([a11]), np.array([a22]), model.sigma)[0]
    kernel = hessian @ np.linalg.inv(np.eye(2) + found.V * hessian)
    left = found.V * (model.lam + model.rho * alpha * np.trace(kernel))
    assert left == pytest.approx(model.rho, rel=1e-12)


@settings(max_examples=6)
@given(
    models_and_overlaps(V=(0.05, 3.0), sigma=(0.3, 0.6)),
    st.floats(0.1, 1.0),
    st.floats(-0.6, 0.6),
)
def test_a_purely_positional_target_teaches_no_meaning(start, size, alignment):
    """Nothing depends on h* at omega = 1: theta goes to 0 at once, and does not matter before."""
    model, (_, m, V, _) = start
    model = AttentionModel.from_dict({**model.to_dict(), "omega": 1.0, "lam": 2.0 * model.rho**2})
    overlaps = Overlaps(size * model.rho, m, V, alignment * math.sqrt(size) * model.rho)
    resolution = Resolution.for_accuracy(1e-5)
    step = evolve(model, 1.0, overlaps, resolution)
    without = evolve(model, 1.0, overlaps._replace(theta=0.0), resolution)
    assert abs(step.image.theta) < 1e-4 * math.sqrt(size) * model.rho
    np.testing.assert_allclose(step.image[:3], without.image[:3], rtol=1e-4, atol=1e-7)
    assert step.train_loss_direct == pytest.approx(without.train_loss_direct, rel=1e-4)


@settings(max_examples=5)
@given(models_and_overlaps(sigma=(0.2, 0.6)))
def test_the_test_error_does_not_see_signs(start):
    model, overlaps = start
    here = mean_test_loss(model, overlaps, 1e-5)
    for signs in ((1, -1, 1, 1), (1, 1, 1, -1), (1, -1, 1, -1)):
        there = mean_test_loss(model, Overlaps(*np.multiply(overlaps, signs).tolist()), 1e-5)
        assert there.value == pytest.approx(here.value, rel=3e-5)
        np.testing.assert_allclose(
            there.gradient, here.gradient * signs, rtol=1e-2, atol=1e-3 * here.value
        )
