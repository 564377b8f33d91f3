"""Figures of a sweep. They need matplotlib and xarray, which the extra `sweep` brings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import PchipInterpolator

from symattn._typing import FloatArray
from symattn.errors import InvalidInput
from symattn.plotting import (
    DIVERGING,
    LINEAR_MAP,
    LOSSES,
    SETTINGS,
    STYLES,
    SYMBOLS,
    axis_label,
    mark_crossing,
    name_curve,
    parameters,
)
from symattn.sweep.curves import runs, zero_curve
from symattn.sweep.grid import BRANCHES, Axis
from symattn.sweep.phases import (
    CURVES,
    MAPS,
    MISSING,
    NEEDED,
    difference,
    grid_of,
    largest,
    missing,
    phase_curves,
)

if TYPE_CHECKING:
    import xarray
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.path import Path

_LOSSES = {"loss": "train_loss", "error": "test_error"}
#: What `lines_figure` draws, and what its vertical axis says.
KINDS = {"overlaps": "overlaps", **{kind: LOSSES[name] for kind, name in _LOSSES.items()}}

_STABLE: Mapping[str, Any] = {"linestyle": "-"}
_UNSTABLE: Mapping[str, Any] = {"linestyle": "--"}
# Points of a smooth line.
_FINENESS = 400
_HATCHES = {"semantic": "////", "positional": "\\\\\\\\", "unknown": "...."}


def lines_figure(data: xarray.Dataset, kind: str, at: float | None = None) -> Figure:
    """Both branches against the first parameter (alpha), at one value of the second.

    Colours and markers tell the branches apart, and line styles the stable (solid) from the
    unstable (dashed). Markers are the points of the grid; lines between them are monotone cubics.

    Parameters
    ----------
    data : xarray.Dataset
        As of `symattn.sweep.dataset.open_store`.
    kind : str
        `overlaps`: q, m and theta, where they are not 0 by symmetry. `loss`: the training loss,
        with alpha_c where the branches cross. `error`: the test error beside that of the best
        linear map, with alpha_l where the semantic branch crosses it.
    at : float, optional
        Of the second parameter; the nearest value of the grid is taken, which the title says. The
        middle one by default.

    Raises
    ------
    InvalidInput
        For another kind, a value outside the grid's range, or another data set.
    """
    if kind not in KINDS:
        raise InvalidInput.of("kind", kind, f"one of {', '.join(KINDS)}")
    grid = grid_of(data)
    row = _nearest(grid.y, at)
    line = data.isel({grid.y.name: row})

    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(SETTINGS):
        figure = Figure(figsize=(5.2, 3.7), layout="constrained")
        axes = figure.subplots()
        axes.set_xscale(_scale(grid.x))
        if kind == "overlaps":
            unstable = _draw_overlaps(axes, grid.x, line)
        else:
            unstable = _draw_loss(axes, grid.x, line, _LOSSES[kind])
        model, alpha = grid.at(0, row)
        axes.set_title(parameters(model, alpha, without=(grid.x.name,)), fontsize=8)
        axes.set_xlabel(axis_label(grid.x.name))
        axes.set_ylabel(KINDS[kind])
        axes.set_ylim(bottom=0)
        handles = _branch_handles(unstable, linear=kind == "error")
        figure.legend(handles=handles, loc="outside upper center", ncols=4, frameon=False)
    return figure


def phase_figure(data: xarray.Dataset) -> Figure:
    """Which branch is the better one, over both parameters.

    Left: training loss, semantic minus positional. Right: test error, semantic minus that of the
    best linear map. Blue is where the semantic branch has the lower one. Cells are hatched where a
    branch is absent, and dotted where it is not computed to the accuracy. Over both are the curves
    of `symattn.sweep.phases.phase_curves`.

    Parameters
    ----------
    data : xarray.Dataset
        As of `symattn.sweep.dataset.open_store`.

    Raises
    ------
    InvalidInput
        When it is no such data set.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    grid = grid_of(data)
    curves = phase_curves(data)
    with rc_context(SETTINGS):
        figure = Figure(figsize=(8.2, 4.6), layout="constrained")
        panels = figure.subplots(1, 2, sharex=True, sharey=True)
        handles: list[Artist] = []
        for axes, of in zip(panels, MAPS, strict=True):
            axes.set_title(MAPS[of], fontsize=9)
            axes.set_xlabel(axis_label(grid.x.name))
            _draw_map(figure, axes, grid.x, grid.y, difference(data, of))
            handles += _draw_missing(axes, grid.x, grid.y, missing(data, NEEDED[of]))
            handles += _draw_curves(axes, curves)
            axes.set_xscale(_scale(grid.x))
            axes.set_yscale(_scale(grid.y))
        panels[0].set_ylabel(axis_label(grid.y.name))
        title = parameters(grid.model, grid.alpha, without=(grid.x.name, grid.y.name))
        figure.suptitle(title, fontsize=8)
        unique = {str(handle.get_label()): handle for handle in handles}
        figure.legend(
            handles=list(unique.values()),
            loc="outside lower center",
            ncols=3,
            frameon=False,
            fontsize=8,
            columnspacing=1.5,
        )
    return figure


