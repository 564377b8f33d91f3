"""How the numbers of a minimum concentrate: their scatter over training sets against d."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from symattn.model import AttentionModel
from verify.experiments import Results
from verify.experiments.students import OBSERVABLES, OF_BRANCH, Students, all_rows, parameters
from verify.power_law import power_law
from verify.predictions import Figure, Finding, Prediction
from verify.report.figures import concentration_figure
from verify.trained_sets import TrainedSets, training_units
from verify.units import Unit

_EXPONENT = -0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Concentration:
    """Many training sets at dimensions from small to large.

    Attributes
    ----------
    name : str
    model : AttentionModel
    alpha : float
    sizes : mapping
        Dimension to the number of training sets.
    least : int
        The smallest dimension that the slope is judged from; smaller ones are shown, where
        training sets often have no minimum of the branch.
    """

    name: str
    model: AttentionModel
    alpha: float
    sizes: Mapping[int, int]
    least: int

    def units(self, seed: int) -> Sequence[Unit]:
        return self._training(seed)

    def finding(self, seed: int, results: Results) -> Finding:
        students = Students(self.model, all_rows(results(u) for u in self._training(seed)))
        predictions, figures = [], []
        for branch, observables in OF_BRANCH.items():
            started = students.where(start=branch)
            chosen = started.in_state(branch)
            left = len(started.rows) - len(chosen.rows)
            # Every second training set has the other sign of what is 0 by symmetry; moduli do not
            # matter for what is not.
            values = np.abs(np.stack([chosen.column(name) for name in observables], axis=1))
            dimensions = chosen.column("dimension")
            for least, kind in ((self.least, "two-sided"), (min(self.sizes), "shown")):
                used = dimensions >= least
                predictions.append(
                    Prediction(
                        name=f"{self.name}.{branch}.slope.from-{least}",
                        statement=f"exponent of the {branch} minimum's fluctuations in d, for d "
                        f"from {least} to {max(self.sizes)}",
                        symbol="slope",
                        parameters=parameters(self.model, self.alpha),
                        predicted=_EXPONENT,
                        measured=power_law(dimensions[used], values[used]),
                        kind="two-sided" if kind == "two-sided" else "shown",
                        note=f"{left} of {len(started.rows)} runs left the state, and do not count"
                        if left
                        else "",
                    )
                )
            levels = np.unique(dimensions)
            deviations = {
                OBSERVABLES[name][1]: [values[dimensions == d, i].std(ddof=1) for d in levels]
                for i, name in enumerate(observables)
            }
            figures.append(
                Figure(
                    name=f"{self.name}-{branch}",
                    caption=f"Standard deviations over training sets of the {branch} minimum "
                    f"against d, with the slope {_EXPONENT:g} through each.",
                    drawing=concentration_figure(levels, deviations, _EXPONENT),
                )
            )
        text = (
            "The theory takes every overlap and loss to be the same for all training sets as d "
            "grows, with fluctuations that fall like d^(-1/2). The slope is the mean over overlaps "
            f"and losses, at alpha = {self.alpha:g}, over the runs that stay in their state.",
        )
        return Finding(
            title="Concentration", text=text, predictions=tuple(predictions), figures=tuple(figures)
        )

    def _training(self, seed: int) -> list[TrainedSets]:
        return training_units(
            self.name,
            self.model,
            seed,
            self.sizes,
            alphas=(self.alpha,),
            starts=tuple(OF_BRANCH),
        )
