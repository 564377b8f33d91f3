"""Figure of how often something happened, against the sample complexity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from symattn.plotting import SETTINGS, STYLES

_LINES = (":", "-.", (0, (1, 3)))
_NEITHER: Mapping[str, Any] = {"color": "#009E73", "linestyle": "-.", "marker": "^"}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fractions:
    """Fractions of the runs of one outcome, with their intervals, each of shape (N,)."""

    outcome: str
    values: ArrayLike
    low: ArrayLike
    high: ArrayLike


def fractions_figure(
    alphas: Sequence[float],
    panels: Mapping[str, Sequence[Fractions]],
    marks: Mapping[str, float],
) -> Figure:
    """Fractions of every outcome against alpha, one panel below the other.

    alphas: length N. panels: title of a panel to its outcomes. marks: name to a value of alpha, a
    vertical line.
    """
    x = np.asarray(alphas, dtype=np.float64)
    # So that intervals of the same fraction do not lie on each other
    apart = 0.012 * float(np.ptp(x))
    with rc_context(SETTINGS):
        figure = Figure(figsize=(5.6, 0.9 + 2.2 * len(panels)), layout="constrained")
        column = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
        for axes, (title, outcomes) in zip(column, panels.items(), strict=True):
            for i, fractions in enumerate(outcomes):
                style = STYLES.get(fractions.outcome, _NEITHER)
                y = np.asarray(fractions.values, dtype=np.float64)
                axes.errorbar(
                    x + apart * (i - (len(outcomes) - 1) / 2),
                    y,
                    yerr=[y - np.asarray(fractions.low), np.asarray(fractions.high) - y],
                    color=style["color"],
                    marker=style["marker"],
                    linestyle=style["linestyle"],
                    markerfacecolor="white",
                    markersize=4.5,
                    linewidth=0.9,
                    capsize=2.0,
                    label=fractions.outcome,
                )
            for i, (name, alpha) in enumerate(marks.items()):
                axes.axvline(alpha, color="0.45", linestyle=_LINES[i % len(_LINES)], label=name)
            axes.set_ylim(-0.04, 1.04)
            axes.set_ylabel("fraction of runs")
            axes.set_title(title, fontsize=8)
        column[-1].set_xlabel(r"sample complexity $\alpha = n/d$")
        handles, labels = column[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=3, frameon=False)
    return figure
