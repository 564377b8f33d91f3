"""Results as tables for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from symattn._numbers import with_error

if TYPE_CHECKING:
    from symattn.fixed_points import FixedPoint, Solution
    from symattn.threshold_curves import ThresholdCurve
    from symattn.thresholds import Threshold

#: Numbers of a fixed point to their definitions.
MEANINGS = {
    "q": "Q^T Sigma Q/d",
    "m": "p_1.Q/sqrt(d)",
    "V": "response of Q",
    "theta": "Q^T Sigma Q*/d",
    "q_hat": "alpha E|g|^2",
    "m_hat": "alpha E[g_1 - g_2]",
    "V_hat": "-alpha E[div_w g]",
    "theta_hat": "(alpha E[g.h*] + theta V_hat)/rho",
    "train_loss": "min risk/d, extremal form",
    "train_loss_direct": "the same from the loss at the prox",
    "envelope": "E[M], slope of train_loss in alpha",
    "test_error": "E|y - f_Q(x)|_F^2/(2 d)",
    "replicon": "1 - alpha V^2 E|dg/dw|_F^2 without the jumps",
    "jump_probability": "P(the energy has several local minima)",
    "jump_flux": "part of V_hat that comes from jumps",
}

_THRESHOLDS = {
    "alpha_c": "semantic and positional branch have equal training loss",
    "alpha_l": "semantic test error equals that of the best linear map",
    "spinodal_semantic": "semantic branch stops being (meta)stable",
    "spinodal_positional": "positional branch stops being (meta)stable",
    "weak_positional": "Q = 0 becomes unstable towards m",
    "weak_semantic": "Q = 0 becomes unstable towards theta",
    "weak_bulk": "Q = 0 becomes unstable towards a random direction and ends",
}


def solution_table(solution: Solution) -> str:
    """Every fixed point with errors and certificate, the baseline, and what is absent."""
    lines = [str(solution.model), f"alpha = {solution.alpha!r}"]
    for point in solution.fixed_points:
        lines += ["", *fixed_point_lines(point)]
    lines += ["", *baseline_lines(solution.linear_test_error, solution.errors["linear_test_error"])]
    if solution.absent:
        lines += ["", "absent"]
        lines += [f"  {branch}: {reason}" for branch, reason in solution.absent.items()]
    return "\n".join(lines)


def fixed_point_lines(point: FixedPoint) -> list[str]:
    """One fixed point: a row for each number, its error and meaning, then what to think of it."""
    values = point.numbers
    numbers = [
        (name, values[name], point.errors[name], meaning) for name, meaning in MEANINGS.items()
    ]
    return [f"{point.branch} fixed point", *_rows(numbers), *_judgement(point)]


def baseline_lines(test_error: Any, error: float) -> list[str]:
    """The best linear positional map."""
    meaning = "E|y - W x|_F^2/(2 d)"
    return ["best linear positional map", *_rows([("test_error", test_error, error, meaning)])]


def threshold_table(threshold: Threshold) -> str:
    """One threshold with its error, what the error is, and the fixed points there."""
    if isinstance(threshold.alpha, float):
        lines = [str(threshold.model), *threshold_lines([threshold])]
    else:
        # too long for a table
        alpha, error = threshold.shown()
        lines = [str(threshold.model), _THRESHOLDS[threshold.name]]
        lines += [f"  {threshold.name} = {alpha}", f"  +- {error}"]
    lines.append(f"  {'error':<18} {threshold.certificate}: {threshold.method}")
    for point in threshold.at.values():
        lines += ["", *fixed_point_lines(point)]
    return "\n".join(lines)


def threshold_lines(thresholds: Iterable[Threshold]) -> list[str]:
    """Thresholds with errors and what they are."""
    numbers = [(t.name, t.alpha, t.error, _THRESHOLDS[t.name]) for t in thresholds]
    return ["thresholds in alpha", *_rows(numbers)]


def curve_table(curve: ThresholdCurve) -> str:
    """A threshold along a parameter, with replicon and jump flux of its branches."""
    lines = [
        f"{curve.model}, but for {curve.over}",
        f"{_THRESHOLDS[curve.name]}; replicon/jump_flux by branch",
        f"  {curve.over:<10} {curve.name}",
    ]
    for point in curve.points:
        if point.alpha is None or point.error is None:
            lines.append(f"  {point.value:<10.6g} none: {point.reason}")
            continue
        shown, bound = with_error(point.alpha, point.error)
        trust = ", ".join(
            f"{branch} {values['replicon']:.3g}/{values['jump_flux']:.1e}"
            for branch, values in point.at.items()
        )
        lines.append(f"  {point.value:<10.6g} {shown:<20} +- {bound:<9} {trust}")
    return "\n".join(lines)


def _rows(numbers: Iterable[tuple[str, Any, float, str]]) -> Iterator[str]:
    for name, value, error, meaning in numbers:
        shown, bound = with_error(value, error)
        bound = bound if bound in ("", "exact") else f"+- {bound}"
        yield f"  {name:<18} {shown:<22} {bound:<12} {meaning}".rstrip()


def _judgement(point: FixedPoint) -> Iterator[str]:
    """What eigenvalues, replicon and certificate say, in words."""
    if point.eigenvalues:
        beyond = sum(eigenvalue.real > 1 for eigenvalue in point.eigenvalues)
        word = "stable" if point.stable else "unstable"
        share = f"{beyond} of the {len(point.eigenvalues)}"
        yield f"  {'state evolution':<18} {word}: {share} eigenvalues of its Jacobian beyond +1"
    if point.replicon + point.errors["replicon"] < 0:
        yield f"  {'replica symmetry':<18} broken: the replicon is negative"
    elif point.jump_flux:
        yield f"  {'replica symmetry':<18} not exact: the prox jumps, see jump_flux"
    yield f"  {'certificate':<18} {certificate_sentence(point.certificate)}"


def certificate_sentence(certificate: Mapping[str, Any]) -> str:
    """The evidence in words; without a computation by quadrature there is little to say."""
    parts = [f"last Newton correction {certificate['residual']:.1e}"]
    if "normalisation" in certificate:
        parts.append(f"E[1] = 1 within {certificate['normalisation']:.1e}")
    if certificate["fold"] > 0:
        parts.append(
            f"saddles have weight {certificate['fold']:.1e}, of which "
            f"{certificate['uncovered']:.1e} lies at no jump that was found"
        )
    else:
        parts.append("no weight where the prox could jump")
    return "; ".join(parts)
