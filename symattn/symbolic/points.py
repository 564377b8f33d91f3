"""Random points with everything that the checks compare with, computed from definitions."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import lru_cache

import sympy as sp
from mpmath import matrix, mp, mpf

from symattn.symbolic import channel, definition, jets, losses, ridge
from symattn.symbolic import symbols as y
from symattn.symbolic.checks import (
    Values,
    curvatures,
    filled,
    flat,
    numeric,
    random_matrix,
    sample,
    slopes,
)
from symattn.symbolic.coordinates import Coordinates
from symattn.symbolic.linear_channel import LinearChannel, OverlapMatrices
from symattn.symbolic.overlaps import Overlaps

Point = dict[sp.Symbol, mpf]


def assigned(symbolic: sp.MatrixBase, numbers: matrix) -> Point:
    """The values of the symbols in a matrix whose entries are multiples of single symbols."""
    values: Point = {}
    for entry, number in zip(symbolic, flat(numbers), strict=True):
        if entry.free_symbols:
            (symbol,) = entry.free_symbols
            coefficient = entry.coeff(symbol)
            values[symbol] = number * mpf(int(coefficient.q)) / int(coefficient.p)
    return values


def named_overlaps(symbolic: Overlaps, numbers: OverlapMatrices) -> Point:
    """The values of the components of overlaps or hats."""
    values: Point = {}
    for matrix_of_symbols, matrix_of_numbers in zip(symbolic.matrices, numbers, strict=True):
        values.update(assigned(matrix_of_symbols, matrix_of_numbers))
    return values


def tokens(c: Coordinates, rows: Sequence[mpf]) -> matrix:
    """Fields by token from their flat coordinates."""
    width = len(rows) // c.size.length
    values = matrix([rows[i : i + width] for i in range(0, len(rows), width)])
    return filled(c.tokens(sp.eye(c.size.length)), {}) * values


class ChannelPoint:
    """A field x with a target, and the loss there with all its derivatives, by differences.

    values holds x, h*, w, T, sigma, V, omega, A, the weights and the loss under the names of
    `Coordinates`; from `with_derivatives` also the derivatives of weights and loss.
    """

    def __init__(self, c: Coordinates, seed: int) -> None:
        free = (*c.x, *c.h, *c.w, *y.entries(c.target), *y.entries(c.mixing))
        values = sample((*free, *y.entries(c.order_parameters.overlaps.V), y.sigma, y.omega), seed)
        self.coordinates = c
        self.values: Point = values
        self.x = [values[x] for x in c.x]
        self.sigma = values[y.sigma]
        self.target = filled(c.target, values)
        self.V = filled(c.order_parameters.overlaps.V, values)
        self.weights = definition.attention(tokens(c, self.x))
        values.update(assigned_free(c.weights, self.weights))
        values[y.loss] = self.loss(*self.x)

    def loss(self, *x: mpf) -> mpf:
        """The loss at flat coordinates x."""
        return definition.loss(tokens(self.coordinates, x), self.target, self.sigma)

    def energy(self, x: Sequence[mpf], w: Sequence[mpf]) -> mpf:
        """The energy at flat coordinates x for the field w."""
        c = self.coordinates
        return definition.energy(tokens(c, x), tokens(c, w), self.V, self.target, self.sigma)

    def weight(self, row: int, column: int) -> Callable[..., mpf]:
        """An attention weight as a function of flat coordinates."""
        c = self.coordinates
        return lambda *x: definition.attention(tokens(c, x))[row, column]

    @classmethod
    @lru_cache(maxsize=8)
    def with_derivatives(cls, c: Coordinates, seed: int) -> ChannelPoint:
        """A point whose values hold the derivatives under the names of `jets`; to be read only."""
        point = cls(c, seed)
        point._add_derivatives()
        return point

    def _add_derivatives(self) -> None:
        c = self.coordinates
        gradient, hessian = slopes(self.loss, self.x), curvatures(self.loss, self.x)
        names = jets.loss_jet_symbols(c)
        self.values.update(zip(names[1:], [*gradient, *hessian], strict=True))
        if c.size.is_rotated:
            self._add_weight_jets()
        else:
            self._add_logit_derivatives()

    def _add_weight_jets(self) -> None:
        c = self.coordinates
        for row in (0, 1):
            symbol = c.weights[row, row]
            weight = self.weight(row, row)
            jet = [weight(*self.x), *slopes(weight, self.x), *curvatures(weight, self.x)]
            self.values.update(zip(jets.weight_jet(symbol), jet, strict=True))
            token = symbol.name[1:]
            residual = self.weights[row, row] - self.target[row, row]
            self.values[sp.Symbol(f"r{token}", real=True)] = residual
            # Along the logit alone: the row's other logit is kept.
            logit = mp.log(self.weights[row, row] / self.weights[row, 1 - row])
            for order, name in ((1, "slope"), (2, "bend")):
                self.values[sp.Symbol(f"{name}{token}", real=True)] = mp.diff(
                    lambda z: mp.exp(z) / (mp.exp(z) + 1), logit, order
                )

    def _add_logit_derivatives(self) -> None:
        c = self.coordinates
        x = tokens(c, self.x)
        for row in range(c.size.length):
            logits = flat((x * x.T)[row, :])

            def loss_of_row(*z: mpf, row: int = row) -> mpf:
                powers = [mp.exp(value) for value in z]
                mismatch = matrix(
                    [
                        [
                            self.target[row, k] - power / mp.fsum(powers)
                            for k, power in enumerate(powers)
                        ]
                    ]
                )
                return definition.mean_square(mismatch, self.sigma) / 2

            first, second = slopes(loss_of_row, logits), curvatures(loss_of_row, logits)
            names = [sp.Symbol(f"d_{row + 1}{k + 1}", real=True) for k in range(c.size.length)]
            self.values.update(zip(names, first, strict=True))
            bends = y.entries(y.symmetric(f"dd_{row + 1}", c.size.length))
            self.values.update(zip(bends, second, strict=True))


class OverlapPoint:
    """Random overlaps and hats, with the extremal form and its slopes by differences."""

    def __init__(self, c: Coordinates, seed: int) -> None:
        self.p = c.order_parameters
        scalars = (y.alpha, y.lam, y.sigma)
        symbols = (*scalars, *self.p.overlaps.symbols, *self.p.hats.symbols, y.envelope)
        self.values = sample((*symbols, *y.entries(self.p.gram)), seed)
        self.alpha, self.lam, self.sigma = (self.values[x] for x in scalars)
        self.gram = filled(self.p.gram, self.values)

    def extremal(self, values: Point, envelope: mpf) -> mpf:
        """The extremal form by definition."""
        overlaps, hats = (
            tuple(filled(part, values) for part in role.matrices)
            for role in (self.p.overlaps, self.p.hats)
        )
        return definition.extremal(
            self.alpha, envelope, overlaps, hats, self.gram, self.lam, self.sigma
        )

    def stationary(
        self,
        unknowns: Sequence[sp.Symbol],
        variables: Sequence[sp.Symbol],
        envelope: Callable[[Point], mpf],
    ) -> list[mpf]:
        """The unknowns at which the extremal form is stationary in the variables.

        The slopes are affine in the unknowns, so their values at 0 and at unit vectors give a
        linear system.
        """

        def slopes_at(numbers: Sequence[mpf]) -> matrix:
            def form(*moved: mpf) -> mpf:
                values = {**self.values, **dict(zip(unknowns, numbers, strict=True))}
                values.update(zip(variables, moved, strict=True))
                return self.extremal(values, envelope(values))

            return matrix(slopes(form, [self.values[x] for x in variables]))

        size = len(unknowns)
        at_zero = slopes_at([mpf(0)] * size)
        system = matrix(size, size)
        for i in range(size):
            column = slopes_at([mpf(int(i == j)) for j in range(size)]) - at_zero
            system[:, i] = column
        return flat(mp.lu_solve(system, -at_zero))


class LawPoint:
    """Random overlaps q, m, theta of two tokens with an h* and a w, and the law of w given h*.

    values holds them, the mean of w and its standard deviation.
    """

    def __init__(self, c: Coordinates, seed: int) -> None:
        p = c.order_parameters
        (self.q,), (self.theta,) = (y.entries(x) for x in (p.overlaps.q, p.overlaps.theta))
        (self.m,) = y.entries(p.overlaps.m)
        values = sample((self.q, self.m, self.theta, *c.h, *c.w, y.sigma, y.s), seed)
        values[self.q] = values[self.theta] ** 2 / values[y.sigma] ** 2 + values[y.s] ** 2
        self.coordinates = c
        self.values: Point = values
        means, _ = self.law(*self.overlaps)
        values.update(zip(c.w_mean, flat(self._rotation * means), strict=True))

    @property
    def overlaps(self) -> list[mpf]:
        """The values of q, m and theta."""
        return [self.values[x] for x in (self.q, self.m, self.theta)]

    @property
    def _rotation(self) -> matrix:
        return filled(self.coordinates.rotated(sp.eye(self.coordinates.size.length)), {})

    def law(self, q: mpf, m: mpf, theta: mpf) -> tuple[matrix, matrix]:
        """Mean by token and covariance of w given h*, by conditioning."""
        c = self.coordinates
        p = c.order_parameters
        values = {**self.values, self.q: q, self.m: m, self.theta: theta}
        joint = definition.joint_covariance(
            *(filled(x, values) for x in (p.rho, p.overlaps.theta, p.overlaps.q))
        )
        h = tokens(c, [values[x] for x in c.h])
        centres = filled(p.overlaps.m, values)
        laws = [
            definition.conditional_law(joint, matrix([0, centres[k, 0]]), matrix([h[k, 0]]))
            for k in range(c.size.length)
        ]
        return matrix([mean[0] for mean, _ in laws]), laws[0][1]

    def log_densities(self, places: Sequence[Sequence[mpf]]) -> Callable[..., matrix]:
        """ln N at several w in rotated coordinates, as a function of q, m and theta."""
        fields = [tokens(self.coordinates, w) for w in places]

        def values(*overlaps: mpf) -> matrix:
            means, covariance = self.law(*overlaps)
            by_token = [
                [
                    definition.log_normal_density(matrix([x]), covariance)
                    for x in flat(field - means)
                ]
                for field in fields
            ]
            return matrix([mp.fsum(parts) for parts in by_token])

        return values


def linear_channel(c: Coordinates, seed: int) -> tuple[LinearChannel, Point]:
    """A random quadratic channel, and values for alpha, lambda, sigma and the Gram matrix."""
    source = random.Random(seed)
    length, r, t = c.size.length, c.size.student_rank, c.size.target_rank
    values = sample((y.alpha, y.lam, y.sigma), seed)
    shift = random_matrix(length, r, source)
    encodings = random_matrix(length, length, source)
    gram = encodings * encodings.T
    if c.size.is_rotated:
        shift[1, 0] = -shift[0, 0]
        gram = filled(c.order_parameters.gram, {})
    root = random_matrix(r, r, source)
    stiffness = root * root.T + mp.eye(r) * mpf(source.randint(300, 1700)) / 997
    channel = LinearChannel(stiffness, random_matrix(r, t, source), shift, gram, values[y.sigma])
    values.update(assigned(c.order_parameters.gram, gram))
    return channel, values


def at_saddle(c: Coordinates, seed: int) -> tuple[LinearChannel, Point]:
    """A random quadratic channel with overlaps, hats and means of the trained student."""
    channel, values = linear_channel(c, seed)
    overlaps, hats = channel.saddle(values[y.alpha], values[y.lam])
    values.update(named_overlaps(c.order_parameters.overlaps, overlaps))
    values.update(named_overlaps(c.order_parameters.hats, hats))
    values[y.envelope] = channel.envelope(overlaps)
    values[y.loss_at_prox] = channel.loss_at_prox(overlaps)
    return channel, values


def named_means(c: Coordinates, channel: LinearChannel, overlaps: OverlapMatrices) -> Point:
    """The channel's means under their names."""
    means = c.order_parameters.means
    values: Point = {}
    for symbols, numbers in zip(
        (means.gg, means.g, means.div, means.gh), channel.means(overlaps), strict=True
    ):
        values.update(assigned(symbols, numbers))
    return values


