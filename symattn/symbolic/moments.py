"""Exact moments of products of Gaussian tokens in d dimensions, by Isserlis' theorem."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import sympy as sp

from symattn.symbolic import symbols as y

Pair = tuple[int, int]


def mean_of_products(products: Sequence[Pair]) -> sp.Expr:
    """E of the product of all x_l . x_k/d, for tokens x_l with N(0, sigma^2) components.

    products: the pairs (l, k). A pairing of the factors contributes where it pairs equal tokens;
    each closed loop of products and pairs is a sum over components that is left, a factor d.
    """
    ends = [token for product in products for token in product]
    loops = [
        _loops(pairing)
        for pairing in _pairings(tuple(range(len(ends))))
        if all(ends[i] == ends[j] for i, j in pairing)
    ]
    return y.sigma ** len(ends) * sum(y.d**count for count in loops) / y.d ** len(products)


def variance_of_product(product: Pair) -> sp.Expr:
    """The variance of x_l . x_k/d."""
    square = mean_of_products([product, product])
    return sp.cancel(square - mean_of_products([product]) ** 2)


def mean_of_polynomial(polynomial: sp.Expr, z: sp.Symbol, variance: sp.Expr) -> sp.Expr:
    """The mean over z of N(0, variance)."""
    terms = sp.Poly(polynomial, z).terms()
    return sum(
        coefficient * sp.factorial2(power - 1) * variance ** (power // 2)
        for (power,), coefficient in terms
        if power % 2 == 0
    )


def of_two_replicas(
    function: Callable[[sp.Expr], sp.Expr], mean: sp.Expr, variance: sp.Expr, chi: sp.Expr
) -> sp.Expr:
    """E[phi(x^1) phi(x^2)] for a polynomial phi: the square of one replica's mean, averaged over w.

    mean, variance: of the common field w; chi: the variance of each replica's noise.
    """
    one_replica = mean_of_polynomial(sp.expand(function(y.w + y.z)), y.z, chi)
    square = sp.expand(one_replica.subs(y.w, mean + y.z) ** 2)
    return sp.expand(mean_of_polynomial(square, y.z, variance))


def loss_mean(mismatch: sp.MatrixBase, weights: sp.MatrixBase, gram: sp.MatrixBase) -> sp.Expr:
    """E |B x - S p|^2/(2 d) over tokens x, at given weights S and mismatch B = T - S (L x L).

    gram: G_lk = p_l . p_k.
    """
    positional = (weights * gram * weights.T).trace()
    return (y.sigma**2 * sum(entry**2 for entry in mismatch) + positional / y.d) / 2


def loss_given_fields(mismatch: sp.MatrixBase, products: sp.MatrixBase, directions: int) -> sp.Expr:
    """E |B z|^2/(2 d) over tokens z whose part along some directions is given.

    products: the products of the given parts (L x L); directions: how many directions they span.
    """
    given = (mismatch * products * mismatch.T).trace()
    free = (1 - directions / y.d) * y.sigma**2 * sum(entry**2 for entry in mismatch)
    return (free + given / y.d) / 2


def loss_variance(mismatch: sp.MatrixBase, weights: sp.MatrixBase, gram: sp.MatrixBase) -> sp.Expr:
    """The variance of |B x - S p|^2/(2 d) over tokens x, as in `loss_mean`."""
    square = mismatch.T * mismatch
    moved = mismatch.T * weights
    semantic = sum(entry**2 for entry in square) / 2
    positional = (moved * gram * moved.T).trace()
    return y.sigma**4 * semantic / y.d + y.sigma**2 * positional / y.d**2


def _pairings(places: tuple[int, ...]) -> Iterator[list[Pair]]:
    """All ways to divide places into pairs."""
    if not places:
        yield []
        return
    first, *others = places
    for other in others:
        rest = tuple(place for place in others if place != other)
        for pairing in _pairings(rest):
            yield [(first, other), *pairing]


def _loops(pairing: Sequence[Pair]) -> int:
    """Closed loops that a pairing makes with the products, which tie 0 to 1, 2 to 3 and so on."""
    partner = dict(pairing) | {j: i for i, j in pairing}
    left, count = set(partner), 0
    while left:
        count += 1
        place = min(left)
        while place in left:
            left -= {place, place ^ 1}
            place = partner[place ^ 1]
    return count
