"""Fixed points of state evolution with certified errors."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from typing import Any

import numpy as np

from symattn._checks import checked_digits, checked_model
from symattn._frozen import FrozenMapping
from symattn._numbers import DOUBLE_DIGITS, rounded_up, significant_digits, written
from symattn._progress import Progress, silent
from symattn._search import (
    SEARCH_ACCURACY,
    UNKNOWNS,
    NewtonPoint,
    SearchEnded,
    find,
    newton,
    newton_point,
    require_on_branch,
)
from symattn._tables import fixed_point_lines, solution_table
from symattn._typing import FloatArray
from symattn.baselines import linear_baseline
from symattn.errors import ComputationFailed, InvalidInput, NotFound
from symattn.model import AttentionModel
from symattn.overlaps import Hats, Overlaps
from symattn.quadrature import _columns as columns
from symattn.quadrature.expectations import Expectations, Resolution, channel_expectations
from symattn.quadrature.generalization_error import mean_test_loss
from symattn.state_evolution import Step, direct_loss_gradient
from symattn.zero_point import ZeroPoint, zero_point

BRANCHES = ("semantic", "positional", "uninformed", "zero")

#: Double precision carries the means to about 14 digits; finer grids than this bring nothing.
FINEST_ACCURACY = 1e-13
_MOST_DIGITS = 13
#: Accuracy at which replicon and jump probability are taken where the prox jumps.
_DESCRIBED = 1e-5
_MIDDLE = 1e-4
#: Relative error of the jump probability where minima are counted on a table.
_COUNTING = 0.15
#: The two sums over the fold that are compared have kinks and agree to a percent or so.
_LARGEST_OVERCOUNT = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedPoint:
    """A fixed point of state evolution.

    All errors are absolute. They compare the means over the channel at the point returned on two
    sets of grids, the finer one aimed at a hundredth (at the end of double precision a tenth) of
    the other's error, carried through the inverse Jacobian, plus the residual that is left. Up to
    15 digits all numbers are floats, beyond they are mpmath's.

    Attributes
    ----------
    branch : str
        semantic (m = 0), positional (theta = 0), uninformed (both 0, q > 0) or zero (Q = 0).
    alpha : float
        Sample complexity n/d; beyond 15 digits it stands for the shortest decimal that reads back
        as it.
    overlaps : Overlaps
        q, m, V, theta.
    hats : Hats
        Their conjugates.
    train_loss : float
        eps_t = min risk/d in its extremal form, stationary in overlaps and hats.
    train_loss_direct : float
        alpha E[loss at the prox] + lambda q/(2 sigma^2); equal to `train_loss` at a fixed point.
    envelope : float
        E[M], the mean Moreau envelope: d train_loss/d alpha along the branch.
    test_error : float
        eps_g = E|y - f_Q(x)|_F^2/(2 d).
    replicon : float
        1 - alpha V^2 E|dg/dw|_F^2 of the smooth part: negative means that replica symmetry is
        broken even without jumps.
    jump_probability : float
        Probability that the energy at w has more than one local minimum.
    jump_flux : float
        -(alpha/V) E_{h*} int over the jump set of N(w|h*) |jump of x*| dS: what the jumps
        contribute to V_hat.
    errors : mapping
        Absolute error of each number above, by name.
    certificate : mapping
        Evidence beyond the errors, see `symattn.quadrature.expectations.Certificate`.
    eigenvalues : tuple of complex
        Of the Jacobian of state evolution, all four directions.
    """

    branch: str
    alpha: float
    overlaps: Overlaps
    hats: Hats
    train_loss: float
    train_loss_direct: float
    envelope: float
    test_error: float
    replicon: float
    jump_probability: float
    jump_flux: float
    errors: Mapping[str, float]
    certificate: Mapping[str, Any]
    eigenvalues: tuple[complex, ...]

    def __str__(self) -> str:
        """A table: every number with its error and meaning."""
        return "\n".join([f"alpha = {self.alpha!r}", *fixed_point_lines(self)])

    @property
    def stable(self) -> bool | None:
        """Whether no eigenvalue has a real part above +1; None at Q = 0, where none are given."""
        if not self.eigenvalues:
            return None
        return max(eigenvalue.real for eigenvalue in self.eigenvalues) <= 1.0

    @property
    def numbers(self) -> dict[str, Any]:
        """The numbers that have an error, by name."""
        return {
            **self.overlaps._asdict(),
            **self.hats._asdict(),
            "train_loss": self.train_loss,
            "train_loss_direct": self.train_loss_direct,
            "envelope": self.envelope,
            "test_error": self.test_error,
            "replicon": self.replicon,
            "jump_probability": self.jump_probability,
            "jump_flux": self.jump_flux,
        }

    def to_dict(self) -> dict[str, Any]:
        """The fixed point as JSON-able values; `errors` has the names of the numbers.

        mpmath's numbers become text, whose rounding is part of their error.
        """
        values, errors = written(self.numbers, self.errors)
        return {
            "branch": self.branch,
            **values,
            "errors": errors,
            "certificate": dict(self.certificate),
            "stable": self.stable,
            "eigenvalues": [[z.real, z.imag] for z in self.eigenvalues],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """The fixed points asked for at one sample complexity.

    Attributes
    ----------
    fixed_points : tuple of FixedPoint
    absent : mapping
        For each branch asked for without a fixed point here, why it is thought to have none, or
        why it was not computed.
    linear_test_error : float
        Test error of the best linear positional map.
    errors : mapping
        Absolute error of `linear_test_error`, by that name.
    """

    model: AttentionModel
    alpha: float
    fixed_points: tuple[FixedPoint, ...]
    absent: Mapping[str, str]
    linear_test_error: float
    errors: Mapping[str, float]

    def __str__(self) -> str:
        """Tables of the fixed points, and the reasons for those that are absent."""
        return solution_table(self)

    def __getitem__(self, branch: str) -> FixedPoint:
        for point in self.fixed_points:
            if point.branch == branch:
                return point
        raise KeyError(branch)

    def to_dict(self) -> dict[str, Any]:
        """The solution as JSON-able values; mpmath's numbers as text."""
        values, errors = written({"linear_test_error": self.linear_test_error}, self.errors)
        return {
            "model": self.model.to_dict(),
            "alpha": self.alpha,
            "fixed_points": [point.to_dict() for point in self.fixed_points],
            "absent": dict(self.absent),
            **values,
            "errors": errors,
        }


