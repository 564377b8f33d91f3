"""Means over the whole channel: against brute force, sampling, limits, and their certificate."""

import math

import numpy as np
import pytest

from symattn import ASYMMETRIC, STANDARD, AttentionModel, ComputationFailed
from symattn.overlaps import Overlaps
from symattn.quadrature import _columns as columns
from symattn.quadrature.expectations import Resolution, channel_expectations
from tests.quadrature import energy_by_hand as by_hand
from tests.quadrature.channels_given_target import COLUMNS, brute_force
from tests.reference.expectations import SCALES, Parameters
from tests.reference.monte_carlo import sampled_expectations
from tests.reference.stored import stored_points
from tests.smooth_channel import smooth_expectations


def at(p, accuracy, **options):
    """Expectations at the reference's parameters."""
    model = AttentionModel(
        sigma=p.sigma, omega=p.omega, mixing=((p.a11, 1.0 - p.a11), (1.0 - p.a22, p.a22))
    )
    overlaps = Overlaps(p.q, p.m, p.V, p.theta)
    return channel_expectations(model, overlaps, Resolution.for_accuracy(accuracy), **options)


def by_name(expectations):
    return {name: expectations.means[column] for name, column in COLUMNS.items() if name != "one"}


@pytest.mark.parametrize("point", stored_points(), ids=lambda point: point.name)
def test_means_are_those_of_the_reference(point):
    found = by_name(at(point.parameters, 1e-8))
    for name, value in found.items():
        expected = point.values[name]
        # the stored value has 12 digits and its own error
        bound = point.errors[name] + 3e-9 * abs(expected)
        assert value == pytest.approx(expected, abs=bound), name


@pytest.mark.parametrize("point", stored_points(), ids=lambda point: point.name)
def test_a_resolution_gives_the_accuracy_it_is_meant_for(point):
    for accuracy in (1e-3, 1e-5):
        found = by_name(at(point.parameters, accuracy))
        for name, value in found.items():
            expected = point.values[name]
            bound = point.errors[name] + 10.0 * accuracy * abs(expected)
            assert value == pytest.approx(expected, abs=bound), (name, accuracy)


@pytest.mark.parametrize(
    "p",
    [
        Parameters(q=0.02, m=0.1, V=2.4, theta=0.02),
        Parameters(q=0.03, m=0.05, V=2.0, theta=0.03, sigma=0.4, omega=0.6, a11=0.3, a22=0.2),
    ],
)
def test_where_nothing_jumps_the_accuracy_goes_down_to_rounding(p):
    expected = smooth_expectations(p)
    for accuracy in (1e-8, 1e-12):
        expectations = at(p, accuracy)
        assert expectations.certificate.fold < 1e-30
        for name, value in by_name(expectations).items():
            assert value == pytest.approx(expected[name], rel=3.0 * accuracy), (name, accuracy)


@pytest.mark.parametrize(
    "p",
    [
        Parameters(q=0.07, m=0.15, V=20.0, theta=0.06, sigma=0.6, omega=0.5),
        Parameters(q=0.05, m=0.1, V=30.0, theta=0.03, sigma=0.4, omega=0.8, a11=0.3, a22=0.2),
    ],
)
def test_means_are_those_of_a_sample(p):
    means, errors = sampled_expectations(p, 10, seed=1)
    found = by_name(at(p, 1e-5))
    for name, size in zip(COLUMNS, SCALES, strict=False):
        if name != "one":
            assert found[name] == pytest.approx(means[name], abs=5.0 * errors[name]), name
            assert errors[name] < 0.05 * size, name


@pytest.mark.parametrize(
    ("q", "m", "V", "a11", "a22"),
    [
        (0.05, 0.25, 14.0, 0.6, 0.6),
        (0.2, 0.1, 20.0, 0.8, 0.8),
        # four wells of equal depth
        (0.09, 0.2, 12.0, 0.95, 0.95),
        (0.1, 0.2, 25.0, 0.3, 0.2),
    ],
)
def test_a_target_without_h_needs_one_channel_only(q, m, V, a11, a22):
    p = Parameters(q=q, m=m, V=V, theta=0.0, omega=1.0, a11=a11, a22=a22)
    expected = brute_force(p, 0.0, 0.0)
    found = by_name(at(p, 1e-5))
    for name, scale in zip(COLUMNS, SCALES, strict=False):
        if name not in ("one", "gh"):
            size = max(scale, abs(expected[name]))
            assert found[name] == pytest.approx(expected[name], abs=1e-5 * size), name


def test_the_response_has_a_part_that_derivatives_at_points_miss():
    # Gauss-Hermite with derivatives of the prox at its nodes gives -0.0247 here; the brute-force
    # reference, on a trapezoidal rule of 12 rows in h*, -0.021324 by Stein's form
    p = Parameters(q=0.0475, m=0.25, V=14.5, theta=0.0)
    expectations = at(p, 1e-6)
    response = expectations.means[columns.G_DIV]
    assert response == pytest.approx(-0.021324, abs=2e-6)
    assert response - expectations.jump_length / p.V == pytest.approx(-0.0247, rel=0.015)


