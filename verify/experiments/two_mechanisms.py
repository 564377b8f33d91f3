"""The histogram task solved by position and by meaning, and both without the restriction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verify.experiments import Results
from verify.experiments.published import Published
from verify.experiments.transformers import Rows, checked, column, means, over_epochs, shown
from verify.histogram.segments import EXAMPLES, Segment, segments
from verify.histogram.task import TRAINED, HistogramTask
from verify.histogram.training import NOISE, RATE, Plan
from verify.predictions import Figure, Finding, Prediction
from verify.report.attention import attention_figure
from verify.report.figures import Panel, Points, panels_figure
from verify.units import Chain, in_groups, training_seeds

_KINDS = ("positional", "semantic")

# Mean and standard deviation over ten runs of 200 epochs.
_PUBLISHED = {"positional": Published(0.9988, 0.0004), "semantic": Published(0.9989, 0.0012)}
_PUBLISHED_EPOCHS = 200

# Of the errors of the commonest count this share is not made any more.
_FAR_ABOVE = 0.75

_PANELS = {
    "train_loss": "training loss",
    "test_loss": "test loss",
    "test_accuracy": "test accuracy",
    "index": "index",
    "rest": "positions and symbols",
}

# Runs in one batch: enough to be fast, and few enough for every core to have one.
_GROUP = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoMechanisms:
    """Transformers whose attention sees half of the embedding, then all of it.

    Attributes
    ----------
    name : str
    task : HistogramTask
    sequences : int
        Drawn; the share `TRAINED` of those that differ is for training.
    runs : int
        Of each restriction.
    epochs, lifted_epochs : tuple of int
        With the restriction, and then without it: when numbers are taken.
    kept : Path
        Directory of the checkpoints.
    """

    name: str
    task: HistogramTask
    sequences: int
    runs: int
    epochs: tuple[int, ...]
    lifted_epochs: tuple[int, ...]
    kept: Path

    def units(self, seed: int) -> Sequence[Chain]:
        return [
            Chain((*self._restricted(plan), *self._lifted(plan)))
            for kind in _KINDS
            for plan in self._plans(seed, kind)
        ]

    def finding(self, seed: int, results: Results) -> Finding:
        predictions: list[Prediction] = []
        panels: dict[str, list[Points]] = {name: [] for name in _PANELS}
        pictures = {}
        epochs = (*self.epochs, *(self.epochs[-1] + e for e in self.lifted_epochs))
        majority = self._plans(seed, _KINDS[0])[0].draw().majority()
        for kind in _KINDS:
            plans = self._plans(seed, kind)
            restricted = over_epochs(results, [self._restricted(plan) for plan in plans])
            lifted = over_epochs(results, [self._lifted(plan) for plan in plans])
            predictions += self._predictions(kind, restricted, lifted, majority)
            for name, points in panels.items():
                values = [column(rows, name) for rows in (*restricted, *lifted)]
                points.append(means(kind, epochs, values, "mean over runs"))
            pictures[f"{kind}, restricted"] = restricted[-1][0]["examples"]
            pictures[f"{kind}, lifted"] = lifted[-1][0]["examples"]
        figures = [self._curves(panels)]
        if all(pictures.values()):
            figures.append(_matrices(self.name, pictures))
        return Finding(
            title="The histogram task, solved by position and by meaning",
            text=self._text(majority),
            predictions=tuple(predictions),
            figures=tuple(figures),
        )

    def _plans(self, seed: int, kind: str) -> list[Plan]:
        seeds = training_seeds(seed, f"{self.name}.{kind}", 0, self.runs)
        (drawn,) = training_seeds(seed, f"{self.name}.sequences", 0, 1)
        return [
            Plan(
                task=self.task,
                restriction=kind,
                seeds=group,
                sequences=self.sequences,
                sequences_seed=drawn,
            )
            for group in in_groups(seeds, _GROUP)
        ]

    def _restricted(self, plan: Plan) -> list[Segment]:
        return list(segments(self.name, plan, self.epochs, self.kept))

    def _lifted(self, plan: Plan) -> list[Segment]:
        free = plan.lift(self.epochs[-1])
        return list(segments(self.name, free, self.lifted_epochs, self.kept))

    def _predictions(
        self, kind: str, restricted: Sequence[Rows], lifted: Sequence[Rows], majority: float
    ) -> list[Prediction]:
        sign = 1.0 if kind == "semantic" else -1.0
        end, last = restricted[-1], lifted[-1]
        before, after = (column(rows, "test_accuracy") for rows in (end, last))
        solved = majority + _FAR_ABOVE * (1 - majority)
        published = _PUBLISHED[kind]
        words = f"{kind} solution, lifted for {self.lifted_epochs[-1]} epochs"
        loss = column(last, "train_loss") - column(end, "train_loss")
        return [
            checked(
                before,
                solved,
                self.runs,
                name=f"{self.name}.{kind}.accuracy",
                statement=f"accuracy of {kind} attention after {self.epochs[-1]} epochs, far above "
                "that of the commonest count",
                symbol="accuracy",
                note=f"published: {published.mean:g} ± {published.deviation:g} after "
                f"{_PUBLISHED_EPOCHS} epochs",
            ),
            checked(
                after,
                solved,
                self.runs,
                name=f"{self.name}.{kind}.accuracy-lifted",
                statement=f"accuracy of the {words}, far above that of the commonest count",
                symbol="accuracy",
            ),
            checked(
                sign * column(last, "index"),
                0.0,
                self.runs,
                name=f"{self.name}.{kind}.index-lifted",
                statement=f"{words}: attention is still {kind}, by the sign of its index",
                symbol="index" if sign > 0 else "minus the index",
            ),
            shown(
                column(last, "rest"),
                name=f"{self.name}.{kind}.rest-lifted",
                statement=f"{words}: part of attention that takes positions and symbols together",
                symbol="1 - J",
            ),
            shown(
                after - before,
                name=f"{self.name}.{kind}.gain-lifted",
                statement=f"{words}: gain in accuracy since the restriction",
                symbol="accuracy",
            ),
            shown(
                loss,
                name=f"{self.name}.{kind}.loss-lifted",
                statement=f"{words}: change of the training loss since the restriction",
                symbol="training loss",
            ),
            shown(
                column(last, "moved") / column(last, "from_random"),
                name=f"{self.name}.{kind}.moved-lifted",
                statement=f"{words}: distance from where it was lifted, in units of that from the "
                "random start",
                symbol="distance",
            ),
            *(
                shown(
                    column(rows, "gradient_norm"),
                    name=f"{self.name}.{kind}.gradient-lifted@epoch={epoch}",
                    statement=f"{kind} solution, lifted for {epoch} epochs: norm of the gradient "
                    "of the training loss",
                    symbol="gradient",
                )
                for epoch, rows in {
                    self.lifted_epochs[0]: lifted[0],
                    self.lifted_epochs[-1]: last,
                }.items()
            ),
        ]

    def _text(self, majority: float) -> tuple[str, ...]:
        return (
            f"A layer of attention counts how often each of {self.task.length} symbols occurs in "
            f"its sequence, of {self.task.symbols} different ones. {self.runs} transformers of "
            f"each kind were trained for {self.epochs[-1]} epochs by Adam, on the same "
            f"{TRAINED:g} of {self.sequences} sequences, with queries and keys that see the "
            "positional or the semantic half of the embedding alone. The commonest count is right "
            f"in {majority:.4f} of all places; far above means to leave less than "
            f"{1 - _FAR_ABOVE:.0%} of the errors of that.",
            "Then the restriction was lifted: it became part of the weights, to which noise of "
            f"standard deviation {NOISE:g} was added, and gradient descent with step {RATE:g} went "
            f"on for {self.lifted_epochs[-1]} epochs with all weights free. Gradient descent that "
            "slow shows that a solution is not left within so many epochs, where the gradient and "
            "the distances stand beside it; it cannot prove a minimum. The index of attention is "
            "-1 where symbols add nothing to what positions explain of it, and 1 where positions "
            "add nothing to what symbols explain. Errors are those over runs on this one data set.",
        )

    def _curves(self, panels: Mapping[str, Sequence[Points]]) -> Figure:
        return Figure(
            name=f"{self.name}-training",
            caption="Losses, accuracy, and the index of attention with the part of it that takes "
            "positions and symbols together: means over runs with standard errors. The restriction "
            f"is lifted at epoch {self.epochs[-1]}.",
            drawing=panels_figure(
                [
                    Panel(label=label, curves=[], points=panels[name], logarithmic="loss" in name)
                    for name, label in _PANELS.items()
                ],
                "epoch",
            ),
        )


def _matrices(name: str, pictures: Mapping[str, Any]) -> Figure:
    return Figure(
        name=f"{name}-attention",
        caption="Attention matrices of the first run of each kind for three sequences, which name "
        "the rows and columns; a dot marks a pair of equal symbols.",
        drawing=attention_figure(pictures, EXAMPLES),
    )
