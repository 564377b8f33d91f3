"""Figures show the numbers of the data set, and curves where closed forms have them."""

import io
from functools import partial

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from symattn import InvalidInput
from symattn.plotting import STYLES, save
from symattn.sweep.figures import KINDS, lines_figure, phase_figure
from tests.sweep import planted

BRANCHES = ("semantic", "positional")
OMEGA = planted.OMEGAS[2]


@pytest.fixture(scope="module")
def data():
    return planted.dataset()


@pytest.fixture(scope="module")
def phases(data):
    return phase_figure(data)


def points(axes, branch):
    """What the markers of a branch show: for each line of them, alpha to the number."""
    return [
        {x: y for x, y in line.get_xydata().tolist() if np.isfinite(y)}
        for line in axes.lines
        if line.get_label() == branch
    ]


def expected(branch, name, omega):
    return {
        alpha: pytest.approx(planted.numbers(branch, alpha, omega)[name], abs=1e-15)
        for alpha in planted.ALPHAS
        if planted.status(branch, alpha, omega) == "found"
    }


def smooth(axes, branch):
    """Lines of a branch by their style, without markers: their ends in alpha."""
    color = STYLES[branch]["color"]
    return sorted(
        (line.get_linestyle(), line.get_xdata()[0], line.get_xdata()[-1])
        for line in axes.lines
        if line.get_color() == color and line.get_marker() in ("None", "")
    )


@pytest.mark.parametrize(("kind", "name"), [("loss", "train_loss"), ("error", "test_error")])
def test_a_loss_of_both_branches_is_drawn_at_all_points(kind, name, data):
    [axes] = lines_figure(data, kind, OMEGA).axes
    for branch in BRANCHES:
        assert points(axes, branch) == [expected(branch, name, OMEGA)]


def test_overlaps_that_are_not_zero_are_drawn_and_named(data):
    [axes] = lines_figure(data, "overlaps", OMEGA).axes
    for branch, names in (("semantic", ("q", "m", "theta")), ("positional", ("q", "m", "theta"))):
        wanted = [expected(branch, name, OMEGA) for name in names]
        drawn = points(axes, branch)
        assert len(drawn) == 2
        assert all(curve in drawn for curve in wanted if any(v != 0 for v in curve.values()))
    ends = {(text.get_text(), text.xy[0]) for text in axes.texts}
    last = max(expected("positional", "m", OMEGA))
    end = planted.ALPHAS[-1]
    assert ends == {("$q$", end), (r"$\theta$", end), ("$q$", last), ("$m$", last)}


@pytest.mark.parametrize("kind", ["overlaps", "loss", "error"])
def test_a_branch_is_dashed_where_it_is_unstable(kind, data):
    figure = lines_figure(data, kind, OMEGA)
    [axes] = figure.axes
    for branch in BRANCHES:
        there = sorted(expected(branch, "q", OMEGA))
        border = pytest.approx(planted.spinodal(branch, OMEGA), abs=1e-12)
        parts = [("--", there[0], border), ("-", border, there[-1])]
        if branch == "positional":
            parts = [("-", there[0], border), ("--", border, there[-1])]
        lines = 2 if kind == "overlaps" else 1
        assert smooth(axes, branch) == sorted(parts * lines, key=lambda part: part[0])
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == [*BRANCHES, "unstable", *(["best linear map"] if kind == "error" else [])]


def test_a_stable_branch_has_no_dashes_and_no_legend_of_them(data):
    figure = lines_figure(data.sel(alpha=slice(1.05, 1.75)), "loss", OMEGA)
    assert {line.get_linestyle() for line in figure.axes[0].lines} <= {"-", "None"}
    assert "unstable" not in [text.get_text() for text in figure.legends[0].get_texts()]


def test_lines_pass_through_the_points(data):
    [axes] = lines_figure(data, "overlaps", OMEGA).axes
    color = STYLES["semantic"]["color"]
    drawn = np.concatenate(
        [
            line.get_xydata()
            for line in axes.lines
            if line.get_color() == color and line.get_marker() == "None"
        ]
    )
    # q = 0.05 alpha and theta = 0.1 alpha
    assert set(np.round(drawn[:, 1] / drawn[:, 0], 12)) == {0.05, 0.1}


@pytest.mark.parametrize(
    ("kind", "symbol", "threshold", "height"),
    [
        ("loss", r"$\alpha_c$", planted.alpha_c, lambda alpha: 0.002 + 0.001 * alpha),
        ("error", r"$\alpha_l$", planted.alpha_l, lambda _: planted.linear_test_error(OMEGA)),
    ],
)
def test_crossings_are_marked(kind, symbol, threshold, height, data):
    [axes] = lines_figure(data, kind, OMEGA).axes
    alpha = threshold(OMEGA)
    circles = [line.get_xydata().tolist() for line in axes.lines if line.get_markersize() == 8]
    assert circles == [[pytest.approx([alpha, height(alpha)], abs=1e-12)]]
    [text] = axes.texts
    assert (text.get_text(), text.xy[0]) == (symbol, pytest.approx(alpha, abs=1e-12))


