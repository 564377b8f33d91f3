"""Where Q = 0 becomes unstable: the closed-form thresholds of weak learning.

At Q = 0 all is explicit but two numbers, V and alpha, that solve two equations with means over the
two components of h* (steps `zero_response` and `weak` of the derivation):

    V (lambda + sigma^2 alpha E Tr K) = sigma^2,    K = H (I + V H)^-1,
    1 = -2 alpha V E[K_uu]/sigma^2                  weak_positional
    1 = alpha V (E Tr K - E[h*^T K h*]/rho)         weak_semantic
    1 = alpha V^2 E|K|_F^2                          weak_bulk

`_branch` finds the root in double precision, `_estimate` takes it to any number of digits by
mpmath, and `_proof` encloses it by ball arithmetic.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from mpmath import mp

from symattn._checks import checked_digits
from symattn._exact import number
from symattn._frozen import FrozenMapping
from symattn._numbers import DOUBLE_DIGITS, rounded_up, significant_digits
from symattn._progress import Progress, silent
from symattn.errors import ComputationFailed, InvalidInput
from symattn.fixed_points import zero_fixed_point
from symattn.model import AttentionModel
from symattn.thresholds import CERTIFICATES, WEAK, Threshold
from symattn.weak_learning._branch import INSTABILITIES, Start, find_start
from symattn.weak_learning._estimate import Estimate, estimate
from symattn.zero_point import ZeroPoint, loss_at_zero

__all__ = ["weak_threshold"]

#: More digits are proved only when a proof is asked for: it takes longer than the estimate.
_PROVED = 30


def weak_threshold(
    model: AttentionModel,
    name: str,
    digits: int = 15,
    *,
    certificate: str | None = None,
    progress: Progress | None = None,
) -> Threshold:
    """The sample complexity alpha = n/d at which Q = 0 becomes unstable.

    Parameters
    ----------
    name : str
        weak_positional, weak_semantic or weak_bulk.
    digits : int
        Significant digits of alpha, 1 to 1000; up to 15 alpha is a float, beyond an mpmath.mpf.
        The work grows with the fourth power of the digits, and with the sixth of sigma once that is
        above about 0.5; what would take many minutes is refused.
    certificate : str, optional
        "proved", "estimated", or by default proved up to 30 digits where that succeeds.
    progress : callable, optional
        Called with one line of text now and then.

    Raises
    ------
    InvalidInput
        For an unknown name or certificate, digits outside 1 to 1000, or a model that is not
        L = 2, r = t = 1, isotropic.
    ComputationFailed
        If Q = 0 is no regular fixed point where it would become unstable, or never does, with the
        reason; or if the digits or the proof asked for are out of reach.
    """
    model.require_solvable()
    if name not in WEAK:
        raise InvalidInput.of("name", name, f"one of {', '.join(WEAK)}")
    if certificate not in (None, *CERTIFICATES):
        raise InvalidInput.of("certificate", certificate, " or ".join(CERTIFICATES))
    digits = checked_digits(digits)
    if certificate == "proved" and find_spec("flint") is None:
        raise ComputationFailed(
            f"{name}: a proof needs python-flint; pip install 'symattn[proofs]' brings it"
        )
    report = progress or silent
    start = find_start(model, name)
    with mp.workdps(digits + 30):
        found = estimate(model, name, INSTABILITIES[name], start, digits, report)
        alpha_error, V_error = found.alpha_error, found.V_error
        proved = False
        if certificate == "proved" or (
            certificate is None and digits <= _PROVED and find_spec("flint") is not None
        ):
            bound = _proved(model, name, digits, start, found, report, certificate == "proved")
            if bound is not None:
                proved = True
                alpha_error, V_error = bound
        alpha: Any = found.alpha
        if digits <= DOUBLE_DIGITS:
            alpha = float(found.alpha)
            alpha_error = rounded_up(alpha_error + abs(found.alpha - alpha))
        zero = _zero_point(model, found, V_error)
        relative = alpha_error / alpha
        vouched = significant_digits(relative)
    return Threshold(
        name=name,
        model=model,
        alpha=alpha,
        error=alpha_error,
        digits=min(vouched, DOUBLE_DIGITS) if digits <= DOUBLE_DIGITS else vouched,
        method="trapezoidal rule for the means over h*, Newton in V",
        at=FrozenMapping({"zero": zero_fixed_point(float(alpha), zero)}),
        certificate="proved" if proved else "estimated",
    )


def _zero_point(model: AttentionModel, found: Estimate, V_error: Any) -> ZeroPoint:
    """Q = 0 there in double precision; V_hat = 1/V - lambda/sigma^2."""
    lam, sigma = number(model.exact("lam")), number(model.exact("sigma"))
    exact = {
        "V": (found.V, V_error),
        "V_hat": (1 / found.V - lam / sigma**2, V_error / found.V**2),
        "replicon": (found.replicon, found.replicon_error),
    }
    loss, loss_error = loss_at_zero(model)
    return ZeroPoint(
        loss=loss,
        **{name: float(value) for name, (value, _) in exact.items()},
        errors={
            "loss": loss_error,
            **{
                name: rounded_up(error + abs(value - float(value)))
                for name, (value, error) in exact.items()
            },
        },
    )


def _proved(
    model: AttentionModel,
    name: str,
    digits: int,
    start: Start,
    found: Estimate,
    report: Progress,
    required: bool,
) -> tuple[Any, Any] | None:
    """Proved bounds on the errors of alpha and V; None where there is no proof and none needed."""
    from symattn.weak_learning import _proof

    try:
        V, alpha = _proof.prove(model, INSTABILITIES[name], found.V, start.rises, digits, report)
        return _proof.distance(alpha, found.alpha), _proof.distance(V, found.V)
    except _proof.NotProved as reason:
        if required:
            raise ComputationFailed(
                f"{name}: {digits} digits were estimated but not proved: {reason}; "
                "try fewer digits or certificate estimated"
            ) from reason
        report(f"{name}: not proved: {reason}")
        return None
