"""Seeds' measurements at several dimensions, and what they say about d -> infinity."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special, stats

from symattn._typing import FloatArray
from symattn.errors import ComputationFailed, InvalidInput

# Below this the tail of Student's t is near the end of the doubles, and its series is as exact.
_FAR_TAIL = 1e-200

# Scatter below so many roundings of the values is rounding.
_ROUNDINGS = 16


#: p-value of the means being linear in 1/d below which a reader is told that they are not.
CURVED = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A number with its standard error: (value - truth)/error follows Student's t.

    Attributes
    ----------
    value, error : float
        The estimate and its standard error.
    freedom : float
        Degrees of freedom of t; infinite, and the law normal, where the error is known.
    count : int
        How many measurements it is made of.
    bias, bias_error : float or None
        b of value + b/d, and its standard error; None where there is one dimension only, and the
        value holds at that dimension.
    residual : float or None
        sqrt(d) times the standard deviation of one measurement about the fit.
    scatter_p : float or None
        p-value of the variance being proportional to 1/d (Levene's test, about medians); None
        where no two dimensions have three measurements.
    curvature_p : float or None
        p-value of the mean being linear in 1/d; None below three dimensions.
    """

    value: float
    error: float
    freedom: float
    count: int
    bias: float | None = None
    bias_error: float | None = None
    residual: float | None = None
    scatter_p: float | None = None
    curvature_p: float | None = None

    def half_width(self, level: float) -> float:
        """Half the width of the confidence interval of this level, two-sided, 0 < level < 1.

        Raises
        ------
        InvalidInput
            When `level` is not between 0 and 1.
        """
        if not 0 < level < 1:
            raise InvalidInput.of("level", level, "between 0 and 1")
        return self.error * -_quantile((1 - level) / 2, self.freedom)

    def interval(self, level: float) -> tuple[float, float]:
        """The confidence interval of this level, 0 < level < 1.

        Raises
        ------
        InvalidInput
            When `level` is not between 0 and 1.
        """
        half = self.half_width(level)
        return self.value - half, self.value + half

    def t(self, predicted: float, predicted_error: float = 0.0) -> float:
        """Student's t of the deviation from a prediction.

        `predicted_error` bounds what the prediction may be wrong by: the deviation counts as far
        as it goes beyond. So the p-values are right or too large, never too small.
        """
        deviation = self.value - predicted
        return math.copysign(max(0.0, abs(deviation) - predicted_error), deviation) / self.error

    def p_value(self, predicted: float, predicted_error: float = 0.0) -> float:
        """Probability of a deviation at least this large, either way, if the prediction is true."""
        log_tail = _log_upper_tail(abs(self.t(predicted, predicted_error)), self.freedom)
        return min(1.0, 2.0 * math.exp(log_tail))

    def p_value_of_more(self, bound: float = 0.0) -> float:
        """Probability of a value this small or smaller if the truth is at least `bound`.

        Small where "it is more than the bound" is refuted.
        """
        t = self.t(bound)
        if t <= 0:
            return math.exp(_log_upper_tail(-t, self.freedom))
        return -math.expm1(_log_upper_tail(t, self.freedom))

    def z(self, predicted: float, predicted_error: float = 0.0) -> float:
        """The deviation in standard deviations of a normal variable with the same p-value."""
        t = self.t(predicted, predicted_error)
        log_tail = _log_upper_tail(abs(t), self.freedom)
        return math.copysign(-float(special.ndtri_exp(log_tail)), t) if t else 0.0

    def to_dict(self) -> dict[str, Any]:
        """The estimate as JSON has it; infinite degrees of freedom are null."""
        return {
            "value": self.value,
            "error": self.error,
            "freedom": self.freedom if math.isfinite(self.freedom) else None,
            "count": self.count,
            "bias": self.bias,
            "bias_error": self.bias_error,
            "residual": self.residual,
            "scatter_p": self.scatter_p,
            "curvature_p": self.curvature_p,
        }


