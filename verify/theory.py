"""What the theory says, as units of work: fixed points and thresholds with their errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from symattn import linear_baseline, solve, threshold
from symattn.errors import NotFound
from symattn.model import AttentionModel
from verify.device import Device
from verify.predictions import Kind
from verify.units import unit_key

#: Digits of what measurements are held against: the error is far below theirs.
DIGITS = 4

#: The jump share from which on a reader is told of it.
NOTABLE_JUMPS = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class TheoryAt:
    """A branch at several sample complexities, each solved from the one before.

    The result maps `repr(alpha)` to a fixed point as `FixedPoint.to_dict` has it, or to `absent`
    with the reason.
    """

    model: AttentionModel
    alphas: tuple[float, ...]
    branch: str

    @property
    def key(self) -> str:
        everything = [self.model.to_dict(), self.alphas, self.branch, DIGITS]
        return unit_key("theory", f"{self.branch} omega={self.model.omega}", everything)

    @property
    def cost(self) -> float:
        return 1.0 * len(self.alphas)

    def run(self, device: Device) -> dict[str, Any]:
        found: dict[str, Any] = {}
        start = None
        for alpha in self.alphas:
            try:
                solution = solve(self.model, alpha, branch=self.branch, digits=DIGITS, start=start)
            except NotFound as error:
                found[repr(alpha)] = {"absent": str(error)}
            else:
                start = solution[self.branch]
                found[repr(alpha)] = start.to_dict()
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdOf:
    """A threshold in alpha: `alpha`, `error` and the largest `jump_share` of its fixed points.

    Or `absent`, with the reason.
    """

    model: AttentionModel
    name: str

    @property
    def key(self) -> str:
        everything = [self.model.to_dict(), self.name, DIGITS]
        return unit_key("threshold", f"{self.name} omega={self.model.omega}", everything)

    @property
    def cost(self) -> float:
        return 1.0 if self.name.startswith("weak") else 10.0

    def run(self, device: Device) -> dict[str, Any]:
        try:
            found = threshold(self.model, self.name, digits=DIGITS)
        except NotFound as error:
            return {"absent": str(error)}
        shares = [jump_share(point.to_dict()) for point in found.at.values()]
        return {"alpha": found.alpha, "error": found.error, "jump_share": max(shares, default=0.0)}


def loss_of_zero(model: AttentionModel) -> float:
    """The mean loss of a sample at Q = 0 as d -> infinity: (1/2) E Tr (T - J) rho (T - J)^T.

    J has all entries 1/2: the linear map of the untrained layer. About the best map E[T] it is the
    error of that plus (rho/2) |E[T] - J|^2.
    """
    baseline = linear_baseline(model)
    distance = sum((entry - 1 / model.length) ** 2 for row in baseline.W for entry in row)
    return baseline.test_error + model.rho * distance / 2


def jump_share(point: Mapping[str, Any]) -> float:
    """The part of V_hat at a fixed point that jumps of the prox make, by modulus; 0 if absent."""
    return abs(point["jump_flux"] / point["V_hat"]) if point.get("jump_flux") else 0.0


def trust(point: Mapping[str, Any]) -> str:
    """How far replica symmetry can be trusted at a fixed point, in words; empty where it holds."""
    return trust_of_share(jump_share(point))


def judged(point: Mapping[str, Any], branch: str) -> tuple[Kind, str]:
    """Whether predictions at this fixed point are tested, and what must be known of it."""
    if "absent" in point:
        return "shown", f"no {branch} fixed point is found here"
    if not point["stable"]:
        return "shown", "unstable in the theory here: training can leave it"
    return "two-sided", trust(point)


def trust_of_share(share: float) -> str:
    """The same for a jump share."""
    if share < NOTABLE_JUMPS:
        return ""
    return (
        f"replica symmetry is not exact here: jumps of the prox make {100 * share:.2g} % of V_hat"
    )
