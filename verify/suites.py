"""The suites: which experiments, at which sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from symattn.model import AttentionModel
from symattn.overlaps import Overlaps
from verify.experiments import Experiment
from verify.experiments.minima import Minima
from verify.experiments.trajectory import Trajectory
from verify.experiments.transition import Transition
from verify.predictions import Finding

_PAPER = AttentionModel()
_STRONG = AttentionModel(lam=0.1)


def _quick() -> list[Experiment]:
    sizes = {500: 32, 1000: 16}
    return [
        Minima(
            name="paper",
            title="The minima at the paper's parameters",
            model=_PAPER,
            alphas=(1.5,),
            sizes=sizes,
        ),
        Minima(
            name="strong",
            title="A positional minimum where the prox does not jump",
            model=_STRONG,
            alphas=(1.5,),
            sizes=sizes,
            branches=("positional",),
        ),
        Transition(name="transition", model=_PAPER, alphas=(0.9, 1.1, 1.3, 1.5, 1.7), sizes=sizes),
        _positional_trajectory({500: 8, 1000: 8}),
    ]


def _positional_trajectory(sizes: Mapping[int, int]) -> Trajectory:
    """Where nothing jumps, and state evolution is a theorem."""
    return Trajectory(
        name="message-passing.positional",
        branch="positional",
        model=_STRONG,
        alpha=1.5,
        start=Overlaps(q=0.03, m=0.25, V=3.0, theta=0.0),
        iterations=6,
        sizes=sizes,
    )


#: The experiments of every suite by its name.
SUITES: Mapping[str, Callable[[], list[Experiment]]] = {"quick": _quick}


def discussion(findings: Sequence[Finding]) -> tuple[str, ...]:
    """What failures are likelier due to: finite size, or broken replica symmetry."""
    return ()
