"""One step of state evolution: against equations written by hand, and its derivatives."""

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from symattn import ASYMMETRIC, AttentionModel, ComputationFailed
from symattn.overlaps import Overlaps
from symattn.quadrature import _columns as columns
from symattn.quadrature.expectations import Resolution, channel_expectations
from symattn.state_evolution import evolve
from tests.reference.fixed_point import updated
from tests.reference.stored import stored_points

ALPHA = 1.3

CASES = {
    # every power of sigma counts
    "no jumps": (AttentionModel(lam=0.1, sigma=0.45), Overlaps(0.02, 0.1, 2.4, 0.02)),
    "jumps": (AttentionModel(), Overlaps(0.06, 0.15, 14.0, 0.06)),
    "jumps, tokens differ": (
        AttentionModel(omega=0.15, mixing=ASYMMETRIC),
        Overlaps(0.06, 0.1, 14.0, 0.06),
    ),
}


@pytest.mark.parametrize("point", stored_points(), ids=lambda point: point.name)
def test_the_image_is_that_of_the_reference(point):
    p = point.parameters
    lam = 0.01
    model = AttentionModel(
        sigma=p.sigma, omega=p.omega, lam=lam, mixing=((p.a11, 1 - p.a11), (1 - p.a22, p.a22))
    )
    step = evolve(model, ALPHA, Overlaps(p.q, p.m, p.V, p.theta), Resolution.for_accuracy(1e-8))
    expected = updated(p, point.values, ALPHA, lam)
    np.testing.assert_allclose(step.image, expected, rtol=2e-7)
    np.testing.assert_allclose(step.residual, np.array([p.q, p.m, p.V, p.theta]) - step.image)


def losses_by_hand(model, alpha, overlaps, hats, means):
    """The two forms of the training loss, from the means at the step's overlaps."""
    q, m, V, theta = overlaps
    q_hat, m_hat, V_hat, theta_hat = hats
    rho = model.sigma**2
    D = model.lam + rho * V_hat
    extremal = alpha * means[columns.ENVELOPE] + (q_hat * V - V_hat * q) / 2.0
    extremal += m * m_hat + theta * theta_hat
    extremal -= (rho * q_hat + m_hat**2 + rho**2 * theta_hat**2) / (2.0 * D)
    direct = alpha * means[columns.LOSS] + model.lam * q / (2.0 * rho)
    return extremal, direct


@pytest.mark.parametrize("case", CASES)
def test_hats_and_losses_follow_their_equations(case):
    model, overlaps = CASES[case]
    step = evolve(model, ALPHA, overlaps, Resolution.for_accuracy(1e-5))
    means = step.expectations.means
    rho = model.sigma**2
    V_hat = -ALPHA * means[columns.G_DIV]
    expected = (
        ALPHA * means[columns.G_SQUARED],
        ALPHA * means[columns.G_MEAN],
        V_hat,
        (ALPHA * means[columns.G_TARGET] + overlaps.theta * V_hat) / rho,
    )
    assert step.hats == pytest.approx(expected, rel=1e-12)
    extremal, direct = losses_by_hand(model, ALPHA, overlaps, step.hats, means)
    assert step.train_loss == pytest.approx(extremal, rel=1e-12)
    assert step.train_loss_direct == pytest.approx(direct, rel=1e-12)


@cache
def steps(case):
    """The step, and by overlap the difference quotients of image, hats and E[M].

    Fourth order; the evaluations are independent of one another and of the derivatives' formulas.
    """
    model, overlaps = CASES[case]
    resolution = Resolution.for_accuracy(1e-8 if case == "no jumps" else 3e-6)
    here = evolve(model, ALPHA, overlaps, resolution)
    quotients = []
    for k in range(4):
        change = 1e-2 * overlaps[k]
        values = []
        for times in (-2, -1, 1, 2):
            moved = list(overlaps)
            moved[k] += times * change
            there = evolve(model, ALPHA, Overlaps(*moved), resolution)
            envelope = there.expectations.means[columns.ENVELOPE]
            values.append(np.array([*there.image, *there.hats, envelope]))
        far_below, below, above, far_above = values
        quotients.append((8.0 * (above - below) - (far_above - far_below)) / (12.0 * change))
    return here, np.array(quotients).T


def assert_derivatives(found, expected, values, overlaps, relative):
    scale = np.abs(values)[:, None] / np.abs(overlaps)[None, :]
    np.testing.assert_array_less(np.abs(found - expected), relative * (np.abs(expected) + scale))