def solve(
    model: AttentionModel,
    alpha: float,
    *,
    branch: str = "all",
    digits: int = 6,
    progress: Progress | None = None,
    start: FixedPoint | None = None,
) -> Solution:
    """Fixed points of state evolution at sample complexity `alpha` = n/d.

    Parameters
    ----------
    branch : str
        One of `BRANCHES`, "all", or "best" (the one of lowest training loss).
    digits : int
        Significant digits of every overlap and loss, 1 to 1000: error <= 0.5 x 10^-digits |value|.
        More than a double has take python-flint (the extra `proofs`) and a prox that does not jump;
        alpha and the model's parameters then stand for the shortest decimals that read back as
        them. What would take more than about an hour on two cores is refused.
    progress : callable, optional
        Called with one line of text now and then.
    start : FixedPoint, optional
        A nearby fixed point of the same branch, to start from.

    Raises
    ------
    InvalidInput
        For an argument outside its domain, or a model that is not L = 2, r = t = 1, isotropic.
    NotFound
        If a named branch is not found here.
    ComputationFailed
        If the digits are not reached.
    """
    checked_model(model).require_solvable()
    alpha = _checked_alpha(alpha)
    if branch not in (*BRANCHES, "all", "best"):
        raise InvalidInput.of("branch", branch, f"one of {', '.join(BRANCHES)}, all, best")
    digits = checked_digits(digits)
    report = progress or silent
    names = BRANCHES if branch in ("all", "best") else (branch,)
    found = []
    absent = {}
    failures: list[ComputationFailed] = []
    for name in names:
        try:
            rough = None
            if start is not None and start.branch == name:
                rough = Overlaps(*map(float, start.overlaps))
            found.append(fixed_point(model, alpha, name, digits, rough, report))
        except NotFound as error:
            if branch == name:
                raise
            absent[name] = str(error)
        except ComputationFailed as error:
            if branch == name:
                raise
            failures.append(error)
            absent[name] = f"not computed: {error}"
    if failures and not found:
        raise failures[0]
    if branch == "best":
        if not found:
            raise ComputationFailed(f"no fixed point found at alpha = {alpha:.6g}")
        found = [min(found, key=lambda point: point.train_loss)]
    linear, linear_error = _linear_test_error(model, digits)
    return Solution(
        model=model,
        alpha=alpha,
        fixed_points=tuple(found),
        absent=FrozenMapping(absent),
        linear_test_error=linear,
        errors=FrozenMapping({"linear_test_error": linear_error}),
    )


