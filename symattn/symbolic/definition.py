"""The model by definition, in mpmath: what the checks of derived equations compare with.

Nothing here is derived. Attention weights are exponentials over their sum, fields are matrices of
one row a token, losses are sums over entries, and a covariance law is a joint Gaussian one.
"""

from __future__ import annotations

from collections.abc import Sequence

from mpmath import matrix, mp, mpf

from symattn.symbolic.checks import signs


def attention(x: matrix) -> matrix:
    """softmax(x x^T), softmax over rows."""
    weights = matrix(x.rows, x.rows)
    for row in range(x.rows):
        powers = [mp.exp(_dot(x, row, column)) for column in range(x.rows)]
        for column, power in enumerate(powers):
            weights[row, column] = power / mp.fsum(powers)
    return weights


def loss(x: matrix, target: matrix, sigma: mpf) -> mpf:
    """Mean over Gaussian tokens of |(T - S[x]) y|^2/(2 d): here by averaging over signs.

    The square of (T - S) y is quadratic in y, so independent signs have its mean exactly.
    """
    mismatch = target - attention(x)
    return mean_square(mismatch, sigma) / 2


def mean_square(mismatch: matrix, sigma: mpf) -> mpf:
    """E |B y|^2 for independent components of y with variance sigma^2, as a mean over signs."""
    vectors = [sigma * matrix(vector) for vector in signs(mismatch.cols)]
    squares = (entry**2 for vector in vectors for entry in mismatch * vector)
    return mp.fsum(squares) / len(vectors)


def energy(x: matrix, w: matrix, V: matrix, target: matrix, sigma: mpf) -> mpf:
    """sum_l (x_l - w_l)^T V^-1 (x_l - w_l)/2 + loss(x)."""
    inverse, distance2 = V**-1, mpf(0)
    for row in range(x.rows):
        deviation = (x[row, :] - w[row, :]).T
        distance2 += (deviation.T * inverse * deviation)[0]
    return distance2 / 2 + loss(x, target, sigma)


def extremal(
    alpha: mpf,
    envelope: mpf,
    overlaps: tuple[matrix, matrix, matrix, matrix],
    hats: tuple[matrix, matrix, matrix, matrix],
    gram: matrix,
    lam: mpf,
    sigma: mpf,
) -> mpf:
    """The extremal form of the training loss, as matrices; overlaps and hats are (q, m, V, theta).

    Sums over tokens and directions are written out one index at a time.
    """
    q, m, V, theta = overlaps
    q_hat, m_hat, V_hat, theta_hat = hats
    r, t, length = q.rows, theta.cols, m.rows
    total = alpha * envelope
    for i in range(r):
        for j in range(r):
            total += (q_hat[i, j] * V[j, i] - V_hat[i, j] * q[j, i]) / 2
    for i in range(r):
        total += mp.fsum(m[k, i] * m_hat[k, i] for k in range(length))
        total += mp.fsum(theta[i, k] * theta_hat[i, k] for k in range(t))
    ridge = lam * mp.eye(r) + sigma**2 * V_hat
    source = sigma**2 * q_hat
    for i in range(r):
        for j in range(r):
            source[i, j] += mp.fsum(
                gram[k, n] * m_hat[k, i] * m_hat[n, j] for k in range(length) for n in range(length)
            )
            source[i, j] += sigma**4 * mp.fsum(theta_hat[i, k] * theta_hat[j, k] for k in range(t))
    return total - trace(ridge**-1 * source) / 2


def replica_matrix(own: matrix, shared: matrix, count: int) -> matrix:
    """The matrix over replicas with `shared` in every block and `own` added on the diagonal."""
    rank = own.rows
    whole = mp.zeros(count * rank, count * rank)
    for a in range(count):
        for b in range(count):
            block = own + shared if a == b else shared
            whole[a * rank : (a + 1) * rank, b * rank : (b + 1) * rank] = block
    return whole


def replicon(alpha: mpf, sigma: mpf, V: mpf, law: Sequence[tuple[mpf, matrix]], shared: mpf) -> mpf:
    """Stability of replica symmetry for losses x^T H x/2, from the action of four replicas.

    One direction, no signal; law: weights and H (L x L), a sample's Hessian over the tokens. Each
    outcome counts with its weight, as it does for n -> 0. shared: q, which has no influence.

    Overlaps and conjugates move along a matrix with zeros on its diagonal and in the sum of its
    rows, for which four replicas are the fewest. 1 without data.
    """
    apart = matrix([[0, 1, -1, 0], [1, 0, 0, -1], [-1, 0, 0, 1], [0, -1, 1, 0]])
    length = law[0][1].rows
    V_hat = alpha * mp.fsum(
        weight * trace((mp.eye(length) + V * hessian) ** -1 * hessian) for weight, hessian in law
    )
    # beta lambda + sigma^2 V_hat = sigma^2/V
    penalty = sigma**2 / V - sigma**2 * V_hat
    overlaps, conjugates = (
        replica_matrix(matrix([[x]]), matrix([[shared]]), 4) for x in (V, V_hat)
    )
    m, theta, gram = mp.zeros(length, 4), mp.zeros(4, 1), mp.eye(length)

    def action(overlap: mpf, conjugate: mpf) -> mpf:
        q, q_tilde = overlaps + overlap * apart, conjugates + conjugate * apart
        entropic = overlap_action((q, m, theta), (q_tilde, m, theta), gram, penalty, sigma)
        energetic = mp.fsum(weight * log_average(hessian, q) for weight, hessian in law)
        return entropic + alpha * energetic

    overlap2, cross, conjugate2 = (
        mp.diff(action, (0, 0), orders) for orders in ((2, 0), (1, 1), (0, 2))
    )
    return 1 - overlap2 * conjugate2 / cross**2


