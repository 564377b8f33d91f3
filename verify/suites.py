"""The suites: which experiments, at which sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from symattn.model import ASYMMETRIC, AttentionModel
from symattn.overlaps import Overlaps
from verify.experiments import Experiment
from verify.experiments.concentration import Concentration
from verify.experiments.crossover import Crossover
from verify.experiments.minima import Minima
from verify.experiments.protocol import Protocol
from verify.experiments.random_starts import RandomStarts
from verify.experiments.rank_two import RankTwo
from verify.experiments.responses import Responses
from verify.experiments.several_minima import SeveralMinima
from verify.experiments.slopes import Slopes
from verify.experiments.trajectory import Trajectory
from verify.experiments.transition import Transition
from verify.experiments.two_mechanisms import TwoMechanisms
from verify.experiments.weak_learning import WeakLearning
from verify.histogram.task import HistogramTask

_PAPER = AttentionModel()
#: With a penalty at which the prox does not jump: there replica symmetry is exact.
_STRONG = AttentionModel(lam=0.1)

_ALPHA = 1.5


def _quick(_: Path) -> list[Experiment]:
    sizes = {240: 32, 500: 32, 1000: 16}
    return [
        Minima(
            name="paper",
            title="The minima at the paper's parameters",
            model=_PAPER,
            alphas=(_ALPHA,),
            sizes=sizes,
        ),
        _strong((_ALPHA,), sizes),
        Transition(
            name="transition",
            model=_PAPER,
            alphas=(0.95, 1.15, 1.35, 1.55, 1.75),
            sizes=sizes,
            starts=3,
        ),
        _response(_PAPER, "semantic", {240: 32, 480: 24, 960: 8}),
        _response(_STRONG, "positional", {240: 32, 480: 24, 960: 8}),
        Slopes(
            name="slopes",
            model=_STRONG,
            alpha=_ALPHA,
            sizes={240: 32, 480: 24, 960: 8},
            branches=("positional",),
        ),
        _weak_learning({300: 64, 400: 48, 600: 24}, {240: 8, 1000: 4}),
        _positional_trajectory({240: 16, 500: 8, 1000: 8}),
    ]


def _paper(_: Path) -> list[Experiment]:
    sizes = {500: 64, 1000: 32, 2000: 8}
    return [
        Minima(
            name="paper",
            title="The minima against the sample complexity",
            model=_PAPER,
            alphas=(1.0, 1.25, 1.5, 1.75, 2.0),
            sizes=sizes,
            curve=(0.9, 1.1, 1.4, 1.6, 2.2),
        ),
        *(
            _transition(omega, alphas)
            for omega, alphas in (
                (0.1, (0.7, 0.8, 0.9, 1.0, 1.1)),
                (0.2, (0.75, 0.9, 1.05, 1.2, 1.35)),
                (0.3, (0.95, 1.15, 1.35, 1.55, 1.75)),
                (0.4, (1.4, 1.7, 2.0, 2.3, 2.6)),
            )
        ),
        _strong((1.2, 1.5, 2.0, 3.0), {500: 64, 1000: 32}),
        Minima(
            name="half",
            title="The minima at omega = 0.5",
            model=AttentionModel(omega=0.5),
            alphas=(1.5, 2.0, 3.0),
            sizes={500: 48, 1000: 24},
        ),
        Minima(
            name="asymmetric",
            title="The second mixing matrix",
            model=AttentionModel(mixing=ASYMMETRIC),
            alphas=(1.0, 1.5, 2.0),
            sizes={500: 48, 1000: 24},
            branches=("semantic",),
        ),
        _response(_PAPER, "semantic", {240: 64, 500: 64, 1000: 24}),
        _response(_PAPER, "positional", {240: 64, 500: 64, 1000: 24}),
        _response(_STRONG, "positional", {240: 64, 500: 64, 1000: 24}),
        Slopes(name="slopes", model=_PAPER, alpha=_ALPHA, sizes={500: 32, 1000: 12}),
        Slopes(
            name="slopes-strong",
            model=_STRONG,
            alpha=_ALPHA,
            sizes={500: 32, 1000: 12},
            branches=("positional",),
        ),
        _weak_learning({300: 96, 500: 64, 800: 32}, {240: 16, 1000: 8}),
        SeveralMinima(
            name="several", model=_PAPER, alpha=_ALPHA, sizes={500: 32, 1000: 16}, noisy=16
        ),
        RankTwo(name="rank-two", model=_PAPER, alpha=_ALPHA, sizes={500: 16, 1000: 8}),
        RandomStarts(
            name="random",
            model=_PAPER,
            alphas=(0.6, 0.9, 1.2, 1.5, 2.0, 2.5, 3.0),
            sizes={240: 32, 500: 8},
        ),
        Protocol(
            name="protocol", model=_PAPER, alphas=(1.005, 1.5025, 2.0), dimension=1000, count=8
        ),
        _positional_trajectory({240: 32, 500: 16, 1000: 16}),
        Trajectory(
            name="message-passing.semantic",
            branch="semantic",
            model=_PAPER,
            alpha=_ALPHA,
            start=Overlaps(q=0.11, m=0.0, V=16.0, theta=0.12),
            # m is unstable there: an eigenvalue of -1.6 makes its fluctuations grow.
            iterations=3,
            sizes={500: 16, 1000: 16, 2000: 8},
        ),
    ]


def _scaling(_: Path) -> list[Experiment]:
    return [
        Concentration(
            name="concentration",
            model=_PAPER,
            alpha=_ALPHA,
            sizes={10: 200, 20: 200, 40: 200, 100: 200, 200: 200, 500: 100, 1000: 64},
            least=200,
        ),
        Minima(
            name="large",
            title="Up to d = 4000",
            model=_PAPER,
            alphas=(_ALPHA,),
            sizes={240: 128, 500: 64, 1000: 32, 2000: 16, 4000: 4},
        ),
        Minima(
            name="large-strong",
            title="Up to d = 4000, where the prox does not jump",
            model=_STRONG,
            alphas=(_ALPHA,),
            sizes={240: 128, 500: 64, 1000: 32, 2000: 16, 4000: 4},
            branches=("positional",),
        ),
    ]


def _histogram(kept: Path) -> list[Experiment]:
    """Fewer epochs than published: 40 of 200, then 10 of 100."""
    task = HistogramTask()
    return [
        TwoMechanisms(
            name="histogram",
            task=task,
            sequences=50_000,
            runs=10,
            epochs=(1, 5, *range(10, 41, 10)),
            lifted_epochs=(1, 5, 10),
            kept=kept,
        ),
        Crossover(
            name="crossover",
            task=task,
            sequences=50_000,
            counts=(30, 100, 300, 1000, 3000, 10_000, 34_000),
            runs=5,
            steps=10_000,
            readings=5,
            kept=kept,
        ),
    ]


def _histogram_short(kept: Path) -> list[Experiment]:
    """The same on fewer sequences, with which it still learns."""
    task = HistogramTask()
    return [
        TwoMechanisms(
            name="histogram",
            task=task,
            sequences=8000,
            runs=3,
            epochs=(2, 4, 8),
            lifted_epochs=(1, 2),
            kept=kept,
        ),
        Crossover(
            name="crossover",
            task=task,
            sequences=8000,
            counts=(300, 3000),
            runs=3,
            steps=600,
            readings=3,
            kept=kept,
        ),
    ]


def _all(kept: Path) -> list[Experiment]:
    """All but quick and short ones, whose questions the others ask with more runs."""
    return [*_paper(kept), *_scaling(kept), *_histogram(kept)]


#: The experiments of every suite by its name, given the directory where they may keep files.
SUITES: Mapping[str, Callable[[Path], list[Experiment]]] = {
    "quick": _quick,
    "paper": _paper,
    "scaling": _scaling,
    "histogram": _histogram,
    "histogram-short": _histogram_short,
    "all": _all,
}


def _strong(alphas: tuple[float, ...], sizes: Mapping[int, int]) -> Minima:
    return Minima(
        name="strong",
        title="Positional minima where the prox does not jump",
        model=_STRONG,
        alphas=alphas,
        sizes=sizes,
        branches=("positional",),
    )


def _transition(omega: float, alphas: tuple[float, ...]) -> Transition:
    return Transition(
        name=f"transition.omega={omega:g}",
        model=AttentionModel(omega=omega),
        alphas=alphas,
        sizes={240: 64, 500: 32, 1000: 16},
        starts=4,
    )


def _response(model: AttentionModel, branch: str, sizes: Mapping[int, int]) -> Responses:
    return Responses(
        name=f"response.lambda={model.lam:g}",
        model=model,
        branch=branch,
        alpha=_ALPHA,
        sizes=sizes,
    )


def _weak_learning(sizes: Mapping[int, int], trained_sizes: Mapping[int, int]) -> WeakLearning:
    return WeakLearning(
        name="weak",
        model=_STRONG,
        alphas=(0.7, 0.85, 1.0, 1.15, 1.3),
        sizes=sizes,
        trained_alphas=(0.6, 0.8, 0.9, 1.0, 1.1, 1.2, 1.4, 1.7, 2.0),
        trained_sizes=trained_sizes,
        curve=(1.06, 1.07, 1.085, 1.15, 1.3, 1.55, 1.85),
    )


def _positional_trajectory(sizes: Mapping[int, int]) -> Trajectory:
    """Where nothing jumps, and state evolution is a theorem."""
    return Trajectory(
        name="message-passing.positional",
        branch="positional",
        model=_STRONG,
        alpha=_ALPHA,
        start=Overlaps(q=0.03, m=0.25, V=3.0, theta=0.0),
        iterations=8,
        sizes=sizes,
    )
