"""The Hessian and the forces of trained minima against the response and the hats of the theory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from symattn.model import AttentionModel
from verify.experiments import Results
from verify.experiments.students import Students, all_rows, parameters, sizes_in_words
from verify.predictions import Figure, Finding, Prediction
from verify.report.figures import Limit, limits_figure
from verify.statistics import Estimate
from verify.theory import TheoryAt, judged, jump_share
from verify.trained_responses import TrainedResponses, response_units
from verify.units import Unit

# Beyond this share of V_hat, what the Hessian of one minimum lacks exceeds its errors.
_SMALL_JUMPS = 0.01

_COMMON: Mapping[str, tuple[str, str]] = {
    "V": ("V", "response sigma^2 Tr(Hessian^-1)/d"),
    "V_hat": ("V_hat", "conjugate of q, from the Hessian"),
    "replicon": ("replicon", "replicon, from the Hessian's spectrum"),
    "q_hat": ("q_hat", "mean square of the forces"),
    "envelope": ("d eps_t/d alpha", "mean Moreau envelope, the slope of the training loss"),
}
_OWN: Mapping[str, tuple[str, str]] = {
    "semantic": ("theta_hat", "conjugate of theta, from the forces along h*"),
    "positional": ("m_hat", "conjugate of m, from the forces along the positions"),
}
_TEX = {"V": "$V$", "V_hat": r"$\hat V$", "replicon": "replicon", "q_hat": r"$\hat q$"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Responses:
    """The Hessian and the forces of one branch at one sample complexity.

    Attributes
    ----------
    name : str
    model : AttentionModel
    branch : str
        Semantic or positional.
    alpha : float
    sizes : mapping
        Dimension to the number of training sets.
    """

    name: str
    model: AttentionModel
    branch: str
    alpha: float
    sizes: Mapping[int, int]

    def units(self, seed: int) -> Sequence[Unit]:
        return [self._theory(), *self._training(seed)]

    def finding(self, seed: int, results: Results) -> Finding:
        everyone = Students(self.model, all_rows(results(u) for u in self._training(seed)))
        students = everyone.in_state(self.branch)
        left = len(everyone.rows) - len(students.rows)
        point = results(self._theory())[repr(self.alpha)]
        measured = {name: students.limit(name) for name in self._observables()}
        text = (
            f"The {self.branch} minimum at alpha = {self.alpha:g}, trained on "
            f"{sizes_in_words(self.sizes)} to a gradient of norm 1e-6. "
            "The Hessian of the risk there gives V, V_hat and the replicon, and the "
            "force of every sample on its two fields gives the other conjugates; nothing but the "
            "minimum itself is needed. Every number is extrapolated to infinite d."
            + (f" {left} runs left the state and do not count." if left else ""),
            *self._about_jumps(point),
        )
        return Finding(
            title=f"Response of the {self.branch} minimum at lambda = {self.model.lam:g}",
            text=text,
            predictions=(
                *(self._prediction(name, point, estimate) for name, estimate in measured.items()),
                *self._without_jumps(point, measured["V_hat"]),
            ),
            figures=(self._figure(students, point, measured),),
        )

    def _training(self, seed: int) -> list[TrainedResponses]:
        return response_units(
            self.name, self.model, seed, self.sizes, alpha=self.alpha, start=self.branch
        )

    def _theory(self) -> TheoryAt:
        return TheoryAt(model=self.model, alphas=(self.alpha,), branch=self.branch)

    def _observables(self) -> dict[str, tuple[str, str]]:
        """Observable to its symbol and its name in sentences."""
        name, words = _OWN[self.branch]
        return {**_COMMON, name: (name, words)}

    def _prediction(self, name: str, point: Mapping[str, Any], estimate: Estimate) -> Prediction:
        symbol, words = self._observables()[name]
        absent = "absent" in point
        kind, note = judged(point, self.branch)
        return Prediction(
            name=f"{self.name}.{self.branch}.{name}@alpha={self.alpha:g}",
            statement=f"{words} at the {self.branch} minimum",
            symbol=symbol,
            parameters=parameters(self.model, self.alpha),
            predicted=None if absent else point[name],
            predicted_error=0.0 if absent else point["errors"][name],
            measured=estimate,
            kind="shown" if self._jumps(point) else kind,
            note=note,
            jump_share=jump_share(point),
        )

    def _without_jumps(self, point: Mapping[str, Any], V_hat: Estimate) -> list[Prediction]:
        """The part of V_hat that the Hessian of one minimum does see, where jumps are not rare."""
        if not self._jumps(point):
            return []
        return [
            Prediction(
                name=f"{self.name}.{self.branch}.V_hat-without-jumps@alpha={self.alpha:g}",
                statement="V_hat less the part that jumps of the prox make, from the Hessian",
                symbol="V_hat",
                parameters=parameters(self.model, self.alpha),
                predicted=point["V_hat"] - point["jump_flux"],
                predicted_error=point["errors"]["V_hat"] + point["errors"]["jump_flux"],
                measured=V_hat,
                kind="shown",
                note="at the response V of the theory, which has the jumps",
            )
        ]

    def _about_jumps(self, point: Mapping[str, Any]) -> list[str]:
        """Why the Hessian differs from the theory where jumps are not rare."""
        if not self._jumps(point):
            return []
        return [
            "In the theory a small field moves most samples smoothly within one well of their "
            "energy, and makes a few jump from one well to another. The Hessian of one minimum has "
            f"the smooth part of V_hat only; jumps, {100 * jump_share(point):.2g} % of it here, "
            "lead to other minima. There are many such minima, and replica symmetry takes the one "
            "found for the lowest and only one. So these numbers are shown and not judged. If "
            "the jumps are all that the Hessian lacks, it gives V_hat without them, which is the "
            "last number."
        ]

    def _jumps(self, point: Mapping[str, Any]) -> bool:
        return "absent" not in point and jump_share(point) >= _SMALL_JUMPS

    def _figure(
        self, students: Students, point: Mapping[str, Any], measured: Mapping[str, Estimate]
    ) -> Figure:
        limits = [
            Limit(
                label=label,
                branch=self.branch,
                dimensions=students.column("dimension"),
                values=students.without_controls(name),
                estimate=measured[name],
                predicted=point.get(name),
            )
            for name, label in _TEX.items()
        ]
        return Figure(
            name=f"{self.name}-{self.branch}",
            caption=f"Response of the {self.branch} minimum at alpha = {self.alpha:g}: every "
            "training set as a point, less what the control variates explain, the fit, and the "
            "theory.",
            drawing=limits_figure(limits),
        )
