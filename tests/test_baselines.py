"""The linear baseline against high precision, simulation, limits and the published value."""

import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf, workdps

from symattn import ASYMMETRIC, AttentionModel, ComputationFailed, InvalidInput, linear_baseline


def softmax_moments(sigma, spacing):
    """E[S_11] and Var S_11 by a trapezoidal rule in token coordinates, in mpmath's precision."""
    rho = sigma**2
    steps = int(12 / spacing)
    nodes = [spacing * k for k in range(-steps, steps + 1)]
    weights = [spacing * mp.npdf(node) for node in nodes]
    first = second = mpf(0)
    for h_1, w_1 in zip(nodes, weights, strict=True):
        row = [1 / (1 + mp.exp(-rho * h_1 * (h_1 - h_2))) for h_2 in nodes]
        first += w_1 * mp.fdot(weights, row)
        second += w_1 * mp.fsum(w_2 * s_11**2 for w_2, s_11 in zip(weights, row, strict=True))
    return first, second - first**2


@cache
def reference(sigma):
    """E[S_11] and Var S_11 to 20 digits at least, which halving the spacing confirms."""
    with workdps(30):
        coarse = softmax_moments(mpf(sigma), mpf(1) / 6)
        fine = softmax_moments(mpf(sigma), mpf(1) / 12)
        for rough, better in zip(coarse, fine, strict=True):
            assert abs(rough - better) < mpf(10) ** -20 * better
        return fine


@pytest.mark.parametrize("sigma", ["0.01", "0.2", "0.5", "0.7"])
@pytest.mark.parametrize("omega", ["0", "0.3", "0.999999"])
def test_true_errors_are_within_the_stated_ones(sigma, omega):
    model = AttentionModel(sigma=float(sigma), omega=float(omega), mixing=ASYMMETRIC)
    baseline = linear_baseline(model)
    mean, variance = reference(sigma)
    with workdps(30):
        scale = 2 * (mpf(sigma) * (1 - mpf(omega))) ** 2
        assert abs(baseline.test_error - scale * variance) <= baseline.error
        assert baseline.error <= 1e-14 * scale
        for k, a_kk in enumerate((mpf("0.3"), mpf("0.2"))):
            w_kk = (1 - mpf(omega)) * mean + mpf(omega) * a_kk
            assert abs(baseline.W[k][k] - w_kk) <= baseline.W_error
    assert baseline.W_error <= 1e-14


def test_the_stated_error_holds_where_the_integrands_are_steep():
    # At sigma = 4 the logistic functions are nearly steps; the rule here is finer than any in use,
    # and in other coordinates.
    nodes = np.arange(-2880, 2881) / 320  # to 9 standard deviations
    weights = np.exp(-(nodes**2) / 2)
    weights /= weights.sum()
    means, squares = [], []
    for h_1, weight in zip(nodes, weights, strict=True):
        row = np.tanh(8 * h_1 * (h_1 - nodes)) / 2
        means.append(weight * (weights @ row))
        squares.append(weight * (weights @ row**2))
    mean, second = math.fsum(means), math.fsum(squares)

    baseline = linear_baseline(AttentionModel(sigma=4.0, omega=0.0))
    assert abs(baseline.test_error - 32 * (second - mean**2)) <= baseline.error
    assert abs(baseline.W[0][0] - 0.5 - mean) <= baseline.W_error


def test_the_best_linear_map_of_a_simulated_target():
    """Regress y on x at d = 200 and compare the map and the test error with the predictions."""
    model = AttentionModel(sigma=1.0, omega=0.3, mixing=ASYMMETRIC)
    rng = np.random.default_rng(1)
    d, samples = 200, 20_000
    q_star = rng.standard_normal(d)
    q_star *= np.sqrt(d) / np.linalg.norm(q_star)
    x = model.sigma * rng.standard_normal((samples, 2, d))
    h = x @ q_star / np.sqrt(d)
    logits = h[:, :, None] * h[:, None, :]
    softmax = np.exp(logits - logits.max(axis=2, keepdims=True))
    softmax /= softmax.sum(axis=2, keepdims=True)
    y = ((1 - model.omega) * softmax + model.omega * np.array(model.mixing)) @ x

    gram = np.einsum("sid,sjd->ij", x, x)
    fitted = np.einsum("sid,sjd->ij", y, x) @ np.linalg.inv(gram)
    test_error = ((y - fitted @ x) ** 2).sum() / (2 * d * samples)

    baseline = linear_baseline(model)
    assert fitted == pytest.approx(np.array(baseline.W), abs=0.01)
    assert test_error == pytest.approx(baseline.test_error, rel=0.03)


def test_published_value():
    # arXiv 2402.03902, the dense linear baseline at omega = 0.3: about 0.00196.
    assert linear_baseline(AttentionModel()).test_error == pytest.approx(0.00196, rel=0.02)


def test_small_scale_limit():
    # S_11 - 1/2 tends to h_1 (h_1 - h_2) / 4 there, whose variance is 3 sigma^4 / 16.
    sigma, omega = 1e-5, 0.3
    test_error = linear_baseline(AttentionModel(sigma=sigma, omega=omega)).test_error
    assert test_error == pytest.approx(3 / 8 * sigma**6 * (1 - omega) ** 2, rel=1e-8, abs=0)


@given(st.floats(0.05, 2), st.floats(0, 1))
def test_the_mixing_matrix_moves_the_map_and_not_its_error(sigma, omega):
    standard = linear_baseline(AttentionModel(sigma=sigma, omega=omega))
    asymmetric = linear_baseline(AttentionModel(sigma=sigma, omega=omega, mixing=ASYMMETRIC))
    assert asymmetric.test_error == standard.test_error
    moved = standard.W[0][0] - asymmetric.W[0][0]
    assert moved == pytest.approx(0.3 * omega, abs=1e-15)


def test_a_purely_positional_target_is_linear():
    baseline = linear_baseline(AttentionModel(omega=1.0, mixing=ASYMMETRIC))
    assert (baseline.test_error, baseline.error) == (0.0, 0.0)
    assert np.array(baseline.W) == pytest.approx(np.array(ASYMMETRIC), abs=baseline.W_error)


def test_an_accuracy_out_of_reach_is_refused():
    with pytest.raises(ComputationFailed) as caught:
        linear_baseline(AttentionModel(sigma=30.0))
    assert "sigma = 30" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_models_of_another_class_are_refused():
    with pytest.raises(InvalidInput, match=r"^student_rank = 2"):
        linear_baseline(AttentionModel(student_rank=2))
