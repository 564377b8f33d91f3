"""One step of state evolution in mpmath's numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from mpmath import mp

from symattn._exact import number
from symattn._progress import Progress
from symattn.kernels.generated.mpmath_l2_r1_t1 import (
    hats,
    ridge,
    train_loss_direct,
    train_loss_extremal,
)
from symattn.model import AttentionModel
from symattn.overlaps import Hats, Overlaps
from symattn.precision._plan import Plan
from symattn.precision._worker import compute


@dataclass(frozen=True, slots=True)
class Means:
    """Means over the channel at given overlaps, as mpmath's numbers.

    Attributes
    ----------
    norm : mpf
        E[1].
    g_squared, g_mean, g_div, g_target : mpf
        E|g|^2, E[g_1 - g_2], E[div_w g], E[g.h*].
    envelope, loss : mpf
        E[M] and E[loss at the prox].
    response : mpf
        E|dg/dw|_F^2, or 0 if it is not wanted.
    rounding : mpf
        Bound on what the arithmetic adds to each of them.
    fold : float
        Weight of det(I + V Hess loss) < 0 at the nodes.
    nodes : int
    """

    norm: Any
    g_squared: Any
    g_mean: Any
    g_div: Any
    g_target: Any
    envelope: Any
    loss: Any
    response: Any
    rounding: Any
    fold: float
    nodes: int


def channel_means(
    plan: Plan,
    overlaps: Overlaps,
    aim: float,
    progress: Progress,
    *,
    doing: str,
    replicon: bool,
) -> Means:
    """The means at `overlaps` for so many digits; the response only for the `replicon`.

    Raises
    ------
    ComputationFailed
        If a helping process does not end well.
    """
    job = plan.job(overlaps, aim, replicon=replicon)
    sums = compute(job, plan.seconds(aim), doing, progress)
    totals = sums.totals
    return Means(
        norm=totals["norm"],
        g_squared=totals["g_squared"],
        g_mean=mp.sqrt(2) * totals["g_u"] if overlaps.m else mp.zero,
        g_div=-totals["trace"],
        g_target=totals["g_star"] if overlaps.theta else mp.zero,
        envelope=totals["loss"] + overlaps.V * totals["g_squared"] / 2,
        loss=totals["loss"],
        response=totals["square_k"],
        # g_mean and envelope are made of sums with these weights
        rounding=max(mp.sqrt(2), 1 + overlaps.V / 2) * sums.rounding,
        fold=math.exp(sums.log_fold),
        nodes=sums.nodes,
    )


@dataclass(frozen=True, slots=True)
class PreciseStep:
    """State evolution applied once; as `symattn.state_evolution.Step`, in mpmath's numbers."""

    overlaps: Overlaps
    hats: Hats
    image: Overlaps
    train_loss: Any
    train_loss_direct: Any
    means: Means


def evolve(model: AttentionModel, alpha: Any, overlaps: Overlaps, means: Means) -> PreciseStep:
    """Apply state evolution at `alpha` = n/d to `overlaps`, where the means are known."""
    lam, sigma = number(model.exact("lam")), number(model.exact("sigma"))
    conjugates = Hats(
        *hats(
            alpha,
            means.g_squared,
            means.g_mean,
            means.g_div,
            means.g_target,
            overlaps.theta,
            sigma,
        )
    )
    return PreciseStep(
        overlaps=overlaps,
        hats=conjugates,
        image=Overlaps(*ridge(*conjugates, lam, sigma)),
        train_loss=train_loss_extremal(alpha, means.envelope, *overlaps, *conjugates, lam, sigma),
        train_loss_direct=train_loss_direct(alpha, means.loss, overlaps.q, lam, sigma),
        means=means,
    )