def test_the_jumps_split_the_response_into_two_parts():
    # at omega = 1 the mean derivative of the prox at points is an integral over one w plane
    p = Parameters(q=0.06, m=0.2, V=14.0, theta=0.0, omega=1.0, a11=0.7, a22=0.7)
    expectations = at(p, 1e-8)
    channel = (0.7, 0.7, 0.5, 14.0)
    nodes = np.linspace(-4.0, 4.0, 41)
    density = np.exp(-0.5 * nodes**2)
    density /= density.sum()
    pointwise = 0.0
    for xi, share in zip(nodes, density, strict=True):
        for eta, other in zip(nodes, density, strict=True):
            w = math.sqrt(p.q) * np.array([xi, eta]) + [math.sqrt(2.0) * p.m, 0.0]
            _, u, v = by_hand.deepest(*w, channel, pitch=0.1)
            by_u, by_v = (
                (by_hand.slope(u + i, v + j, channel) - by_hand.slope(u - i, v - j, channel)) / 2e-4
                for i, j in ((1e-4, 0.0), (0.0, 1e-4))
            )
            pointwise += share * other * (np.linalg.inv([by_u, by_v]).trace() - 2.0) / p.V
    smooth = expectations.means[columns.G_DIV] - expectations.jump_length / p.V
    assert smooth == pytest.approx(pointwise, rel=0.02)
    assert expectations.jump_length / p.V > 0.1 * abs(pointwise)


def random_point(rng):
    model = AttentionModel(
        sigma=float(rng.uniform(0.2, 0.7)),
        omega=float(rng.uniform(0.0, 1.0)),
        mixing=[STANDARD, ASYMMETRIC, ((0.9, 0.1), (0.2, 0.8))][rng.integers(3)],
    )
    q = model.rho * float(np.exp(rng.uniform(np.log(0.1), np.log(1.0))))
    kind = rng.integers(3)
    m = float(rng.uniform(0.1, 0.4)) if kind != 0 else 0.0
    theta = float(rng.uniform(0.1, 0.9)) * math.sqrt(q * model.rho) if kind != 1 else 0.0
    V = float(np.exp(rng.uniform(np.log(5.0), np.log(40.0))))
    return model, Overlaps(q, m, V, theta)


def test_the_certificate_of_random_points():
    rng = np.random.default_rng(3)
    jumping = 0
    for _ in range(12):
        model, overlaps = random_point(rng)
        expectations = channel_expectations(model, overlaps, Resolution.for_accuracy(1e-4))
        certificate = expectations.certificate
        at_hand = (str(model), overlaps, certificate)
        assert certificate.normalisation < 1e-3, at_hand
        assert certificate.jump_normalisation < 1e-3, at_hand
        assert certificate.uncovered < 1e-5, at_hand
        assert certificate.chord_gap > -1e-9, at_hand
        assert certificate.border < 1e-4, at_hand
        assert 0.0 <= certificate.fold < 1.1
        jumping += certificate.fold > 1e-4
    assert jumping >= 4


@pytest.mark.parametrize(
    "overlaps", [Overlaps(0.05, 0.25, 13.0, 0.0), Overlaps(0.1, 0.0, 15.0, 0.14)]
)
def test_what_symmetry_makes_zero_is_zero_and_the_rest_is_continuous(overlaps):
    model = AttentionModel()
    exact = channel_expectations(model, overlaps, Resolution.for_accuracy(1e-5)).means
    # next to the invariant subspace no symmetry is used
    nudged = Overlaps(*(x or 1e-9 for x in overlaps))
    near = channel_expectations(model, nudged, Resolution.for_accuracy(1e-5)).means
    odd = columns.ODD_IN_M if overlaps.m == 0.0 else columns.ODD_IN_THETA
    for column in range(columns.COLUMNS):
        if column in odd:
            assert exact[column] == 0.0
            assert abs(near[column]) < 1e-6
        else:
            assert near[column] == pytest.approx(exact[column], rel=1e-4), column


def test_the_mixing_exchanged_exchanges_the_tokens():
    overlaps = Overlaps(0.08, 0.15, 14.0, 0.08)
    resolution = Resolution.for_accuracy(1e-6)
    here = channel_expectations(AttentionModel(mixing=ASYMMETRIC), overlaps, resolution).means
    (a11, a12), (a21, a22) = ASYMMETRIC
    exchanged = AttentionModel(mixing=((a22, a21), (a12, a11)))
    there = channel_expectations(exchanged, overlaps._replace(m=-overlaps.m), resolution).means
    signs = np.ones(columns.COLUMNS)
    signs[list(columns.ODD_IN_M)] = -1.0
    np.testing.assert_allclose(there * signs, here, rtol=2e-5)


@pytest.mark.parametrize(
    "overlaps",
    [
        Overlaps(0.1, 0.0, 15.0, 0.16),  # q < theta^2/rho
        Overlaps(0.1, 0.0, 0.0, 0.0),
        Overlaps(0.1, 0.0, -1.0, 0.0),
        Overlaps(math.nan, 0.0, 1.0, 0.0),
        Overlaps(0.1, math.inf, 1.0, 0.0),
    ],
)
def test_inadmissible_overlaps_are_refused(overlaps):
    with pytest.raises(ComputationFailed, match="admissible"):
        channel_expectations(AttentionModel(), overlaps, Resolution.for_accuracy(1e-3))


def test_a_prox_that_reaches_too_far_is_refused():
    with pytest.raises(ComputationFailed, match="reaches too far"):
        channel_expectations(
            AttentionModel(), Overlaps(1e4, 0.0, 15.0, 0.0), Resolution.for_accuracy(1e-3)
        )
