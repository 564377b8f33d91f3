"""Draw docs/branch_map.png, print the tables of docs/branches.md: `python docs/branch_map.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from scipy.interpolate import Akima1DInterpolator

from symattn import AttentionModel, linear_baseline
from symattn.continuation import Branch, BranchMap, SpecialPoint, follow_all
from symattn.plotting import save

LOW, HIGH = 0.05, 3.0
# Colours of Okabe and Ito, which remain apart to colour-blind eyes.
COLOURS = {"semantic": "#0072B2", "positional": "#D55E00", "mixed": "#009E73", "uninformed": "0.35"}
MEANINGS = {
    "semantic": r"semantic ($m = 0$)",
    "positional": r"positional ($\theta = 0$)",
    "mixed": r"mixed ($m, \theta \neq 0$)",
    "uninformed": r"uninformed ($m = \theta = 0$)",
}
LABELS = {
    "theta": r"$|\theta|$",
    "m": r"$|m|$",
    "train_loss": r"training loss $\epsilon_t - \epsilon_t$(uninformed)",
    "test_error": r"test error $\epsilon_g$",
}
DASHES = (0, (3.5, 1.6))
SETTINGS: dict[Any, Any] = {"font.size": 9, "axes.linewidth": 0.6, "lines.linewidth": 1.4}

Curve = tuple[np.ndarray, np.ndarray, np.ndarray]


def value(point: Any, name: str) -> float:
    return abs(getattr(point.overlaps if name in ("m", "theta") else point, name))


def curve(branch: Branch, name: str) -> Curve:
    """alpha, the quantity and stability along a branch, interpolated in the length along it."""
    nodes = [(p.parameter, value(p, name), p.stable) for p in branch.points]
    if name in ("m", "theta"):  # whose slope is infinite where the branch begins
        for special in branch.special_points:
            if special.kind == "merger":
                first = abs(special.parameter - nodes[0][0]) < abs(special.parameter - nodes[-1][0])
                end = (special.parameter, value(special, name), nodes[0 if first else -1][2])
                nodes.insert(0 if first else len(nodes), end)
    alpha, quantity, stable = (np.array(column) for column in zip(*nodes, strict=True))
    size = max(np.ptp(quantity), 1e-9)
    steps = np.hypot(np.diff(alpha) / HIGH, np.diff(quantity) / size)
    length = np.r_[0.0, np.cumsum(steps)]
    fine = np.union1d(length, np.linspace(0.0, length[-1], 600))
    fine_alpha = Akima1DInterpolator(length, alpha)(fine)
    is_stable = stable[np.clip(np.searchsorted(length, fine), 0, len(length) - 1)]
    for special in branch.special_points:
        after = int(np.searchsorted(alpha, special.parameter))
        if special.kind == "symmetry breaking" and 0 < after < len(alpha):
            between = (fine >= length[after - 1]) & (fine <= length[after])
            below = fine_alpha < special.parameter
            is_stable[between] = np.where(below, stable[after - 1], stable[after])[between]
    return fine_alpha, Akima1DInterpolator(length, quantity)(fine), is_stable


def is_marked(branch: Branch, special: SpecialPoint, name: str) -> bool:
    """Whether a special point shows in the panel of a quantity."""
    if special.kind == "symmetry breaking":
        return special.direction == name or (name == "theta" and branch.name == "semantic")
    return special.kind == "baseline crossing" and name == "test_error"


def draw(axes: Axes, branches: BranchMap, name: str) -> None:
    axes.set_ylabel(LABELS[name])
    [uninformed] = [branch for branch in branches.branches if branch.name == "uninformed"]
    reference = curve(uninformed, name)
    for branch in branches.branches:
        alpha, quantity, stable = curve(branch, name)
        if name == "train_loss":
            quantity = quantity - np.interp(alpha, *reference[:2])
        colour = COLOURS[branch.name]
        if branch is uninformed or np.any(quantity):
            axes.plot(alpha, np.where(stable, quantity, np.nan), color=colour)
            axes.plot(alpha, np.where(stable, np.nan, quantity), color=colour, linestyle=DASHES)
        for special in branch.special_points:
            if is_marked(branch, special, name):
                order = np.argsort(alpha)
                height = np.interp(special.parameter, alpha[order], quantity[order])
                mark(axes, special.parameter, height, colour)


def mark(axes: Axes, alpha: float, height: float, colour: str) -> None:
    axes.plot(alpha, height, "o", color=colour, markerfacecolor="white", markersize=4.5, zorder=3)


def note(axes: Axes, text: str, place: tuple[float, float], shift: tuple[float, float]) -> None:
    axes.annotate(text, place, xytext=shift, textcoords="offset points", fontsize=8)


def map_figure(branches: BranchMap) -> Figure:
    figure = Figure(figsize=(7.2, 6.2), layout="constrained")
    theta, m, loss, error = figure.subplots(2, 2, sharex=True).flat
    for axes, name in ((theta, "theta"), (m, "m"), (loss, "train_loss"), (error, "test_error")):
        draw(axes, branches, name)
    theta.set_xlim(0.0, HIGH)
    loss.set_ylim(-1e-3, 1e-4)
    for axes in (loss, error):
        axes.set_xlabel(r"sample complexity $\alpha = n/d$")
        axes.ticklabel_format(axis="y", style="sci", scilimits=(0, 0), useMathText=True)
    for branch in branches.branches:
        for special in branch.special_points:
            if branch.name == "semantic" and special.kind == "symmetry breaking":
                text = f"spinodal\n{special.parameter:.4f}"
                note(theta, text, (special.parameter, special.overlaps.theta), (-42, 4))
            if special.kind == "baseline crossing":
                baseline = linear_baseline(branches.model).test_error
                error.axhline(baseline, color="0.45", linestyle=":", linewidth=1.0)
                note(error, "best linear map", (0.05, baseline), (0, -9))
                text = rf"$\alpha_\ell$ = {special.parameter:.4f}"
                note(error, text, (special.parameter, baseline), (6, 4))
    for crossing in branches.loss_crossings:
        [uninformed] = [branch for branch in branches.branches if branch.name == "uninformed"]
        height = crossing.train_loss - np.interp(
            crossing.parameter, *curve(uninformed, "train_loss")[:2]
        )
        mark(loss, crossing.parameter, height, "black")
        note(
            loss,
            rf"$\alpha_c$ = {crossing.parameter:.4f}",
            (crossing.parameter, height),
            (-58, -10),
        )
    handles = [Line2D([], [], color=COLOURS[name], label=MEANINGS[name]) for name in MEANINGS]
    handles += [
        Line2D([], [], color="black", label="stable"),
        Line2D([], [], color="black", linestyle=DASHES, label="unstable"),
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=3, frameon=False)
    return figure


def main() -> None:
    branches = follow_all(AttentionModel(), low=LOW, high=HIGH, digits=5, progress=print)
    print(branches)
    with rc_context(SETTINGS), Path(__file__).with_name("branch_map.png").open("wb") as file:
        save(map_figure(branches), file, "png")


if __name__ == "__main__":
    main()
