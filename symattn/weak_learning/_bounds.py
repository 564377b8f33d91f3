"""Bounds on the integrands at Q = 0, for any kind of number with +, -, *, / and abs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

#: (S_11, S_22) at the corners of the triangle of all softmax(h* h*^T), for two tokens.
CORNERS = ((1, 1), (1, 0), (0, 1))


def corner_targets(omega: Any, a11: Any, a22: Any) -> list[tuple[Any, Any]]:
    """(T_11, T_22) at the corners of the triangle of all targets."""
    return [
        ((1 - omega) * s11 + omega * a11, (1 - omega) * s22 + omega * a22) for s11, s22 in CORNERS
    ]


def least_determinant(
    nu: Any, omega: Any, a11: Any, a22: Any, lowest: Callable[[Sequence[Any]], Any] = min
) -> Any:
    """The least det(I + V H) over all targets; nu = V sigma^2.

    det = 1 - nu tau - (nu delta)^2/4 is concave in the target.
    """
    found = []
    for t11, t22 in corner_targets(omega, a11, a22):
        tau, delta = t11 + t22 - 1, t11 - t22
        found.append(1 - nu * tau - nu * nu * delta * delta / 4)
    return lowest(found)


def integrand_bounds(V: Any, sigma: Any, omega: Any, a11: Any, a22: Any, least: Any) -> list[Any]:
    """B with |integrand| <= B (1 + |h*|^2/sigma^2), in the order of `rest_integrands` after det.

    least: a lower bound on |det(I + V H)|, above 0. They hold for complex h* too, as long as the
    weights S stay in the disc |S - 1/2| <= 1/2.
    """
    nu = V * sigma * sigma
    tau = (1 - omega) + omega * abs(a11 + a22 - 1)
    delta = (1 - omega) + omega * abs(a11 - a22)
    # the sum of the absolute values of the entries of K
    k = sigma * sigma * (tau + delta + nu * delta * delta / 2) / least
    k_squared = k * k
    return [
        k,
        2 * k / (sigma * sigma),
        k,
        V * k_squared,
        k_squared,
        2 * k_squared / (sigma * sigma),
        k_squared,
        k_squared + 2 * V * k * k_squared,
    ]
