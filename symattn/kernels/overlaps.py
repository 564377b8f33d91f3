"""Kernels of the order parameters: ridge side, hats and training loss, for any size."""

from __future__ import annotations

import sympy as sp

from symattn.kernels.function import Kernel, Statement
from symattn.symbolic import channel, jacobian, losses
from symattn.symbolic import hats as channel_side
from symattn.symbolic import ridge as ridge_side
from symattn.symbolic import symbols as y
from symattn.symbolic.overlaps import OrderParameters

RIDGE_DOC = """Overlaps (q, m, V, theta) from the hats.

V = sigma^2/D,  m = m_hat/D,  theta = sigma^2 rho theta_hat/D,  q = sigma^2 B/D^2,
D = lam + sigma^2 V_hat,  rho = sigma^2,
B = sigma^2 q_hat + m_hat^2 + sigma^2 rho theta_hat^2.
resolvent: 1/D; source: B.
"""

MATRIX_RIDGE_DOC = """Overlaps (q, m, V, theta) from the hats.

V = sigma^2 D^-1,  m_l = D^-1 sum_k G_lk m_hat_k,  theta = sigma^2 D^-1 theta_hat rho,
q = sigma^2 D^-1 B D^-1,  D = lam I + sigma^2 V_hat,  rho = sigma^2 I,
B = sigma^2 q_hat + sum_lk G_lk m_hat_l m_hat_k^T + sigma^2 theta_hat rho theta_hat^T.
gram: G_lk = p_l.p_k; resolvent: D^-1; source: B.
"""

RIDGE_JACOBIAN_DOC = """Derivatives of `ridge`: d(q, m, V, theta)/d(q_hat, m_hat, V_hat, theta_hat).

One row of the Jacobian after the other.
"""

HATS_DOC = """Hats (q_hat, m_hat, V_hat, theta_hat) from means over the channel; rho = sigma^2.

q_hat = alpha E|g|^2,  m_hat = alpha E[g_1 - g_2],  V_hat = -alpha E[div_w g],
theta_hat = (alpha E[g.h*] + theta V_hat)/rho.
e_g2, e_gm, e_div, e_gh: the means of what `hat_integrands` returns.
"""

MATRIX_HATS_DOC = """Hats (q_hat, m_hat, V_hat, theta_hat) from means over the channel.

rho = sigma^2 I,  q_hat = alpha E sum_l g_l g_l^T,  m_hat_l = alpha E g_l,
V_hat = -alpha E sum_l dg_l/dw_l,
theta_hat = (alpha E sum_l g_l h*_l^T + V_hat theta) rho^-1.
e_gg, e_div, e_gh: the means of what `hat_integrands` returns; e_g: the mean of g.
"""

EXTREMAL_DOC = """Training loss eps_t in its extremal form, stationary in all overlaps and hats.

alpha E[M] + (q_hat V - V_hat q)/2 + m m_hat + theta theta_hat - B/(2 D),
with D and B as in `ridge`. envelope: E[M].
"""

MATRIX_EXTREMAL_DOC = """Training loss eps_t in its extremal form, stationary in overlaps and hats.

alpha E[M] + Tr(q_hat V - V_hat q)/2 + sum_l m_l.m_hat_l + Tr theta theta_hat^T - Tr(D^-1 B)/2,
with D and B as in `ridge`. envelope: E[M].
"""

DIRECT_DOC = """Training loss eps_t = alpha E[loss at the prox] + lam Tr q/(2 sigma^2).

Equal to the extremal form at a fixed point only. loss_at_prox: E[loss(x*)].
"""

HATS_JACOBIAN_DOC = """d(q_hat, m_hat, V_hat, theta_hat)/d(q, m, V, theta), one row after the other.

mean_by_overlap: derivative of a mean by an overlap, itself the mean of what `slope_integrands`
returns; response: -(d E|g|^2/dV)/2. All other derivatives follow, since the hats are the
gradient of alpha E[M]: q_hat = -2 alpha dE[M]/dV, m_hat = -alpha dE[M]/dm,
V_hat = 2 alpha dE[M]/dq, theta_hat = -alpha dE[M]/dtheta.
"""

DIRECT_GRADIENT_DOC = """Derivatives of `train_loss_direct` by q, m, V and theta.

E[loss(x*)] = E[M] - V E|g|^2/2; mean_by_overlap and response as in `hats_jacobian`.
"""