def test_the_linear_map_is_dotted_at_its_height(data):
    [axes] = lines_figure(data, "error", OMEGA).axes
    [line] = [line for line in axes.lines if line.get_label() == "best linear map"]
    assert line.get_linestyle() == ":"
    assert set(line.get_ydata()) == {planted.linear_test_error(OMEGA)}


@pytest.mark.parametrize(
    ("at", "taken"),
    [(None, 0.3), (0.0, 0.0), (0.5, 0.5), (0.149, 0.1), (0.151, 0.2), (0.5 + 1e-12, 0.5)],
)
def test_the_nearest_value_is_taken_and_named(at, taken, data):
    [axes] = lines_figure(data, "loss", at).axes
    assert rf"$\omega$ = {taken:g}," in axes.get_title()
    assert r"$\alpha$" not in axes.get_title()
    omega = min(planted.OMEGAS, key=lambda omega: abs(omega - taken))
    assert points(axes, "semantic") == [expected("semantic", "train_loss", omega)]


@pytest.mark.parametrize("at", [-0.01, 0.51, float("nan"), "much"])
def test_a_value_outside_the_range_is_refused(at, data):
    with pytest.raises(InvalidInput, match=r"from 0 to 0\.5, the values of omega") as caught:
        lines_figure(data, "loss", at)
    assert caught.value.parameter == "at"


def test_another_kind_is_refused(data):
    with pytest.raises(InvalidInput, match="one of overlaps, loss, error"):
        lines_figure(data, "phase-diagram")


def test_other_parameters_are_named(data):
    other = planted.grid(("omega", (0.1, 0.2, 0.3)), ("sigma", (0.5, 1.0)))
    [axes] = lines_figure(planted.dataset(other, lambda *_: True), "loss", 1.0).axes
    assert axes.get_title().startswith(r"$\alpha$ = 1.5, $\sigma$ = 1, $\lambda$ = 0.01, $A$")
    assert axes.get_xlabel() == r"positional share of the target $\omega$"


def test_where_omega_is_swept_the_crossing_is_no_threshold_in_alpha():
    # The first parameter stands for alpha: 0.5 to 0.95, and equal losses at 0.9 for the second.
    grid = planted.grid(("omega", (0.5, 0.65, 0.8, 0.95)), ("lambda", (0.1, 0.2)))
    data = planted.dataset(grid, lambda *_: True)
    data["train_loss"].loc["positional"] = data["train_loss"].sel(branch="semantic") + (
        data["omega"] - 0.7
    )
    [axes] = lines_figure(data, "loss").axes
    [text] = axes.texts
    assert (text.get_text(), text.xy[0]) == (r"$\alpha = \alpha_c$", pytest.approx(0.7, abs=1e-12))


@pytest.mark.parametrize(
    ("panel", "number", "threshold", "slope"),
    [(0, "train_loss", planted.alpha_c, -0.0013), (1, "test_error", planted.alpha_l, -0.0006)],
)
def test_maps_show_differences_in_colours_with_0_in_the_middle(
    panel, number, threshold, slope, phases
):
    [mesh] = phases.axes[panel].collections
    low, high = mesh.get_clim()
    assert low == -high
    shown = mesh.get_array()
    for row, column in np.ndindex(shown.shape):
        alpha, omega = planted.ALPHAS[column], planted.OMEGAS[row]
        needed = BRANCHES if number == "train_loss" else BRANCHES[:1]
        if all(planted.status(branch, alpha, omega) == "found" for branch in needed):
            wanted = slope * (alpha - threshold(omega))
            assert shown[row, column] == pytest.approx(wanted, abs=1e-15)
            assert abs(wanted) <= high * (1 + 1e-12)
        else:
            assert shown.mask[row, column]
    negative, middle, positive = (np.array(mesh.to_rgba(at)[:3]) for at in (low / 2, 0.0, high / 2))
    assert np.ptp(middle) < 0.01
    assert negative[2] > negative[0]  # blue
    assert positive[0] > positive[2]  # orange
    assert min(middle) > max(min(negative), min(positive))


