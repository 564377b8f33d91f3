"""Sample complexities at which a branch stops being (meta)stable.

There an eigenvalue of the Jacobian of state evolution crosses +1 while all others are below: at a
fold, where the branch turns back in alpha, or at a symmetry breaking, where m grows on the semantic
branch or theta on the positional one. The branch is followed roughly through the range; from what
it shows, Newton's method solves the square system of the fixed point's equations and the condition
for the overlaps and alpha together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from symattn._frozen import FrozenMapping
from symattn._numbers import significant_digits
from symattn._progress import Progress
from symattn._search import SEARCH_ACCURACY, NewtonPoint
from symattn.continuation.conditions import Condition, instabilities
from symattn.continuation.curve import At, Curve, own_overlaps
from symattn.continuation.locate import FINEST, Located, Solved, locate, solve_between
from symattn.continuation.start import first_point
from symattn.continuation.walk import start_node, walk
from symattn.errors import ComputationFailed, NotFound
from symattn.fixed_points import FixedPoint, Refined, described
from symattn.model import AttentionModel
from symattn.overlaps import Hats
from symattn.thresholds import DESCRIBED_DIGITS, HIGHEST, LOWEST, Threshold


def spinodals(
    model: AttentionModel, name: str, digits: int, progress: Progress
) -> Iterator[Threshold]:
    """`spinodal_semantic` or `spinodal_positional`, all in [0.05, 5], the lowest first.

    Raises
    ------
    NotFound
        If there is none, with what the branch does instead.
    ComputationFailed
        If the digits are not reached.
    """
    branch = name.removeprefix("spinodal_")
    curve = Curve(model=model, alpha=LOWEST, over="alpha", name=branch, accuracy=SEARCH_ACCURACY)
    start = first_point(curve, LOWEST, HIGHEST, progress)
    passed = [start]
    rough = []
    for sign in (-1.0, 1.0):
        for here, ahead in _steps(curve, start, sign, progress):
            passed.append(ahead)
            rough += list(_between(curve, here, ahead))
    if not rough:
        raise NotFound(f"{name} was not found: {_instead(curve, passed)}")
    for condition, near in sorted(rough, key=lambda pair: pair[1].at.y[-1]):
        yield _spinodal(
            replace(curve, accuracy=max(10.0**-digits, FINEST)), name, condition, near, digits
        )


def _steps(curve: Curve, start: At, sign: float, progress: Progress) -> Iterator[tuple[At, At]]:
    """Neighbours along the branch, as far as it is not its own mirror image."""
    here = start_node(curve, start, sign)
    for ahead in walk(curve, here, LOWEST, HIGHEST, progress):
        pairs = [(here.at.step.overlaps[k], ahead.at.step.overlaps[k]) for k in own_overlaps(curve)]
        if any(before * after < 0.0 for before, after in pairs):
            return
        yield here.at, ahead.at
        here = ahead


def _between(curve: Curve, here: At, ahead: At) -> Iterator[tuple[Condition, Solved]]:
    """Where the branch ceases to be stable between two neighbours, roughly."""
    for condition in instabilities(curve):
        before, after = condition.value(curve, here), condition.value(curve, ahead)
        if (before > 0.0) == (after > 0.0):
            continue
        solved = solve_between(curve, condition, here, ahead)
        if solved is None:
            raise ComputationFailed(
                f"a {condition.kind} of the {curve.name} branch between alpha = "
                f"{curve.parameter(here.y):.4g} and {curve.parameter(ahead.y):.4g} was not located"
            )
        if LOWEST <= curve.parameter(solved.at.y) <= HIGHEST and _is_marginal(solved.at):
            yield condition, solved


def _is_marginal(at: At) -> bool:
    """Whether all eigenvalues but the one that is +1 are below."""
    eigenvalues = np.linalg.eigvals(at.step.jacobian)
    critical = np.argmin(np.abs(eigenvalues - 1.0))
    return bool(np.all(np.delete(eigenvalues, critical).real < 1.0))


def _instead(curve: Curve, passed: list[At]) -> str:
    """What a branch without spinodals does, in words."""
    alphas = [curve.parameter(at.y) for at in passed]
    largest = [np.max(np.linalg.eigvals(at.step.jacobian).real) for at in passed]
    stable = [value <= 1.0 for value in largest]
    if all(stable) or not any(stable):
        what = f"is {'stable' if stable[0] else 'unstable'} all along"
    else:
        what = "changes its stability only where it ends"
    low, high = min(alphas), min(max(alphas), HIGHEST)
    return (
        f"the {curve.name} branch, from alpha = {low:.4g} to {high:.4g}, {what}: no "
        f"eigenvalue of the Jacobian crosses +1 in [{LOWEST}, {HIGHEST}]"
    )


def _spinodal(
    curve: Curve, name: str, condition: Condition, near: Solved, digits: int
) -> Threshold:
    located = locate(curve, condition, near, digits)
    alpha, error = curve.parameter(located.fine.y), located.error(curve)
    reached = significant_digits(error / alpha)
    if not error <= 0.5 * 10.0**-digits * alpha:
        raise ComputationFailed(
            f"{name}: {reached} digits reached at alpha = {alpha:.10g}, {digits} asked; try fewer "
            "digits"
        )
    return Threshold(
        name=name,
        model=curve.model,
        alpha=alpha,
        error=error,
        digits=reached,
        method=f"{condition.kind}: {_meaning(condition)}; Newton for the fixed point and alpha "
        "together",
        at=FrozenMapping({curve.name: _fixed_point(curve, located)}),
    )


def _meaning(condition: Condition) -> str:
    if condition.kind == "fold":
        return "the branch turns back in alpha"
    return f"{condition.direction} begins to grow"


def _fixed_point(curve: Curve, located: Located) -> FixedPoint:
    """The fixed point at a spinodal; its errors include that of alpha."""
    alpha, alpha_error = curve.parameter(located.fine.y), located.error(curve)
    moved = np.zeros(4)
    moved[curve.unknowns] = located.moved[:-1]
    coarse, fine = (
        # 1 - J may be singular, so the errors do not come from its inverse
        NewtonPoint(step=at.step, correction=moved, inverse=np.zeros((4, 4)))
        for at in (located.coarse, located.fine)
    )
    refined = Refined.of(curve.model, alpha, curve.name, coarse, fine)
    point = described(
        curve.model, alpha, curve.name, refined, located.coarse.accuracy, DESCRIBED_DIGITS
    )
    values = point.to_dict()
    by_alpha = {
        **{hat: abs(values[hat]) / alpha for hat in Hats._fields},
        "train_loss": point.envelope,
        "train_loss_direct": point.envelope,
        "replicon": abs(1.0 - point.replicon) / alpha,
        "jump_flux": abs(point.jump_flux) / alpha,
    }
    errors = dict(point.errors)
    for number, slope in by_alpha.items():
        errors[number] += slope * alpha_error
    residual = float(np.max(np.abs(located.change[:-1])))
    certificate = {**point.certificate, "residual": residual}
    return replace(point, errors=FrozenMapping(errors), certificate=FrozenMapping(certificate))
