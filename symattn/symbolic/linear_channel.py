"""A solvable channel for checks: a quadratic loss in place of attention, in mpmath.

The loss of a sample is sum_l y_l^T k y_l/2 with y_l = x_l - B h*_l - kappa_l, so the student is
ridge regression on the rows x_l + p_l with a linear target. Prox and envelope are linear algebra,
and the training loss of ridge regression is known from the Marchenko-Pastur law, without replicas.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from mpmath import matrix, mp, mpf

from symattn.symbolic.definition import trace

OverlapMatrices = tuple[matrix, matrix, matrix, matrix]


@dataclass(frozen=True)
class LinearChannel:
    """The channel's parameters.

    stiffness: k (r x r), symmetric and positive definite.
    slope: B (r x t).
    shift: kappa (L x r), one row a token.
    gram: G_lk = p_l . p_k (L x L).
    sigma: scale of the data.
    """

    stiffness: matrix
    slope: matrix
    shift: matrix
    gram: matrix
    sigma: mpf

    @property
    def length(self) -> int:
        return int(self.shift.rows)

    def _curvature(self, V: matrix) -> matrix:
        """Hessian of the envelope in w_l: (V + k^-1)^-1."""
        return (V + self.stiffness**-1) ** -1

    def _offset(self, overlaps: OverlapMatrices) -> matrix:
        """Mean of w_l - B h*_l - kappa_l, one row a token."""
        return overlaps[1] - self.shift

    def _spread(self, overlaps: OverlapMatrices) -> matrix:
        """Covariance of w_l - B h*_l, the same for each token."""
        q, _, _, theta = overlaps
        cross = theta * self.slope.T
        return q - cross - cross.T + self.sigma**2 * self.slope * self.slope.T

    def _second_moment(self, overlaps: OverlapMatrices) -> matrix:
        """sum_l E z_l z_l^T for z_l = w_l - B h*_l - kappa_l."""
        offset = self._offset(overlaps)
        return self.length * self._spread(overlaps) + offset.T * offset

    def envelope(self, overlaps: OverlapMatrices) -> mpf:
        """E[M]: the mean of sum_l z_l^T (V + k^-1)^-1 z_l/2."""
        return trace(self._curvature(overlaps[2]) * self._second_moment(overlaps)) / 2

    def loss_at_prox(self, overlaps: OverlapMatrices) -> mpf:
        """E[loss(x*)]: at the prox the residual is (I + V k)^-1 z_l."""
        V = overlaps[2]
        shrink = (mp.eye(V.rows) + V * self.stiffness) ** -1
        residual = shrink * self._second_moment(overlaps) * shrink.T
        return trace(self.stiffness * residual) / 2

    def log_partition(self, overlaps: OverlapMatrices, beta: mpf) -> mpf:
        """The mean over (h*, w) of ln E exp(-beta loss(w + z)), with z_l of covariance V/beta."""
        V = overlaps[2]
        spread = mp.log(mp.det(mp.eye(V.rows) + self.stiffness * V))
        return -beta * self.envelope(overlaps) - self.length * spread / 2

    def means(self, overlaps: OverlapMatrices) -> tuple[matrix, matrix, matrix, matrix]:
        """E sum g g^T, E g_l, E sum dg_l/dw_l, E sum g_l h*_l^T; g_l = -(V + k^-1)^-1 z_l."""
        curvature = self._curvature(overlaps[2])
        along_target = overlaps[3] - self.sigma**2 * self.slope
        return (
            curvature * self._second_moment(overlaps) * curvature,
            -self._offset(overlaps) * curvature,
            -self.length * curvature,
            -self.length * curvature * along_target,
        )

    def response(self, alpha: mpf, ridge: mpf) -> mpf:
        """The Stieltjes transform of X^T X at -ridge, by its quadratic equation.

        X has alpha L d rows and d columns of independent entries of variance sigma^2/d.
        """
        rows = alpha * self.length
        linear = ridge + (rows - 1) * self.sigma**2
        square = ridge * self.sigma**2
        return (-linear + mp.sqrt(linear**2 + 4 * square)) / (2 * square)

    def log_determinant(self, alpha: mpf, lam: mpf) -> mpf:
        """ln det(lambda + k (x) X^T X)/d: the integral of the response over the ridge penalty."""
        rows = alpha * self.length
        stiffnesses, _ = mp.eigsy(self.stiffness)
        total = mpf(0)
        for k in stiffnesses:
            moved = self.sigma**2 * self.response(alpha, lam / k)
            total += mp.log(k) + mp.log(self.sigma**2 / moved)
            total += rows * (mp.log(1 + moved) - moved / (1 + moved))
        return total

    def free_energy(self, alpha: mpf, lam: mpf, beta: mpf) -> mpf:
        """-ln Z/(beta d) at inverse temperature beta: a Gaussian integral about the minimum."""
        weight = self.slope.rows * mp.log(beta / (2 * mp.pi)) + self.log_determinant(alpha, lam)
        return self.train_loss(alpha, lam) + weight / (2 * beta)

    def train_loss(self, alpha: mpf, lam: mpf) -> mpf:
        """min over Q of the risk per dimension, from the spectrum of X^T X and the mean rows p_l.

        A sum over the eigenvectors of k. Resolvents of X X^T: 1/(1 + sigma^2 response) on vectors
        independent of X, and the columns along the p_l, which carry the means, added by the
        Woodbury identity.
        """
        stiffnesses, axes = mp.eigsy(self.stiffness)
        slope, shift = axes.T * self.slope, self.shift * axes
        total = mpf(0)
        for i, k in enumerate(stiffnesses):
            ridge = lam / k
            response = self.response(alpha, ridge)
            total += lam * (slope[i, :] * slope[i, :].T)[0] * (1 - ridge * response) / 2
            shrinkage = 1 + self.sigma**2 * response
            inner = shrinkage * mp.eye(self.length) + alpha * response * self.gram
            total += alpha * k * (shift[:, i].T * inner**-1 * shift[:, i])[0] / 2
        return total

    def saddle(self, alpha: mpf, lam: mpf) -> tuple[OverlapMatrices, OverlapMatrices]:
        """Overlaps and hats (q, m, V, theta) of the trained student."""
        stiffnesses, axes = mp.eigsy(self.stiffness)
        along_axes = replace(
            self,
            stiffness=mp.diag(list(stiffnesses)),
            slope=axes.T * self.slope,
            shift=self.shift * axes,
        )
        overlaps, hats = (
            (axes * q * axes.T, m * axes.T, axes * V * axes.T, axes * theta)
            for q, m, V, theta in along_axes._diagonal_saddle(alpha, lam)
        )
        return overlaps, hats

    def _diagonal_saddle(self, alpha: mpf, lam: mpf) -> tuple[OverlapMatrices, OverlapMatrices]:
        """The same for a diagonal stiffness.

        V = sigma^2 response/k; everything else is linear given V.
        """
        r = self.slope.rows
        V, V_hat, q, q_hat = (mp.zeros(r, r) for _ in range(4))
        m, theta = self.shift.copy(), self.slope.copy()
        m_hat, theta_hat = m.copy(), theta.copy()
        curvatures, precisions = [], []
        for i in range(r):
            k = self.stiffness[i, i]
            V[i, i] = self.sigma**2 * self.response(alpha, lam / k) / k
            curvatures.append(1 / (V[i, i] + 1 / k))
            pull = alpha * curvatures[i]
            V_hat[i, i] = self.length * pull
            precisions.append(lam + self.sigma**2 * V_hat[i, i])
            inner = precisions[i] * mp.eye(self.length) + pull * self.gram
            m[:, i] = inner**-1 * (pull * self.gram * self.shift[:, i])
            m_hat[:, i] = -pull * (m[:, i] - self.shift[:, i])
            theta_hat[i, :] = V_hat[i, i] * self.slope[i, :]
            theta[i, :] = self.sigma**4 / precisions[i] * theta_hat[i, :]
        # q_hat = alpha c_i c_j (L q + rest) with the curvatures c, and q is linear in q_hat.
        rest = self._second_moment((mp.zeros(r, r), m, V, theta))
        known = m_hat.T * self.gram * m_hat + self.sigma**4 * theta_hat * theta_hat.T
        for i in range(r):
            for j in range(r):
                force = alpha * curvatures[i] * curvatures[j]
                gain = self.sigma**2 / (precisions[i] * precisions[j])
                feedback = gain * self.sigma**2 * force
                q[i, j] = (feedback * rest[i, j] + gain * known[i, j]) / (
                    1 - feedback * self.length
                )
                q_hat[i, j] = force * (self.length * q[i, j] + rest[i, j])
        return (q, m, V, theta), (q_hat, m_hat, V_hat, theta_hat)