class _NotRegular(NotFound):
    """Q = 0 is not a fixed point of the regular form."""


def _checked_alpha(alpha: object) -> float:
    if isinstance(alpha, bool) or not isinstance(alpha, int | float | np.floating | np.integer):
        raise InvalidInput.of("alpha", alpha, "a positive finite number")
    try:
        value = float(alpha)
    except OverflowError:
        value = math.inf
    if not (math.isfinite(value) and value > 0.0):
        raise InvalidInput.of("alpha", alpha, "a positive finite number")
    return value


def fixed_point(
    model: AttentionModel,
    alpha: float,
    branch: str,
    digits: int,
    start: Overlaps | None,
    progress: Progress,
) -> FixedPoint:
    """One named branch, looked for from `start` if there is one; `solve` checks the arguments."""
    if branch == "zero":
        return _zero(model, alpha, digits, progress)
    overlaps = find(model, alpha, branch, start, progress, thorough=start is None)
    if digits > _MOST_DIGITS:
        _refuse_where_the_prox_jumps(model, alpha, branch, digits, overlaps)
        return _beyond_double(model, alpha, branch, digits, overlaps, progress)
    # more digits than there are anywhere are tried all the same, to say how far one comes
    tolerance = 0.02 * 10.0 ** -min(digits, _MOST_DIGITS)
    accuracy = max(0.3 * 10.0**-digits, FINEST_ACCURACY)
    while True:
        finer = max(1e-2 * accuracy, 0.1 * FINEST_ACCURACY)
        try:
            coarse = newton(
                model,
                alpha,
                overlaps,
                branch,
                accuracy,
                tolerance,
                progress,
            )
            overlaps = coarse.step.overlaps
            fine = newton_point(model, alpha, overlaps, branch, finer)
            require_on_branch(fine, branch)
        except SearchEnded as error:
            raise ComputationFailed(
                f"{branch} branch at alpha = {alpha:.6g}: found to three digits, but not "
                f"refined to {digits} ({error}); try fewer digits"
            ) from error
        progress(f"alpha = {alpha:.6g}, {branch}: certified step, change {fine.change:.1e}")
        refined = Refined.of(model, alpha, branch, coarse, fine)
        objection = refined.objection(10.0**-digits)
        refinable = accuracy > FINEST_ACCURACY
        enough = digits_reached(refined.values, refined.errors) >= digits and not objection
        if enough or not refinable:
            point = described(model, alpha, branch, refined, accuracy, digits)
            if enough and digits_reached(point.numbers, point.errors) >= digits:
                return point
        if not refinable:
            if point.certificate["fold"] == 0.0:
                return _beyond_double(model, alpha, branch, digits, overlaps, progress)
            _require_digits(point, digits)
            raise ComputationFailed(
                f"{branch} branch at alpha = {alpha:.6g}: {digits} digits cannot be certified: "
                f"{objection}; try fewer digits"
            )
        accuracy = max(0.03 * accuracy, FINEST_ACCURACY)
        overlaps = Overlaps(*map(float, np.add(overlaps, fine.correction)))


