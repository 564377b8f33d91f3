"""The kernels of derivatives: against laws, integrals and differences that are known otherwise."""

import math

import numpy as np
import pytest
from mpmath import matrix, mp, mpf
from scipy.stats import multivariate_normal, norm

from symattn.kernels.generated import mpmath_l2_r1_t1, numba_l2_r1_t1
from tests.kernels import model_by_hand

Q, M, THETA, SIGMA = 0.09, 0.21, 0.05, 0.5
U_STAR, V_STAR = 0.4, -0.3


def test_the_law_of_w_is_that_of_the_tokens():
    # (h*_l, w_l) is jointly normal, and the tokens are independent; p_1 = -p_2.
    rho = SIGMA**2
    rotation = np.array([[1.0, -1.0], [1.0, 1.0]]) / math.sqrt(2.0)
    h = rotation.T @ [U_STAR, V_STAR]
    joint = np.array([[rho, THETA], [THETA, Q]])
    mean = rotation @ (np.array([M, -M]) + joint[1, 0] / joint[0, 0] * h)
    spread = math.sqrt(np.linalg.det(joint) / rho)
    found = numba_l2_r1_t1.field_law(Q, M, THETA, U_STAR, V_STAR, SIGMA)
    np.testing.assert_allclose(found, [*mean, spread], rtol=1e-14)


def test_the_density_is_scipys():
    expected = multivariate_normal([0.3, -0.1], 0.2**2 * np.eye(2)).pdf([0.5, 0.15])
    assert numba_l2_r1_t1.density(0.5, 0.15, 0.3, -0.1, 0.2) == pytest.approx(expected, rel=1e-13)


def test_scores_are_the_slopes_of_the_logarithm_of_the_density():
    with mp.workdps(50):
        a, b, u_star, v_star, sigma = (mpf(x) / 7 for x in (3, -2, 5, 1, 4))
        overlaps = tuple(mpf(x) / 9 for x in (8, 2, 3))

        def log_density(q, m, theta):
            law = mpmath_l2_r1_t1.field_law(q, m, theta, u_star, v_star, sigma)
            return mp.log(mpmath_l2_r1_t1.density(a, b, *law))

        law = mpmath_l2_r1_t1.field_law(*overlaps, u_star, v_star, sigma)
        found = mpmath_l2_r1_t1.scores(a, b, *law, u_star, v_star, overlaps[2], sigma)
        for got, order in zip(found, ((1, 0, 0), (0, 1, 0), (0, 0, 1)), strict=True):
            assert abs(got - mp.diff(log_density, overlaps, order)) < mpf(10) ** -40


def test_slopes_of_means_hold_where_g_jumps():
    # g = (1, 0) where a > 0 and 0 elsewhere; all means are values of the error function.
    a_mean, b_mean, s = numba_l2_r1_t1.field_law(Q, M, THETA, U_STAR, V_STAR, SIGMA)
    nodes, weights = np.polynomial.legendre.leggauss(60)
    along_a = (a_mean + 9 * s) / 2 * (nodes + 1.0), (a_mean + 9 * s) / 2 * weights
    along_b = b_mean + 9 * s * nodes, 9 * s * weights
    found = np.zeros(9)
    for a, weight_a in zip(*along_a, strict=True):
        for b, weight_b in zip(*along_b, strict=True):
            means = numba_l2_r1_t1.hat_integrands(1.0, 0.0, a, b, a_mean, b_mean, s, U_STAR, V_STAR)
            scores = numba_l2_r1_t1.scores(a, b, a_mean, b_mean, s, U_STAR, V_STAR, THETA, SIGMA)
            density = numba_l2_r1_t1.density(a, b, a_mean, b_mean, s)
            found += (
                weight_a
                * weight_b
                * density
                * np.array(numba_l2_r1_t1.slope_integrands(*means, *scores, s))
            )
    rho, variance = SIGMA**2, s**2
    in_mean = norm.pdf(a_mean / s) / s
    by_q = -in_mean * a_mean / (2 * variance)
    by_m = math.sqrt(2) * in_mean
    by_theta = in_mean * U_STAR / rho - 2 * THETA / rho * by_q
    expected = [by_q, by_m, by_theta]
    expected += [math.sqrt(2) * x for x in (by_q, by_m, by_theta)]
    expected += [U_STAR * by_q, U_STAR * by_theta]
    expected += [in_mean * (a_mean**2 / variance - 1) / (2 * variance)]
    np.testing.assert_allclose(found, expected, rtol=1e-11)


def test_the_envelope_is_the_energy_at_the_prox():
    u, v, g_u, g_v, loss, V = 0.3, -0.2, 0.04, 0.07, 0.11, 14.0
    energy = numba_l2_r1_t1.energy(u, v, u - V * g_u, v - V * g_v, loss, V)
    assert numba_l2_r1_t1.envelope(g_u, g_v, loss, V) == pytest.approx(energy, rel=1e-13)


