"""Overlaps and their conjugates, the hats."""

from __future__ import annotations

from typing import NamedTuple


class Overlaps(NamedTuple):
    """Order parameters of the student at L = 2, r = t = 1, isotropic.

    q = Q^T Sigma Q/d, m = p_1.Q/sqrt(d) = -p_2.Q/sqrt(d), theta = Q^T Sigma Q*/d, and V, the
    response of Q, in the scaling in which w = x* - V g.
    """

    q: float
    m: float
    V: float
    theta: float


class Hats(NamedTuple):
    """Conjugates of the overlaps, in the same order.

    q_hat = alpha E|g|^2, m_hat = alpha E[g_1 - g_2], V_hat = -alpha E[div_w g],
    theta_hat = (alpha E[g.h*] + theta V_hat)/rho.
    """

    q_hat: float
    m_hat: float
    V_hat: float
    theta_hat: float
