"""Figures. They need matplotlib, the extra `plot`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

from symattn.baselines import LinearBaseline
from symattn.fixed_points import FixedPoint
from symattn.model import AttentionModel

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from symattn.thresholds import Threshold

#: Colours of Okabe and Ito, which remain apart to colour-blind eyes; line styles and markers keep
#: the branches apart in black and white.
STYLES: Mapping[str, Mapping[str, Any]] = {
    "semantic": {"color": "#0072B2", "linestyle": "-", "marker": "o"},
    "positional": {"color": "#D55E00", "linestyle": "--", "marker": "s"},
}
#: Of the overlaps that are not 0 on one of the branches.
SYMBOLS = {"q": r"$q$", "m": r"$m$", "theta": r"$\theta$"}
#: What the axes of figures say of losses, and of parameters: in words, and their symbols.
LOSSES = {"train_loss": r"training loss $\epsilon_t$", "test_error": r"test error $\epsilon_g$"}
PARAMETERS = {
    "alpha": ("sample complexity", r"\alpha = n/d"),
    "omega": ("positional share of the target", r"\omega"),
    "lambda": ("strength of the ridge penalty", r"\lambda"),
    "sigma": ("standard deviation of the data", r"\sigma"),
}
#: From the semantic to the positional colour, 0 in the middle, darker towards both ends. Blue and
#: orange remain apart to colour-blind eyes.
DIVERGING = ("#003C60", "#0072B2", "#86BEDD", "#F7F7F7", "#F0B38B", "#D55E00", "#753300")
#: Of everything that stands beside the branches.
GREY = "0.45"
LINEAR_MAP: Mapping[str, Any] = {"color": GREY, "linestyle": ":", "label": "best linear map"}
#: For `matplotlib.rc_context`.
SETTINGS: dict[Any, Any] = {
    "font.size": 9,
    "axes.linewidth": 0.6,
    "lines.linewidth": 1.4,
    "lines.markersize": 3.2,
    "svg.hashsalt": "symattn",  # the same figure is the same file
}


def curves_figure(
    curves: Mapping[str, Sequence[FixedPoint]],
    thresholds: Mapping[str, Threshold],
    baseline: LinearBaseline,
    model: AttentionModel,
) -> Figure:
    """Overlaps, training loss and test error against the sample complexity alpha.

    Parameters
    ----------
    curves : mapping
        Branch (`semantic`, `positional`) to fixed points in the order of alpha. Overlaps that are
        0 by symmetry are left out.
    thresholds : mapping
        `alpha_c` is marked where the training losses cross, `alpha_l` where the semantic test
        error crosses that of the linear map; either may be missing.
    baseline : LinearBaseline
        The best linear map, a horizontal line among the test errors.
    model : AttentionModel
        Whose parameters stand above the figure.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(SETTINGS):
        figure = Figure(figsize=(5.2, 7.6), layout="constrained")
        overlaps, losses, errors = figure.subplots(3, 1, sharex=True)
        for branch, curve in curves.items():
            _draw_overlaps(overlaps, branch, curve)
            _draw(losses, branch, curve, [point.train_loss for point in curve])
            _draw(errors, branch, curve, [point.test_error for point in curve])
        errors.axhline(baseline.test_error, **LINEAR_MAP)
        _mark(losses, thresholds.get("alpha_c"), r"$\alpha_c$", "train_loss")
        _mark(errors, thresholds.get("alpha_l"), r"$\alpha_l$", "test_error")
        overlaps.set_title(parameters(model), fontsize=8)
        overlaps.set_ylabel("overlaps")
        losses.set_ylabel(LOSSES["train_loss"])
        errors.set_ylabel(LOSSES["test_error"])
        errors.set_xlabel(axis_label("alpha"))
        errors.set_xlim(left=0)
        for axes in (overlaps, losses, errors):
            axes.set_ylim(bottom=0)
        figure.legend(
            *errors.get_legend_handles_labels(), loc="outside upper center", ncols=3, frameon=False
        )
    return figure


def save(figure: Figure, file: BinaryIO, kind: str) -> None:
    """Write the figure as `png`, `svg` or `pdf`; the same figure gives the same bytes."""
    from matplotlib import rc_context

    metadata = {"svg": {"Date": None}, "png": {"Software": None}, "pdf": {"CreationDate": None}}
    with rc_context(SETTINGS):
        figure.savefig(file, format=kind, dpi=200, metadata=metadata[kind])


def axis_label(parameter: str) -> str:
    """What an axis says of a parameter, a key of `PARAMETERS`."""
    words, symbol = PARAMETERS[parameter]
    return f"{words} ${symbol}$"


def parameters(
    model: AttentionModel, alpha: float | None = None, without: Collection[str] = ()
) -> str:
    """The parameters of a model, and alpha if given, for a title; but for those named."""
    values = {"alpha": alpha, "sigma": model.sigma, "lambda": model.lam, "omega": model.omega}
    told = [
        rf"$\{name}$ = {value:g}"
        for name, value in values.items()
        if value is not None and name not in without
    ]
    rows = ", ".join("[" + ", ".join(f"{x:g}" for x in row) + "]" for row in model.mixing)
    return ", ".join([*told, f"$A$ = [{rows}]"])


def name_curve(axes: Axes, symbol: str, end: tuple[float, float], color: str) -> None:
    """The symbol of a curve beside its end."""
    axes.annotate(
        symbol,
        end,
        xytext=(5, 0),
        textcoords="offset points",
        verticalalignment="center",
        color=color,
    )


def mark_crossing(axes: Axes, at: tuple[float, float], label: str) -> None:
    """A vertical line where two curves cross, named below, and a circle around the crossing."""
    axes.axvline(at[0], color=GREY, linewidth=0.8)
    axes.plot(*at, marker="o", markersize=8, markerfacecolor="none", color="black")
    axes.annotate(
        label,
        (at[0], 0.04),
        xycoords=axes.get_xaxis_transform(),
        xytext=(4, 0),
        textcoords="offset points",
    )


def _draw(axes: Axes, branch: str, curve: Sequence[FixedPoint], values: Sequence[float]) -> None:
    axes.plot([point.alpha for point in curve], values, label=branch, **STYLES[branch])


def _draw_overlaps(axes: Axes, branch: str, curve: Sequence[FixedPoint]) -> None:
    """One line for each overlap that is not 0, its symbol at the end."""
    for name, symbol in SYMBOLS.items():
        values = [getattr(point.overlaps, name) for point in curve]
        if any(values):
            _draw(axes, branch, curve, values)
            name_curve(axes, symbol, (curve[-1].alpha, values[-1]), STYLES[branch]["color"])


def _mark(axes: Axes, threshold: Threshold | None, symbol: str, loss: str) -> None:
    """Where the semantic curve passes the threshold."""
    if threshold is not None:
        height = getattr(threshold.at["semantic"], loss)
        mark_crossing(axes, (threshold.alpha, height), f"{symbol} = {threshold.alpha:.4f}")