def _linear_test_error(model: AttentionModel, digits: int) -> tuple[Any, float]:
    """Test error of the best linear positional map, and its absolute error."""
    if digits > _MOST_DIGITS and find_spec("flint") is not None:
        from symattn.precision.test_error import linear_test_error

        value, error = linear_test_error(model, digits)
        if digits <= DOUBLE_DIGITS:
            return float(value), error + float(abs(value - float(value)))
        return value, error
    baseline = linear_baseline(model)
    return baseline.test_error, baseline.error


def _beyond_double(
    model: AttentionModel,
    alpha: float,
    branch: str,
    digits: int,
    rough: Overlaps,
    progress: Progress,
) -> FixedPoint:
    from symattn.precision.fixed_point import precise_fixed_point

    point = precise_fixed_point(model, alpha, branch, digits, rough, progress)
    return _in_doubles(point) if digits <= DOUBLE_DIGITS else point


def _in_doubles(point: FixedPoint) -> FixedPoint:
    """Rounded to doubles; the rounding is part of the errors."""
    values = {name: float(value) for name, value in point.numbers.items()}
    errors = {
        name: rounded_up(point.errors[name] + abs(exact - values[name]))
        if point.errors[name]
        else 0.0
        for name, exact in point.numbers.items()
    }
    changes: dict[str, Any] = {
        "overlaps": Overlaps(*(values.pop(name) for name in Overlaps._fields)),
        "hats": Hats(*(values.pop(name) for name in Hats._fields)),
        **values,
        "errors": FrozenMapping(errors),
    }
    return replace(point, **changes)


def _refuse_where_the_prox_jumps(
    model: AttentionModel, alpha: float, branch: str, digits: int, rough: Overlaps
) -> None:
    """Where the prox jumps, finding out how many digits there are would take a minute."""
    at = channel_expectations(model, rough, Resolution.for_accuracy(SEARCH_ACCURACY))
    if at.certificate.fold > 0.0:
        reached = ", ".join(f"{name} = {value:.3g}" for name, value in rough._asdict().items())
        raise ComputationFailed(
            f"{branch} branch at alpha = {alpha:.6g}: about 3 digits reached ({reached}), {digits} "
            "asked; double precision ends at about 10 where the prox jumps; try 8 digits"
        )


