"""Every matrix is a picture of its own numbers, on one scale, with its symbols beside it."""

import io

import numpy as np
import pytest

from symattn.plotting import save
from verify.report.attention import attention_figure

SEQUENCES = [(1, 1, 2), (11, 0, 11)]
MATRICES = {
    name: np.random.default_rng(seed).dirichlet([1.0] * 3, size=(2, 3)).tolist()
    for seed, name in enumerate(("positional", "semantic", "lifted"))
}


@pytest.fixture
def panels():
    """By name of a transformer and number of a sequence, and the colour bar."""
    figure = attention_figure(MATRICES, SEQUENCES)
    *axes, bar = figure.axes
    assert len(axes) == 6
    places = [(name, i) for name in MATRICES for i in range(2)]
    return dict(zip(places, axes, strict=True)), bar


def test_pictures_are_the_matrices(panels):
    for (name, i), axes in panels[0].items():
        [image] = axes.images
        assert np.array_equal(image.get_array(), MATRICES[name][i])
        # The first row is at the top, and nothing is smoothed.
        assert image.origin == "upper"
        assert axes.get_ylim()[0] > axes.get_ylim()[1]


def test_all_have_one_scale_from_zero_to_the_largest(panels):
    axes, bar = panels
    largest = max(np.max(matrices) for matrices in MATRICES.values())
    limits = {one.images[0].get_clim() for one in axes.values()}
    assert limits == {(0.0, largest)}
    assert bar.get_ylim() == pytest.approx((0.0, largest))
    assert bar.get_ylabel() == "attention"
    assert len({one.images[0].get_cmap().name for one in axes.values()}) == 1


def test_dots_are_where_symbols_are_equal(panels):
    equal = [{(0, 0), (0, 1), (1, 0), (1, 1), (2, 2)}, {(0, 0), (0, 2), (2, 0), (2, 2), (1, 1)}]
    for (_, i), axes in panels[0].items():
        [dots] = axes.lines
        # Columns go along x, rows along y.
        places = set(zip(dots.get_ydata(), dots.get_xdata(), strict=True))
        assert places == equal[i]
        assert dots.get_linestyle() == "None"


def test_rows_and_columns_are_named_by_symbols(panels):
    for (name, i), axes in panels[0].items():
        symbols = [str(symbol) for symbol in SEQUENCES[i]]
        for axis in (axes.xaxis, axes.yaxis):
            assert list(axis.get_ticklocs()) == [0, 1, 2]
            assert [text.get_text() for text in axis.get_ticklabels()] == symbols
        assert axes.get_ylabel() == (name if i == 0 else "")


def test_one_matrix_makes_a_figure_that_can_be_saved():
    figure = attention_figure({"alone": [[[1.0, 0.0], [0.5, 0.5]]]}, [(3, 4)])
    assert np.array_equal(figure.axes[0].images[0].get_array(), [[1.0, 0.0], [0.5, 0.5]])
    target = io.BytesIO()
    save(figure, target, "svg")
    assert b"<svg" in target.getvalue()


def test_what_does_not_belong_together_is_refused():
    with pytest.raises(ValueError, match="zip"):
        attention_figure(MATRICES, SEQUENCES[:1])
