"""Draw docs/branch_map.png, print the tables of docs/branches.md: `python docs/branch_map.py`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from scipy.interpolate import Akima1DInterpolator

from symattn import AttentionModel, linear_baseline
from symattn.continuation import Branch, BranchMap, follow_all
from symattn.plotting import save

LOW, HIGH = 0.05, 3.0
# Colours of Okabe and Ito, which remain apart to colour-blind eyes.
COLOURS = {
    "semantic": "#0072B2",
    "positional": "#D55E00",
    "mixed": "#009E73",
    "uninformed": "0.35",
}
MEANINGS = {
    "semantic": r"semantic ($m = 0$)",
    "positional": r"positional ($\theta = 0$)",
    "mixed": r"mixed ($m, \theta \neq 0$)",
    "uninformed": r"uninformed ($m = \theta = 0$)",
}
MARKERS = {"symmetry breaking": "o", "fold": "D", "baseline crossing": "s"}


def value(point: object, name: str) -> float:
    overlaps = point.overlaps  # type: ignore[attr-defined]
    return getattr(overlaps, name) if hasattr(overlaps, name) else getattr(point, name)


def curve(branch: Branch, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """alpha, the quantity and stability along a branch, interpolated in the length along it."""
    nodes = [(p.parameter, value(p, name), p.stable) for p in branch.points]
    if name in ("m", "theta"):  # the branch begins or ends where its overlap vanishes
        for special in branch.special_points:
            if special.kind == "merger":
                end = (special.parameter, abs(value(special, name)))
                first = abs(special.parameter - nodes[0][0]) < abs(special.parameter - nodes[-1][0])
                at = 0 if first else len(nodes)
                nodes.insert(at, (*end, nodes[0 if first else -1][2]))
    alpha, quantity, stable = (np.array(column) for column in zip(*nodes, strict=True))
    quantity = np.abs(quantity)
    size = max(np.ptp(quantity), 1e-9)
    length = np.r_[0.0, np.cumsum(np.hypot(np.diff(alpha) / 3.0, np.diff(quantity) / size))]
    fine = np.unique(np.r_[length, np.linspace(0.0, length[-1], 600)])
    alpha_fine = Akima1DInterpolator(length, alpha)(fine)
    # the middle between two neighbours of different stability is moved to the special point there
    is_stable = stable[np.clip(np.searchsorted(length, fine), 0, len(length) - 1)].astype(bool)
    for special in branch.special_points:
        if special.kind in ("symmetry breaking", "fold"):
            before = np.searchsorted(alpha, special.parameter)
            if 0 < before < len(alpha) and stable[before - 1] != stable[before]:
                between = (fine >= length[before - 1]) & (fine <= length[before])
                is_stable[between] = np.where(
                    alpha_fine[between] < special.parameter, stable[before - 1], stable[before]
                )
    return alpha_fine, Akima1DInterpolator(length, quantity)(fine), is_stable


def draw(axes: Axes, branches: BranchMap, name: str) -> None:
    for branch in branches.branches:
        colour = COLOURS[branch.name]
        alpha, quantity, stable = curve(branch, name)
        axes.plot(alpha, np.where(stable, quantity, np.nan), color=colour, linestyle="-")
        axes.plot(
            alpha, np.where(stable, np.nan, quantity), color=colour, linestyle=(0, (3.5, 1.6))
        )
        for special in branch.special_points:
            if special.kind not in MARKERS or (special.kind == "baseline crossing") != (
                name == "test_error"
            ):
                continue
            height = np.interp(special.parameter, alpha, quantity)
            axes.plot(
                special.parameter,
                height,
                MARKERS[special.kind],
                color=colour,
                markerfacecolor="white",
                markersize=4.5,
                zorder=3,
            )


def legend(figure: Figure) -> None:
    handles = [Line2D([], [], color=COLOURS[name], label=MEANINGS[name]) for name in MEANINGS]
    handles += [
        Line2D([], [], color="black", label="stable"),
        Line2D([], [], color="black", linestyle=(0, (3.5, 1.6)), label="unstable"),
        Line2D([], [], color="black", marker="o", markerfacecolor="white", linestyle="",
               label="symmetry breaking"),
    ]  # fmt: skip
    figure.legend(handles=handles, loc="outside upper center", ncols=4, frameon=False)


def map_figure(branches: BranchMap) -> Figure:
    figure = Figure(figsize=(7.2, 6.0), layout="constrained")
    (top_left, top_right), (bottom_left, bottom_right) = figure.subplots(2, 2, sharex=True)
    draw(top_left, branches, "theta")
    top_left.set_ylabel(r"overlap with the target $\theta$")
    draw(top_right, branches, "m")
    top_right.set_ylabel(r"overlap with the positions $m$")
    draw(bottom_left, branches, "train_loss")
    bottom_left.set_ylabel(r"training loss $\epsilon_t$")
    for crossing in branches.loss_crossings:
        bottom_left.plot(
            crossing.parameter, crossing.train_loss, "x", color="black", markersize=6, zorder=4
        )
    draw(bottom_right, branches, "test_error")
    bottom_right.axhline(
        linear_baseline(branches.model).test_error, color="0.45", linestyle=":", linewidth=1.0
    )
    bottom_right.set_ylabel(r"test error $\epsilon_g$")
    for axes in (bottom_left, bottom_right):
        axes.set_xlabel(r"sample complexity $\alpha = n/d$")
    top_left.set_xlim(0.0, HIGH)
    legend(figure)
    return figure


def main() -> None:
    branches = follow_all(AttentionModel(), low=LOW, high=HIGH, digits=5, progress=print)
    print(branches)
    with Path(__file__).with_name("branch_map.png").open("wb") as file:
        save(map_figure(branches), file, "png")


if __name__ == "__main__":
    main()
