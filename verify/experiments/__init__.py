"""Experiments: what is trained, and how it is held against the theory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

from verify.predictions import Finding
from verify.units import Chain, Unit

Results: TypeAlias = Callable[[Unit], Any]
"""The result of a finished unit."""


class Experiment(Protocol):
    """Some units of work, and what their results say."""

    @property
    def name(self) -> str:
        """A short name, the only one of a suite, that its predictions and figures begin with."""

    def units(self, seed: int) -> Sequence[Unit | Chain]:
        """All the work, given the seed of the suite."""

    def finding(self, seed: int, results: Results) -> Finding:
        """What the results of the units say. Predictions are not judged yet."""
