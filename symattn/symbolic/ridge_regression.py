"""Ridge regression through the same chain, in sympy: loss (label - x)^2/2, label = h* + nu z.

Every token is a sample of its own with the field h* = Q*.x/sqrt(d) and normal noise z. There are no
positional encodings, so m = 0, and r = t = 1. The functions of the attention layer's chain are
used as they are: energy, extremal form, hats and ridge side.
"""

from __future__ import annotations

from functools import lru_cache

import sympy as sp

from symattn.symbolic import channel, hats, losses, ridge
from symattn.symbolic import symbols as y
from symattn.symbolic.coordinates import Coordinates
from symattn.symbolic.moments import mean_of_polynomial
from symattn.symbolic.overlaps import OrderParameters

x, w, label, target = sp.symbols("x w label h", real=True)
noise = sp.Symbol("nu", positive=True)


def prox() -> sp.Expr:
    """The minimiser of (x - w)^2/(2 V) + (label - x)^2/2."""
    (solution,) = sp.solve(_energy().diff(x), x)
    return sp.factor(solution)


def force() -> sp.Expr:
    """g = (x* - w)/V."""
    return sp.factor((prox() - w) / y.V)


def envelope() -> sp.Expr:
    """The energy at the prox."""
    return sp.factor(_energy().subs(x, prox()))


@lru_cache(maxsize=4)
def channel_means(c: Coordinates) -> dict[sp.Symbol, sp.Expr]:
    """E|g|^2, E[div g], E[g.h*] and E[M], summed over the tokens."""
    p = c.order_parameters
    g, length = force(), c.size.length
    integrands = (
        (p.means.gg[0], g**2),
        (p.means.div[0], g.diff(w)),
        (p.means.gh[0], g * target),
        (y.envelope, envelope()),
    )
    return {name: sp.factor_terms(length * _gaussian_mean(value, p)) for name, value in integrands}


def response(c: Coordinates) -> sp.Expr:
    """V in closed form: the positive root of what the ridge side and the hats give."""
    V = y.V
    denominator = losses.ridge_denominator(c.order_parameters)[0].xreplace(_hats(c))
    equation = sp.numer(sp.together(V * denominator - y.sigma**2))
    square, linear, constant = (sp.factor(x) for x in sp.Poly(equation, V).all_coeffs())
    return (sp.sqrt(linear**2 - 4 * square * constant) - linear) / (2 * square)


@lru_cache(maxsize=4)
def overlaps(c: Coordinates) -> dict[sp.Symbol, sp.Expr]:
    """theta and q in terms of V, with lambda eliminated."""
    p = c.order_parameters
    theta, q = p.overlaps.theta[0], p.overlaps.q[0]
    updates = _ridge_side(c)
    found: dict[sp.Symbol, sp.Expr] = {}
    for overlap in (theta, q):
        equation = sp.expand((overlap - updates[overlap]).xreplace(found))
        found[overlap] = _tidy(-equation.subs(overlap, 0) / equation.diff(overlap))
    return found


def train_loss(c: Coordinates) -> sp.Expr:
    """The extremal form at the overlaps and hats, in terms of V."""
    p = c.order_parameters
    form = losses.extremal_form(
        p, channel_means(c)[y.envelope], ridge.resolvent_symbol(p), losses.ridge_source(p)
    )
    return _at_saddle(form, c)


def test_loss(c: Coordinates) -> sp.Expr:
    """E (label - w)^2/2, summed over the tokens, in terms of V."""
    error = c.size.length * _gaussian_mean((label - w) ** 2 / 2, c.order_parameters)
    return _at_saddle(error, c)


def _energy() -> sp.Expr:
    V = y.V
    return channel.energy(sp.Matrix([[x - w]]), sp.Matrix([[1 / V]]), (label - x) ** 2 / 2)


def _gaussian_mean(quadratic: sp.Expr, p: OrderParameters) -> sp.Expr:
    """The mean over h*, w given h*, and the noise, of a quadratic form in target, w and label."""
    spread, normal = sp.symbols("spread normal", real=True)
    value = quadratic.subs(
        {w: p.regression[0] * target + spread * normal, label: target + noise * y.z}
    )
    for symbol, variance in ((y.z, sp.Integer(1)), (normal, sp.Integer(1)), (target, p.rho[0])):
        value = mean_of_polynomial(sp.expand(value), symbol, variance)
    return sp.factor(value.subs(spread, sp.sqrt(p.conditional_covariance[0])))


@lru_cache(maxsize=4)
def _hats(c: Coordinates) -> dict[sp.Symbol, sp.Expr]:
    """The hats in terms of overlaps; those of m are 0."""
    p = c.order_parameters
    means = {**dict.fromkeys(y.entries(p.means.g), sp.Integer(0)), **channel_means(c)}
    found: dict[sp.Symbol, sp.Expr] = {}
    for hat, value in hats.hat_updates(p).items():
        # theta_hat needs V_hat, which comes before it.
        found[hat] = sp.factor(value.xreplace(means).xreplace(found))
    return found


def _ridge_side(c: Coordinates) -> dict[sp.Symbol, sp.Expr]:
    """The ridge side with the hats in it and D = sigma^2/V."""
    return {
        overlap: _with_hats(value, c)
        for overlap, value in ridge.ridge_updates(c.order_parameters).items()
    }


def _with_hats(expression: sp.Expr, c: Coordinates) -> sp.Expr:
    p = c.order_parameters
    source = {ridge.source_symbol(p)[0]: losses.ridge_source(p)[0]}
    resolvent = {ridge.resolvent_symbol(p)[0]: y.V / y.sigma**2}
    return expression.xreplace(source).xreplace(_hats(c)).xreplace(resolvent)


def _at_saddle(expression: sp.Expr, c: Coordinates) -> sp.Expr:
    """In terms of V: with hats and overlaps put in, and m = 0."""
    m = dict.fromkeys(y.entries(c.order_parameters.overlaps.m), sp.Integer(0))
    return _tidy(_with_hats(expression, c).xreplace(m).xreplace(overlaps(c)))


def _tidy(rational: sp.Expr) -> sp.Expr:
    """In powers of the noise, over a denominator that is positive for few samples."""
    above, below = sp.fraction(sp.factor(rational))
    sign = -1 if below.subs(y.alpha, 0).is_negative else 1
    powers = sp.collect(sp.expand(sign * above), noise, sp.factor)
    return powers / sp.factor(sign * below)