def extrapolate(
    values: ArrayLike,
    dimensions: ArrayLike,
    controls: ArrayLike | None = None,
    *,
    seeds: Sequence[int] | None = None,
) -> Estimate:
    """The limit d -> infinity of independent measurements y_i at dimensions d_i.

    Fits y = a + b/d + sum_k c_k x_k by least squares with weights d, since variances fall like 1/d;
    a is the value. Without b where all dimensions are the same: a is then the value at that one.

    Parameters
    ----------
    values, dimensions : array-like, shape (N,)
        One measurement for each seed and dimension.
    controls : array-like, shape (N, K), optional
        Control variates: random numbers of the same seed whose mean is 0 and which go to 0 as
        d -> infinity, such as |Q*|^2/d - 1. What they explain is no scatter any more.
    seeds : sequence of int, length N, optional
        Named in errors.

    Raises
    ------
    InvalidInput
        When the shapes do not agree or a dimension is not positive.
    ComputationFailed
        When a number is not finite, there are no more measurements than coefficients, controls
        depend on each other, or the values do not scatter.
    """
    y, d, x = _checked(values, dimensions, controls, seeds)
    design = _design(d, x)
    coefficients, residuals = _least_squares(y[:, None], d, design)
    freedom = y.size - design.shape[1]
    scale = math.sqrt(float(residuals[:, 0] @ residuals[:, 0]) / freedom)
    if scale <= _ROUNDINGS * np.finfo(float).eps * float(np.max(np.abs(y) * np.sqrt(d))):
        raise ComputationFailed(
            f"the {y.size} values do not scatter about the fit, so that their error cannot be "
            "told; are the seeds different?"
        )
    errors = scale * np.sqrt(np.diag(_inverse_normal(d, design)))
    several = np.unique(d).size > 1
    return Estimate(
        value=float(coefficients[0, 0]),
        error=float(errors[0]),
        freedom=freedom,
        count=y.size,
        bias=float(coefficients[1, 0]) if several else None,
        bias_error=float(errors[1]) if several else None,
        residual=scale,
        scatter_p=_scatter_p(residuals[:, 0], d),
        curvature_p=_curvature_p(y, d, x, residuals[:, 0]),
    )


def extrapolate_means(means: Sequence[Estimate], dimensions: ArrayLike) -> Estimate:
    """The limit d -> infinity of means that are known with their errors at several dimensions.

    Fits a + b/d by least squares with weights 1/error^2; a is the value. Its degrees of freedom are
    Satterthwaite's, and its `curvature_p` is that of the squared residuals being chi-square, which
    is approximate where the errors have few degrees of freedom themselves.

    Parameters
    ----------
    means : sequence of Estimate, length N
        Independent.
    dimensions : array-like, shape (N,)
        Of which two at least differ.

    Raises
    ------
    InvalidInput
        When the dimensions are not so many, not positive, or all the same.
    """
    d = np.asarray(dimensions, dtype=np.float64)
    if d.shape != (len(means),) or not np.all(d > 0) or np.unique(d).size < 2:
        raise InvalidInput.of("dimensions", d.tolist(), "one of each mean, two different at least")
    y = np.array([mean.value for mean in means])
    errors = np.array([mean.error for mean in means])
    design = np.column_stack([np.ones_like(d), 1 / d])
    weighing = np.linalg.pinv(design / errors[:, None]) / errors
    coefficients = weighing @ y
    variances = (weighing * errors) ** 2
    spread = float(np.sum(variances[0] ** 2 / [mean.freedom for mean in means]))
    excess = np.unique(d).size - 2
    misfit = float(np.sum(((y - design @ coefficients) / errors) ** 2))
    return Estimate(
        value=float(coefficients[0]),
        error=math.sqrt(variances[0].sum()),
        freedom=float(variances[0].sum()) ** 2 / spread if spread else math.inf,
        count=sum(mean.count for mean in means),
        bias=float(coefficients[1]),
        bias_error=math.sqrt(variances[1].sum()),
        curvature_p=float(stats.chi2.sf(misfit, len(means) - 2)) if excess else None,
    )


def intercepts(
    columns: FloatArray, dimensions: ArrayLike, controls: ArrayLike | None
) -> FloatArray:
    """The values of `extrapolate` for several measurements of the same seeds: (N, M) to (M,)."""
    _, d, x = _checked(columns[:, 0], dimensions, controls, None)
    coefficients, _ = _least_squares(columns, d, _design(d, x))
    return np.asarray(coefficients[0])


