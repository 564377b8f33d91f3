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
