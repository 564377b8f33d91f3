"""The order parameters: overlaps, their hats, and means over the channel, as symbolic matrices."""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp

from symattn.symbolic import symbols as y
from symattn.symbolic.size import Size


@dataclass(frozen=True)
class Overlaps:
    """Overlaps q, V (r x r, symmetric), m (L x r) and theta (r x t); or their hats in that role.

    As overlaps: q = Q^T Sigma Q/d, theta = Q^T Sigma Q*/d, m_l = p_l . Q/sqrt(d), V the rescaled
    response. As hats: the conjugates, summed over the tokens (m_hat: one for each token).
    """

    q: sp.ImmutableMatrix
    m: sp.ImmutableMatrix
    V: sp.ImmutableMatrix
    theta: sp.ImmutableMatrix

    @property
    def symbols(self) -> tuple[sp.Symbol, ...]:
        """The independent components, in the order q, m, V, theta."""
        return tuple(x for matrix in self.matrices for x in y.entries(matrix))

    @property
    def matrices(self) -> tuple[sp.ImmutableMatrix, ...]:
        return (self.q, self.m, self.V, self.theta)


@dataclass(frozen=True)
class ChannelMeans:
    """Means over (h*, w): E sum_l g_l g_l^T, E g_l, E sum_l dg_l/dw_l and E sum_l g_l h*_l^T."""

    gg: sp.ImmutableMatrix
    g: sp.ImmutableMatrix
    div: sp.ImmutableMatrix
    gh: sp.ImmutableMatrix

    @property
    def symbols(self) -> tuple[sp.Symbol, ...]:
        return tuple(
            x for matrix in (self.gg, self.g, self.div, self.gh) for x in y.entries(matrix)
        )


@dataclass(frozen=True)
class OrderParameters:
    """Everything that describes the trained student: overlaps, hats, and what they are made from.

    gram: G_lk = p_l . p_k, the products of the positional encodings (L x L).
    rho: Q*^T Sigma Q*/d = sigma^2 I (t x t).
    """

    overlaps: Overlaps
    hats: Overlaps
    means: ChannelMeans
    gram: sp.ImmutableMatrix
    rho: sp.ImmutableMatrix

    @property
    def regression(self) -> sp.ImmutableMatrix:
        """theta rho^-1: the slope of E[w_l | h*_l]."""
        return self.overlaps.theta * self.rho.inv()

    @property
    def conditional_covariance(self) -> sp.ImmutableMatrix:
        """q - theta rho^-1 theta^T: the covariance of w_l given h*_l."""
        return self.overlaps.q - self.regression * self.overlaps.theta.T


def order_parameters(size: Size) -> OrderParameters:
    """The order parameters of a size.

    Two tokens of rank one have p_1 = -p_2: one overlap m = m_1 = -m_2, whose conjugate is
    m_hat = m_hat_1 - m_hat_2. In general the positional encodings enter through their Gram matrix.
    """
    length, r, t = size.length, size.student_rank, size.target_rank
    rho = sp.ImmutableMatrix(y.sigma**2 * sp.eye(t))
    if size.is_rotated:
        m, m_hat, e_gm = sp.symbols("m m_hat e_gm", real=True)
        sign = sp.ImmutableMatrix([1, -1])
        means = (sign * m, sign * m_hat / 2, sign * e_gm / 2)
        gram = sign * sign.T
        gg_name = "e_g2"
    else:
        means = tuple(y.fields(name, length, r) for name in ("m", "m_hat", "e_g"))
        gram = y.symmetric("gram", length)
        gg_name = "e_gg"
    return OrderParameters(
        overlaps=Overlaps(
            q=y.symmetric("q", r),
            m=means[0],
            V=y.symmetric("V", r, positive=True),
            theta=y.rectangular("theta", r, t),
        ),
        hats=Overlaps(
            q=y.symmetric("q_hat", r),
            m=means[1],
            V=y.symmetric("V_hat", r),
            theta=y.rectangular("theta_hat", r, t),
        ),
        means=ChannelMeans(
            gg=y.symmetric(gg_name, r),
            g=means[2],
            div=y.symmetric("e_div", r),
            gh=y.rectangular("e_gh", r, t),
        ),
        gram=gram,
        rho=rho,
    )