def log_average(hessian: matrix, q: matrix) -> mpf:
    """ln E exp(-sum_a x_a^T H x_a/2) for fields of N replicas of covariance q, at every token."""
    tokens, replicas = hessian.rows, q.rows
    spread = mp.eye(tokens * replicas)
    for row in range(tokens):
        for column in range(tokens):
            block = hessian[row, column] * q
            for i in range(replicas):
                for j in range(replicas):
                    spread[row * replicas + i, column * replicas + j] += block[i, j]
    return -mp.log(mp.det(spread)) / 2


def overlap_entropy(
    q: matrix, m: matrix, theta: matrix, gram: matrix, penalty: mpf, sigma: mpf
) -> mpf:
    """ln of the measure of N columns of Q with given overlaps, per dimension, as d -> infinity.

    q (N x N), m (K x N) on K independent encodings with products gram, theta (N x t); the columns
    weigh exp(-penalty |Q|^2/2). What the overlaps with the encodings and with Q* fix is taken off;
    the rest has the Gram matrix d C/sigma^2, whose density is Wishart's.
    """
    count = q.rows
    rest = q - theta * theta.T / sigma**2 - sigma**2 * m.T * gram**-1 * m
    volume = count * (1 + mp.log(2 * mp.pi)) + mp.log(mp.det(rest / sigma**2))
    return (volume - penalty * trace(q) / sigma**2) / 2


def overlap_action(
    overlaps: tuple[matrix, matrix, matrix],
    conjugates: tuple[matrix, matrix, matrix],
    gram: matrix,
    penalty: mpf,
    sigma: mpf,
) -> mpf:
    """The same as an extremum over conjugates, before it is taken; both are (q, m, theta).

    q (N x N), m (L x N), theta (N x t). The integral over Q is a Gaussian one for each row.
    """
    q, m, theta = overlaps
    q_tilde, m_tilde, theta_tilde = conjugates
    count = q.rows
    precision = penalty * mp.eye(count) + sigma**2 * q_tilde
    drift = m_tilde.T * gram * m_tilde + sigma**4 * theta_tilde * theta_tilde.T
    bilinear = trace(q_tilde * q) / 2 - trace(m * m_tilde.T) - trace(theta * theta_tilde.T)
    row = count * mp.log(2 * mp.pi) - mp.log(mp.det(precision)) + trace(precision**-1 * drift)
    return bilinear + row / 2


def trace(square: matrix) -> mpf:
    """Sum of the diagonal."""
    return mp.fsum(square[i, i] for i in range(square.rows))


def conditional_law(joint: matrix, mean: matrix, observed: matrix) -> tuple[matrix, matrix]:
    """Mean and covariance of the last components of a Gaussian vector, given the first ones.

    From the inverse of the joint covariance: the density's exponent is quadratic, and its block of
    the last components is the inverse covariance wanted.
    """
    known = observed.rows
    precision = joint**-1
    block = precision[known:, known:]
    coupling = precision[known:, :known]
    covariance = block**-1
    return mean[known:, :] - covariance * coupling * (observed - mean[:known, :]), covariance


def joint_covariance(rho: matrix, theta: matrix, q: matrix) -> matrix:
    """The covariance of (h*_l, w_l) at a token, from the overlaps."""
    t, r = rho.rows, q.rows
    joint = mp.zeros(t + r, t + r)
    joint[:t, :t], joint[t:, t:] = rho, q
    joint[t:, :t], joint[:t, t:] = theta, theta.T
    return joint


def log_normal_density(deviation: matrix, covariance: matrix) -> mpf:
    """ln of the normal density at a distance from its mean, a column."""
    exponent = (deviation.T * covariance**-1 * deviation)[0]
    return -(exponent + mp.log(mp.det(2 * mp.pi * covariance))) / 2


def _dot(x: matrix, row: int, column: int) -> mpf:
    return mp.fsum(x[row, k] * x[column, k] for k in range(x.cols))
