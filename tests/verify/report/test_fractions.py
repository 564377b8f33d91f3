"""Fractions have their own intervals, which need not be symmetric, and thresholds are marked."""

import pytest

from verify.report.fractions import Fractions, fractions_figure


def test_fractions_and_intervals_are_as_given():
    outcomes = [
        Fractions(outcome="semantic", values=[0.0, 0.5], low=[0.0, 0.3], high=[0.4, 0.6]),
        Fractions(outcome="neither", values=[1.0, 0.5], low=[0.6, 0.4], high=[1.0, 0.7]),
    ]
    figure = fractions_figure(
        [1.0, 1.5], {"d = 100": outcomes, "d = 200": outcomes[:1]}, {"here": 1.2}
    )
    top, bottom = figure.axes
    for container, outcome in zip(top.containers, outcomes, strict=True):
        points, _, [bars] = container
        assert container.get_label() == outcome.outcome
        assert points.get_xdata() == pytest.approx([1.0, 1.5], abs=0.01)
        assert points.get_ydata() == pytest.approx(outcome.values)
        ends = [segment[:, 1] for segment in bars.get_segments()]
        assert [low for low, _ in ends] == pytest.approx(outcome.low)
        assert [high for _, high in ends] == pytest.approx(outcome.high)
    assert (top.get_title(), bottom.get_title()) == ("d = 100", "d = 200")
    assert len(bottom.containers) == 1
    [legend] = figure.legends
    assert {text.get_text() for text in legend.get_texts()} == {"semantic", "neither", "here"}
    for axes in (top, bottom):
        assert [1.2, 1.2] in [list(line.get_xdata()) for line in axes.lines]