def _checked(
    values: ArrayLike,
    dimensions: ArrayLike,
    controls: ArrayLike | None,
    seeds: Sequence[int] | None,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Values (N,), dimensions (N,) and controls (N, K) as arrays of finite numbers."""
    y = np.asarray(values, dtype=np.float64)
    d = np.asarray(dimensions, dtype=np.float64)
    if y.ndim != 1 or d.shape != y.shape:
        raise InvalidInput.of("dimensions", d.shape, f"as many as there are values, {y.shape}")
    x = np.empty((y.size, 0)) if controls is None else np.asarray(controls, dtype=np.float64)
    if x.ndim != 2 or x.shape[0] != y.size:
        raise InvalidInput.of("shape of controls", x.shape, f"({y.size}, number of controls)")
    if not np.all((d > 0) & np.isfinite(d)):
        raise InvalidInput.of("dimensions", d.tolist(), "positive and finite")
    for i in np.flatnonzero(~np.isfinite(y) | ~np.all(np.isfinite(x), axis=1)).tolist():
        name = f"measurement {i}" if seeds is None else f"seed {seeds[i]}"
        raise ComputationFailed(
            f"{name} at d = {d[i]:g} gave a number that is not finite (value {y[i]:g}, controls "
            f"{x[i].tolist()}): its training has failed; take other seeds or less data"
        )
    return y, d, x


def _design(d: FloatArray, x: FloatArray) -> FloatArray:
    """Columns 1, 1/d where that varies, and the controls."""
    first = [np.ones_like(d)] if np.unique(d).size == 1 else [np.ones_like(d), 1 / d]
    return np.column_stack([*first, x])


def _least_squares(
    columns: FloatArray, d: FloatArray, design: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Coefficients (p, M) and residuals (N, M), these times sqrt(d), for weights d."""
    count, p = design.shape
    if count <= p:
        raise ComputationFailed(
            f"{count} measurements do not determine {p} coefficients and an error; take more seeds"
        )
    root = np.sqrt(d)[:, None]
    norms = np.linalg.norm(root * design, axis=0)
    if not np.all(norms > 0):
        raise ComputationFailed("a control variate is 0 for every seed; leave it out")
    scaled, _, rank, _ = np.linalg.lstsq(root * design / norms, root * columns, rcond=None)
    if rank < p:
        raise ComputationFailed(
            "the control variates and 1/d depend on each other; leave one out or take more seeds"
        )
    coefficients = np.asarray(scaled / norms[:, None])
    return coefficients, root * (columns - design @ coefficients)


def _inverse_normal(d: FloatArray, design: FloatArray) -> FloatArray:
    """(X^T W X)^-1, the covariance of the coefficients at residual scale 1."""
    triangle = np.linalg.qr(np.sqrt(d)[:, None] * design, mode="r")
    inverse = np.linalg.inv(triangle)
    return np.asarray(inverse @ inverse.T)


def _scatter_p(residuals: FloatArray, d: FloatArray) -> float | None:
    groups = [residuals[d == value] for value in np.unique(d)]
    groups = [group for group in groups if group.size > 2]
    if len(groups) < 2:
        return None
    return float(stats.levene(*groups, center="median").pvalue)


def _curvature_p(
    y: FloatArray, d: FloatArray, x: FloatArray, residuals: FloatArray
) -> float | None:
    """F-test of the line in 1/d against a free mean at every dimension."""
    levels = np.unique(d)
    free = np.column_stack([*(d == level for level in levels), x]).astype(np.float64)
    extra = levels.size - 2
    freedom = y.size - free.shape[1]
    if extra < 1 or freedom < 1:
        return None
    _, left = _least_squares(y[:, None], d, free)
    least = float(np.sum(left**2))
    gain = float(residuals @ residuals) - least
    return float(stats.f.sf(gain / extra / (least / freedom), extra, freedom))


def _quantile(probability: float, freedom: float) -> float:
    """Where the lower tail of Student's t has this probability."""
    if math.isinf(freedom):
        return float(special.ndtri(probability))
    return float(special.stdtrit(freedom, probability))


def _log_upper_tail(t: float, freedom: float) -> float:
    """log P(T > t) for t >= 0, also where the probability is below the smallest double."""
    if math.isinf(freedom):
        return float(special.log_ndtr(-t))
    tail = float(special.stdtr(freedom, -t))
    if tail > _FAR_TAIL:
        return math.log(tail)
    # The incomplete beta function I_x(a, 1/2)/2 by its series in x
    a, x = freedom / 2, freedom / (freedom + t * t)
    return float(
        a * math.log(x)
        + 0.5 * math.log1p(-x)
        - math.log(2 * a)
        - special.betaln(a, 0.5)
        + math.log(special.hyp2f1(a + 0.5, 1, a + 1, x))
    )
