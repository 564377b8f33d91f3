"""The solvable channel: its formulas against ridge regression on random data."""

import numpy as np
import pytest
from mpmath import matrix, mp, mpf

from symattn.symbolic.linear_channel import LinearChannel

ALPHA, LAM, SIGMA, STIFFNESS = 0.8, 0.3, 0.6, 0.7
SLOPE = np.array([[0.9]])
SHIFT = np.array([[0.8], [-0.5]])
ENCODINGS = np.array([[1.0, 0.0], [-0.6, 0.8]])


@pytest.fixture
def channel():
    gram = ENCODINGS @ ENCODINGS.T
    return LinearChannel(
        matrix([[STIFFNESS]]),
        matrix(SLOPE.tolist()),
        matrix(SHIFT.tolist()),
        matrix(gram.tolist()),
        mpf(SIGMA),
    )


def trained_student(dimension, seed):
    """Ridge regression on rows x_l + p_l with targets B h*_l + kappa_l, solved exactly."""
    source = np.random.default_rng(seed)
    samples = round(ALPHA * dimension)
    teacher = source.normal(size=dimension)
    basis = np.zeros((2, dimension))
    # Two orthogonal directions of norm 1, spread over all coordinates.
    basis[0], basis[1] = 1.0, np.where(np.arange(dimension) % 2, 1.0, -1.0)
    encodings = ENCODINGS @ basis / np.sqrt(dimension)
    rows, targets = [], []
    for token in range(2):
        data = SIGMA * source.normal(size=(samples, dimension))
        rows.append((data + encodings[token]) / np.sqrt(dimension))
        targets.append(SLOPE[0, 0] * data @ teacher / np.sqrt(dimension) + SHIFT[token, 0])
    design, wanted = np.vstack(rows), np.concatenate(targets)
    gram = STIFFNESS * design.T @ design + LAM * np.eye(dimension)
    student = np.linalg.solve(gram, STIFFNESS * design.T @ wanted)
    risk = STIFFNESS * np.sum((wanted - design @ student) ** 2) / 2 + LAM * student @ student / 2
    return {
        "train_loss": risk / dimension,
        "q": SIGMA**2 * student @ student / dimension,
        "theta": SIGMA**2 * student @ teacher / dimension,
        "m": encodings @ student / np.sqrt(dimension),
        "V": SIGMA**2 * np.trace(np.linalg.inv(gram)) / dimension,
    }


@pytest.fixture(scope="module")
def simulated():
    runs = [trained_student(dimension=1000, seed=seed) for seed in range(4)]
    return {name: np.mean([run[name] for run in runs], axis=0) for name in runs[0]}


def test_the_training_loss_is_that_of_ridge_regression(channel, simulated):
    expected = float(channel.train_loss(mpf(ALPHA), mpf(LAM)))
    assert simulated["train_loss"] == pytest.approx(expected, rel=0.02)


def test_the_overlaps_are_those_of_ridge_regression(channel, simulated):
    (q, m, V, theta), _ = channel.saddle(mpf(ALPHA), mpf(LAM))
    assert simulated["q"] == pytest.approx(float(q[0]), rel=0.03)
    assert simulated["theta"] == pytest.approx(float(theta[0]), rel=0.03)
    assert simulated["V"] == pytest.approx(float(V[0]), rel=0.01)
    assert simulated["m"] == pytest.approx([float(m[0]), float(m[1])], rel=0.05)


def test_the_log_determinant_has_the_response_as_its_slope(channel):
    with mp.workdps(60):
        slope = mp.diff(lambda lam: channel.log_determinant(mpf(ALPHA), lam), mpf(LAM))
        response = channel.response(mpf(ALPHA), mpf(LAM) / STIFFNESS) / STIFFNESS
        assert abs(slope - response) < mpf(10) ** -20
        # A large penalty leaves nothing else.
        large = mpf(10) ** 20
        assert abs(channel.log_determinant(mpf(ALPHA), large) - mp.log(large)) < mpf(10) ** -18


def test_the_log_determinant_is_that_of_random_matrices(channel):
    dimension = 1000
    source = np.random.default_rng(1)
    rows = source.normal(size=(round(2 * ALPHA * dimension), dimension))
    design = SIGMA * rows / np.sqrt(dimension)
    gram = STIFFNESS * design.T @ design + LAM * np.eye(dimension)
    found = np.linalg.slogdet(gram)[1] / dimension
    expected = float(channel.log_determinant(mpf(ALPHA), mpf(LAM)))
    assert found == pytest.approx(expected, abs=5e-3)


def test_the_saddle_point_of_two_directions_solves_the_equations_of_means():
    # With any stiffness, not one in which the directions are independent.
    with mp.workdps(40):
        alpha, lam, sigma = mpf(ALPHA), mpf(LAM), mpf(SIGMA)
        gram = matrix([[1, "-0.6"], ["-0.6", "1.3"]])
        stiffness = matrix([["0.9", "0.4"], ["0.4", "1.1"]])
        slope = matrix([["0.7", "-0.2"], ["0.3", "0.5"]])
        shift = matrix([["0.8", "-0.1"], ["-0.5", "0.6"]])
        channel = LinearChannel(stiffness, slope, shift, gram, sigma)
        (q, m, V, theta), (q_hat, m_hat, V_hat, theta_hat) = channel.saddle(alpha, lam)
        squares, force, divergence, along = channel.means((q, m, V, theta))
        D = lam * mp.eye(2) + sigma**2 * V_hat
        source = sigma**2 * q_hat + m_hat.T * gram * m_hat + sigma**4 * theta_hat * theta_hat.T
        zero = (
            q_hat - alpha * squares,
            m_hat - alpha * force,
            V_hat + alpha * divergence,
            sigma**2 * theta_hat - alpha * along - V_hat * theta,
            q - sigma**2 * D**-1 * source * D**-1,
            m - gram * m_hat * D**-1,
            V - sigma**2 * D**-1,
            theta - sigma**4 * D**-1 * theta_hat,
        )
        assert max(mp.mnorm(difference) for difference in zero) < mpf(10) ** -35
        assert abs(V[0, 1]) > 0.01
