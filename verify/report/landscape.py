"""Figure of the minima that were found on many training sets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from symattn.plotting import SETTINGS, STYLES


def landscape_figure(
    minima: Mapping[str, tuple[ArrayLike, ArrayLike, ArrayLike]], predicted: Mapping[str, float]
) -> Figure:
    """Overlap against loss of minima, one panel a branch, the lowest of every training set filled.

    Parameters
    ----------
    minima : mapping
        Branch to three arrays (N,): the loss relative to the lowest one of the same training set,
        at least 0; the modulus of the branch's overlap, m or theta; whether it is that lowest one.
    predicted : mapping
        Branch to the theory's overlap, a horizontal line; a branch may be missing.
    """
    with rc_context(SETTINGS):
        figure = Figure(figsize=(3.1 * len(minima), 3.1), layout="constrained")
        row = figure.subplots(1, len(minima), sharex=True, squeeze=False)[0]
        entries: dict[str, Any] = {}
        for axes, (branch, (loss, overlap, lowest)) in zip(row, minima.items(), strict=True):
            style = STYLES[branch]
            low = np.asarray(lowest, dtype=bool)
            x, y = 100 * np.asarray(loss), np.asarray(overlap)
            for chosen, face, label in (
                (~low, "white", "minimum"),
                (low, style["color"], "lowest of a training set"),
            ):
                axes.plot(
                    x[chosen],
                    y[chosen],
                    color=style["color"],
                    marker=style["marker"],
                    markerfacecolor=face,
                    markersize=3.5,
                    linestyle="",
                    label=label,
                )
            if branch in predicted:
                axes.axhline(predicted[branch], color="0.45", linestyle=":", label="theory")
            axes.set_xlabel("loss above the lowest, %")
            axes.set_ylabel({"semantic": r"$|\theta|$", "positional": "$|m|$"}[branch])
            axes.set_title(branch, fontsize=8)
            for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
                entries.setdefault(label, handle)
        figure.legend(
            list(entries.values()),
            list(entries),
            loc="outside upper center",
            ncols=3,
            frameon=False,
        )
    return figure
