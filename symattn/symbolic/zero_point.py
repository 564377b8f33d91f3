"""The fixed point Q = 0: curvatures there, its response, and when perturbations of it grow.

At Q = 0 every field is 0, and near it the channel is linear, g = -K w with K the curvature of the
envelope at rest. All matrices over directions are multiples of the identity, so curvatures are
L x L, with the rows of `Coordinates`.
"""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp

from symattn.symbolic import channel, hats, jets, law, losses, response, ridge
from symattn.symbolic import symbols as y
from symattn.symbolic.coordinates import Coordinates
from symattn.symbolic.jets import Named


@dataclass(frozen=True)
class Growth:
    """How one perturbation of Q = 0 moves in a step of the state evolution.

    overlap, source: `overlap` after the step has the slope `factor` in `source` before it.
    factor: to be averaged over h*, in the symbols of `curvature_symbols` and of h*.

    Q = 0 is unstable where the average exceeds 1 (for m: its largest eigenvalue over tokens).
    """

    overlap: sp.Symbol
    source: sp.Symbol
    factor: sp.Expr


def hessian_symbols(c: Coordinates) -> sp.ImmutableMatrix:
    """H, the Hessian of the loss at x = 0."""
    if c.size.is_rotated:
        return channel.symmetric_matrix([y.H_uu, y.H_uv, sp.Integer(0)], 2)
    return y.symmetric("H", c.size.length)


def curvature_symbols(c: Coordinates) -> sp.ImmutableMatrix:
    """K = H (I + V H)^-1, the Hessian of the envelope at w = 0."""
    if c.size.is_rotated:
        return channel.symmetric_matrix([y.K_uu, y.K_uv, y.K_vv], 2)
    return y.symmetric("K", c.size.length)


def target_parts(c: Coordinates) -> list[Named]:
    """tau = T_11 + T_22 - 1 and delta = T_11 - T_22, which is all that matters of T at x = 0."""
    t11, t22 = c.target[0, 0], c.target[1, 1]
    return [(y.tau, t11 + t22 - 1), (y.delta, t11 - t22)]


def in_target_parts(expression: sp.Expr) -> sp.Expr:
    """An expression in T_11 and T_22 in terms of tau and delta."""
    t11, t22 = ((1 + y.tau + sign * y.delta) / 2 for sign in (1, -1))
    return sp.expand(expression.subs({y.t11: t11, y.t22: t22}))


def hessian(c: Coordinates) -> sp.Matrix:
    """H from T; for two tokens of rank one in terms of tau and delta.

    Rows of T sum to 1: H = -(2 sigma^2/L) Sym(T - 1/L).
    """
    known: dict[sp.Symbol, sp.Expr] = dict.fromkeys(c.x, sp.Integer(0))
    if c.size.is_rotated:
        inner, weights = jets.student_jet(c)
        residuals, results = jets.loss_of_student_jet(c)
        steps = [*inner, *weights, *residuals]
    else:
        steps, results = jets.loss_of_weights(c)
        known.update(dict.fromkeys(c.weights, sp.Rational(1, c.size.length)))
    for name, value in steps:
        known[name] = value.xreplace(known)
    at_rest = {name: value.xreplace(known) for name, value in results}
    first = [list(c.x).index(x) for x in c.x.col(0)]
    value = sp.Matrix(c.hessian.extract(first, first).xreplace(at_rest))
    if c.size.is_rotated:
        return value.applyfunc(in_target_parts)
    return sp.Matrix(*value.shape, lambda i, j: _with_rows_of_sum_one(value[i, j], (i, j), c))


def determinant(c: Coordinates) -> sp.Expr:
    """det(I + V H) for two tokens of rank one, in tau and delta."""
    return channel.determinant(channel.prox_jacobian(hessian(c), sp.Matrix([[y.V]])))


def curvature(c: Coordinates) -> list[Named]:
    """K, entry by entry: for two tokens of rank one in tau, delta and the determinant.

    Otherwise K = H - V H K, which defines it without an inverse.
    """
    H, K, V = hessian_symbols(c), curvature_symbols(c), y.V
    if not c.size.is_rotated:
        return list(zip(channel.upper(K), channel.upper(H - V * H * K), strict=True))
    at_rest = dict(zip(channel.upper(c.hessian), channel.upper(hessian(c)), strict=True))
    scaled = (value.xreplace(at_rest) / y.det for _, value in response.scaled_curvature(c))
    return list(zip(channel.upper(K), map(sp.factor_terms, scaled), strict=True))


def curvature_slopes(c: Coordinates) -> list[sp.Expr]:
    """dK/dV = -K^2, the upper triangle row by row; h* and H do not move."""
    K = curvature_symbols(c)
    return channel.upper(-K * K)


def curvature_square(c: Coordinates) -> sp.Expr:
    """|K|_F^2 = |dg/dw|_F^2 at rest."""
    return sum(entry**2 for entry in curvature_symbols(c))