@dataclass(frozen=True, slots=True)
class Refined:
    """State evolution at one point by a coarse and a fine set of grids, and what that certifies.

    Attributes
    ----------
    coarse, fine : Step
    values, errors : dict
        Overlaps, hats, training losses and mean envelope, and their absolute errors.
    moved : array, shape (4,)
        How far the fixed point may lie from the overlaps.
    correction : float
        Largest component of the Newton correction that is left.
    rounding, safety : float
        Relative error that every mean has at least, and the factor by which differences between
        the grids are taken.
    """

    coarse: Step
    fine: Step
    values: dict[str, float]
    errors: dict[str, float]
    moved: FloatArray
    correction: float
    rounding: float
    safety: float

    @classmethod
    def of(
        cls,
        model: AttentionModel,
        alpha: float,
        branch: str,
        coarse: NewtonPoint,
        fine: NewtonPoint,
        least: float = 4e-16,
    ) -> Refined:
        """Errors at `fine.step.overlaps`, from the difference to `coarse`.

        `least` is a relative error that every mean is taken to have on top.
        """
        step, other = fine.step, coarse.step
        overlaps = step.overlaps
        means = step.expectations.means
        certificate = step.expectations.certificate
        rounding = max(least, certificate.normalisation)
        # kinks that the rule over h* does not know make its convergence algebraic
        safety = 2.0 if certificate.fold > 0.0 else 1.0
        # errors of different means may be of either sign, so they do not cancel here
        spread = safety * np.abs(np.subtract(step.image, other.image))
        spread += rounding * np.abs(overlaps)
        moved = np.abs(fine.correction) + np.abs(fine.inverse) @ spread
        hats_moved = safety * np.abs(np.subtract(step.hats, other.hats))
        hats_moved += np.abs(step.hats_jacobian) @ moved + rounding * np.abs(step.hats)
        for zero in set(range(4)) - {*UNKNOWNS[branch]}:
            moved[zero] = hats_moved[zero] = 0.0

        # the extremal form errs by its own quadrature and by products of errors
        pairs = moved * hats_moved[[2, 1, 0, 3]]
        loss_error = safety * abs(step.train_loss - other.train_loss) + float(pairs.sum())
        direct_error = safety * abs(step.train_loss_direct - other.train_loss_direct)
        direct_error += train_loss_direct_moved(model, alpha, step, moved)
        envelope = float(means[columns.ENVELOPE])
        envelope_error = safety * abs(envelope - other.expectations.means[columns.ENVELOPE])
        envelope_error += float(np.abs(step.hats) @ moved[[2, 1, 0, 3]]) / alpha
        envelope_error += rounding * abs(envelope)
        errors = {
            **dict(zip(Overlaps._fields, moved, strict=True)),
            **dict(zip(Hats._fields, hats_moved, strict=True)),
            "train_loss": loss_error + rounding * abs(step.train_loss),
            "train_loss_direct": direct_error + rounding * abs(step.train_loss),
            "envelope": envelope_error,
        }
        return cls(
            coarse=other,
            fine=step,
            values={
                **overlaps._asdict(),
                **step.hats._asdict(),
                "train_loss": step.train_loss,
                "train_loss_direct": step.train_loss_direct,
                "envelope": envelope,
            },
            errors={name: float(error) for name, error in errors.items()},
            moved=moved,
            correction=float(np.max(np.abs(fine.correction))),
            rounding=rounding,
            safety=safety,
        )

    def objection(self, tolerance: float) -> str:
        """What forbids to trust the means to this relative tolerance; empty if nothing does.

        A missed or doubled piece of the jump set of weight e changes the means by a few e.
        """
        certificate = self.fine.expectations.certificate
        if certificate.normalisation > tolerance:
            return f"the density integrates to 1 only within {certificate.normalisation:.1e}"
        if certificate.doubled > 0.01 * tolerance:
            return f"jumps of weight {certificate.doubled:.1e} were counted twice"
        gap = abs(self.values["train_loss"] - self.values["train_loss_direct"])
        if gap > self.errors["train_loss"] + self.errors["train_loss_direct"]:
            return f"the two forms of the training loss differ by {gap:.1e}, beyond their errors"
        if certificate.uncovered > 0.01 * tolerance:
            return f"jumps of weight {certificate.uncovered:.1e} were not resolved"
        if certificate.chord_gap < -1e-9:
            return f"a third minimum undercuts a jump by {-certificate.chord_gap:.1e}"
        if certificate.jump_normalisation > tolerance:
            weight = certificate.jump_normalisation
            return f"the jumped region integrates to {weight:.1e} instead of 0"
        if certificate.fold > tolerance and certificate.overcount > _LARGEST_OVERCOUNT:
            return f"pieces of the jump set overlap (mismatch {certificate.overcount:.1e})"
        return ""


def train_loss_direct_moved(
    model: AttentionModel, alpha: float, step: Step, moved: FloatArray
) -> float:
    """How much `train_loss_direct` changes at most, to first order, when overlaps do by `moved`."""
    return float(np.abs(direct_loss_gradient(model, alpha, step)) @ moved)


