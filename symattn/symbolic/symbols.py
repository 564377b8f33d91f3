"""Every symbol of the theory, with its assumptions, in one place.

Vectors and matrices carry their indices in the name, counted from 1: `x_21` is component 1 of token
2, `V_12` an entry of V. Where there is one direction only its index is dropped: `x_2`, `V`.
"""

from __future__ import annotations

import sympy as sp

alpha, sigma, lam, s = sp.symbols("alpha sigma lam s", positive=True)
omega = sp.Symbol("omega", real=True)

# The response, where the matrix of responses is V I.
V = sp.Symbol("V", positive=True)

# Of the replica calculation: inverse temperature, number of replicas, dimension, and det D.
beta, n, d = sp.symbols("beta n d", positive=True)
log_channel, log_hessian = sp.symbols("log_channel log_hessian", real=True)
curvature2 = sp.Symbol("curvature2", positive=True)
# Derivatives of a loss of one component, from the first to the fourth.
loss_slopes = sp.symbols("loss_1:5", real=True)
# Of the quadratic loss k |x|^2/2, an example that is solved at every step.
stiffness = sp.Symbol("k", positive=True)

# Of w given h*: s^-2, |w - mean|^2, and the components of w - mean.
precision = sp.Symbol("precision", positive=True)
distance2 = sp.Symbol("distance2", real=True)
deviation = sp.symbols("y_a y_b", real=True)

# Two tokens in rotated coordinates: (u, v) of the field x, (a, b) of w, (u_star, v_star) of h*.
u, v, a, b, u_star, v_star = sp.symbols("u v a b u_star v_star", real=True)
a_mean, b_mean, g_u, g_v = sp.symbols("a_mean b_mean g_u g_v", real=True)
l_u, l_v, l_uu, l_uv, l_vv = sp.symbols("l_u l_v l_uu l_uv l_vv", real=True)
kappa_uu, kappa_uv, kappa_vv = sp.symbols("kappa_uu kappa_uv kappa_vv", real=True)
s11, s22, t11, t22, a11, a22 = sp.symbols("s11 s22 t11 t22 a11 a22", real=True)

# The two sides of a jump of the prox are X - D and X + D.
middle = sp.symbols("X_u X_v", real=True)
half = sp.symbols("D_u D_v", real=True)
jump_g2, jump_response = sp.symbols("jump_g2 jump_response", real=True)
jump_x = sp.Symbol("jump_x", positive=True)

# At x = 0, two tokens: T_11 + T_22 - 1, T_11 - T_22, Hessian of the loss and of the envelope.
tau, delta = sp.symbols("tau delta", real=True)
H_uu, H_uv = sp.symbols("H_uu H_uv", real=True)
K_uu, K_uv, K_vv = sp.symbols("K_uu K_uv K_vv", real=True)

# Means over h* at x = 0: Tr K, and the slopes of m', theta' and q' over alpha V.
rest_means = sp.symbols("trace positional semantic bulk", real=True)

# det(I + V H); a place where the prox jumps
det, sheet = sp.symbols("det sheet", real=True)

# -(d E|g|^2/dV)/2
response = sp.Symbol("response", real=True)

loss, envelope, loss_at_prox = sp.symbols("loss envelope loss_at_prox", real=True)
z, w = sp.symbols("z w", real=True)


def slope_by_V(name: sp.Symbol) -> sp.Symbol:
    """The derivative of what `name` stands for by V."""
    return sp.Symbol(f"{name.name}_by_V", real=True)


def fields(name: str, tokens: int, rank: int) -> sp.ImmutableMatrix:
    """A vector for each token: name_l, or name_lk when there are several directions."""
    return sp.ImmutableMatrix(
        tokens,
        rank,
        lambda token, k: sp.Symbol(f"{name}_{token + 1}{_index(k, rank)}", real=True),
    )


def symmetric(name: str, order: int, *, positive: bool = False) -> sp.ImmutableMatrix:
    """A symmetric matrix with entries name_ij, i <= j; just `name` when it is 1 x 1."""
    assumption = {"positive": True} if positive and order == 1 else {"real": True}

    def entry(i: int, j: int) -> sp.Symbol:
        i, j = min(i, j), max(i, j)
        return sp.Symbol(name if order == 1 else f"{name}_{i + 1}{j + 1}", **assumption)

    return sp.ImmutableMatrix(order, order, entry)


def rectangular(name: str, rows: int, columns: int) -> sp.ImmutableMatrix:
    """A matrix with entries name_ij; just `name` when it is 1 x 1."""
    return sp.ImmutableMatrix(
        rows,
        columns,
        lambda i, j: sp.Symbol(
            name if rows == columns == 1 else f"{name}_{i + 1}{j + 1}", real=True
        ),
    )


def square(name: str, length: int) -> sp.ImmutableMatrix:
    """An L x L matrix over tokens with entries name_lk."""
    return sp.ImmutableMatrix(
        length, length, lambda row, column: sp.Symbol(f"{name}_{row + 1}{column + 1}", real=True)
    )


def entries(matrix: sp.MatrixBase) -> tuple[sp.Symbol, ...]:
    """The symbols in a matrix, each once, row by row."""
    return tuple(dict.fromkeys(x for entry in matrix for x in _sorted_symbols(entry)))


def _sorted_symbols(expression: sp.Expr) -> list[sp.Symbol]:
    return sorted(expression.free_symbols, key=lambda x: x.name)


def _index(k: int, rank: int) -> str:
    return "" if rank == 1 else str(k + 1)
