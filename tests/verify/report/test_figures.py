"""Figures show the numbers that they are given, and can be read without colour."""

import io
from dataclasses import replace

import numpy as np
import pytest

from symattn.plotting import save
from tests.verify.made_up import DIMENSIONS, simulated
from verify.report.figures import (
    Curve,
    Limit,
    Panel,
    Points,
    concentration_figure,
    limits_figure,
    panels_figure,
)
from verify.statistics import Estimate, extrapolate

BRANCHES = ("semantic", "positional", "uninformed")


def lines(axes):
    """What is drawn, by label."""
    return {line.get_label(): line for line in axes.lines}


def panel():
    x = np.array([0.5, 1.0, 2.0])
    return Panel(
        label="$q$",
        curves=[Curve(branch=name, x=x, y=x * k) for k, name in enumerate(BRANCHES, 1)],
        points=[
            Points(branch=name, x=x, y=x + k, error=[0.1, 0.2, 0.3])
            for k, name in enumerate(BRANCHES)
        ],
        line=(0.05, "best linear map"),
    )


def test_theory_is_lines_and_measurements_are_points_with_errors():
    [axes] = panels_figure([panel()], "alpha").axes
    for k, name in enumerate(BRANCHES):
        theory = lines(axes)[f"{name}, theory"]
        assert theory.get_marker() == ""
        assert theory.get_ydata().tolist() == [0.5 * (k + 1), k + 1, 2 * (k + 1)]
        [container] = [c for c in axes.containers if c.get_label() == f"{name}, trained"]
        points, _, [bars] = container
        assert points.get_linestyle() == "None"
        assert points.get_ydata().tolist() == [0.5 + k, 1.0 + k, 2.0 + k]
        heights = [float(np.ptp(segment[:, 1])) / 2 for segment in bars.get_segments()]
        assert heights == pytest.approx([0.1, 0.2, 0.3])
    assert list(lines(axes)["best linear map"].get_ydata()) == [0.05, 0.05]


def test_branches_stay_apart_without_colour():
    [axes] = panels_figure([panel()], "alpha").axes
    styles = {lines(axes)[f"{name}, theory"].get_linestyle() for name in BRANCHES}
    markers = {container[0].get_marker() for container in axes.containers}
    assert len(styles) == len(markers) == len(BRANCHES)


def test_panels_share_one_legend_and_one_x():
    figure = panels_figure([panel(), panel()], "iteration", "title")
    [legend] = figure.legends
    texts = [text.get_text() for text in legend.get_texts()]
    assert len(texts) == len(set(texts)) == 2 * len(BRANCHES) + 1
    assert [axes.get_xlabel() for axes in figure.axes] == ["", "iteration"]


def test_either_axis_can_be_logarithmic():
    both = [panel(), replace(panel(), logarithmic=True)]
    for logarithmic, scale in ((False, "linear"), (True, "log")):
        figure = panels_figure(both, "alpha", logarithmic=logarithmic)
        assert [axes.get_xscale() for axes in figure.axes] == [scale, scale]
        assert [axes.get_yscale() for axes in figure.axes] == ["linear", "log"]


def test_a_limit_is_shown_with_its_seeds_fit_and_prediction():
    values = simulated(0.2, -3.0, 0.1, 5)
    fit = extrapolate(values, DIMENSIONS)
    limit = Limit(
        label="$q$",
        branch="semantic",
        dimensions=DIMENSIONS,
        values=values,
        estimate=fit,
        predicted=0.2,
    )
    drawn = lines(limits_figure([limit, limit, limit]).axes[0])
    assert drawn["one seed"].get_ydata().tolist() == values.tolist()
    assert drawn["one seed"].get_xdata().tolist() == (1 / DIMENSIONS).tolist()
    ends = drawn["fit $a + b/d$"]
    assert np.diff(ends.get_ydata()) / np.diff(ends.get_xdata()) == pytest.approx([fit.bias])
    assert ends.get_ydata()[0] == fit.value
    assert drawn["theory"].get_xydata().tolist() == [[0.0, 0.2]]


def test_a_limit_without_fit_or_prediction_is_drawn_all_the_same():
    single = Estimate(value=1.0, error=0.1, freedom=1, count=2)
    limit = Limit(
        label="x", branch="semantic", dimensions=[9, 9], values=[0.9, 1.1], estimate=single
    )
    figure = limits_figure([limit])
    assert not {"theory", "fit $a + b/d$"} & set(lines(figure.axes[0]))
    save(figure, io.BytesIO(), "png")


def test_concentration_has_a_line_of_the_exponent_through_every_observable():
    d = np.array([100.0, 200.0, 400.0])
    deviations = {"q": 3 / np.sqrt(d), "m": 0.1 / np.sqrt(d)}
    [axes] = concentration_figure(d, deviations, -0.5).axes
    points = [line for line in axes.lines if line.get_linestyle() == "None"]
    slopes = [line for line in axes.lines if line.get_linestyle() != "None"]
    assert [line.get_label() for line in points] == ["q", "m"]
    assert len({line.get_marker() for line in points}) == 2
    for line, deviation in zip(slopes, deviations.values(), strict=True):
        assert line.get_ydata() == pytest.approx(deviation)  # exact power laws lie on their lines
    assert axes.get_xscale() == axes.get_yscale() == "log"