def _nearest(axis: Axis, at: float | None) -> int:
    """The place of the value of an axis that is nearest, or the middle one."""
    low, high = axis.values[0], axis.values[-1]
    if at is None:
        return len(axis.values) // 2
    rounding = 1e-9 * (high - low)
    if not _is_number(at) or not low - rounding <= at <= high + rounding:
        allowed = f"a number from {low:g} to {high:g}, the values of {axis.name}"
        raise InvalidInput.of("at", at, allowed)
    return min(range(len(axis.values)), key=lambda place: abs(axis.values[place] - at))


def _is_number(value: object) -> bool:
    return isinstance(value, Real)


def _scale(axis: Axis) -> str:
    """`log` where the values are spaced more evenly in the logarithm."""
    values = np.array(axis.values)
    if values[0] <= 0:
        return "linear"
    steps = np.diff(values), np.diff(np.log(values))
    linear, logarithmic = (np.ptp(step) / np.mean(step) for step in steps)
    return "log" if logarithmic < linear else "linear"


def _edges(axis: Axis) -> FloatArray:
    """The ends of the cells around the values of an axis."""
    values = np.array(axis.values)
    logarithmic = _scale(axis) == "log"
    places = np.log(values) if logarithmic else values
    middles = (places[1:] + places[:-1]) / 2
    first, last = 2 * places[0] - middles[0], 2 * places[-1] - middles[-1]
    edges = np.concatenate([[first], middles, [last]])
    return np.exp(edges) if logarithmic else edges


def _draw_overlaps(axes: Axes, axis: Axis, line: xarray.Dataset) -> bool:
    """One line for each overlap that is not 0 on a branch; whether any of it is unstable."""
    unstable = False
    for branch in BRANCHES:
        there = line.sel(branch=branch)
        for name, symbol in SYMBOLS.items():
            values = np.asarray(there[name])
            if not np.any(np.nan_to_num(values)):
                continue
            unstable |= _draw(axes, branch, axis, values, np.asarray(there["growth"]))
            last = np.flatnonzero(np.isfinite(values))[-1]
            end = axis.values[last], float(values[last])
            name_curve(axes, symbol, end, STYLES[branch]["color"])
    return unstable


def _draw_loss(axes: Axes, axis: Axis, line: xarray.Dataset, of: str) -> bool:
    """A loss of both branches, and where the semantic one crosses what it is compared with.

    Whether any of it is unstable.
    """
    unstable = False
    for branch in BRANCHES:
        there = line.sel(branch=branch)
        unstable |= _draw(axes, branch, axis, np.asarray(there[of]), np.asarray(there["growth"]))
    if of == "train_loss":
        other, symbol = line[of].sel(branch="positional"), r"\alpha_c"
    else:
        other, symbol = line["linear_test_error"], r"\alpha_l"
        axes.plot(axis.values, other, **LINEAR_MAP)
    x, rival = np.array(axis.values), np.asarray(other)
    semantic = np.asarray(line[of].sel(branch="semantic"))
    for zero in zero_curve(x, semantic - rival):
        height = np.mean([_interpolated(x, values, zero) for values in (semantic, rival)])
        label = f"${symbol}$" if axis.name == "alpha" else rf"$\alpha = {symbol}$"
        mark_crossing(axes, (zero, float(height)), label)
    return unstable


