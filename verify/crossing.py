"""Where a difference that is measured at several alphas crosses zero."""

from __future__ import annotations

import numpy as np
from numpy.polynomial import Polynomial
from numpy.typing import ArrayLike

from symattn._typing import FloatArray
from symattn.errors import ComputationFailed, InvalidInput
from verify.statistics import Estimate, extrapolate, intercepts

# Where the slope is known to less than so many of its errors, the root does not depend linearly on
# the coefficients any more, and its error is not what the delta method says.
_LEAST_SLOPE = 4.0


def crossing(
    x: ArrayLike,
    difference: ArrayLike,
    dimensions: ArrayLike,
    controls: ArrayLike | None = None,
    *,
    degree: int = 1,
) -> Estimate:
    """The root in x of a difference as d -> infinity.

    Every seed's differences are fitted by a polynomial in x, and its coefficients are extrapolated
    over the seeds. The error of the root is that of the polynomial there over its slope, taken
    over the seeds, so that what a seed's differences have in common is accounted for.

    Parameters
    ----------
    x : array-like, shape (A,)
        Such as alpha.
    difference : array-like, shape (N, A)
        For each seed and dimension at every x.
    dimensions, controls
        As in `extrapolate`.
    degree : int
        Of the polynomial, 1 to 3.

    Raises
    ------
    InvalidInput
        When the shapes do not agree, or there are fewer than degree + 1 values of x.
    ComputationFailed
        When the difference does not cross zero just once in the range of x, or not steeply enough
        to say where, or where `extrapolate` fails.
    """
    places, y = _checked(x, difference, degree)
    if not np.all(np.isfinite(y)):
        row = int(np.flatnonzero(~np.all(np.isfinite(y), axis=1))[0])
        raise ComputationFailed(f"the differences of measurement {row} are not all finite")
    middle = float(places.mean())
    powers = np.vander(places - middle, degree + 1, increasing=True)
    by_seed = y @ np.linalg.pinv(powers).T
    limit = Polynomial(intercepts(by_seed, dimensions, controls))
    root = _only_root(limit, places - middle)
    at_root = by_seed @ root ** np.arange(degree + 1)
    slope = float(limit.deriv()(root))
    slopes = by_seed[:, 1:] @ (np.arange(1, degree + 1) * root ** np.arange(degree))
    found = extrapolate(slopes, dimensions, controls)
    if abs(slope) < _LEAST_SLOPE * found.error:
        raise ComputationFailed(
            f"the slope at the crossing, {slope:.3g} +- {found.error:.1g}, is too uncertain to say "
            "where it is; take more seeds or a wider range"
        )
    return extrapolate(middle + root - at_root / slope, dimensions, controls)


def difference_at(
    at: float,
    x: ArrayLike,
    difference: ArrayLike,
    dimensions: ArrayLike,
    controls: ArrayLike | None = None,
    *,
    degree: int,
) -> Estimate:
    """The limit d -> infinity of a difference at one x, by a polynomial through those measured.

    To be 0 where it is predicted to cross; unlike a root it always exists. Arguments are those of
    `crossing`.

    Raises
    ------
    InvalidInput
        Where `crossing` raises it.
    ComputationFailed
        Where `extrapolate` fails.
    """
    places, y = _checked(x, difference, degree)
    return extrapolate(y @ _weights_at(at, places, degree), dimensions, controls)


def fit_at(at: float, x: ArrayLike, curve: ArrayLike, *, degree: int) -> float:
    """The same for one known curve, of shape (A,): what the polynomial makes of its shape."""
    places, y = _checked(x, np.atleast_2d(curve), degree)
    return float(y[0] @ _weights_at(at, places, degree))


def _checked(x: ArrayLike, difference: ArrayLike, degree: int) -> tuple[FloatArray, FloatArray]:
    """Places (A,) and differences (N, A) that a polynomial of this degree can be fitted to."""
    places = np.asarray(x, dtype=np.float64)
    y = np.asarray(difference, dtype=np.float64)
    if degree not in (1, 2, 3):
        raise InvalidInput.of("degree", degree, "1, 2 or 3")
    if places.ndim != 1 or np.unique(places).size <= degree:
        raise InvalidInput.of("x", places.tolist(), f"at least {degree + 1} different numbers")
    if y.ndim != 2 or y.shape[1] != places.size:
        raise InvalidInput.of("shape of difference", y.shape, f"(seeds, {places.size})")
    return places, y


def _weights_at(at: float, places: FloatArray, degree: int) -> FloatArray:
    """The shares of the values at the places in the fitted polynomial at `at`."""
    middle = float(places.mean())
    powers = np.vander(places - middle, degree + 1, increasing=True)
    shares: FloatArray = (at - middle) ** np.arange(degree + 1) @ np.linalg.pinv(powers)
    return shares


def _only_root(limit: Polynomial, places: FloatArray) -> float:
    low, high = float(places.min()), float(places.max())
    candidates = np.asarray(limit.roots(), dtype=np.complex128)
    real = candidates.real[candidates.imag == 0]
    roots = real[(low <= real) & (real <= high)].tolist()
    if len(roots) != 1:
        raise ComputationFailed(
            f"the difference crosses zero {len(roots)} times in the range measured (at its ends it "
            f"is {limit(low):.3g} and {limit(high):.3g}); measure in another range"
        )
    return float(roots[0])
