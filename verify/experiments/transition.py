"""Where the two minima exchange roles: alpha_c and alpha_l, from trained layers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from symattn import linear_baseline
from symattn._typing import FloatArray
from symattn.errors import ComputationFailed
from symattn.model import AttentionModel
from verify.crossing import crossing, difference_at, fit_at
from verify.experiments import Results
from verify.experiments.students import Students, all_rows, parameters, sizes_in_words
from verify.predictions import Figure, Finding, Prediction
from verify.report.figures import Curve, Panel, Points, panels_figure
from verify.theory import TheoryAt, ThresholdOf, trust_of_share
from verify.trained_sets import TrainedSets, training_units
from verify.units import Unit

_BRANCHES = ("semantic", "positional")

# Of the polynomial in alpha that differences are fitted by.
_DEGREE = 3

_WORDS = {
    "alpha_c": ("eps_t, semantic less positional", "the training losses are equal"),
    "alpha_l": ("eps_g, semantic less linear", "the semantic test error is the linear map's"),
}
_DIFFERENCES = {"alpha_c": "train_loss", "alpha_l": "test_error"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """Both minima at sample complexities around alpha_c and alpha_l.

    Attributes
    ----------
    name : str
    model : AttentionModel
    alphas : tuple of float
        Rising. At the first the positional minimum is to be the lower one and the semantic test
        error above that of the best linear map, at the last the other way round.
    sizes : mapping
        Dimension to the number of training sets.
    starts : int
        How many starts each branch has on a training set, all but one with noise: its loss is the
        lowest one found, since the theory speaks of the lowest minimum of a state.
    """

    name: str
    model: AttentionModel
    alphas: tuple[float, ...]
    sizes: Mapping[int, int]
    starts: int = 1

    def units(self, seed: int) -> Sequence[Unit]:
        return [*self._thresholds().values(), *self._theory().values(), *self._training(seed)]

    def finding(self, seed: int, results: Results) -> Finding:
        students = Students(self.model, all_rows(results(u) for u in self._training(seed)))
        lowest = {b: self._of(students, b).lowest(b) for b in _BRANCHES}
        sets = set.intersection(*(found.sets_with(self.alphas) for found in lowest.values()))
        lost = sum(self.sizes.values()) - len(sets)
        lowest = {branch: found.of_sets(sets) for branch, found in lowest.items()}
        middle = lowest["semantic"].where(alpha=self.alphas[len(self.alphas) // 2])
        losses, errors = self._losses(lowest), self._errors(lowest)
        predictions = [
            *self._threshold("alpha_c", losses, middle, results),
            *self._threshold("alpha_l", errors, middle, results),
            *self._order("lower minimum", losses, middle, ("positional", "semantic")),
            *self._order("lower test error", errors, middle, ("linear", "semantic")),
            self._linear(middle),
        ]
        several = (
            f" The loss of a branch is the lowest of {self.starts} starts, all but one with noise, "
            "and so an upper bound of that of the lowest minimum, of which the theory speaks."
            if self.starts > 1
            else ""
        )
        if lost:
            several += f" {lost} training sets lack one of the states somewhere and do not count."
        text = (
            "The training losses of the two minima of one training set are compared, so that what "
            "they have in common is no noise, and the semantic test error with that of the linear "
            "map fitted to the same samples. Differences are fitted by a cubic in alpha for "
            f"every training set ({sizes_in_words(self.sizes)}), and its coefficients "
            "extrapolated to infinite d. Tested is whether the differences are 0 at the thresholds "
            f"of the theory; where they are 0 is shown.{several}",
        )
        return Finding(
            title=f"Thresholds alpha_c and alpha_l at omega = {self.model.omega:g}",
            text=text,
            predictions=tuple(predictions),
            figures=(self._figure(losses, errors, middle, results),),
        )

    def _training(self, seed: int) -> list[TrainedSets]:
        starts = [start for branch in _BRANCHES for start in self._starts(branch)]
        return training_units(
            self.name, self.model, seed, self.sizes, alphas=self.alphas, starts=starts
        )

    def _starts(self, branch: str) -> list[str]:
        return [branch, *(f"{branch} {number}" for number in range(1, self.starts))]

    def _of(self, students: Students, branch: str) -> Students:
        starts = self._starts(branch)
        return Students(self.model, [row for row in students.rows if row["start"] in starts])

    def _thresholds(self) -> dict[str, ThresholdOf]:
        return {n: ThresholdOf(model=self.model, name=n) for n in ("alpha_c", "alpha_l")}

    def _theory(self) -> dict[str, TheoryAt]:
        alphas = tuple(reversed(self.alphas))
        return {b: TheoryAt(model=self.model, alphas=alphas, branch=b) for b in _BRANCHES}

    def _losses(self, lowest: Mapping[str, Students]) -> FloatArray:
        """Semantic less positional training loss, (training sets, alphas)."""
        semantic, positional = (self._table(lowest[b], "train_loss") for b in _BRANCHES)
        return semantic - positional

    def _errors(self, lowest: Mapping[str, Students]) -> FloatArray:
        """Semantic less linear test error, (training sets, alphas)."""
        semantic = lowest["semantic"]
        return self._table(semantic, "test_error") - self._table(semantic, "linear_test_error")

    def _table(self, students: Students, name: str) -> FloatArray:
        columns = [students.where(alpha=alpha).column(name) for alpha in self.alphas]
        return np.stack(columns, axis=1)

    def _threshold(
        self, name: str, difference: FloatArray, middle: Students, results: Results
    ) -> list[Prediction]:
        """The difference at the theory's threshold, and where the measured one is 0."""
        found = results(self._thresholds()[name])
        if "absent" in found:
            return []
        which, alpha = _DIFFERENCES[name], float(found["alpha"])
        known = self._gaps(which, results)
        missed = 0.0
        if len(known) == len(self.alphas):
            # What the polynomial misses of the theory's own curve. Where it is fitted to five
            # places and misses a quartic term, that is at most 1.4 times as much between them.
            curve = tuple(zip(*known, strict=True))
            missed = 2 * max(abs(fit_at(a, *curve, degree=_DEGREE) - gap) for a, gap in known)
        measured = (self.alphas, difference, middle.column("dimension"), middle.controls())
        symbol, words = _WORDS[name]
        share = found["jump_share"]
        tested = Prediction(
            name=f"{self.name}.{name}",
            statement=f"{words} at {name} = {alpha:.5g}",
            symbol=symbol,
            parameters=self._parameters(),
            predicted=0.0,
            predicted_error=missed,
            measured=difference_at(alpha, *measured, degree=_DEGREE),
            note=trust_of_share(share),
            jump_share=share,
        )
        root, note = None, ""
        try:
            root = crossing(*measured, degree=_DEGREE)
        except ComputationFailed as error:
            note = str(error)
        shown = Prediction(
            name=f"{self.name}.{name}.where",
            statement=f"{name}: where the measured difference is 0",
            symbol=name,
            parameters=self._parameters(),
            predicted=alpha,
            predicted_error=found["error"],
            measured=root,
            kind="shown",
            note=note,
            jump_share=share,
        )
        return [tested, shown]

    def _gaps(self, which: str, results: Results) -> list[tuple[float, float]]:
        """The theory's difference that `train_loss` or `test_error` is compared by, where known."""
        theory = {branch: results(unit) for branch, unit in self._theory().items()}
        linear = linear_baseline(self.model).test_error
        known = []
        for alpha in self.alphas:
            semantic, positional = (theory[b][repr(alpha)] for b in _BRANCHES)
            other = linear if which == "test_error" else positional.get("train_loss")
            if "absent" not in semantic and other is not None:
                known.append((alpha, float(semantic[which] - other)))
        return known

    def _order(
        self, what: str, difference: FloatArray, middle: Students, names: tuple[str, str]
    ) -> list[Prediction]:
        """Which is lower at both ends: `names` at the first and the last alpha."""
        predictions = []
        for place, sign, lower in ((0, 1.0, names[0]), (-1, -1.0, names[1])):
            alpha = self.alphas[place]
            other = names[1] if lower == names[0] else names[0]
            symbol = "eps_t" if "minimum" in what else "eps_g"
            predictions.append(
                Prediction(
                    name=f"{self.name}.{what.replace(' ', '-')}@alpha={alpha:g}",
                    statement=f"{what} at alpha = {alpha:g}: {lower}, by more than 0",
                    symbol=f"{symbol}, {other} less {lower}",
                    parameters={**self._parameters(), "alpha": alpha},
                    predicted=0.0,
                    measured=middle.limit_of(sign * difference[:, place]),
                    kind="one-sided",
                )
            )
        return predictions

    def _linear(self, middle: Students) -> Prediction:
        baseline = linear_baseline(self.model)
        return Prediction(
            name=f"{self.name}.linear_test_error",
            statement="test error of the fitted linear map, that of E[T] as d grows",
            symbol="eps_g",
            parameters=self._parameters(),
            predicted=baseline.test_error,
            predicted_error=baseline.error,
            measured=middle.limit("linear_test_error"),
        )

    def _parameters(self) -> dict[str, float | str]:
        described = parameters(self.model, self.alphas[0])
        del described["alpha"]
        return described

    def _figure(
        self, losses: FloatArray, errors: FloatArray, middle: Students, results: Results
    ) -> Figure:
        panels = []
        for which, label, differences in (
            ("train_loss", r"$\epsilon_t$, semantic $-$ positional", losses),
            ("test_error", r"$\epsilon_g$, semantic $-$ linear", errors),
        ):
            known = self._gaps(which, results)
            limits = [middle.limit_of(differences[:, k]) for k in range(len(self.alphas))]
            panels.append(
                Panel(
                    label=label,
                    curves=[
                        Curve(branch="semantic", x=[a for a, _ in known], y=[y for _, y in known])
                    ],
                    points=[
                        Points(
                            branch="semantic",
                            x=self.alphas,
                            y=[e.value for e in limits],
                            error=[e.error for e in limits],
                        )
                    ],
                    line=(0.0, "equal"),
                )
            )
        return Figure(
            name=f"{self.name}-differences",
            caption="Differences that change sign at alpha_c (above) and alpha_l (below): theory "
            "as lines, trained layers extrapolated to infinite d as points.",
            drawing=panels_figure(panels, r"sample complexity $\alpha = n/d$"),
        )
