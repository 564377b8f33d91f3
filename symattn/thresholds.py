"""Thresholds in the sample complexity, by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from symattn._checks import checked_digits, checked_model
from symattn._progress import silent
from symattn.errors import InvalidInput
from symattn.model import AttentionModel

if TYPE_CHECKING:
    from symattn._progress import Progress
    from symattn.fixed_points import FixedPoint

CROSSINGS = ("alpha_c", "alpha_l")
SPINODALS = ("spinodal_semantic", "spinodal_positional")
WEAK = ("weak_positional", "weak_semantic", "weak_bulk")
THRESHOLDS = (*CROSSINGS, *SPINODALS, *WEAK)

#: The branches that a threshold is about.
BRANCHES = {
    "alpha_c": ("semantic", "positional"),
    "alpha_l": ("semantic",),
    "spinodal_semantic": ("semantic",),
    "spinodal_positional": ("positional",),
    **dict.fromkeys(WEAK, ("zero",)),
}

#: Range of alpha in which crossings and spinodals are looked for.
LOWEST, HIGHEST = 0.05, 5.0

#: Digits of what only describes the fixed points at crossings and spinodals.
DESCRIBED_DIGITS = 6

#: Digits when none are asked for.
DIGITS = {**dict.fromkeys((*CROSSINGS, *SPINODALS), 6), **dict.fromkeys(WEAK, 15)}

CERTIFICATES = ("estimated", "proved")


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """A threshold in the sample complexity.

    Attributes
    ----------
    name : str
    model : AttentionModel
    alpha, error : float, or mpmath.mpf where more than 15 digits were asked for
        The threshold n/d and its absolute error.
    digits : int
        Significant digits that `error` vouches for.
    method : str
        How it was found.
    at : mapping
        The fixed points at `alpha`, by branch, in double precision. Each has the replicon of the
        smooth part and the jump flux.
    certificate : str
        What `error` is: "estimated" from computations of different fineness, or "proved" to hold
        by ball arithmetic.
    """

    name: str
    model: AttentionModel
    alpha: Any
    error: Any
    digits: int
    method: str
    at: Mapping[str, FixedPoint]
    certificate: str = "estimated"

    def __str__(self) -> str:
        alpha, error = self.shown()
        return f"{self.name} = {alpha} +- {error}"

    def shown(self) -> tuple[str, str]:
        """alpha in decimal to a little more than its digits, and its error."""
        if isinstance(self.alpha, float):
            return f"{self.alpha:.{max(1, self.digits + 1)}g}", f"{self.error:.1e}"
        from mpmath import mp, mpf

        with mp.workdps(self.digits + 20):
            text: str = mp.nstr(self.alpha, self.digits + 2)
            # what is shown of alpha is rounded, and so is what is shown of this
            bound = 1.01 * (self.error + abs(mpf(text) - self.alpha))
            return text, mp.nstr(bound, 3)

    def to_dict(self) -> dict[str, Any]:
        """The threshold as JSON-able values; alpha and error as text beyond 15 digits."""
        exact = isinstance(self.alpha, float)
        alpha, error = (self.alpha, self.error) if exact else self.shown()
        return {
            "name": self.name,
            "model": self.model.to_dict(),
            "alpha": alpha,
            "error": error,
            "digits": self.digits,
            "method": self.method,
            "certificate": self.certificate,
            "at": {branch: point.to_dict() for branch, point in self.at.items()},
        }


def threshold(
    model: AttentionModel,
    name: str,
    *,
    digits: int | None = None,
    certificate: str | None = None,
    progress: Progress | None = None,
) -> Threshold:
    """A threshold in the sample complexity alpha = n/d, the lowest in [0.05, 5] of several.

    Parameters
    ----------
    name : str
        alpha_c: semantic and positional branch have equal training loss. alpha_l: the test error of
        the semantic branch equals that of the best linear positional map. spinodal_semantic,
        spinodal_positional: the branch stops being (meta)stable, at a fold or where m (on the
        semantic one) or theta (on the positional one) begins to grow. weak_positional,
        weak_semantic, weak_bulk: Q = 0, on the branch connected to alpha = 0, becomes unstable
        towards m, theta or a random direction (step `weak` of the derivation).
    digits : int, optional
        Significant digits, 1 to 1000: error <= 0.5 x 10^-digits alpha. By default 6, for the weak
        ones 15.
    certificate : str, optional
        For the weak ones: "proved" insists on a proof (which needs python-flint, the extra
        `proofs`), "estimated" does without. By default it is tried up to 30 digits where
        python-flint is installed.
    progress : callable, optional
        Called with one line of text now and then.

    Raises
    ------
    InvalidInput
        For an unknown name or certificate, digits outside 1 to 1000, or a model that is not
        L = 2, r = t = 1, isotropic.
    ComputationFailed
        If the threshold does not exist, with the reason, or the digits or the proof are not
        reached.
    """
    return next(_in_order(model, name, digits, certificate, progress or silent))


def all_thresholds(
    model: AttentionModel,
    name: str,
    *,
    digits: int | None = None,
    certificate: str | None = None,
    progress: Progress | None = None,
) -> tuple[Threshold, ...]:
    """All thresholds of a name in [0.05, 5], in rising order; else as `threshold`."""
    return tuple(_in_order(model, name, digits, certificate, progress or silent))


def _in_order(
    model: AttentionModel,
    name: str,
    digits: int | None,
    certificate: str | None,
    progress: Progress,
) -> Iterator[Threshold]:
    checked_model(model).require_solvable()
    if name not in THRESHOLDS:
        raise InvalidInput.of("name", name, f"one of {', '.join(THRESHOLDS)}")
    digits = checked_digits(DIGITS[name] if digits is None else digits)
    allowed = CERTIFICATES if name in WEAK else CERTIFICATES[:1]
    if certificate is not None and certificate not in allowed:
        raise InvalidInput.of("certificate", certificate, f"{' or '.join(allowed)} for {name}")
    if name in CROSSINGS:
        from symattn._crossing import crossings

        yield from crossings(model, name, digits, progress)
    elif name in SPINODALS:
        from symattn._spinodal import spinodals

        yield from spinodals(model, name, digits, progress)
    else:
        from symattn.weak_learning import weak_threshold

        yield weak_threshold(model, name, digits, certificate=certificate, progress=progress)
