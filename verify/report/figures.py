"""Figures of experiments: theory as lines, measurements as points with error bars."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from symattn.plotting import SETTINGS, STYLES
from verify.statistics import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_OTHER: Mapping[str, Any] = {"color": "#009E73", "linestyle": "-.", "marker": "^"}

# For observables, which have no branch: colours of Okabe and Ito, and markers.
_OBSERVABLES = (
    ("#0072B2", "o"),
    ("#D55E00", "s"),
    ("#009E73", "^"),
    ("#CC79A7", "D"),
    ("#E69F00", "v"),
    ("#000000", "x"),
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Curve:
    """The theory of one branch: a line through y(x)."""

    branch: str
    x: ArrayLike
    y: ArrayLike


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Points:
    """Measurements on one branch: y with standard errors at x.

    `label`, if given, takes the place of "trained" after the branch.
    """

    branch: str
    x: ArrayLike
    y: ArrayLike
    error: ArrayLike
    label: str = "trained"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Panel:
    """One pair of axes.

    `label` names y; `line`, if given, is a horizontal line: its height and name; y is drawn
    logarithmically if `logarithmic`.
    """

    label: str
    curves: Sequence[Curve]
    points: Sequence[Points]
    line: tuple[float, str] | None = None
    logarithmic: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Limit:
    """Measurements of one observable at several dimensions, their fit, and what is predicted.

    values, dimensions : shape (N,)
        One for each seed, after subtraction of what control variates explain.
    """

    label: str
    branch: str
    dimensions: ArrayLike
    values: ArrayLike
    estimate: Estimate
    predicted: float | None = None


def panels_figure(
    panels: Sequence[Panel], x_label: str, title: str = "", logarithmic: bool = False
) -> Figure:
    """Panels below each other over one x, such as the sample complexity or the iteration.

    logarithmic: of x.
    """
    with rc_context(SETTINGS):
        figure = Figure(figsize=(5.6, 0.7 + 2.1 * len(panels)), layout="constrained")
        column = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
        for axes, panel in zip(column, panels, strict=True):
            for curve in panel.curves:
                style = {**STYLES.get(curve.branch, _OTHER), "marker": ""}
                axes.plot(curve.x, curve.y, label=f"{curve.branch}, theory", **style)
            for points in panel.points:
                _draw_points(axes, points, f"{points.branch}, {points.label}")
            if panel.line is not None:
                height, name = panel.line
                axes.axhline(height, color="0.45", linestyle=":", label=name)
            axes.set_ylabel(panel.label)
            if panel.logarithmic:
                axes.set_yscale("log")
        if logarithmic:
            column[-1].set_xscale("log")
        column[0].set_title(title, fontsize=8)
        column[-1].set_xlabel(x_label)
        _legend(figure, column, 2)
    return figure


def limits_figure(limits: Sequence[Limit]) -> Figure:
    """Measurements against 1/d, with the fitted line and the limit beside its prediction."""
    with rc_context(SETTINGS):
        columns = min(2, len(limits))
        rows = -(-len(limits) // columns)
        figure = Figure(figsize=(3.1 * columns, 0.6 + 2.3 * rows), layout="constrained")
        grid = figure.subplots(rows, columns, squeeze=False).ravel()
        for axes in grid[len(limits) :]:
            axes.set_axis_off()
        for axes, limit in zip(grid, limits, strict=False):
            _draw_limit(axes, limit)
        _legend(figure, grid[: len(limits)], 2)
    return figure


def concentration_figure(
    dimensions: ArrayLike, deviations: Mapping[str, ArrayLike], exponent: float
) -> Figure:
    """Standard deviations over seeds against d, both logarithmic, beside d to the `exponent`.

    dimensions: shape (D,), rising. deviations: the name of an observable to its (D,).
    """
    with rc_context(SETTINGS):
        figure = Figure(figsize=(5.2, 3.6), layout="constrained")
        axes = figure.subplots()
        d = np.asarray(dimensions, dtype=np.float64)
        for i, (name, deviation) in enumerate(deviations.items()):
            colour, marker = _OBSERVABLES[i % len(_OBSERVABLES)]
            y = np.asarray(deviation, dtype=np.float64)
            axes.plot(d, y, color=colour, marker=marker, linestyle="", label=name, markersize=4.5)
            # Through the points' geometric mean
            scale = np.exp(np.mean(np.log(y) - exponent * np.log(d)))
            label = f"slope {exponent:g}" if i == 0 else None
            axes.plot(d, scale * d**exponent, color="0.55", linewidth=0.9, label=label)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xticks(d, [f"{x:g}" for x in d])
        axes.minorticks_off()
        axes.set_xlabel("dimension $d$")
        axes.set_ylabel("standard deviation over seeds")
        _legend(figure, [axes], 3)
    return figure


def rounding_figure(
    curve: Curve, points: Mapping[int, Points], x_label: str, y_label: str
) -> Figure:
    """Measurements at several dimensions, the keys of `points`, about one curve of the theory."""
    with rc_context(SETTINGS):
        figure = Figure(figsize=(5.2, 3.6), layout="constrained")
        axes = figure.subplots()
        axes.plot(curve.x, curve.y, color="0.3", label=r"theory, $d \to \infty$")
        for (dimension, at), (colour, marker) in zip(
            sorted(points.items()), _OBSERVABLES, strict=False
        ):
            axes.errorbar(
                at.x,
                at.y,
                yerr=at.error,
                color=colour,
                marker=marker,
                markersize=4.5,
                markerfacecolor="white",
                linestyle="",
                elinewidth=1.0,
                capsize=2.0,
                label=f"trained, $d$ = {dimension}",
            )
        axes.set_xlabel(x_label)
        axes.set_ylabel(y_label)
        axes.legend(frameon=False)
    return figure


def _draw_points(axes: Axes, points: Points, label: str) -> None:
    style = STYLES.get(points.branch, _OTHER)
    axes.errorbar(
        points.x,
        points.y,
        yerr=points.error,
        color=style["color"],
        marker=style["marker"],
        markersize=4.5,
        markerfacecolor="white",
        linestyle="",
        elinewidth=1.0,
        capsize=2.0,
        label=label,
    )


def _draw_limit(axes: Axes, limit: Limit) -> None:
    style = STYLES.get(limit.branch, _OTHER)
    inverse = 1 / np.asarray(limit.dimensions, dtype=np.float64)
    end = float(inverse.max()) * 1.06
    axes.plot(
        inverse,
        limit.values,
        color="0.6",
        marker=".",
        markersize=3.5,
        linestyle="",
        label="one seed",
    )
    estimate = limit.estimate
    if estimate.bias is not None:
        ends = np.array([0.0, end])
        fit = estimate.value + estimate.bias * ends
        axes.plot(ends, fit, color=style["color"], linewidth=1.0, label="fit $a + b/d$")
    at = Points(branch=limit.branch, x=[0.0], y=[estimate.value], error=[estimate.error])
    _draw_points(axes, at, r"measured, $d \to \infty$")
    if limit.predicted is not None:
        axes.plot(
            0.0,
            limit.predicted,
            color="black",
            marker="_",
            markersize=16,
            markeredgewidth=1.6,
            linestyle="",
            label="theory",
            zorder=4,
        )
    axes.set_xlim(-0.06 * end, end)
    levels = np.unique(inverse)
    axes.set_xticks([0.0, *levels], ["0", *(f"1/{1 / x:.0f}" for x in levels)])
    axes.tick_params(axis="x", labelsize=7)
    axes.set_xlabel("$1/d$")
    axes.set_title(f"{limit.label}, {limit.branch}", fontsize=8)


def _legend(figure: Figure, panels: Iterable[Axes], columns: int) -> None:
    """One entry for each label, whichever panels have it."""
    entries: dict[str, Any] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    figure.legend(
        list(entries.values()),
        list(entries),
        loc="outside upper center",
        ncols=columns,
        frameon=False,
    )