def test_curvature_and_response_are_the_derivatives_of_g_at_the_prox():
    with mp.workdps(40):
        u, v, t11, t22, sigma, V = (mpf(x) for x in ("0.7", "-0.4", "0.6", "0.45", "0.5", "9"))
        target = model_by_hand.two_token_target(t11, t22)

        def slopes_of_loss(x, y):
            def loss(a, b):
                return model_by_hand.loss(model_by_hand.from_rotated(a, b), target, sigma)

            return [mp.diff(loss, (x, y), order) for order in ((1, 0), (0, 1))]

        def g(a, b, V):
            def stationarity(x, y):
                l_u, l_v = slopes_of_loss(x, y)
                return [x + V * l_u - a, y + V * l_v - b]

            x = mp.findroot(stationarity, (u, v), tol=mpf(10) ** -70)
            return (matrix([a, b]) - x) / -V

        jet = mpmath_l2_r1_t1.channel(u, v, t11, t22, sigma)
        a, b, det = mpmath_l2_r1_t1.inverse_prox(u, v, *jet[1:], V)
        step = mpf(10) ** -12
        by_a, by_b, by_V = (
            (
                g(a + i * step, b + j * step, V + k * step)
                - g(a - i * step, b - j * step, V - k * step)
            )
            / (2 * step)
            for i, j, k in ((1, 0, 0), (0, 1, 0), (0, 0, 1))
        )
        trace = -by_a[0] - by_b[1]
        square = mp.fsum(x**2 for x in (*by_a, *by_b))
        found = mpmath_l2_r1_t1.envelope_curvature(*jet[3:], V)
        for got, wanted in zip(found, (det, trace, square), strict=True):
            assert abs(got - wanted) < mpf(10) ** -20
        here = g(a, b, V)
        response = -(here[0] * by_V[0] + here[1] * by_V[1])
        assert abs(mpmath_l2_r1_t1.response(*jet[1:], V) / det - response) < mpf(10) ** -20


def test_a_jump_is_made_of_the_two_sides():
    V, w = 12.0, np.array([0.1, -0.05])
    ahead, behind = np.array([0.6, 0.2]), np.array([-0.4, 0.1])
    middle, half = (ahead + behind) / 2, (ahead - behind) / 2
    square = [np.sum(((x - w) / V) ** 2) for x in (ahead, behind)]
    length = np.linalg.norm(ahead - behind)
    expected = [length, -V * (square[0] - square[1]) ** 2 / (4 * length)]
    found = numba_l2_r1_t1.jump(*middle, *half, *w, V)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


ALPHA, LAM = mpf(3) / 2, mpf(1) / 9
POWERS = [[mpf(x) / 7 for x in k] for k in ((3, -2, 1, 4), (-5, 6, 2, 3))]


class AnyEnvelope:
    """E[M] = sum of exp(k . overlaps) in place of the true one, and the means it would have."""

    sigma = mpf(4) / 5
    overlaps = tuple(mpf(x) / 11 for x in (3, 2, 14, -4))

    def slopes(self, overlaps):
        """E[M] and its slopes in q, m, V, theta."""
        powers = [mp.exp(mp.fdot(k, overlaps)) for k in POWERS]
        return [mp.fsum(powers), *(mp.fdot(powers, column) for column in zip(*POWERS, strict=True))]

    def means(self, *overlaps):
        """E|g|^2, E[g_1 - g_2], E[div_w g] and E[g.h*].

        V enters M as dM/dV = -|g|^2/2; the mean of w has the slopes sqrt 2 in m and h*/rho in
        theta, its variance 1 in q and -2 theta/rho in theta; dM/dw = -g.
        """
        _, in_q, in_m, in_V, in_theta = self.slopes(overlaps)
        div = -2 * in_q
        return [-2 * in_V, -in_m, div, overlaps[3] * div - self.sigma**2 * in_theta]

    def hats(self, *overlaps):
        return mpmath_l2_r1_t1.hats(ALPHA, *self.means(*overlaps), overlaps[3], self.sigma)

    def direct_loss(self, q, m, V, theta):
        """The loss at the prox is E[M] - V E|g|^2/2."""
        value, _, _, in_V, _ = self.slopes((q, m, V, theta))
        return mpmath_l2_r1_t1.train_loss_direct(ALPHA, value + V * in_V, q, LAM, self.sigma)

    def difference(self, function, place):
        """The derivative of a function of the overlaps, or of a list of values, in one of them."""
        step = mpf(10) ** -20
        ahead, behind = ([*self.overlaps] for _ in range(2))
        ahead[place] += step
        behind[place] -= step
        pairs = zip(function(*ahead), function(*behind), strict=True)
        return [(x - y) / (2 * step) for x, y in pairs]


def test_the_jacobian_of_the_hats_is_the_difference_of_the_hats():
    with mp.workdps(60):
        case = AnyEnvelope()
        by_q, by_m, by_V, by_theta = (case.difference(case.means, k) for k in range(4))
        V_hat = case.hats(*case.overlaps)[2]
        slopes = [x[0] for x in (by_q, by_m, by_theta)] + [x[1] for x in (by_q, by_m, by_theta)]
        slopes += [by_q[3], by_theta[3], by_q[2]]
        found = mpmath_l2_r1_t1.hats_jacobian(
            ALPHA, V_hat, *slopes, -by_V[0] / 2, case.overlaps[3], case.sigma
        )
        for column in range(4):
            expected = case.difference(case.hats, column)
            for row in range(4):
                assert abs(found[4 * row + column] - expected[row]) < mpf(10) ** -30


def test_the_gradient_of_the_direct_loss_is_its_difference():
    with mp.workdps(60):
        case = AnyEnvelope()
        by_q, by_m, by_V, by_theta = (case.difference(case.means, k)[0] for k in range(4))
        found = mpmath_l2_r1_t1.train_loss_direct_gradient(
            ALPHA,
            *case.hats(*case.overlaps),
            *(by_q, by_m, by_theta, -by_V / 2),
            case.overlaps[2],
            LAM,
            case.sigma,
        )
        for place, got in enumerate(found):
            (expected,) = case.difference(lambda *x: [case.direct_loss(*x)], place)
            assert abs(got - expected) < mpf(10) ** -30