TRAIN_LOSS = sp.Symbol("train_loss", real=True)


def kernels(p: OrderParameters, *, two_tokens: bool) -> list[Kernel]:
    """The kernels of the order parameters.

    two_tokens says that one overlap m stands for both tokens: the docstrings are then written for
    scalars, and the derivatives of both sides are among the kernels.
    """
    gram = y.entries(p.gram)
    hats = p.hats.symbols
    updates = ridge_side.ridge_updates(p)
    ridge = Kernel(
        "ridge",
        (*hats, *gram, y.lam, y.sigma),
        tuple(_resolvent_steps(p) + _source_steps(p)),
        tuple(updates.items()),
        RIDGE_DOC if two_tokens else MATRIX_RIDGE_DOC,
    )
    ridge_jacobian = Kernel(
        "ridge_jacobian",
        (*hats, y.lam, y.sigma),
        ridge.steps,
        tuple(
            (
                sp.Symbol(f"{overlap.name}_by_{hat.name}", real=True),
                ridge_side.total_derivative(value, hat, p),
            )
            for overlap, value in updates.items()
            for hat in hats
        ),
        RIDGE_JACOBIAN_DOC,
    )
    form = losses.extremal_form(
        p, y.envelope, ridge_side.resolvent_symbol(p), ridge_side.source_symbol(p)
    )
    return [
        ridge,
        *([ridge_jacobian] if two_tokens else []),
        Kernel(
            "hats",
            (y.alpha, *p.means.symbols, *y.entries(p.overlaps.theta), y.sigma),
            (),
            tuple(channel_side.hat_updates(p).items()),
            HATS_DOC if two_tokens else MATRIX_HATS_DOC,
        ),
        Kernel(
            "train_loss_extremal",
            (y.alpha, y.envelope, *p.overlaps.symbols, *hats, *gram, y.lam, y.sigma),
            ridge.steps,
            ((TRAIN_LOSS, form),),
            EXTREMAL_DOC if two_tokens else MATRIX_EXTREMAL_DOC,
        ),
        Kernel(
            "train_loss_direct",
            (y.alpha, y.loss_at_prox, *y.entries(p.overlaps.q), y.lam, y.sigma),
            (),
            ((TRAIN_LOSS, losses.train_loss_direct(p)),),
            DIRECT_DOC,
        ),
        *(_slopes(p) if two_tokens else []),
    ]


def _slopes(p: OrderParameters) -> list[Kernel]:
    """Derivatives of the hats and of the direct form of the training loss by the overlaps."""
    slopes = [jacobian.slope_symbol(*pair) for pair in jacobian.slopes_taken(p)]
    gradient = jacobian.train_loss_direct_gradient(p)
    inside = set().union(*(value.free_symbols for value in gradient.values()))
    needed = [x for x in (*slopes, y.response) if x in inside]
    return [
        Kernel(
            "hats_jacobian",
            (y.alpha, *y.entries(p.hats.V), *slopes, y.response, p.overlaps.theta[0], y.sigma),
            (),
            tuple(
                (jacobian.slope_symbol(hat, overlap), value)
                for (hat, overlap), value in jacobian.hats_jacobian(p).items()
            ),
            HATS_JACOBIAN_DOC,
        ),
        Kernel(
            "train_loss_direct_gradient",
            (y.alpha, *p.hats.symbols, *needed, p.overlaps.V[0], y.lam, y.sigma),
            (),
            tuple(
                (jacobian.slope_symbol(TRAIN_LOSS, overlap), value)
                for overlap, value in gradient.items()
            ),
            DIRECT_GRADIENT_DOC,
        ),
    ]


def _resolvent_steps(p: OrderParameters) -> list[Statement]:
    resolvent = ridge_side.resolvent_symbol(p)
    denominator = losses.ridge_denominator(p)
    if denominator.rows == 1:
        return [(resolvent[0], 1 / denominator[0])]
    named = y.symmetric("denominator", denominator.rows)
    steps = list(zip(y.entries(named), channel.upper(denominator), strict=True))
    return steps + list(
        zip(y.entries(resolvent), channel.upper(channel.inverse(named)), strict=True)
    )


def _source_steps(p: OrderParameters) -> list[Statement]:
    source = ridge_side.source_symbol(p)
    return list(zip(y.entries(source), channel.upper(losses.ridge_source(p)), strict=True))