def _draw(axes: Axes, branch: str, axis: Axis, values: FloatArray, growth: FloatArray) -> bool:
    """A branch: points, and smooth lines where there are neighbours; whether any is unstable."""
    x = np.array(axis.values)
    color, marker = STYLES[branch]["color"], STYLES[branch]["marker"]
    axes.plot(x, values, color=color, marker=marker, linestyle="", label=branch)
    for run in runs(values):
        if run.stop - run.start < 2:
            continue
        curve, stability = (PchipInterpolator(x[run], of[run]) for of in (values, growth))
        ends = [x[run][0], *zero_curve(x[run], growth[run] - 1.0), x[run][-1]]
        for a, b in pairwise(ends):
            fine = np.linspace(a, b, _FINENESS)
            style = _STABLE if stability((a + b) / 2) <= 1.0 else _UNSTABLE
            axes.plot(fine, curve(fine), color=color, **style)
    return bool(np.any(growth[np.isfinite(values)] > 1.0))


def _interpolated(x: FloatArray, values: FloatArray, at: float) -> float:
    """At a place between two points that are there."""
    [run] = [run for run in runs(values) if x[run][0] <= at <= x[run][-1]]
    return float(PchipInterpolator(x[run], values[run])(at))


def _branch_handles(unstable: bool, linear: bool) -> list[Artist]:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=STYLES[branch]["color"], marker=STYLES[branch]["marker"], label=branch)
        for branch in BRANCHES
    ]
    if unstable:
        handles.append(Line2D([], [], color="black", label="unstable", **_UNSTABLE))
    if linear:
        handles.append(Line2D([], [], **LINEAR_MAP))
    return [*handles]


def _draw_map(figure: Figure, axes: Axes, x: Axis, y: Axis, values: FloatArray) -> None:
    """Cells in colours of which 0 is the middle, with their scale."""
    from matplotlib.colors import LinearSegmentedColormap, Normalize
    from matplotlib.ticker import ScalarFormatter

    bound = largest(values)
    shown: Any = np.ma.masked_invalid(values)
    mesh = axes.pcolormesh(
        _edges(x),
        _edges(y),
        shown,
        cmap=LinearSegmentedColormap.from_list("symattn", DIVERGING),
        norm=Normalize(-bound, bound),
        edgecolor="face",  # no seams between cells
        linewidth=0.1,
    )
    scale = figure.colorbar(mesh, ax=axes, pad=0.02)
    numbers = ScalarFormatter(useMathText=True)
    numbers.set_powerlimits((-2, 3))
    scale.formatter = numbers


def _draw_missing(
    axes: Axes, x: Axis, y: Axis, masks: Mapping[str, NDArray[np.bool_]]
) -> list[Artist]:
    """Grey cells with hatches that say why there is no number, and what the hatches mean."""
    from matplotlib.patches import Patch, PathPatch

    union = np.any(list(masks.values()), axis=0)
    if np.any(union):
        axes.add_patch(PathPatch(_cells(x, y, union), facecolor="0.9", linewidth=0))
    told: list[Artist] = []
    for name, mask in masks.items():
        if not np.any(mask):
            continue
        style: dict[str, Any] = {"hatch": _HATCHES[name], "edgecolor": "0.55", "linewidth": 0}
        axes.add_patch(PathPatch(_cells(x, y, mask), facecolor="none", **style))
        told.append(Patch(facecolor="0.9", label=MISSING[name], **style))
    return told


def _cells(x: Axis, y: Axis, mask: NDArray[np.bool_]) -> Path:
    """The outlines of the cells that the mask has."""
    from matplotlib.path import Path

    columns, rows = _edges(x), _edges(y)
    return Path.make_compound_path(
        *(
            Path(
                [
                    (columns[i], rows[j]),
                    (columns[i + 1], rows[j]),
                    (columns[i + 1], rows[j + 1]),
                    (columns[i], rows[j + 1]),
                    (columns[i], rows[j]),
                ],
                closed=True,
            )
            for j, i in np.argwhere(mask)
        )
    )


def _draw_curves(axes: Axes, curves: Mapping[str, Sequence[FloatArray]]) -> list[Artist]:
    """Curves in black with a white edge, and what they are."""
    from matplotlib.lines import Line2D
    from matplotlib.patheffects import Normal, Stroke

    told: list[Artist] = []
    for name, pieces in curves.items():
        label, dashes = CURVES[name]
        style: dict[str, Any] = {"color": "black", "linestyle": (0, dashes) if dashes else "-"}
        for piece in pieces:
            axes.plot(
                *piece.T,
                **style,
                path_effects=[Stroke(linewidth=3.0, foreground="white"), Normal()],
                label=f"_{name}",
            )
        if pieces:
            told.append(Line2D([], [], **style, label=label))
    return told
