"""A solvable channel for checks: a quadratic loss in place of attention, in mpmath.

The loss of a sample is k sum_l |x_l - B h*_l - kappa_l|^2/2, so the student is ridge regression on
the rows x_l + p_l with a linear target. Prox and envelope are linear algebra, and the training loss
of ridge regression is known from the Marchenko-Pastur law without any replica.
"""

from __future__ import annotations

from dataclasses import dataclass

from mpmath import matrix, mp, mpf

from symattn.symbolic.definition import trace

OverlapMatrices = tuple[matrix, matrix, matrix, matrix]


@dataclass(frozen=True)
class LinearChannel:
    """The channel's parameters.

    stiffness: k > 0.
    slope: B (r x t).
    shift: kappa (L x r), one row a token.
    gram: G_lk = p_l . p_k (L x L).
    sigma: scale of the data.
    """

    stiffness: mpf
    slope: matrix
    shift: matrix
    gram: matrix
    sigma: mpf

    @property
    def length(self) -> int:
        return int(self.shift.rows)

    def _curvature(self, V: matrix) -> matrix:
        """Hessian of the envelope in w_l: (V + I/k)^-1."""
        return (V + mp.eye(V.rows) / self.stiffness) ** -1

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
        """E[M]: the mean of sum_l z_l^T (V + I/k)^-1 z_l/2."""
        return trace(self._curvature(overlaps[2]) * self._second_moment(overlaps)) / 2

    def loss_at_prox(self, overlaps: OverlapMatrices) -> mpf:
        """E[loss(x*)]: at the prox the residual is (I + k V)^-1 z_l."""
        V = overlaps[2]
        shrink = (mp.eye(V.rows) + self.stiffness * V) ** -1
        residual = shrink * self._second_moment(overlaps) * shrink.T
        return self.stiffness * trace(residual) / 2

    def log_partition(self, overlaps: OverlapMatrices, beta: mpf) -> mpf:
        """The mean over (h*, w) of ln E exp(-beta loss(w + z)), with z_l of covariance V/beta."""
        V = overlaps[2]
        spread = mp.log(mp.det(mp.eye(V.rows) + self.stiffness * V))
        return -beta * self.envelope(overlaps) - self.length * spread / 2

    def means(self, overlaps: OverlapMatrices) -> tuple[matrix, matrix, matrix, matrix]:
        """E sum g g^T, E g_l, E sum dg_l/dw_l, E sum g_l h*_l^T; g_l = -(V + I/k)^-1 z_l."""
        curvature = self._curvature(overlaps[2])
        along_target = overlaps[3] - self.sigma**2 * self.slope
        return (
            curvature * self._second_moment(overlaps) * curvature,
            -self._offset(overlaps) * curvature,
            -self.length * curvature,
            -self.length * curvature * along_target,
        )

    def response(self, alpha: mpf, lam: mpf) -> mpf:
        """The Stieltjes transform of X^T X at -lambda/k, by its quadratic equation.

        X has alpha L d rows and d columns of independent entries of variance sigma^2/d.
        """
        ridge = lam / self.stiffness
        rows = alpha * self.length
        linear = ridge + (rows - 1) * self.sigma**2
        square = ridge * self.sigma**2
        return (-linear + mp.sqrt(linear**2 + 4 * square)) / (2 * square)

    def log_determinant(self, alpha: mpf, lam: mpf) -> mpf:
        """ln det(lambda + k X^T X)/d: the integral of the response over the ridge penalty."""
        moved = self.sigma**2 * self.response(alpha, lam)
        rows = alpha * self.length
        spectrum = mp.log(self.sigma**2 / moved) + rows * (mp.log(1 + moved) - moved / (1 + moved))
        return mp.log(self.stiffness) + spectrum

    def free_energy(self, alpha: mpf, lam: mpf, beta: mpf) -> mpf:
        """-ln Z/(beta d) at inverse temperature beta: a Gaussian integral about the minimum."""
        logarithm = mp.log(beta / (2 * mp.pi)) + self.log_determinant(alpha, lam)
        return self.train_loss(alpha, lam) + self.slope.rows * logarithm / (2 * beta)

    def train_loss(self, alpha: mpf, lam: mpf) -> mpf:
        """min over Q of the risk per dimension, from the spectrum of X^T X and the mean rows p_l.

        Resolvents of X X^T: 1/(1 + sigma^2 response) on vectors independent of X, and the columns
        along the p_l, which carry the means, added by the Woodbury identity.
        """
        ridge = lam / self.stiffness
        response = self.response(alpha, lam)
        semantic = lam * trace(self.slope * self.slope.T) * (1 - ridge * response) / 2
        shrinkage = 1 + self.sigma**2 * response
        inner = shrinkage * mp.eye(self.length) + alpha * response * self.gram
        positional = trace(self.shift.T * inner**-1 * self.shift)
        return semantic + alpha * self.stiffness * positional / 2

    def saddle(self, alpha: mpf, lam: mpf) -> tuple[OverlapMatrices, OverlapMatrices]:
        """Overlaps and hats (q, m, V, theta) of the trained student.

        V = sigma^2 response/k; everything else is linear given V.
        """
        r, identity = self.slope.rows, mp.eye(self.slope.rows)
        V = self.sigma**2 * self.response(alpha, lam) / self.stiffness
        curvature = 1 / (V + 1 / self.stiffness)
        V_hat = alpha * self.length * curvature
        ridge = lam + self.sigma**2 * V_hat
        inner = ridge * mp.eye(self.length) + alpha * curvature * self.gram
        m = inner**-1 * (alpha * curvature * self.gram * self.shift)
        m_hat = -alpha * curvature * (m - self.shift)
        theta_hat = V_hat * self.slope
        theta = self.sigma**4 * theta_hat / ridge
        # q_hat = alpha curvature^2 (L q + rest), and q is linear in q_hat.
        zero = mp.zeros(r, r)
        rest = self._second_moment((zero, m, V * identity, theta))
        known = m_hat.T * self.gram * m_hat + self.sigma**4 * theta_hat * theta_hat.T
        feedback = self.sigma**4 * alpha * curvature**2 / ridge**2
        q = (feedback * rest + self.sigma**2 / ridge**2 * known) / (1 - feedback * self.length)
        q_hat = alpha * curvature**2 * (self.length * q + rest)
        return (q, m, V * identity, theta), (q_hat, m_hat, V_hat * identity, theta_hat)
