"""Every minimum is a point at its excess loss, and the lowest ones are filled."""

import pytest

from verify.report.landscape import landscape_figure


def test_minima_are_points_at_their_excess_loss():
    figure = landscape_figure(
        {
            "positional": ([0.0, 0.02, 0.0], [0.25, 0.26, 0.24], [True, False, True]),
            "semantic": ([0.0], [0.13], [True]),
        },
        {"positional": 0.2547},
    )
    positional, semantic = figure.axes
    drawn = {line.get_label(): line for line in positional.lines}
    assert drawn["minimum"].get_xdata() == pytest.approx([2.0])
    assert drawn["minimum"].get_ydata() == pytest.approx([0.26])
    assert drawn["minimum"].get_markerfacecolor() == "white"
    lowest = drawn["lowest of a training set"]
    assert lowest.get_ydata() == pytest.approx([0.25, 0.24])
    assert lowest.get_markerfacecolor() != "white"
    assert list(drawn["theory"].get_ydata()) == [0.2547, 0.2547]
    assert "theory" not in {line.get_label() for line in semantic.lines}
    assert (positional.get_title(), semantic.get_title()) == ("positional", "semantic")