def assigned_free(symbolic: sp.MatrixBase, numbers: matrix) -> Point:
    """The values of those entries of a matrix that are symbols."""
    pairs = zip(symbolic, flat(numbers), strict=True)
    return {symbol: number for symbol, number in pairs if symbol.is_Symbol}


def ridge_parts(c: Coordinates) -> list[tuple[str, sp.Symbol, sp.Expr]]:
    """LaTeX name, symbol and value of the entries of D and of B."""
    p = c.order_parameters
    rank = c.size.student_rank
    places = [(i, j) for i in range(rank) for j in range(i, rank)]
    named = []
    for letter, symbols, value in (
        ("D", y.symmetric("denominator", rank), losses.ridge_denominator(p)),
        ("B", ridge.source_symbol(p), losses.ridge_source(p)),
    ):
        names = [letter if rank == 1 else f"{letter}_{{{i + 1}{j + 1}}}" for i, j in places]
        entries = y.entries(symbols)
        named += list(zip(names, entries, channel.upper(value), strict=True))
    return named


def with_ridge_parts(c: Coordinates, values: Values, formulas: Sequence[sp.Expr]) -> Point:
    """values with D^-1 and B as the given formulas say."""
    p = c.order_parameters
    named = ridge_parts(c)
    numbers = numeric(formulas)(values)
    result = {**values, **{symbol: x for (_, symbol, _), x in zip(named, numbers, strict=True)}}
    inverse = filled(y.symmetric("denominator", c.size.student_rank), result) ** -1
    return {**result, **assigned(ridge.resolvent_symbol(p), inverse)}
