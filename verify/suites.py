"""The suites: which experiments, at which sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from symattn.model import AttentionModel
from verify.experiments import Experiment
from verify.experiments.minima import Minima
from verify.experiments.transition import Transition
from verify.predictions import Finding

_PAPER = AttentionModel()
_STRONG = AttentionModel(lam=0.1)


def _quick() -> list[Experiment]:
    return [
        Minima(
            name="paper",
            title="The minima at the paper's parameters",
            model=_PAPER,
            alphas=(1.5,),
            sizes={500: 16, 1000: 8},
        ),
        Minima(
            name="strong",
            title="A positional minimum where the prox does not jump",
            model=_STRONG,
            alphas=(1.5,),
            sizes={500: 16, 1000: 8},
            branches=("positional",),
        ),
        Transition(
            name="transition",
            model=_PAPER,
            alphas=(0.9, 1.1, 1.3, 1.5, 1.7),
            sizes={500: 16, 1000: 8},
        ),
    ]


#: The experiments of every suite by its name.
SUITES: Mapping[str, Callable[[], list[Experiment]]] = {"quick": _quick}


def discussion(findings: Sequence[Finding]) -> tuple[str, ...]:
    """What failures are likelier due to: finite size, or broken replica symmetry."""
    return ()