def described(
    model: AttentionModel,
    alpha: float,
    branch: str,
    refined: Refined,
    accuracy: float,
    digits: int,
) -> FixedPoint:
    """The fixed point at `refined.fine.overlaps`, with what costs further evaluations."""
    step = refined.fine
    test_error, test_error_error = certified_test_error(model, step.overlaps, refined.moved, digits)
    description, description_errors = _description_and_errors(model, alpha, refined, accuracy)
    names = ("replicon", "jump_probability", "jump_flux")
    errors = {
        **refined.errors,
        "test_error": test_error_error,
        **dict(zip(names, map(float, description_errors), strict=True)),
    }
    return FixedPoint(
        branch=branch,
        alpha=alpha,
        overlaps=step.overlaps,
        hats=step.hats,
        train_loss=step.train_loss,
        train_loss_direct=step.train_loss_direct,
        envelope=refined.values["envelope"],
        test_error=test_error,
        **dict(zip(names, map(float, description), strict=True)),
        errors=FrozenMapping(errors),
        certificate=FrozenMapping(
            {
                "residual": refined.correction,
                "points": step.expectations.points,
                **asdict(step.expectations.certificate),
            }
        ),
        eigenvalues=tuple(complex(z) for z in np.linalg.eigvals(step.jacobian)),
    )


def certified_test_error(
    model: AttentionModel, overlaps: Overlaps, moved: FloatArray, digits: int
) -> tuple[float, float]:
    """eps_g and its error when the overlaps may be off by `moved`."""
    at = mean_test_loss(model, overlaps, 10.0 ** -(min(digits, 11) + 2))
    return at.value, at.error + float(np.abs(at.gradient) @ moved)


def _description(alpha: float, V: float, of: Expectations) -> FloatArray:
    """(replicon, jump_probability, jump_flux)."""
    flux = -alpha / V * of.jump_length + 0.0  # never -0.0
    return np.array([1.0 - alpha * V**2 * of.smooth_response, of.jump_probability, flux])


def _description_and_errors(
    model: AttentionModel, alpha: float, refined: Refined, accuracy: float
) -> tuple[FloatArray, FloatArray]:
    """`_description` at the fixed point, and its absolute errors.

    Where something jumps, replicon and jump_probability have few digits on any grid, so they come
    from coarse ones.
    """
    overlaps, V = refined.fine.overlaps, refined.fine.overlaps.V

    # sensitivities need no more than the search's accuracy
    rough = _diagnosed(model, alpha, overlaps, SEARCH_ACCURACY)
    description = _description(alpha, V, refined.fine.expectations)
    errors = refined.safety * np.abs(
        description - _description(alpha, V, refined.coarse.expectations)
    )
    fold = refined.fine.expectations.certificate.fold
    if fold > 0.0:
        resolution = Resolution.for_accuracy(max(accuracy, _DESCRIBED))
        at = channel_expectations(model, overlaps, resolution, diagnose=True)
        middle = _diagnosed(model, alpha, overlaps, _MIDDLE)
        levels = [rough, middle, _description(alpha, V, at)]
        description[:2] = levels[-1][:2]
        # they scatter from grid to grid, so that one difference may be small by chance
        errors[:2] = refined.safety * np.ptp(levels, axis=0)[:2]
        if fold - description[1] > 0.01 * fold:
            # more than one saddle at a w: their minima are counted on a table
            errors[1] += _COUNTING * description[1]
        errors[0] += alpha * V**2 * at.smooth_response_error
        errors[1:] += math.exp(-0.5 * resolution.cut_off**2)
    errors += description_moved(model, alpha, overlaps, refined.moved, rough)
    errors[0] += refined.rounding
    return description, errors


