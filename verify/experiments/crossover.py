"""Which mechanism transformers find by themselves, over the size of the training set."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from scipy import stats

from symattn._typing import FloatArray
from verify.experiments import Results
from verify.experiments.transformers import Rows, column, means, over_epochs, shown
from verify.histogram.segments import Segment, segments
from verify.histogram.task import TRAINED, HistogramTask
from verify.histogram.training import BATCH, Plan
from verify.predictions import Figure, Finding
from verify.report.figures import Panel, Points, panels_figure
from verify.units import Chain, training_seeds

# Of the interval of a mean index.
_CONFIDENCE = 0.95

_NUMBERS = (
    ("test_accuracy", "accuracy", "accuracy on the test set"),
    ("index", "index", "index of attention, 1 if semantic and -1 if positional"),
    ("rest", "1 - J", "part of attention that takes positions and symbols together"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossover:
    """Unrestricted transformers from random starts, trained on few sequences and on many.

    Attributes
    ----------
    name : str
    task : HistogramTask
    sequences : int
        Drawn, for the largest training set and the test set.
    counts : tuple of int
        Sizes of training sets.
    runs : int
        At each size.
    steps : int
        Of 32 sequences; all sizes have about as many.
    readings : int
        How often numbers are taken, evenly.
    kept : Path
        Directory of the checkpoints.
    """

    name: str
    task: HistogramTask
    sequences: int
    counts: tuple[int, ...]
    runs: int
    steps: int
    readings: int
    kept: Path

    def units(self, seed: int) -> Sequence[Chain]:
        return [Chain(tuple(self._segments(seed, count))) for count in self.counts]

    def finding(self, seed: int, results: Results) -> Finding:
        rows = {n: over_epochs(results, [self._segments(seed, n)]) for n in self.counts}
        ends = {n: over[-1] for n, over in rows.items()}
        predictions = [
            shown(
                column(end, name),
                name=f"{self.name}.{name}@n={n}",
                statement=f"{words}, trained on {n} sequences",
                symbol=symbol,
            )
            for n, end in ends.items()
            for name, symbol, words in _NUMBERS
        ]
        return Finding(
            title="Which mechanism is found without a restriction",
            text=(
                f"{self.runs} transformers for each size n of the training set, from random "
                "weights, with nothing masked and each on sequences of its own (out of "
                f"{TRAINED:g} of {self.sequences}), were trained by Adam for about {self.steps} "
                f"steps of {BATCH} sequences, or of all where there are fewer. Few sequences are "
                "so seen more often than many.",
                _sentence(ends),
            ),
            predictions=tuple(predictions),
            figures=(self._over_sizes(ends), self._over_steps(rows)),
        )

    def _segments(self, seed: int, count: int) -> list[Segment]:
        (drawn,) = training_seeds(seed, f"{self.name}.sequences", 0, 1)
        plan = Plan(
            task=self.task,
            seeds=training_seeds(seed, self.name, count, self.runs),
            sequences=self.sequences,
            sequences_seed=drawn,
            train_count=count,
        )
        return list(segments(self.name, plan, self._epochs(count), self.kept))

    def _epochs(self, count: int) -> list[int]:
        """When numbers are taken: about evenly, in whole passes over the sequences."""
        a_pass = math.ceil(count / BATCH)
        ends = [round(self.steps * k / self.readings / a_pass) for k in range(1, self.readings + 1)]
        return sorted({max(1, end) for end in ends})

    def _over_sizes(self, ends: Mapping[int, Rows]) -> Figure:
        panels = [
            Panel(
                label=symbol,
                curves=[],
                points=[self._means(list(ends), name, list(ends.values()))],
                line=(0.0, "neither") if name == "index" else None,
            )
            for name, symbol, _ in _NUMBERS
        ]
        return Figure(
            name=f"{self.name}-sizes",
            caption="After training without a restriction, against the number of training "
            "sequences: means over runs with standard errors.",
            drawing=panels_figure(panels, "training sequences $n$", logarithmic=True),
        )

    def _over_steps(self, rows: Mapping[int, Sequence[Rows]]) -> Figure:
        panels = []
        for n, over in rows.items():
            steps = [math.ceil(n / BATCH) * epoch for epoch in self._epochs(n)]
            points = [self._means(steps, "index", over)]
            panels.append(
                Panel(label=f"index, $n$ = {n}", curves=[], points=points, line=(0.0, "neither"))
            )
        return Figure(
            name=f"{self.name}-steps",
            caption="The index of attention during training, for each number of sequences.",
            drawing=panels_figure(panels, "step"),
        )

    def _means(self, x: Sequence[float], name: str, rows: Sequence[Rows]) -> Points:
        return means("unrestricted", x, [column(each, name) for each in rows], "mean over runs")


def _sentence(ends: Mapping[int, Rows]) -> str:
    """What the sizes say about a crossover: the mechanism that each is clear about."""
    clear = {n: _mechanism(column(end, "index")) for n, end in ends.items()}
    told = "; ".join(f"{name or 'neither clearly'} at n = {n}" for n, name in clear.items())
    named = list(dict.fromkeys(name for name in clear.values() if name))
    if len(named) > 1:
        verdict = "Both mechanisms occur: there is a crossover with the amount of data"
    elif len(named) == 1:
        verdict = f"There is no crossover: every size that is clear is {named[0]}"
    else:
        verdict = "No size is clear"
    return (
        f"By the mean index, where its {_CONFIDENCE:.0%} interval leaves out 0, attention is "
        f"{told}. {verdict}."
    )


def _mechanism(indices: FloatArray) -> str:
    """Semantic or positional, or neither where the interval of the mean index has 0 in it."""
    if indices.size < 2:
        return ""
    margin = stats.t.ppf((1 + _CONFIDENCE) / 2, indices.size - 1) * stats.sem(indices)
    mean = float(indices.mean())
    if abs(mean) <= margin:
        return ""
    return "semantic" if mean > 0 else "positional"
