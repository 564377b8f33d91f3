"""Where a quantity on the grid of a sweep changes its sign: points on lines, joined to curves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import PchipInterpolator
from scipy.optimize import brentq

from symattn._typing import FloatArray
from symattn.errors import InvalidInput

#: A side of a cell: along x or y, and the row and the column of its lower end.
_Side = tuple[str, int, int]


def zero_curve(x: FloatArray, values: FloatArray) -> FloatArray:
    """Where a quantity changes its sign along a line.

    Between neighbours it is interpolated by monotone cubics (PCHIP), which have one zero where the
    signs at two neighbours differ, and none elsewhere.

    Parameters
    ----------
    x : array, shape (N,)
        Rising.
    values : array, shape (N,)
        NaN where there is none; nothing is interpolated over that.

    Returns
    -------
    array, shape (K,)
        All zeros with a change of sign, rising. Where it is 0 at several neighbours, the last.

    Raises
    ------
    InvalidInput
        For other shapes, or an x that does not rise.
    """
    x, values = _checked(x, values)
    return np.array(
        [
            zero
            for run in runs(values)
            for _, zero in _zeros(x[run], values[run], _negative(values[run]))
        ]
    )


def zero_set(x: FloatArray, y: FloatArray, values: FloatArray) -> list[FloatArray]:
    """The curves on which a quantity on a grid is 0.

    On every line along x and along y zeros are found as by `zero_curve`, and joined across the
    cells between the lines (marching squares).

    Parameters
    ----------
    x, y : array, shapes (N,) and (M,)
        Rising.
    values : array, shape (M, N)
        NaN where there is none; curves end there.

    Returns
    -------
    list of arrays, shape (K, 2)
        x and y along each piece; the first point of a closed one is also its last.

    Raises
    ------
    InvalidInput
        For other shapes, or an x or y that does not rise.
    """
    values = np.asarray(values, dtype=np.float64)
    if values.shape != (len(y), len(x)):
        raise InvalidInput.of("values", values.shape, f"a matrix of {len(y)} by {len(x)} numbers")
    points: dict[_Side, tuple[float, float]] = {}
    for row, line in enumerate(values):
        for column, zero in _sides(x, line):
            points["x", row, column] = (zero, float(y[row]))
    for column, line in enumerate(values.T):
        for row, zero in _sides(y, line):
            points["y", row, column] = (float(x[column]), zero)
    neighbours: dict[_Side, list[_Side]] = {side: [] for side in points}
    for row, column in np.ndindex(values.shape[0] - 1, values.shape[1] - 1):
        for one, other in _joined(values, row, column, points):
            neighbours[one].append(other)
            neighbours[other].append(one)
    return [np.array([points[side] for side in chain]) for chain in _chains(neighbours)]


def runs(values: FloatArray) -> Iterator[slice]:
    """The stretches of a line without NaN."""
    there = np.concatenate([[False], np.isfinite(values), [False]])
    ends = np.flatnonzero(there[1:] != there[:-1])
    for start, stop in zip(ends[::2], ends[1::2], strict=True):
        yield slice(int(start), int(stop))


def _checked(x: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    x, values = np.asarray(x, dtype=np.float64), np.asarray(values, dtype=np.float64)
    if x.ndim != 1 or not np.all(np.diff(x) > 0):
        raise InvalidInput.of("x", x.tolist(), "rising numbers")
    if values.shape != x.shape:
        raise InvalidInput.of("values", values.shape, f"as many numbers as x has, {x.size}")
    return x, values


def _negative(values: FloatArray) -> NDArray[np.bool_]:
    """Signs; what is 0 has that of what is before it, or else after it."""
    signed = np.flatnonzero(values)
    if signed.size == 0:
        return np.zeros(values.shape, dtype=np.bool_)
    before = np.searchsorted(signed, np.arange(values.size), side="right") - 1
    return values[signed[np.maximum(before, 0)]] < 0.0


def _zeros(
    x: FloatArray, values: FloatArray, negative: NDArray[np.bool_]
) -> Iterator[tuple[int, float]]:
    """The intervals of a line without NaN where the sign changes, and the zero there."""
    changes = np.flatnonzero(negative[1:] != negative[:-1])
    if changes.size:
        curve = PchipInterpolator(x, values)
        for i in changes:
            exact = 1e-14 * max(abs(x[i]), abs(x[i + 1]))
            yield int(i), float(brentq(curve, x[i], x[i + 1], xtol=exact))


def _sides(x: FloatArray, values: FloatArray) -> Iterator[tuple[int, float]]:
    """The sides of cells along a line that are crossed, and where."""
    x, values = _checked(x, values)
    for run in runs(values):
        # A corner has one sign for both lines through it: what is 0 counts as positive.
        for i, zero in _zeros(x[run], values[run], values[run] < 0.0):
            yield run.start + i, zero


def _joined(
    values: FloatArray, row: int, column: int, points: Mapping[_Side, object]
) -> Iterator[tuple[_Side, _Side]]:
    """Pairs of sides of a cell that a curve joins."""
    below, right = ("x", row, column), ("y", row, column + 1)
    above, left = ("x", row + 1, column), ("y", row, column)
    crossed = [side for side in (below, right, above, left) if side in points]
    if len(crossed) == 2:
        yield crossed[0], crossed[1]
    elif len(crossed) == 4:
        # A saddle: its middle says which of the opposite corners belong together.
        middle = np.mean(values[row : row + 2, column : column + 2])
        if (middle < 0.0) == (values[row, column] < 0.0):
            yield from ((below, right), (above, left))
        else:
            yield from ((left, below), (right, above))


def _chains(neighbours: Mapping[_Side, Sequence[_Side]]) -> Iterator[list[_Side]]:
    """Chains of two sides and more: first those with ends, then those that are closed."""
    seen: set[_Side] = set()
    for ends in (1, 2):
        for start, near in neighbours.items():
            if start in seen or len(near) != ends:
                continue
            chain = [start]
            seen.add(start)
            while ahead := [side for side in neighbours[chain[-1]] if side not in seen]:
                chain.append(ahead[0])
                seen.add(ahead[0])
            yield [*chain, start] if ends == 2 else chain