def description_moved(
    model: AttentionModel,
    alpha: float,
    overlaps: Overlaps,
    moved: FloatArray,
    rough: FloatArray | None = None,
) -> FloatArray:
    """How much (replicon, jump_probability, jump_flux) change when the overlaps change by `moved`.

    At most, and to first order. rough: what they are at `overlaps`, at the search's accuracy.
    """
    if rough is None:
        rough = _diagnosed(model, alpha, overlaps, SEARCH_ACCURACY)
    changes = np.zeros(3)
    for k in range(4):
        if moved[k] > 0.0:
            change = 0.02 * abs(overlaps[k])
            ahead = list(overlaps)
            ahead[k] += change if k != 3 else -change
            there = _diagnosed(model, alpha, Overlaps(*ahead), SEARCH_ACCURACY)
            changes += np.abs(there - rough) / change * moved[k]
    return changes


def _diagnosed(model: AttentionModel, alpha: float, at: Overlaps, aim: float) -> FloatArray:
    resolution = Resolution.for_accuracy(aim)
    return _description(alpha, at.V, channel_expectations(model, at, resolution, diagnose=True))


#: What `digits` speaks of.
CERTIFIED = ("q", "m", "V", "theta", "train_loss", "test_error")


def digits_reached(values: Mapping[str, Any], errors: Mapping[str, float]) -> int:
    """The number of significant digits that every overlap and loss in `errors` has."""
    worst = max(
        float(errors[name] / abs(values[name]))
        for name in CERTIFIED
        if name in errors and values[name] != 0.0
    )
    return significant_digits(worst)


def _require_digits(point: FixedPoint, digits: int) -> None:
    reached = digits_reached(point.numbers, point.errors)
    if reached < digits:
        jumps = point.certificate["fold"] > 0.0
        raise ComputationFailed(
            f"{point.branch} branch at alpha = {point.alpha:.6g}: {reached} digits reached, "
            f"{digits} asked, in double precision"
            + (" where the prox jumps" if jumps else "")
            + (f"; try {reached} digits" if reached > 0 else "")
        )


def _zero(model: AttentionModel, alpha: float, digits: int, progress: Progress) -> FixedPoint:
    """The fixed point Q = 0 in the common form."""
    try:
        at = zero_point(model, alpha)
    except ComputationFailed as error:
        raise _NotRegular(str(error)) from error
    point = zero_fixed_point(alpha, at)
    if digits_reached(point.numbers, point.errors) >= digits:
        return point
    from symattn.precision.zero import precise_zero_point

    point = precise_zero_point(model, alpha, at, digits, progress)
    return _in_doubles(point) if digits <= DOUBLE_DIGITS else point


def zero_fixed_point(alpha: float, at: ZeroPoint, exact_alpha: Any = None) -> FixedPoint:
    """Q = 0 at a sample complexity in the form of all fixed points.

    exact_alpha: what alpha stands for, where that matters.
    """
    train_loss = (alpha if exact_alpha is None else exact_alpha) * at.loss
    numbers = ("q", "m", "theta", "q_hat", "m_hat", "theta_hat", "jump_probability", "jump_flux")
    return FixedPoint(
        branch="zero",
        alpha=alpha,
        overlaps=Overlaps(0.0, 0.0, at.V, 0.0),
        hats=Hats(0.0, 0.0, at.V_hat, 0.0),
        train_loss=train_loss,
        train_loss_direct=train_loss,
        envelope=at.loss,
        test_error=at.loss,
        replicon=at.replicon,
        jump_probability=0.0,
        jump_flux=0.0,
        errors=FrozenMapping(
            {
                **dict.fromkeys(numbers, 0.0),
                "V": at.errors["V"],
                "V_hat": at.errors["V_hat"],
                "train_loss": alpha * at.errors["loss"],
                "train_loss_direct": alpha * at.errors["loss"],
                "envelope": at.errors["loss"],
                "test_error": at.errors["loss"],
                "replicon": at.errors["replicon"],
            }
        ),
        certificate=FrozenMapping({"residual": 0.0, "fold": 0.0}),
        eigenvalues=(),
    )
