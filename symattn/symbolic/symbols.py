"""Every symbol of the theory, in one place, with its assumptions and its LaTeX name.

Conventions for two tokens and one direction: x_1, x_2 are token coordinates, u = (x_1 - x_2)/sqrt 2
and v = (x_1 + x_2)/sqrt 2 the rotated ones; the field w has rotated coordinates (a, b), the
target's field h* has (u_star, v_star).
"""

from __future__ import annotations

import sympy as sp

alpha, sigma, lam, V, s = sp.symbols("alpha sigma lam V s", positive=True)
omega, a11, a22 = sp.symbols("omega a11 a22", real=True)
u, v, a, b, u_star, v_star = sp.symbols("u v a b u_star v_star", real=True)
a_mean, b_mean, g_u, g_v = sp.symbols("a_mean b_mean g_u g_v", real=True)
t11, t22, s11, s22 = sp.symbols("t11 t22 s11 s22", real=True)
loss, l_u, l_v, l_uu, l_uv, l_vv = sp.symbols("loss l_u l_v l_uu l_uv l_vv", real=True)
q, m, theta = sp.symbols("q m theta", real=True)
q_hat, m_hat, V_hat, theta_hat = sp.symbols("q_hat m_hat V_hat theta_hat", real=True)
envelope, loss_at_prox = sp.symbols("envelope loss_at_prox", real=True)
e_g2, e_gm, e_div, e_gh = sp.symbols("e_g2 e_gm e_div e_gh", real=True)
z = sp.Symbol("z", real=True)

OVERLAPS = (q, m, V, theta)
HATS = (q_hat, m_hat, V_hat, theta_hat)
