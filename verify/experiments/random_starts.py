"""Where training ends that starts without any information."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scipy import stats

from symattn.model import AttentionModel
from verify.experiments import Results
from verify.experiments.states import LEAST_COSINE, STATES, state
from verify.experiments.students import Students, all_rows, parameters, sizes_in_words
from verify.predictions import Figure, Finding, Prediction
from verify.report.fractions import Fractions, fractions_figure
from verify.share import share
from verify.theory import ThresholdOf
from verify.trained_sets import TrainedSets, training_units
from verify.units import Unit

_INFORMED = ("semantic", "positional")
_WORDS = {
    "semantic": "the semantic state",
    "positional": "the positional state",
    "neither": "neither state",
}
_THRESHOLDS = {"alpha_c": r"$\alpha_c$", "spinodal_semantic": "semantic spinodal"}

# Both losses are those of minima, and exact to many more digits than this.
_SAME = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomStarts:
    """Adam from one random start a training set, at several sample complexities.

    Attributes
    ----------
    name : str
    model : AttentionModel
    alphas : tuple of float
        Rising.
    sizes : mapping
        Dimension to the number of training sets.
    """

    name: str
    model: AttentionModel
    alphas: tuple[float, ...]
    sizes: Mapping[int, int]

    def units(self, seed: int) -> Sequence[Unit]:
        return [*self._thresholds().values(), *self._random(seed), *self._informed(seed)]

    def finding(self, seed: int, results: Results) -> Finding:
        random = Students(self.model, all_rows(results(u) for u in self._random(seed)))
        informed = Students(self.model, all_rows(results(u) for u in self._informed(seed)))
        states = {
            (d, alpha): [
                state(r, self.model.rho) for r in random.where(dimension=d, alpha=alpha).rows
            ]
            for d in self.sizes
            for alpha in self.alphas
        }
        predictions = [
            *(
                self._share(
                    f"{outcome}@d={d},alpha={alpha:g}",
                    f"share of random starts that end in {_WORDS[outcome]} at d = {d} and "
                    f"alpha = {alpha:g}",
                    alpha,
                    found.count(outcome),
                    len(found),
                )
                for (d, alpha), found in states.items()
                for outcome in STATES
            ),
            *(self._above(random, informed, d, a) for d in self.sizes for a in self.alphas),
        ]
        text = (
            "Students were trained with Adam (step 0.01, 2500 steps) from one random start a "
            "training set, with entries of standard deviation 0.1, and with the same samples from "
            "the start of either branch, on "
            f"{sizes_in_words(self.sizes)}; smaller sample complexities take the first samples of "
            "larger ones, so that fractions at different alpha are not independent. The gradient's "
            f"norm after Adam is {random.column('gradient_norm').max():.1e} at most.",
            "A run ended in the state whose direction, Q* or p_1, its Q has the larger cosine "
            f"with, and in neither if both are below {LEAST_COSINE:g}. The theory says which "
            "minima there are and which is the lower one, not where a random start leads: nothing "
            "here is a test of it. A share k/n is shown as (k + 1/2)/(n + 1) with half the width "
            "of Wilson's interval of one standard deviation; intervals in the figure are those of "
            "95 %.",
        )
        return Finding(
            title="Random starts",
            text=text,
            predictions=tuple(predictions),
            figures=(self._figure(states, results),),
        )

    def _random(self, seed: int) -> list[TrainedSets]:
        return training_units(
            self.name,
            self.model,
            seed,
            self.sizes,
            alphas=self.alphas,
            starts=("random",),
            method="adam",
        )

    def _informed(self, seed: int) -> list[TrainedSets]:
        """The same training sets, since their seeds come from the experiment's name."""
        return training_units(
            self.name, self.model, seed, self.sizes, alphas=self.alphas, starts=_INFORMED
        )

    def _thresholds(self) -> dict[str, ThresholdOf]:
        return {name: ThresholdOf(model=self.model, name=name) for name in _THRESHOLDS}

    def _above(
        self, random: Students, informed: Students, dimension: int, alpha: float
    ) -> Prediction:
        """How often the random start ends above the lower one of the two informed starts."""
        lower: dict[int, float] = {}
        for row in informed.where(dimension=dimension, alpha=alpha).rows:
            lower[row["seed"]] = min(row["train_loss"], lower.get(row["seed"], math.inf))
        rows = random.where(dimension=dimension, alpha=alpha).rows
        above = [row["train_loss"] > lower[row["seed"]] * (1 + _SAME) for row in rows]
        return self._share(
            f"above@d={dimension},alpha={alpha:g}",
            "share of random starts that end at a higher loss than the better one of the informed "
            f"starts at d = {dimension} and alpha = {alpha:g}",
            alpha,
            above.count(True),
            len(above),
        )

    def _share(self, name: str, statement: str, alpha: float, count: int, of: int) -> Prediction:
        return Prediction(
            name=f"{self.name}.{name}",
            statement=statement,
            symbol="share",
            parameters=parameters(self.model, alpha),
            measured=share(count, of),
            kind="shown",
            note=f"{count} of {of}",
        )

    def _figure(
        self, states: Mapping[tuple[int, float], Sequence[str]], results: Results
    ) -> Figure:
        found = {name: results(unit) for name, unit in self._thresholds().items()}
        return Figure(
            name=f"{self.name}-fractions",
            caption="Where training from a random start ends, against the sample complexity: "
            "fractions of the training sets with Wilson's 95 % intervals. Vertical lines: where "
            "the losses of the two states cross, and where the semantic state appears.",
            drawing=fractions_figure(
                self.alphas,
                {
                    f"d = {d}": [
                        self._fractions(outcome, [states[d, alpha] for alpha in self.alphas])
                        for outcome in STATES
                    ]
                    for d in self.sizes
                },
                {
                    _THRESHOLDS[name]: threshold["alpha"]
                    for name, threshold in found.items()
                    if "absent" not in threshold
                },
            ),
        )

    def _fractions(self, outcome: str, states: Sequence[Sequence[str]]) -> Fractions:
        counts = [found.count(outcome) for found in states]
        intervals = [
            stats.binomtest(k, len(found)).proportion_ci(method="wilson")
            for k, found in zip(counts, states, strict=True)
        ]
        return Fractions(
            outcome=outcome,
            values=[k / len(found) for k, found in zip(counts, states, strict=True)],
            low=[interval.low for interval in intervals],
            high=[interval.high for interval in intervals],
        )
