"""The figure shows the numbers that it is given, and the same numbers give the same file."""

import io

import pytest

from symattn import AttentionModel, linear_baseline
from symattn.fixed_points import solve
from symattn.plotting import curves_figure, save
from symattn.thresholds import Threshold

MODEL = AttentionModel(lam=0.1)
BRANCHES = ("semantic", "positional")


@pytest.fixture(scope="module")
def curves():
    return {
        branch: tuple(
            solve(MODEL, alpha, branch=branch, digits=4)[branch] for alpha in (4.0, 4.5, 5.0)
        )
        for branch in BRANCHES
    }


def threshold(name, point):
    return Threshold(
        name=name,
        model=MODEL,
        alpha=point.alpha,
        error=1e-6,
        digits=6,
        method="made up",
        at={"semantic": point},
    )


@pytest.fixture(scope="module")
def figure(curves):
    marks = {name: threshold(name, curves["semantic"][1]) for name in ("alpha_c", "alpha_l")}
    return curves_figure(curves, marks, linear_baseline(MODEL), MODEL)


def drawn(axes):
    """The curves in an axes, as (label, alphas, values)."""
    return [
        (line.get_label(), tuple(line.get_xdata()), tuple(line.get_ydata()))
        for line in axes.lines
        if line.get_label() in BRANCHES
    ]


def test_every_overlap_that_is_not_zero_is_drawn(figure, curves):
    alphas = (4.0, 4.5, 5.0)
    wanted = {
        (branch, alphas, tuple(getattr(point.overlaps, name) for point in curves[branch]))
        for branch, names in (("semantic", ("q", "theta")), ("positional", ("q", "m")))
        for name in names
    }
    assert set(drawn(figure.axes[0])) == wanted
    assert sorted(text.get_text() for text in figure.axes[0].texts) == [
        "$\\theta$", "$m$", "$q$", "$q$"
    ]  # fmt: skip


@pytest.mark.parametrize(("panel", "loss"), [(1, "train_loss"), (2, "test_error")])
def test_losses_and_their_crossing_are_drawn(panel, loss, figure, curves):
    axes = figure.axes[panel]
    assert {(label, values) for label, _, values in drawn(axes)} == {
        (branch, tuple(getattr(point, loss) for point in curves[branch])) for branch in BRANCHES
    }
    crossed = curves["semantic"][1]
    marks = [line.get_xydata().tolist() for line in axes.lines if line.get_label()[0] == "_"]
    assert [[crossed.alpha, getattr(crossed, loss)]] in marks
    assert [[crossed.alpha, 0.0], [crossed.alpha, 1.0]] in marks


def test_branches_stay_apart_without_colour(figure):
    for axes in figure.axes:
        styles = {
            label: {
                (line.get_linestyle(), line.get_marker())
                for line in axes.lines
                if line.get_label() == label
            }
            for label in BRANCHES
        }
        assert len(styles["semantic"]) == len(styles["positional"]) == 1
        assert not styles["semantic"] & styles["positional"]


def test_a_figure_without_crossings_or_curves_is_drawn_all_the_same(curves):
    figure = curves_figure({**curves, "semantic": ()}, {}, linear_baseline(MODEL), MODEL)
    assert {label for label, _, _ in drawn(figure.axes[0])} == {"positional"}
    save(figure, io.BytesIO(), "png")


@pytest.mark.parametrize(("kind", "beginning"), [("png", b"\x89PNG"), ("svg", b"<?xml")])
def test_the_same_figure_is_the_same_file(kind, beginning, curves):
    files = []
    for _ in range(2):
        figure = curves_figure(curves, {}, linear_baseline(MODEL), MODEL)
        save(figure, file := io.BytesIO(), kind)
        files.append(file.getvalue())
    assert files[0].startswith(beginning)
    assert files[0] == files[1]
