"""What a student of rank two does with its second column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from symattn.errors import InvalidInput
from symattn.model import AttentionModel
from verify.experiments import Results
from verify.experiments.students import (
    OBSERVABLES,
    OF_BRANCH,
    Students,
    all_rows,
    parameters,
    sizes_in_words,
)
from verify.predictions import Finding, Prediction
from verify.ranks import Ranks
from verify.share import share
from verify.theory import TheoryAt
from verify.units import Unit, in_groups, training_seeds

# A second column of 0 stays 0, since the gradient by it is 0 then: starts have noise.
_STARTS = {"semantic": "semantic 1", "positional": "positional 1", "random": "random"}

_WORDS = {
    **{name: words for name, (_, words) in OBSERVABLES.items()},
    "m": "norm of m over the columns",
    "theta": "norm of theta over the columns",
    "q": "trace of q",
    "q_1": "larger eigenvalue of q",
    "q_2": "smaller eigenvalue of q",
    "theta_1": "theta along the axis of the larger eigenvalue",
    "theta_2": "theta along the axis of the smaller eigenvalue",
    "m_1": "m along the axis of the larger eigenvalue",
    "m_2": "m along the axis of the smaller eigenvalue",
}

# Where the smaller eigenvalue is below this share of the larger one, the second column vanished.
_VANISHED = 1e-6

_SETS_OF_A_UNIT = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class RankTwo:
    """Students of rank two and one on the same training sets.

    Attributes
    ----------
    name : str
    model : AttentionModel
        Of rank one; its minima are those of the theory.
    alpha : float
    sizes : mapping
        Dimension to the number of training sets.
    """

    name: str
    model: AttentionModel
    alpha: float
    sizes: Mapping[int, int]

    def __post_init__(self) -> None:
        if self.model.student_rank != 1:
            raise InvalidInput.of("student_rank", self.model.student_rank, "1 of the model given")

    def units(self, seed: int) -> Sequence[Unit]:
        return [*self._theory().values(), *self._training(seed)]

    def finding(self, seed: int, results: Results) -> Finding:
        students = Students(self.model, all_rows(results(u) for u in self._training(seed)))
        theory = {b: results(u)[repr(self.alpha)] for b, u in self._theory().items()}
        predictions = []
        for kind, start in _STARTS.items():
            two = students.where(rank=2, start=start)
            predictions += [self._number(2, kind, name, two) for name in _WORDS]
            predictions.append(self._vanished(kind, two))
            one = students.where(rank=1, start=start)
            predictions += [
                self._number(1, kind, name, one, theory.get(kind))
                for name in OF_BRANCH.get(kind, tuple(OBSERVABLES))
            ]
            predictions.append(self._gain(kind, one, two))
        return Finding(
            title=f"Students of rank two at alpha = {self.alpha:g}",
            text=self._text(students, theory),
            predictions=tuple(predictions),
        )

    def _training(self, seed: int) -> list[Ranks]:
        return [
            Ranks(
                experiment=self.name,
                model=self.model,
                dimension=dimension,
                seeds=seeds,
                alpha=self.alpha,
                starts=tuple(_STARTS.values()),
            )
            for dimension, count in self.sizes.items()
            for seeds in in_groups(
                training_seeds(seed, self.name, dimension, count), _SETS_OF_A_UNIT
            )
        ]

    def _theory(self) -> dict[str, TheoryAt]:
        return {b: TheoryAt(model=self.model, alphas=(self.alpha,), branch=b) for b in OF_BRANCH}

    def _number(
        self,
        rank: int,
        kind: str,
        name: str,
        students: Students,
        point: Mapping[str, Any] | None = None,
    ) -> Prediction:
        known = point is not None and "absent" not in point
        return Prediction(
            name=f"{self.name}.rank-{rank}.{kind}.{name}",
            statement=f"{_WORDS[name]} at rank {rank} from the {kind} start",
            symbol=OBSERVABLES[name][0] if name in OBSERVABLES else name,
            parameters=self._parameters(rank),
            predicted=point[name] if point is not None and known else None,
            predicted_error=point["errors"][name] if point is not None and known else 0.0,
            measured=students.limit_of(np.abs(students.column(name))),
            kind="shown",
        )

    def _vanished(self, kind: str, two: Students) -> Prediction:
        count = _count_vanished(two)
        return Prediction(
            name=f"{self.name}.rank-2.{kind}.vanished",
            statement=f"share of training sets where the second column vanishes, {kind} start",
            symbol="share",
            parameters=self._parameters(2),
            measured=share(count, len(two.rows)),
            kind="shown",
            note=f"{count} of {len(two.rows)}",
        )

    def _gain(self, kind: str, one: Students, two: Students) -> Prediction:
        return Prediction(
            name=f"{self.name}.{kind}.gain",
            statement=f"training loss at rank 1 less that at rank 2, {kind} start, same samples",
            symbol="eps_t, rank 1 less rank 2",
            parameters=self._parameters(2),
            measured=one.limit_of(one.column("train_loss") - two.column("train_loss")),
            kind="shown",
        )

    def _parameters(self, rank: int) -> dict[str, float | str]:
        return {**parameters(self.model, self.alpha), "rank": rank}

    def _text(self, students: Students, theory: Mapping[str, Mapping[str, Any]]) -> tuple[str, ...]:
        two = students.where(rank=2)
        vanished, total = _count_vanished(two), len(two.rows)
        values = [
            f"{branch}: "
            + ", ".join(f"{OBSERVABLES[n][0]} = {point[n]:.4g}" for n in OF_BRANCH[branch])
            for branch, point in theory.items()
            if "absent" not in point
        ]
        return (
            "Students of rank one and rank two were trained to a gradient of norm 1e-6 on the same "
            f"training sets ({sizes_in_words(self.sizes)}) from the start of "
            "either branch with noise of standard deviation 0.4, and from a random one. Rotations "
            "of the columns change no loss; what is shown does not change with them either. "
            "Numbers are extrapolated to infinite d.",
            "A student of rank two whose second column is 0 is one of rank one, and a minimum of "
            "that is a stationary point of the risk at rank two, but need not be a minimum. "
            f"Training left it: the second column vanished in {vanished} of {total} runs."
            if vanished < total / 2
            else "A student of rank two whose second column is 0 is one of rank one. Training "
            f"mostly led there: the second column vanished in {vanished} of {total} runs.",
            "A student with a semantic and a positional column has theta along the axis of one "
            "eigenvalue and m along that of the other. By how much its loss is lower than that of "
            "the rank-one minimum from the same kind of start is given too.",
            f"There is no theory of rank two here. That of rank one has {'; '.join(values)}."
            if values
            else "The theory of rank one has no fixed point here.",
        )


def _count_vanished(two: Students) -> int:
    return int(np.count_nonzero(two.column("q_2") < _VANISHED * two.column("q_1")))
