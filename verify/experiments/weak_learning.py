"""Where Q = 0 becomes unstable towards the positions, from Hessians at Q = 0."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from symattn.errors import ComputationFailed
from symattn.model import AttentionModel
from verify.crossing import crossing, difference_at
from verify.experiments import Results
from verify.experiments.students import Students, all_rows, parameters, sizes_in_words
from verify.predictions import Figure, Finding, Prediction
from verify.report.figures import Curve, Panel, Points, panels_figure, rounding_figure
from verify.theory import TheoryAt, ThresholdOf
from verify.trained_sets import TrainedSets, training_units
from verify.units import Unit
from verify.zero_stiffness import ZeroStiffness, stiffness_units

# Of the polynomial in alpha that the stiffness is fitted by.
_DEGREE = 3

_X_LABEL = r"sample complexity $\alpha = n/d$"


@dataclass(frozen=True, slots=True, kw_only=True)
class WeakLearning:
    """Hessians at Q = 0 about the threshold, and layers trained below and above it.

    Attributes
    ----------
    name : str
    model : AttentionModel
        Where Q = 0 becomes unstable towards the positions first.
    alphas : tuple of float
        Rising, at least three, from below to above the threshold, for the Hessians.
    sizes : mapping
        Dimension to the number of training sets of the Hessians.
    trained_alphas : tuple of float
        Rising, for the trained layers.
    trained_sizes : mapping
        Dimension to the number of training sets, at least two each, of the trained layers.
    curve : tuple of float
        More sample complexities for the line of the trained layers' figure.
    """

    name: str
    model: AttentionModel
    alphas: tuple[float, ...]
    sizes: Mapping[int, int]
    trained_alphas: tuple[float, ...]
    trained_sizes: Mapping[int, int]
    curve: tuple[float, ...] = ()

    def units(self, seed: int) -> Sequence[Unit]:
        return [self._threshold(), self._theory(), *self._stiffness(seed), *self._training(seed)]

    def finding(self, seed: int, results: Results) -> Finding:
        everyone = Students(self.model, all_rows(results(u) for u in self._stiffness(seed)))
        irregular = {row["seed"] for row in everyone.rows if not row["regular"]}
        at_zero = everyone.of_sets({row["seed"] for row in everyone.rows} - irregular)
        lost = (
            f" On {len(irregular)} of them other directions become unstable somewhere in that "
            "range, so that the stiffness is no sign; they do not count."
            if irregular
            else ""
        )
        text = (
            "At Q = 0 the stiffness of the risk along the positions, 1/(p_1^T Hessian^-1 p_1), "
            "falls with the number of samples and is 0 where Q = 0 becomes unstable. That needs no "
            "training. It is fitted by a cubic in alpha on every training set "
            f"({sizes_in_words(self.sizes)}), and its coefficients are extrapolated to infinite "
            f"d.{lost}",
            "Trained layers have no threshold at finite d: every training set has its own, and |m| "
            "rises gradually, the more steeply the larger d. That is shown and not judged.",
        )
        return Finding(
            title=f"Weak learning of the positions at lambda = {self.model.lam:g}",
            text=text,
            predictions=tuple(self._predictions(at_zero, results)),
            figures=(self._stiffness_figure(at_zero, results), self._trained_figure(seed, results)),
        )

    def _stiffness(self, seed: int) -> list[ZeroStiffness]:
        return stiffness_units(self.name, self.model, seed, self.sizes, alphas=self.alphas)

    def _training(self, seed: int) -> list[TrainedSets]:
        return training_units(
            self.name,
            self.model,
            seed,
            self.trained_sizes,
            alphas=self.trained_alphas,
            starts=("positional",),
        )

    def _threshold(self) -> ThresholdOf:
        return ThresholdOf(model=self.model, name="weak_positional")

    def _theory(self) -> TheoryAt:
        alphas = tuple(sorted({*self.trained_alphas, *self.curve}, reverse=True))
        return TheoryAt(model=self.model, alphas=alphas, branch="positional")

    def _predictions(self, at_zero: Students, results: Results) -> list[Prediction]:
        """The stiffness at the theory's threshold and at both ends, and where it is 0."""
        found = results(self._threshold())
        largest = at_zero.where(alpha=self.alphas[-1])
        stiffness = np.stack([at_zero.where(alpha=a).column("stiffness") for a in self.alphas], 1)
        described = parameters(self.model, self.alphas[0])
        del described["alpha"]
        predictions = [
            Prediction(
                name=f"{self.name}.stiffness@alpha={alpha:g}",
                statement=f"at alpha = {alpha:g} Q = 0 is {word} towards the positions",
                symbol=symbol,
                parameters={**described, "alpha": alpha},
                predicted=0.0,
                measured=largest.limit_of(sign * stiffness[:, k]),
                kind="one-sided",
                jump_share=0.0,
            )
            for k, alpha, sign, word, symbol in (
                (0, self.alphas[0], 1.0, "stable", "stiffness"),
                (-1, self.alphas[-1], -1.0, "unstable", "minus the stiffness"),
            )
        ]
        if "absent" in found:
            return predictions
        measured = (self.alphas, stiffness, largest.column("dimension"), largest.controls())
        root, note = None, ""
        try:
            root = crossing(*measured, degree=_DEGREE)
        except ComputationFailed as error:
            note = str(error)
        return [
            Prediction(
                name=f"{self.name}.weak_positional",
                statement=f"the stiffness is 0 at weak_positional = {found['alpha']:.5g}",
                symbol="stiffness",
                parameters=described,
                predicted=0.0,
                measured=difference_at(found["alpha"], *measured, degree=_DEGREE),
                jump_share=0.0,
            ),
            Prediction(
                name=f"{self.name}.weak_positional.where",
                statement="weak_positional: where the measured stiffness is 0",
                symbol="weak_positional",
                parameters=described,
                predicted=found["alpha"],
                predicted_error=found["error"],
                measured=root,
                kind="shown",
                note=note,
            ),
            *predictions,
        ]

    def _stiffness_figure(self, at_zero: Students, results: Results) -> Figure:
        limits = [at_zero.where(alpha=a).limit("stiffness") for a in self.alphas]
        stiffness = [e.value for e in limits]
        points = Points(
            branch="positional",
            x=self.alphas,
            y=stiffness,
            error=[e.error for e in limits],
            label=r"Hessian, $d \to \infty$",
        )
        found = results(self._threshold())
        at = [found["alpha"]] if "alpha" in found else []
        ends = [min(stiffness), max(stiffness)]
        panel = Panel(
            label="stiffness along $p_1$",
            curves=[Curve(branch="positional", x=[a, a], y=ends) for a in at],
            points=[points],
            line=(0.0, "unstable below"),
        )
        return Figure(
            name=f"{self.name}-stiffness",
            caption="Stiffness of the risk at Q = 0 along the positions, extrapolated to infinite "
            "d; it is to be 0 at the threshold of the theory, the upright line.",
            drawing=panels_figure([panel], _X_LABEL),
        )

    def _trained_figure(self, seed: int, results: Results) -> Figure:
        students = Students(self.model, all_rows(results(u) for u in self._training(seed)))
        return Figure(
            name=f"{self.name}-trained",
            caption="|m| of trained layers at finite d, means and standard errors over training "
            "sets, and its limit in the theory, which is 0 below the threshold.",
            drawing=rounding_figure(
                self._curve(results),
                {d: self._moduli(students.where(dimension=d)) for d in self.trained_sizes},
                _X_LABEL,
                "$|m|$",
            ),
        )

    def _curve(self, results: Results) -> Curve:
        """|m| of the theory: 0 up to the threshold, then that of the positional branch."""
        theory, found = results(self._theory()), results(self._threshold())
        known = sorted((float(alpha), p["m"]) for alpha, p in theory.items() if "m" in p)
        if "alpha" in found:
            known = [(self.trained_alphas[0], 0.0), (found["alpha"], 0.0), *known]
        return Curve(branch="positional", x=[a for a, _ in known], y=[m for _, m in known])

    def _moduli(self, students: Students) -> Points:
        moduli = [np.abs(students.where(alpha=a).column("m")) for a in self.trained_alphas]
        return Points(
            branch="positional",
            x=self.trained_alphas,
            y=[values.mean() for values in moduli],
            error=[values.std(ddof=1) / values.size**0.5 for values in moduli],
        )
