"""The replica-symmetric free energy: from n replicas to none, and to zero temperature.

The conjugates of the replicated overlaps are written with a tilde. `scaled` says which powers of
the inverse temperature turn them into the hats, which are finite at zero temperature.
"""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp

from symattn.symbolic import symbols as y
from symattn.symbolic.channel import determinant, inverse
from symattn.symbolic.overlaps import OrderParameters, Overlaps
from symattn.symbolic.replicas import ReplicaMatrix


@dataclass(frozen=True)
class ReplicaSymmetric:
    """Overlaps of n replicas and their conjugates, where no replica differs from another.

    overlaps: q between two replicas, q + V in one replica, m and theta of each. (V is called chi
        before it is rescaled.)
    conjugates: -q between two replicas, V - q in one replica, m and theta of each.
    penalty: beta lambda, the ridge penalty of one replica.
    gram, rho: as in `OrderParameters`.
    """

    overlaps: Overlaps
    conjugates: Overlaps
    penalty: sp.Expr
    gram: sp.MatrixBase
    rho: sp.MatrixBase

    @property
    def overlap_matrix(self) -> ReplicaMatrix:
        """Q_a^T Sigma Q_b/d over the replicas."""
        return ReplicaMatrix(self.overlaps.V, self.overlaps.q)

    @property
    def conjugate_matrix(self) -> ReplicaMatrix:
        """What the overlaps between replicas are conjugate to."""
        return ReplicaMatrix(self.conjugates.V, -self.conjugates.q)

    @property
    def precision(self) -> ReplicaMatrix:
        """The inverse covariance of one row of (Q_1, ..., Q_n): beta lambda + sigma^2 conjugate."""
        conjugate = self.conjugate_matrix
        own = self.penalty * sp.eye(conjugate.own.rows) + y.sigma**2 * conjugate.own
        return ReplicaMatrix(own, y.sigma**2 * conjugate.shared)

    @property
    def drift(self) -> sp.Matrix:
        """sum_lk G_lk m_l m_k^T + sigma^2 theta rho theta^T of the conjugates (r x r).

        The mean square of what pulls a row of Q, by the encodings p_l and the rows of Q*.
        """
        m, theta = self.conjugates.m, self.conjugates.theta
        positional = (m.T * self.gram * m).applyfunc(sp.expand)
        return sp.Matrix(positional + y.sigma**2 * theta * self.rho * theta.T)

    @property
    def source(self) -> sp.Matrix:
        """The drift, and the variance sigma^2 q of what the replicas share (r x r)."""
        return sp.Matrix(self.drift - self.precision.shared)

    @property
    def _bilinear(self) -> sp.Expr:
        """sum_l m_l . m~_l + Tr theta theta~^T."""
        overlaps, conjugates = self.overlaps, self.conjugates
        positional = (overlaps.m * conjugates.m.T).trace()
        return positional + (overlaps.theta * conjugates.theta.T).trace()

    def overlap_action(self) -> sp.Expr:
        """The logarithm per dimension of the measure of Q_1, ..., Q_n with these overlaps.

        An extremum over the conjugates; the energetic part, alpha times the logarithm of the
        channel's average, comes on top of it.
        """
        rank = self.overlaps.q.rows
        return (
            self.overlap_matrix.trace_with(self.conjugate_matrix) / 2
            - y.n * self._bilinear
            - self.precision.log_determinant() / 2
            + y.n * rank * sp.log(2 * sp.pi) / 2
            + self.precision.summed_inverse_with(self.drift) / 2
        )

    def row_entropy(
        self, log_determinant: sp.Expr, inverse: sp.MatrixBase, source: sp.MatrixBase
    ) -> sp.Expr:
        """What one row of Q adds to d/dn of the action at n = 0.

        (r ln 2 pi - ln det a + Tr a^-1 B)/2, by the slopes ln det a + Tr a^-1 b of the precision's
        ln det and a^-1 of its summed inverse, for own part a, shared part b and B = drift - b.

        log_determinant, inverse, source: ln det a, a^-1 and B, or symbols that stand for them.
        """
        rank = self.overlaps.q.rows
        logarithm = rank * sp.log(2 * sp.pi) - log_determinant
        return logarithm / 2 + (inverse * source).trace() / 2

    def free_entropy(
        self,
        log_channel: sp.Expr,
        log_determinant: sp.Expr,
        inverse: sp.MatrixBase,
        source: sp.MatrixBase,
    ) -> sp.Expr:
        """d/dn at n = 0 of the action: the mean of ln Z/d, -beta times the free energy.

        log_channel: E ln of the channel's partition function of one replica; the others as in
        `row_entropy`.
        """
        return (
            y.alpha * log_channel
            + self.overlap_matrix.trace_slope(self.conjugate_matrix) / 2
            - self._bilinear
            + self.row_entropy(log_determinant, inverse, source)
        )


