"""Training loss in its two forms, and test loss."""

from __future__ import annotations

import sympy as sp

from symattn.symbolic import free_energy
from symattn.symbolic import symbols as y
from symattn.symbolic.overlaps import OrderParameters


def ridge_denominator(p: OrderParameters) -> sp.ImmutableMatrix:
    """D = lambda I + sigma^2 V_hat: the precision of a row of Q in one replica, over beta."""
    return _over(free_energy.scaled(p).precision.own, y.beta)


def ridge_source(p: OrderParameters) -> sp.ImmutableMatrix:
    """B = sigma^2 q_hat + sum_lk G_lk m_hat_l m_hat_k^T + sigma^2 theta_hat rho theta_hat^T.

    The mean square of what pulls a row of Q, over beta^2.
    """
    return _over(free_energy.scaled(p).source, y.beta**2)


def extremal_form(
    p: OrderParameters,
    expected_envelope: sp.Expr,
    resolvent: sp.MatrixBase,
    source: sp.MatrixBase,
) -> sp.Expr:
    """The training loss whose extremum over overlaps and hats is eps_t.

    The replica-symmetric free energy at zero temperature: alpha E[M] + Tr(q_hat V - V_hat q)/2
    + sum_l m_l . m_hat_l + Tr theta theta_hat^T - Tr(D^-1 B)/2. resolvent stands for D^-1 and
    source for B (`ridge_source`).
    """
    return free_energy.zero_temperature(p, expected_envelope, resolvent, source)


def train_loss_direct(p: OrderParameters) -> sp.Expr:
    """alpha E[loss at the prox] + lambda Tr q/(2 sigma^2): eps_t at its saddle point."""
    return y.alpha * y.loss_at_prox + y.lam * p.overlaps.q.trace() / (2 * y.sigma**2)


def test_loss(mismatch: sp.MatrixBase) -> sp.Expr:
    """(1/2) Tr (T - S) rho_Sigma (T - S)^T, rho_Sigma = sigma^2 I; the test error is its mean.

    mismatch: T - S, with S at the field w instead of the prox.
    """
    rho_sigma = y.sigma**2 * sp.eye(mismatch.cols)
    return (mismatch * rho_sigma * mismatch.T).trace() / 2


def _over(matrix: sp.MatrixBase, factor: sp.Expr) -> sp.ImmutableMatrix:
    return sp.ImmutableMatrix((matrix / factor).applyfunc(sp.expand))