def updated_response(c: Coordinates, mean_trace: sp.Expr) -> sp.Expr:
    """V after a step of the state evolution at Q = 0; mean_trace stands for E[Tr K].

    It is a root of V (lambda + sigma^2 alpha E[Tr K]) = sigma^2.
    """
    p = c.order_parameters
    (V_hat, *_), (V, *_) = p.hats.V, p.overlaps.V
    hat = hats.hat_updates(p)[V_hat].xreplace({p.means.div[0, 0]: -mean_trace})
    denominator = losses.ridge_denominator(p)[0, 0].xreplace({V_hat: hat})
    resolvent = ridge.resolvent_symbol(p)[0, 0]
    return sp.factor_terms(ridge.ridge_updates(p)[V].xreplace({resolvent: 1 / denominator}))


def growth(c: Coordinates) -> list[Growth]:
    """The linearised state evolution at Q = 0, in m, theta and q.

    Means are linear in K, so factors are left inside the mean over h*. The mixed ones vanish: K is
    even in h*, and q is of second order.
    """
    p = c.order_parameters
    V = y.V
    rest = dict.fromkeys(p.overlaps.symbols, sp.Integer(0))
    isotropic = dict(zip(p.overlaps.V, V * sp.eye(p.overlaps.V.rows), strict=True))
    isotropic.update(
        zip(ridge.resolvent_symbol(p), V / y.sigma**2 * sp.eye(p.overlaps.V.rows), strict=True)
    )
    means = _means_near_rest(c)
    moved: dict[sp.Symbol, sp.Expr] = {}
    for hat, value in hats.hat_updates(p).items():
        # theta_hat needs V_hat, which comes before it.
        moved[hat] = value.xreplace(means).xreplace(moved)
    sources = dict(zip(ridge.source_symbol(p), losses.ridge_source(p), strict=True))
    updates = ridge.ridge_updates(p)
    positional = y.entries(p.overlaps.m.col(0))
    pairs = [(x, z) for x in positional for z in positional]
    pairs += [(p.overlaps.theta[0], p.overlaps.theta[0]), (p.overlaps.q[0], p.overlaps.q[0])]
    found = []
    for overlap, source in pairs:
        after = updates[overlap].xreplace(sources).xreplace(isotropic).xreplace(moved)
        factor = after.xreplace(isotropic).diff(source).xreplace(rest | isotropic)
        collected = sp.collect(sp.expand(factor), y.entries(curvature_symbols(c)), sp.factor_terms)
        found.append(Growth(overlap, source, sp.factor_terms(collected)))
    return found


def growth_integrands(c: Coordinates) -> list[Named]:
    """What is averaged over h* for the response and the instabilities of two tokens of rank one.

    Tr K, then the slopes of m', theta' and q' (see `growth`), each divided by alpha V, so that they
    stay finite where V vanishes.
    """
    factors = [sp.expand(one.factor / (y.alpha * y.V)) for one in growth(c)]
    values = [curvature_symbols(c).trace(), *factors]
    return list(zip(y.rest_means, values, strict=True))


def growth_integrand_slopes(c: Coordinates) -> list[Named]:
    """Their derivatives by V at fixed h*."""
    moves = dict(zip(channel.upper(curvature_symbols(c)), curvature_slopes(c), strict=True))
    named = []
    for name, value in growth_integrands(c):
        by_entries = sum(value.diff(entry) * move for entry, move in moves.items())
        named.append((y.slope_by_V(name), sp.factor_terms(value.diff(y.V) + by_entries)))
    return named


def _means_near_rest(c: Coordinates) -> dict[sp.Symbol, sp.Expr]:
    """The channel's means for g = -K w, averaged over w given h* but not yet over h*."""
    p = c.order_parameters
    K = curvature_symbols(c)
    w = law.field_mean(c)
    g = -K * w
    rank = c.size.student_rank
    values = [
        (p.means.gg, g.T * g + (K * K).trace() * p.conditional_covariance),
        (p.means.div, -K.trace() * sp.eye(rank)),
        (p.means.gh, g.T * c.h),
    ]
    if c.size.is_rotated:
        along_m = g.T * hats.positional_direction(c)
        named = {y.entries(p.means.g)[0]: along_m[0]}
    else:
        named = dict(zip(p.means.g, g, strict=True))
    for symbols, numbers in values:
        named.update(zip(symbols, numbers, strict=True))
    return named


def _with_rows_of_sum_one(expression: sp.Expr, place: tuple[int, int], c: Coordinates) -> sp.Expr:
    """An entry of H with the sums of the rows of T put in, so that T_lk and T_kl are left."""
    length = c.size.length
    for row, kept in (place, place[::-1]):
        dropped = c.target[row, (kept + 1) % length]
        total = sum(c.target.row(row))
        expression = sp.expand(expression.subs(dropped, 1 - (total - dropped)))
    return sp.factor_terms(expression)