def test_cells_lie_around_their_points(phases):
    [mesh] = phases.axes[0].collections
    corners = np.asarray(mesh.get_coordinates())
    for alpha in planted.ALPHAS:
        assert np.any(np.isclose(corners[0, :, 0], alpha - 0.1))
        assert np.any(np.isclose(corners[0, :, 0], alpha + 0.1))
    assert corners[:, 0, 1] == pytest.approx(np.linspace(-0.05, 0.55, 7))


def test_evenly_in_the_logarithm_is_a_logarithmic_axis():
    lambdas = tuple(np.geomspace(0.01, 1.0, 5))
    grid = planted.grid(("alpha", planted.ALPHAS), ("lambda", lambdas))
    figure = phase_figure(planted.dataset(grid, lambda *_: True))
    for axes in figure.axes[:2]:
        assert (axes.get_xscale(), axes.get_yscale()) == ("linear", "log")
    edges = np.asarray(figure.axes[0].collections[0].get_coordinates())[:, 0, 1]
    assert edges[1:] / edges[:-1] == pytest.approx(np.full(5, 10**0.5))
    assert edges[0] == pytest.approx(0.01 / 10**0.25)


@pytest.mark.parametrize("panel", [0, 1])
def test_all_curves_lie_over_both_maps(panel, phases):
    drawn = {line.get_label().lstrip("_"): line for line in phases.axes[panel].lines}
    assert set(drawn) == set(planted.CURVES)
    for name, line in drawn.items():
        alpha, omega = line.get_data()
        assert alpha == pytest.approx(planted.CURVES[name](omega), abs=1e-12)
    # matplotlib keeps dashes that it was given only here.
    assert len({line._unscaled_dash_pattern for line in drawn.values()}) == 4


def test_the_legend_has_every_curve_and_every_hatch(phases):
    [legend] = phases.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "no semantic branch",
        "no positional branch",
        "not computed to the accuracy",
        r"$\alpha_c$: equal training losses",
        r"$\alpha_l$: test error equals that of the linear map",
        "spinodal of the semantic branch",
        "spinodal of the positional branch",
    ]


def test_what_is_not_there_is_not_in_the_legend(data):
    [legend] = phase_figure(data.sel(alpha=slice(1.5, 1.75))).legends
    assert [text.get_text() for text in legend.get_texts()] == [
        r"$\alpha_l$: test error equals that of the linear map"
    ]


def holes(axes, hatch):
    """The middles of the cells with a hatch."""
    return {
        tuple(np.round(cell.vertices[:4].mean(axis=0), 9))
        for patch in axes.patches
        if patch.get_hatch() == hatch
        for cell in patch.get_path()._iter_connected_components()
    }


@pytest.mark.parametrize(("panel", "needed"), [(0, BRANCHES), (1, BRANCHES[:1])])
def test_cells_without_a_number_are_hatched_by_what_is_missing(panel, needed, phases):
    axes = phases.axes[panel]
    for branch, hatch in zip(needed, ("////", "\\\\\\\\"), strict=False):
        assert holes(axes, hatch) == {
            (round(alpha, 9), round(omega, 9))
            for alpha in planted.ALPHAS
            for omega in planted.OMEGAS
            if planted.status(branch, alpha, omega) == "absent"
        }
    assert holes(axes, "....") == {tuple(np.round(planted.FAILED, 9))}
    grey = [patch for patch in axes.patches if patch.get_hatch() is None]
    assert [np.ptp(to_rgb(patch.get_facecolor())) for patch in grey] == [0.0]


def test_axes_and_title_are_in_the_notation_of_the_field(phases):
    left, right = phases.axes[:2]
    assert left.get_xlabel() == right.get_xlabel() == r"sample complexity $\alpha = n/d$"
    assert left.get_ylabel() == r"positional share of the target $\omega$"
    assert phases.get_suptitle() == (
        r"$\sigma$ = 0.5, $\lambda$ = 0.01, $A$ = [[0.6, 0.4], [0.4, 0.6]]"
    )


def test_a_sweep_without_any_point_is_drawn_all_the_same():
    nothing = planted.dataset(found=lambda *_: False)
    save(phase_figure(nothing), io.BytesIO(), "svg")
    for kind in KINDS:
        [axes] = lines_figure(nothing, kind).axes
        assert [curve for branch in BRANCHES for curve in points(axes, branch) if curve] == []


@pytest.mark.parametrize(
    ("draw", "kind", "beginning"),
    [(phase_figure, "svg", b"<?xml"), (partial(lines_figure, kind="error"), "pdf", b"%PDF")],
)
def test_the_same_data_are_the_same_file(draw, kind, beginning, data):
    files = []
    for _ in range(2):
        save(draw(data), file := io.BytesIO(), kind)
        files.append(file.getvalue())
    assert files[0].startswith(beginning)
    assert files[0] == files[1]
    assert b"CreationDate" not in files[0]
