"""Overlaps, training losses and test errors of trained minima against state evolution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from symattn.errors import ComputationFailed
from symattn.model import AttentionModel
from verify.experiments import Results
from verify.experiments.students import (
    OBSERVABLES,
    OF_BRANCH,
    TEX,
    Students,
    all_rows,
    parameters,
    sizes_in_words,
)
from verify.predictions import Figure, Finding, Prediction
from verify.report.figures import Curve, Limit, Panel, Points, limits_figure, panels_figure
from verify.statistics import Estimate
from verify.theory import TheoryAt, judged, jump_share
from verify.trained_sets import TrainedSets, training_units
from verify.units import Unit

_STARTS = {"semantic": "Q = Q* (semantic)", "positional": "Q along the positions (positional)"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Minima:
    """The minima from the starts of both branches, at several sample complexities.

    Attributes
    ----------
    name, title : str
    model : AttentionModel
    alphas : tuple of float
    sizes : mapping
        Dimension to the number of training sets.
    branches : tuple of str
        Semantic, positional, or both.
    curve : tuple of float
        More sample complexities for the lines of the figure.
    """

    name: str
    title: str
    model: AttentionModel
    alphas: tuple[float, ...]
    sizes: Mapping[int, int]
    branches: tuple[str, ...] = ("semantic", "positional")
    curve: tuple[float, ...] = ()

    def units(self, seed: int) -> Sequence[Unit]:
        return [*self._theory().values(), *self._training(seed)]

    def finding(self, seed: int, results: Results) -> Finding:
        students = Students(self.model, all_rows(results(u) for u in self._training(seed)))
        theory = {branch: results(unit) for branch, unit in self._theory().items()}
        predictions: list[Prediction] = []
        measured: dict[tuple[str, float, str], Estimate] = {}
        for branch in self.branches:
            for alpha in self.alphas:
                started = students.where(start=branch, alpha=alpha)
                chosen = started.in_state(branch)
                left = len(started.rows) - len(chosen.rows)
                point = theory[branch][repr(alpha)]
                for observable in OF_BRANCH[branch]:
                    try:
                        measured[branch, alpha, observable] = chosen.limit(observable)
                    except ComputationFailed:
                        continue  # too few are in the state: the note says how many left it
                for observable in OF_BRANCH[branch]:
                    estimate = measured.get((branch, alpha, observable))
                    predictions.append(
                        self._prediction(branch, alpha, observable, estimate, point, chosen, left)
                    )
        text = (
            f"Students started at {' and '.join(_STARTS[b] for b in self.branches)} were "
            f"trained to a gradient of norm 1e-6, on {sizes_in_words(self.sizes)}. "
            "Every number is extrapolated to infinite d by a fit a + b/d, with "
            "|Q*|^2/d and the loss of Q = 0, whose limits are known, as control variates.",
        )
        return Finding(
            title=self.title,
            text=text,
            predictions=tuple(predictions),
            figures=tuple(self._figures(students, theory, measured)),
        )

    def _training(self, seed: int) -> list[TrainedSets]:
        return training_units(
            self.name, self.model, seed, self.sizes, alphas=self.alphas, starts=self.branches
        )

    def _theory(self) -> dict[str, TheoryAt]:
        alphas = tuple(sorted({*self.alphas, *self.curve}, reverse=True))
        return {b: TheoryAt(model=self.model, alphas=alphas, branch=b) for b in self.branches}

    def _prediction(
        self,
        branch: str,
        alpha: float,
        observable: str,
        estimate: Estimate | None,
        point: Mapping[str, Any],
        students: Students,
        left: int,
    ) -> Prediction:
        symbol, words = OBSERVABLES[observable]
        kind, note = judged(point, branch)
        absent = "absent" in point
        common = 0.0
        if observable == "test_error" and students.rows:
            # The points that test errors are means over are the same for all training sets.
            common = float(students.column("test_error_error").max())
        if left:
            strays = f"{left} of {left + len(students.rows)} runs left the state, and do not count"
            note = "; ".join(part for part in (strays, note) if part)
        return Prediction(
            name=f"{self.name}.{branch}.{observable}@alpha={alpha:g}",
            statement=f"{words} of the {branch} minimum at alpha = {alpha:g}",
            symbol=symbol,
            parameters=parameters(self.model, alpha),
            predicted=None if absent else point[observable],
            predicted_error=0.0 if absent else point["errors"][observable] + common,
            measured=estimate,
            kind="shown" if estimate is None else kind,
            note=note,
            jump_share=jump_share(point),
        )

    def _figures(
        self,
        students: Students,
        theory: Mapping[str, Mapping[str, Any]],
        measured: Mapping[tuple[str, float, str], Estimate],
    ) -> list[Figure]:
        figures = []
        if len(self.alphas) > 1:
            panels = [
                Panel(
                    label=label,
                    curves=[self._curve(branch, name, theory) for branch, name in lines],
                    points=[self._points(branch, name, measured) for branch, name in lines],
                )
                for label, lines in self._panels()
            ]
            figures.append(
                Figure(
                    name=f"{self.name}-alpha",
                    caption="Minima against the sample complexity: theory as lines, trained "
                    "layers extrapolated to infinite d as points with their standard errors.",
                    drawing=panels_figure(panels, r"sample complexity $\alpha = n/d$"),
                )
            )
        alpha = self.alphas[len(self.alphas) // 2]
        limits = []
        for branch in self.branches:
            chosen = students.where(start=branch, alpha=alpha).in_state(branch)
            for observable in OF_BRANCH[branch][:3]:
                if (branch, alpha, observable) not in measured:
                    continue
                point = theory[branch][repr(alpha)]
                limits.append(
                    Limit(
                        label=TEX[observable],
                        branch=branch,
                        dimensions=chosen.column("dimension"),
                        values=chosen.without_controls(observable),
                        estimate=measured[branch, alpha, observable],
                        predicted=point.get(observable),
                    )
                )
        if not limits:
            return figures
        figures.append(
            Figure(
                name=f"{self.name}-limits",
                caption=f"The extrapolation to infinite d at alpha = {alpha:g}: every training set "
                "as a point, less what the control variates explain, the fit, and the theory.",
                drawing=limits_figure(limits),
            )
        )
        return figures

    def _panels(self) -> list[tuple[str, list[tuple[str, str]]]]:
        panels = [(TEX["q"], [(b, "q") for b in self.branches])]
        own = {"positional": "m", "semantic": "theta"}
        panels += [(TEX[own[b]], [(b, own[b])]) for b in self.branches]
        panels += [(TEX[n], [(b, n) for b in self.branches]) for n in ("train_loss", "test_error")]
        return panels

    def _curve(self, branch: str, name: str, theory: Mapping[str, Mapping[str, Any]]) -> Curve:
        points = sorted((float(a), p[name]) for a, p in theory[branch].items() if name in p)
        return Curve(branch=branch, x=[a for a, _ in points], y=[y for _, y in points])

    def _points(
        self, branch: str, name: str, measured: Mapping[tuple[str, float, str], Estimate]
    ) -> Points:
        found = {a: measured[branch, a, name] for a in self.alphas if (branch, a, name) in measured}
        return Points(
            branch=branch,
            x=list(found),
            y=[estimate.value for estimate in found.values()],
            error=[estimate.error for estimate in found.values()],
        )