@pytest.mark.parametrize(
    "case",
    [
        "no jumps",
        "jumps",
        pytest.param("jumps, tokens differ", marks=pytest.mark.slow),
    ],
)
def test_the_jacobian_is_the_difference_quotient(case):
    here, quotients = steps(case)
    assert (here.expectations.certificate.fold > 1e-3) == (case != "no jumps")
    assert_derivatives(here.hats_jacobian, quotients[4:8], here.hats, here.overlaps, 3e-5)
    assert_derivatives(here.jacobian, quotients[0:4], here.image, here.overlaps, 3e-5)


@pytest.mark.parametrize("case", CASES)
def test_alpha_and_lambda_move_the_image_as_the_difference_quotient_says(case):
    model, overlaps = CASES[case]
    resolution = Resolution.for_accuracy(1e-5)
    here = evolve(model, ALPHA, overlaps, resolution)
    change = 1e-4

    def image(share_of_alpha, share_of_lambda):
        moved = replace(model, lam=model.lam * (1.0 + share_of_lambda))
        return np.array(evolve(moved, ALPHA * (1.0 + share_of_alpha), overlaps, resolution).image)

    by_alpha = (image(change, 0.0) - image(-change, 0.0)) / (2.0 * change * ALPHA)
    by_lambda = (image(0.0, change) - image(0.0, -change)) / (2.0 * change * model.lam)
    np.testing.assert_allclose(here.image_by_alpha, by_alpha, rtol=1e-6)
    np.testing.assert_allclose(here.image_by_lambda, by_lambda, rtol=1e-6)


@pytest.mark.parametrize("case", CASES)
def test_the_hats_are_the_gradient_of_the_mean_envelope(case):
    # also across jumps, where the derivative of the prox at points would miss a part
    here, quotients = steps(case)
    by_q, by_m, by_V, by_theta = quotients[8]
    q_hat, m_hat, V_hat, theta_hat = here.hats
    assert q_hat == pytest.approx(-2.0 * ALPHA * by_V, rel=5e-6)
    assert m_hat == pytest.approx(-ALPHA * by_m, rel=5e-6)
    assert V_hat == pytest.approx(2.0 * ALPHA * by_q, rel=5e-6)
    assert theta_hat == pytest.approx(-ALPHA * by_theta, rel=5e-6)


@pytest.mark.parametrize(
    "overlaps", [Overlaps(0.05, 0.25, 13.0, 0.0), Overlaps(0.1, 0.0, 15.0, 0.14)]
)
def test_the_subspaces_are_invariant(overlaps):
    step = evolve(AttentionModel(), ALPHA, overlaps, Resolution.for_accuracy(1e-3))
    zero = 3 if overlaps.theta == 0.0 else 1
    assert step.image[zero] == 0.0
    assert step.hats[zero] == 0.0
    # to first order a small overlap outside the subspace stays proportional to itself
    others = [k for k in range(4) if k != zero]
    assert not step.jacobian[zero, others].any()
    assert not step.jacobian[others, zero].any()
    assert step.jacobian[zero, zero] != 0.0


def test_derivatives_out_of_the_subspace_are_those_next_to_it():
    # the eigenvalue towards m on the semantic branch decides its stability
    model = AttentionModel()
    at = Overlaps(0.0972, 0.0, 15.46, 0.1386)
    resolution = Resolution.for_accuracy(1e-5)
    step = evolve(model, 11 / 7, at, resolution)
    small = 1e-3
    beside = evolve(model, 11 / 7, at._replace(m=small), resolution)
    assert step.jacobian[1, 1] == pytest.approx(beside.image.m / small, rel=1e-3)


def test_what_the_evaluation_refuses_is_passed_on():
    with pytest.raises(ComputationFailed, match="admissible"):
        evolve(AttentionModel(), 1.0, Overlaps(0.1, 0.0, 15.0, 0.2), Resolution.for_accuracy(1e-3))


def test_the_sample_complexity_enters_the_hats_linearly():
    model, overlaps = CASES["jumps"]
    resolution = Resolution.for_accuracy(1e-3)
    one = evolve(model, 1.0, overlaps, resolution)
    two = evolve(model, 2.0, overlaps, resolution)
    np.testing.assert_allclose(two.hats, 2.0 * np.array(one.hats), rtol=1e-12)
    expectations = channel_expectations(model, overlaps, resolution)
    np.testing.assert_array_equal(expectations.means, two.expectations.means)
    assert math.isfinite(two.train_loss)
