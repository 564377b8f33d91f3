"""Attention matrices as pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib import rc_context
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from symattn.plotting import SETTINGS

_SIZE = 1.75


def attention_figure(
    matrices: Mapping[str, Sequence[Sequence[Sequence[float]]]],
    sequences: Sequence[Sequence[int]],
) -> Figure:
    """A row of matrices for each transformer, a column for each sequence.

    matrices: the name of a transformer to its matrices, (sequences, L, L). Rows and columns of a
    matrix are named by the symbols of its sequence; a dot is where both have the same.
    """
    with rc_context(SETTINGS):
        rows, columns = len(matrices), len(sequences)
        size = (_SIZE * columns + 0.9, _SIZE * rows + 0.5)
        figure = Figure(figsize=size, layout="constrained")
        grid = figure.subplots(rows, columns, squeeze=False)
        largest = max(float(np.max(m)) for each in matrices.values() for m in each)
        colours = ScalarMappable(Normalize(0.0, largest), "cividis")
        for line, (name, each) in zip(grid, matrices.items(), strict=True):
            for axes, matrix, sequence in zip(line, each, sequences, strict=True):
                axes.imshow(matrix, norm=colours.norm, cmap=colours.cmap)
                symbols = np.asarray(sequence)
                same = np.argwhere(symbols[:, None] == symbols)
                axes.plot(
                    same[:, 1],
                    same[:, 0],
                    ".",
                    color="white",
                    markersize=2.4,
                    markeredgecolor="black",
                    markeredgewidth=0.3,
                )
                ticks = range(len(symbols))
                axes.set_xticks(ticks, [str(s) for s in sequence], fontsize=5)
                axes.set_yticks(ticks, [str(s) for s in sequence], fontsize=5)
                axes.tick_params(length=0)
            line[0].set_ylabel(name, fontsize=7)
        figure.colorbar(colours, ax=grid, label="attention", shrink=0.6)
    return figure
