"""Message passing against state evolution, iteration by iteration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch

from symattn.model import AttentionModel
from symattn.overlaps import Overlaps
from verify.device import Device
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
from verify.message_passing import (
    predicted_trajectory,
    run_message_passing,
    weights_with_overlaps,
)
from verify.predictions import Figure, Finding, Prediction
from verify.report.figures import Curve, Panel, Points, panels_figure
from verify.risk import Risk
from verify.samples import draw_samples
from verify.statistics import Estimate, extrapolate
from verify.trained_sets import measured_controls
from verify.training import minimise
from verify.units import Unit, in_groups, training_seeds, unit_key

_SEEDS_OF_A_UNIT = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagePassing:
    """Message passing on several training sets, from weights of given overlaps.

    The result has a row for every training set and iteration: its overlaps after it, V, the
    control variates, and the distance of the last Q from the minimum of the risk that training
    from it leads to, relative to the length of that.
    """

    experiment: str
    model: AttentionModel
    alpha: float
    start: Overlaps
    iterations: int
    dimension: int
    seeds: tuple[int, ...]

    @property
    def key(self) -> str:
        everything = {**asdict(self), "model": self.model.to_dict()}
        return unit_key(self.experiment, f"d={self.dimension}", everything)

    @property
    def cost(self) -> float:
        return len(self.seeds) * self.iterations * self.alpha * self.dimension * 1.2e-4

    def run(self, device: Device) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        for seed in self.seeds:
            count = round(self.alpha * self.dimension)
            samples = draw_samples(self.model, self.dimension, count, [seed], device=device.kind)
            generator = torch.Generator(device=device.kind).manual_seed(seed + 1)
            weights = weights_with_overlaps(samples, self.start, generator)
            path = run_message_passing(samples, weights, self.start.V, self.iterations)
            risk = Risk.of(samples, 1)
            controls = measured_controls(risk)
            last = path.weights[:, None, None]
            nearest = minimise(risk, last).weights
            distance = torch.linalg.vector_norm(last - nearest) / torch.linalg.vector_norm(nearest)
            for iteration, state in enumerate(path.states[1:], start=1):
                rows.append(
                    {
                        "seed": seed,
                        "dimension": self.dimension,
                        "alpha": self.alpha,
                        "iteration": iteration,
                        **{name: float(value[0]) for name, value in state._asdict().items()},
                        **{name: float(value[0, 0]) for name, value in controls.items()},
                        "distance": float(distance),
                    }
                )
        return rows


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictedPath:
    """State evolution from the same overlaps: rows of overlaps and their errors by iteration."""

    model: AttentionModel
    alpha: float
    start: Overlaps
    iterations: int

    @property
    def key(self) -> str:
        everything = {**asdict(self), "model": self.model.to_dict()}
        return unit_key("state evolution", f"omega={self.model.omega}", everything)

    @property
    def cost(self) -> float:
        return 1.0 * self.iterations

    def run(self, device: Device) -> list[dict[str, Any]]:
        found = predicted_trajectory(self.model, self.alpha, self.start, self.iterations)
        return [
            {**state._asdict(), "errors": error._asdict()}
            for state, error in zip(found.states, found.errors, strict=True)
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trajectory:
    """The first iterations of message passing.

    Attributes
    ----------
    name : str
    branch : str
        Towards whose fixed point it goes.
    model : AttentionModel
    alpha : float
    start : Overlaps
        Of the first weights, and the response to start from.
    iterations : int
    sizes : mapping
        Dimension to the number of training sets.
    """

    name: str
    branch: str
    model: AttentionModel
    alpha: float
    start: Overlaps
    iterations: int
    sizes: Mapping[int, int]

    def units(self, seed: int) -> Sequence[Unit]:
        return [self._predicted(), *self._measured(seed)]

    def finding(self, seed: int, results: Results) -> Finding:
        students = Students(self.model, all_rows(results(u) for u in self._measured(seed)))
        path = results(self._predicted())
        names = (*OF_BRANCH[self.branch][:2], "V")
        limits: dict[tuple[str, int], Estimate] = {}
        predictions = []
        for iteration in range(1, self.iterations + 1):
            chosen = students.where(iteration=iteration)
            for name in names:
                limits[name, iteration] = chosen.limit(name)
                predictions.append(
                    Prediction(
                        name=f"{self.name}.{name}.iteration-{iteration}",
                        statement=f"{_WORDS[name]} after iteration {iteration}",
                        symbol=name,
                        parameters=parameters(self.model, self.alpha),
                        predicted=path[iteration][name],
                        predicted_error=path[iteration]["errors"][name],
                        measured=limits[name, iteration],
                    )
                )
        predictions += [
            Prediction(
                name=f"{self.name}.distance@d={dimension}",
                statement="relative distance of the last iterate from the minimum of the risk next "
                f"to it, d = {dimension}",
                symbol="|Q - Q'|/|Q'|",
                parameters=parameters(self.model, self.alpha),
                measured=extrapolate(chosen.column("distance"), chosen.column("dimension")),
                kind="shown",
            )
            for dimension in self.sizes
            for chosen in (students.where(iteration=self.iterations, dimension=dimension),)
        ]
        panels = [
            Panel(
                label=TEX[name],
                curves=[
                    Curve(
                        branch=self.branch,
                        x=range(self.iterations + 1),
                        y=[row[name] for row in path],
                    )
                ],
                points=[
                    Points(
                        branch=self.branch,
                        x=range(1, self.iterations + 1),
                        y=[limits[name, t].value for t in range(1, self.iterations + 1)],
                        error=[limits[name, t].error for t in range(1, self.iterations + 1)],
                    )
                ],
            )
            for name in names
        ]
        text = (
            "Message passing (GAMP) on training sets, from weights independent of them whose "
            f"overlaps are q = {self.start.q:g}, m = {self.start.m:g}, "
            f"theta = {self.start.theta:g} with the response V = {self.start.V:g}; "
            f"{sizes_in_words(self.sizes)}, extrapolated to infinite d. At "
            f"alpha = {self.alpha:g}.",
        )
        return Finding(
            title=f"Message passing towards the {self.branch} fixed point at lambda = "
            f"{self.model.lam:g}",
            text=text,
            predictions=tuple(predictions),
            figures=(
                Figure(
                    name=f"{self.name}-iterations",
                    caption="Overlaps and response by iteration: state evolution as lines, "
                    "message passing extrapolated to infinite d as points.",
                    drawing=panels_figure(panels, "iteration"),
                ),
            ),
        )

    def _predicted(self) -> PredictedPath:
        return PredictedPath(
            model=self.model, alpha=self.alpha, start=self.start, iterations=self.iterations
        )

    def _measured(self, seed: int) -> list[MessagePassing]:
        units = []
        for dimension, count in self.sizes.items():
            seeds = training_seeds(seed, self.name, dimension, count)
            whole = MessagePassing(
                experiment=self.name,
                model=self.model,
                alpha=self.alpha,
                start=self.start,
                iterations=self.iterations,
                dimension=dimension,
                seeds=seeds,
            )
            units += [replace(whole, seeds=g) for g in in_groups(seeds, _SEEDS_OF_A_UNIT)]
        return units


_WORDS = {**{name: words for name, (_, words) in OBSERVABLES.items()}, "V": "response V"}
