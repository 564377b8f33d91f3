"""Tools for machine checks: random points, evaluation to 50 digits, derivatives by differences."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any

import sympy as sp
from mpmath import matrix, mp, mpf

from symattn.symbolic.functions import mean

DIGITS = 50
AGREEMENT = 40
POINTS = 4
SEED = 20240703

Values = Mapping[sp.Symbol, mpf]


@dataclass(frozen=True)
class Outcome:
    """Whether a check held, and what was seen."""

    passed: bool
    detail: str


def sample(symbols: Sequence[sp.Symbol], seed: int) -> dict[sp.Symbol, mpf]:
    """A random point: rationals with denominator 997, positive symbols in (0.2, 1.7)."""
    source = random.Random(seed)
    values = {}
    for symbol in symbols:
        smallest = 200 if symbol.is_positive else -1500
        values[symbol] = mpf(source.randint(smallest, 1700)) / 997
    return values


def random_matrix(rows: int, columns: int, source: random.Random) -> matrix:
    """A matrix of random rationals with denominator 997, between -1 and 1."""
    return matrix(
        [[mpf(source.randint(-900, 900)) / 997 for _ in range(columns)] for _ in range(rows)]
    )


def numeric(expressions: Sequence[sp.Expr]) -> Callable[[Values], list[mpf]]:
    """A function that evaluates expressions at a point, at mpmath's working precision."""
    symbols, compiled = _compiled(tuple(expressions))
    return lambda values: [mp.convert(x) for x in compiled(*(values[x] for x in symbols))]


@lru_cache(maxsize=256)
def _compiled(expressions: tuple[sp.Expr, ...]) -> tuple[list[sp.Symbol], Callable[..., list[Any]]]:
    inside = set().union(*(sp.sympify(value).free_symbols for value in expressions))
    symbols = sorted(inside, key=lambda x: x.name)
    functions = {"logistic": _logistic, "softmax": _softmax}
    modules = [functions, "mpmath"]
    return symbols, sp.lambdify(symbols, list(expressions), modules=modules, cse=True)


Case = tuple[Values, Sequence[mpf]]
"""Values of symbols, and what formulas should give there."""


def agree(
    formulas: Sequence[sp.Expr], case: Callable[[int], Case], *, points: int = POINTS
) -> Outcome:
    """Compare formulas with what is expected, to 40 of 50 digits.

    case gives, for a seed, the values of the formulas' symbols and the expected numbers.
    """
    worst = mpf(0)
    with mp.workdps(DIGITS):
        evaluate = numeric(formulas)
        for number in range(points):
            values, expected = _computed(case, SEED + number)
            pairs = zip(evaluate(values), expected, strict=True)
            worst = max([worst, *(abs(x - y) / (1 + abs(y)) for x, y in pairs)])
    return Outcome(
        bool(worst < mpf(10) ** -AGREEMENT),
        f"largest difference {mp.nstr(worst, 2)} at {points} points",
    )


Law = Sequence[tuple[mpf, Values]]
"""Weights and values of random symbols: a law with a few outcomes."""

CaseOfLaw = tuple[Values, Law, Sequence[mpf]]
"""Values of symbols, the law of the random ones, and what formulas should give."""


def agree_in_mean(
    formulas: Sequence[sp.Expr], case: Callable[[int], CaseOfLaw], *, points: int = POINTS
) -> Outcome:
    """As `agree`, for formulas in which `mean` is the mean over a law with a few outcomes."""
    means = sorted(set().union(*(formula.atoms(mean) for formula in formulas)), key=str)
    names = {node: sp.Symbol(f"mean{place}") for place, node in enumerate(means)}
    integrands = numeric([node.args[0] for node in means])

    def with_means(seed: int) -> Case:
        values, law, expected = _computed(case, seed)
        averages = [mpf(0)] * len(means)
        for weight, outcome in law:
            found = integrands({**values, **outcome})
            averages = [a + weight * x for a, x in zip(averages, found, strict=True)]
        # Outside a mean, where only a wrong formula has one, a random symbol is its first outcome.
        return {**law[0][1], **values, **dict(zip(names.values(), averages, strict=True))}, expected

    return agree([formula.xreplace(names) for formula in formulas], with_means, points=points)


@lru_cache(maxsize=256)
def _computed(case: Callable[[int], Any], seed: int) -> Any:
    """What a case gives, once: several formulas may be put to it."""
    return case(seed)


def at_random(
    symbols: Sequence[sp.Symbol], reference: Callable[[Values], Sequence[mpf]]
) -> Callable[[int], Case]:
    """The cases with random values of the symbols, where reference gives what is expected."""

    def case(seed: int) -> Case:
        values = sample(symbols, seed)
        return values, reference(values)

    return case


def filled(symbolic: sp.MatrixBase, values: Values) -> matrix:
    """A symbolic matrix with numbers put in."""
    numbers = numeric(list(symbolic))(values)
    return matrix([numbers[i : i + symbolic.cols] for i in range(0, len(numbers), symbolic.cols)])


def flat(values: matrix) -> list[mpf]:
    """The entries of a matrix, row by row."""
    return [values[i, j] for i in range(values.rows) for j in range(values.cols)]


def slopes(function: Callable[..., Any], point: Sequence[mpf]) -> list[Any]:
    """First derivatives of a function of several numbers, by differences at raised precision."""
    return [
        mp.diff(function, tuple(point), tuple(int(i == j) for j in range(len(point))))
        for i in range(len(point))
    ]


def curvatures(function: Callable[..., Any], point: Sequence[mpf]) -> list[Any]:
    """Upper triangle of the second derivatives, row by row, by differences."""
    size = len(point)
    orders = [
        tuple(int(k == i) + int(k == j) for k in range(size))
        for i in range(size)
        for j in range(i, size)
    ]
    return [mp.diff(function, tuple(point), order) for order in orders]


def gaussian_nodes(dimension: int, *, degree: int = 5) -> Iterator[tuple[mpf, list[mpf]]]:
    """Weights and nodes of independent standard normals, exact for polynomials of degree 5 or 9."""
    if degree == 5:
        line = [(mpf(2) / 3, mpf(0))] + [(mpf(1) / 6, sign * mp.sqrt(3)) for sign in (1, -1)]
    else:
        line = [(mpf(8) / 15, mpf(0))]
        for root in (mp.sqrt(10), -mp.sqrt(10)):
            weight, node = (7 - 2 * root) / 60, mp.sqrt(5 + root)
            line += [(weight, node), (weight, -node)]
    for choice in product(line, repeat=dimension):
        weight = mp.fprod(w for w, _ in choice)
        yield weight, [node for _, node in choice]


def signs(dimension: int) -> Iterator[list[mpf]]:
    """All vectors of signs: of equal weight they have the first three moments of normals."""
    for choice in product((mpf(1), mpf(-1)), repeat=dimension):
        yield list(choice)


def gaussian_mean(function: Callable[[mpf], mpf]) -> mpf:
    """The mean over a standard normal, by the trapezoidal rule with 769 points.

    It has more than 50 digits for analytic functions that vary more slowly than a normal density of
    width 1/4, and grow no faster than exp(10 z).
    """
    step = mpf(1) / 16
    points = [step * i for i in range(-384, 385)]
    total = mp.fsum(mp.exp(-(z**2) / 2) * function(z) for z in points)
    return step * total / mp.sqrt(2 * mp.pi)


def _logistic(z: mpf) -> mpf:
    return 1 / (1 + mp.exp(-z))


def _softmax(index: int, *logits: mpf) -> mpf:
    return mp.exp(logits[int(index) - 1]) / mp.fsum(map(mp.exp, logits))
