"""What the checks compare with: the model by definition, against other sources."""

import numpy as np
import pytest
from mpmath import matrix, mp, mpf
from scipy.special import softmax

from symattn.symbolic import definition


def random_matrix(rows, columns, seed):
    values = np.random.default_rng(seed).normal(size=(rows, columns))
    return matrix(values.tolist()), values


def test_attention_is_scipys_softmax_of_the_products():
    x, numbers = random_matrix(3, 2, 1)
    expected = softmax(numbers @ numbers.T, axis=1)
    found = np.array(definition.attention(x).tolist(), dtype=float)
    np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_the_mean_over_signs_is_the_mean_over_gaussian_tokens():
    # E |B y|^2 = sigma^2 |B|_F^2 for any law of y with independent components of variance sigma^2.
    mismatch, numbers = random_matrix(4, 4, 2)
    expected = 0.49 * np.sum(numbers**2)
    assert float(definition.mean_square(mismatch, mpf("0.7"))) == pytest.approx(expected, 1e-13)


def test_the_conditional_law_is_the_schur_complement():
    root, numbers = random_matrix(4, 4, 3)
    joint = numbers @ numbers.T
    mean, centre = random_matrix(4, 1, 4)
    observed, seen = random_matrix(2, 1, 5)
    slope = joint[2:, :2] @ np.linalg.inv(joint[:2, :2])
    found_mean, found_covariance = definition.conditional_law(root * root.T, mean, observed)
    expected_mean = centre[2:] + slope @ (seen - centre[:2])
    expected_covariance = joint[2:, 2:] - slope @ joint[:2, 2:]
    np.testing.assert_allclose(np.array(found_mean.tolist(), dtype=float), expected_mean, rtol=1e-9)
    np.testing.assert_allclose(
        np.array(found_covariance.tolist(), dtype=float), expected_covariance, rtol=1e-9
    )


def test_the_extremal_form_at_one_token_is_the_printed_formula():
    q, m, V, theta = (matrix([[x]]) for x in (0.3, 0.2, 1.5, 0.1))
    q_hat, m_hat, V_hat, theta_hat = (matrix([[x]]) for x in (0.7, 0.4, 0.9, 0.6))
    alpha, envelope, lam, sigma = 1.2, 0.05, 0.1, 0.5
    ridge = lam + sigma**2 * 0.9
    source = sigma**2 * 0.7 + 0.4**2 + sigma**4 * 0.6**2
    expected = (
        alpha * envelope
        + (0.7 * 1.5 - 0.9 * 0.3) / 2
        + 0.2 * 0.4
        + 0.1 * 0.6
        - source / (2 * ridge)
    )
    found = definition.extremal(
        mpf(alpha),
        mpf(envelope),
        (q, m, V, theta),
        (q_hat, m_hat, V_hat, theta_hat),
        mp.eye(1),
        mpf(lam),
        mpf(sigma),
    )
    assert float(found) == pytest.approx(expected, rel=1e-13)


def test_the_measure_of_one_column_is_that_of_a_sphere():
    # N = 1, nothing fixed but |Q|^2: a shell of the sphere, by the exact surface at a large d.
    q, penalty, sigma, dimension = mpf("0.3"), mpf("0.8"), mpf("0.6"), mpf(10) ** 12
    none = mp.zeros(1, 1)
    found = definition.overlap_entropy(matrix([[q]]), none, none, mp.eye(1), penalty, sigma)
    square = dimension * q / sigma**2
    surface = dimension / 2 * mp.log(mp.pi) - mp.loggamma(dimension / 2)
    expected = (surface + (dimension / 2 - 1) * mp.log(square) - penalty * square / 2) / dimension
    assert float(found) == pytest.approx(float(expected), abs=1e-9)


def test_the_measure_of_three_columns_is_the_extremum_over_conjugates():
    with mp.workdps(30):
        root, m, theta, encodings = (
            random_matrix(rows, columns, seed)[0]
            for seed, (rows, columns) in enumerate([(3, 3), (2, 3), (3, 2), (2, 2)])
        )
        penalty, sigma = mpf("0.7"), mpf("0.6")
        gram = encodings * encodings.T
        fixed = theta * theta.T / sigma**2 + sigma**2 * m.T * gram**-1 * m
        q = root * root.T + fixed
        # Stationarity of the action in the overlaps gives the conjugates.
        rest = (root * root.T) ** -1
        conjugates = (
            rest - penalty / sigma**2 * mp.eye(3),
            sigma**2 * gram**-1 * m * rest,
            rest * theta / sigma**2,
        )
        found = definition.overlap_action((q, m, theta), conjugates, gram, penalty, sigma)
        expected = definition.overlap_entropy(q, m, theta, gram, penalty, sigma)
        assert abs(found - expected) < mpf(10) ** -20


def test_the_replicon_of_a_quadratic_loss():
    # 1 - alpha V^2 Tr K^2, K = k/(1 + k V) for both tokens; q has no influence.
    alpha, sigma, V, k = (mpf(x) for x in ("0.4", "0.7", "0.9", "1.3"))
    expected = 1 - 2 * alpha * (V * k / (1 + k * V)) ** 2
    with mp.workdps(40):
        for shared in (mpf(0), mpf("0.6")):
            found = definition.replicon(alpha, sigma, V, [(mpf(1), k * mp.eye(2))], shared)
            assert float(found) == pytest.approx(float(expected), rel=1e-14)
        assert definition.replicon(mpf(0), sigma, V, [(mpf(1), k * mp.eye(2))], mpf(0)) == 1
