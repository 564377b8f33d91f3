"""Training loss in its two forms, and test loss."""

from __future__ import annotations

import sympy as sp

from symattn.symbolic import symbols as y


def ridge_denominator(V_hat: sp.Expr = y.V_hat) -> sp.Expr:
    """D = lambda + sigma^2 V_hat."""
    return y.lam + y.sigma**2 * V_hat


def extremal_form(expected_envelope: sp.Expr = y.envelope) -> sp.Expr:
    """The training loss whose extremum over overlaps and hats is eps_t (two tokens, rank one).

    alpha E[M] + (q_hat V - V_hat q)/2 + m m_hat + theta theta_hat
    - (sigma^2 q_hat + m_hat^2 + sigma^2 rho theta_hat^2)/(2 D), with rho = sigma^2.
    """
    rho = y.sigma**2
    ridge_energy = y.sigma**2 * y.q_hat + y.m_hat**2 + y.sigma**2 * rho * y.theta_hat**2
    return (
        y.alpha * expected_envelope
        + (y.q_hat * y.V - y.V_hat * y.q) / 2
        + y.m * y.m_hat
        + y.theta * y.theta_hat
        - ridge_energy / ridge_denominator() / 2
    )


def train_loss_direct() -> sp.Expr:
    """alpha E[loss at the prox] + lambda q / (2 sigma^2): eps_t at its saddle point."""
    return y.alpha * y.loss_at_prox + y.lam * y.q / (2 * y.sigma**2)


def test_loss(weights: sp.Matrix, target: sp.Matrix, sigma: sp.Expr) -> sp.Expr:
    """(1/2) Tr (T - S) rho (T - S)^T with rho = sigma^2 I: the test error is its mean at x = w."""
    mismatch = target - weights
    rho = sigma**2 * sp.eye(weights.cols)
    return (mismatch * rho * mismatch.T).trace() / 2
