"""How the scatter over seeds falls with the dimension."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from symattn._typing import FloatArray
from symattn.errors import ComputationFailed, InvalidInput
from verify.statistics import Estimate


def power_law(dimensions: ArrayLike, values: ArrayLike) -> Estimate:
    """The slope of log(standard deviation over seeds) against log d, the mean over observables.

    For normal measurements (n - 1) s^2/var is chi-square, so that mean and variance of log s^2 are
    known, and for two observables of correlation r their log s^2 have the correlation r^2. The
    error comes from these. Where tails are heavier than normal ones, the scatter of the squares
    over the seeds is larger than that, and the error comes from it; so it is right with many seeds
    only. The law of the slope is taken as normal.

    Parameters
    ----------
    dimensions : array-like, shape (N,)
        Of each measurement.
    values : array-like, shape (N, M)
        M observables, at every dimension of the same seeds or of others.

    Raises
    ------
    InvalidInput
        When the shapes do not agree.
    ComputationFailed
        When there are fewer than two dimensions, fewer than 3 measurements at one of them, a
        number that is not finite, or no scatter.
    """
    d = np.asarray(dimensions, dtype=np.float64)
    y = np.asarray(values, dtype=np.float64)
    if y.ndim != 2 or y.shape[1] == 0 or d.shape != y.shape[:1] or not np.all(d > 0):
        raise InvalidInput.of(
            "shapes of dimensions and values", (d.shape, y.shape), "(N,) and (N, M), positive d"
        )
    for i in np.flatnonzero(~np.all(np.isfinite(y), axis=1)):
        raise ComputationFailed(f"measurement {i} at d = {d[i]:g} is not finite")
    levels, counts = np.unique(d, return_counts=True)
    if levels.size < 2 or counts.min() < 3:
        raise ComputationFailed(
            f"the scatter at d = {levels.tolist()} with {counts.tolist()} seeds gives no slope; it "
            "takes two dimensions and three seeds at each"
        )
    centred = [y[d == level] - y[d == level].mean(axis=0) for level in levels]
    half = (counts - 1) / 2
    variances = np.array([np.sum(c**2, axis=0) for c in centred]) / (2 * half[:, None])
    if not np.all(variances > 0):
        raise ComputationFailed("an observable does not scatter over the seeds; do they differ?")
    logs = 0.5 * (np.log(variances) - (special.digamma(half) - np.log(half))[:, None])
    weights = 4 / special.polygamma(1, half)
    log_d = np.log(levels)
    from_mean = log_d - np.average(log_d, weights=weights)
    leverage = weights * from_mean / np.sum(weights * from_mean**2)
    slopes = leverage @ logs
    single = 1 / float(np.sum(weights * from_mean**2))
    return Estimate(
        value=float(slopes.mean()),
        error=math.sqrt(single * _common(centred, variances)),
        freedom=math.inf,
        count=d.size,
    )


def _common(centred: list[FloatArray], variances: FloatArray) -> float:
    """The variance of the mean of log s^2 over observables, in units of a single normal one's."""
    scaled = np.concatenate([c / np.sqrt(v) for c, v in zip(centred, variances, strict=True)])
    correlation = np.atleast_2d(np.corrcoef(scaled, rowvar=False))
    of_normal = float(np.mean(correlation**2))
    return max(of_normal, float(np.var(np.mean(scaled**2, axis=1))) / 2)