def unscaled(p: OrderParameters) -> ReplicaSymmetric:
    """Overlaps and conjugates of replicas at inverse temperature beta, in symbols of their own."""
    return ReplicaSymmetric(_renamed(p.overlaps), _renamed(p.hats), y.beta * y.lam, p.gram, p.rho)


def scaled(p: OrderParameters) -> ReplicaSymmetric:
    """The same in terms of the response V and of the hats, which stay finite as beta grows."""
    overlaps, hats, beta = p.overlaps, p.hats, y.beta
    return ReplicaSymmetric(
        Overlaps(overlaps.q, overlaps.m, overlaps.V / beta, overlaps.theta),
        Overlaps(beta**2 * hats.q, beta * hats.m, beta * hats.V, beta * hats.theta),
        beta * y.lam,
        p.gram,
        p.rho,
    )


def finite_temperature(p: OrderParameters, log_channel: sp.Expr) -> sp.Expr:
    """The free entropy at inverse temperature beta in unscaled symbols, written out."""
    symmetric = unscaled(p)
    own = symmetric.precision.own
    return symmetric.free_entropy(
        log_channel, sp.log(determinant(own)), inverse(own), symmetric.source
    )


def zero_temperature(
    p: OrderParameters,
    expected_envelope: sp.Expr,
    resolvent: sp.MatrixBase,
    source: sp.MatrixBase,
) -> sp.Expr:
    """The limit of the free energy as beta -> infinity.

    expected_envelope: E[M], the limit of -log_channel/beta by Laplace's method.
    resolvent, source: D^-1 and B, with beta D the precision's own part and beta^2 B its source.
    """
    return limit(_scaled_free_energy(p, -y.beta * expected_envelope, resolvent, source))


def thermal_part(p: OrderParameters, log_hessian: sp.Expr) -> sp.Expr:
    """What the free energy at inverse temperature beta has beyond its limit.

    log_hessian: E ln det(I + V Hess loss) at the prox, which Laplace's method adds to E[M].
    """
    rank = p.overlaps.q.rows
    log_channel = -y.beta * y.envelope - log_hessian / 2
    finite = _scaled_free_energy(p, log_channel, sp.zeros(rank), sp.zeros(rank))
    return sp.factor_terms(sp.expand(finite - limit(finite), log=False))


def replicon(p: OrderParameters, curvature2: sp.Expr) -> sp.Expr:
    """Stability of the ansatz for one direction: positive where replica symmetry is stable.

    curvature2: E|K|_F^2, with K = -dg/dw over all tokens, the Hessian of the envelope.

    Overlaps of replicas and their conjugates move by multiples of a matrix with zeros on the
    diagonal and in the sum of every row. The action's second variation, for each unit of the trace
    of that matrix squared, is a quadratic form in the two. It is scaled to 1 without data.
    """
    overlap, conjugate = sp.symbols("overlap conjugate", real=True)
    (V,) = p.overlaps.V
    # At the saddle point V = sigma^2/D, where beta D is the precision of a row of Q.
    precision = y.beta * y.sigma**2 / V
    row = -sp.log(precision + y.sigma**2 * conjugate) / 2
    entropic = row.diff(conjugate, 2).subs(conjugate, 0) * conjugate**2 / 2
    # ln Z = -beta M has the Hessian -beta K.
    energetic = y.alpha * y.beta**2 * curvature2 * overlap**2 / 4
    form = overlap * conjugate / 2 + entropic + energetic
    hessian = sp.hessian(form, (overlap, conjugate))
    return sp.expand(-hessian.det() / hessian[0, 1] ** 2)


def limit(expression: sp.Expr) -> sp.Expr:
    """The limit of a sum as beta -> infinity, term by term."""
    terms = sp.Add.make_args(sp.expand(expression, log=False))
    parts = (term.as_independent(y.beta) for term in terms)
    return sp.Add(*(factor * sp.limit(rest, y.beta, sp.oo) for factor, rest in parts))


def _scaled_free_energy(
    p: OrderParameters, log_channel: sp.Expr, resolvent: sp.MatrixBase, source: sp.MatrixBase
) -> sp.Expr:
    """The free energy in scaled overlaps and hats; resolvent and source stand for D^-1 and B."""
    rank = p.overlaps.q.rows
    symmetric = scaled(p)
    per_beta = (symmetric.precision.own / y.beta).applyfunc(sp.expand)
    free_entropy = symmetric.free_entropy(
        log_channel,
        rank * sp.log(y.beta) + sp.log(determinant(per_beta)),
        resolvent / y.beta,
        y.beta**2 * source,
    )
    return -free_entropy / y.beta


def _renamed(overlaps: Overlaps) -> Overlaps:
    """The same matrices in the symbols of unscaled overlaps and conjugates."""
    names = {
        x: sp.Symbol(x.name.replace("V", "chi").replace("_hat", "_tilde"), **x.assumptions0)
        for x in overlaps.symbols
    }
    return Overlaps(*(matrix.xreplace(names) for matrix in overlaps.matrices))
