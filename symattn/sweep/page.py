"""A phase diagram as one page of HTML that needs nothing beside it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from symattn._numbers import with_error
from symattn._typing import IntArray
from symattn.plotting import LOSSES, parameters
from symattn.sweep.grid import BRANCHES, Axis, Grid
from symattn.sweep.page_map import (
    HEIGHT,
    LEFT,
    SIDE,
    TOP,
    WIDTH,
    curve_sample,
    drawn_map,
    hatch_sample,
    marked_up,
    plain,
)
from symattn.sweep.page_script import SCRIPT
from symattn.sweep.page_style import STYLE
from symattn.sweep.phases import (
    CURVES,
    MAPS,
    MISSING,
    NEEDED,
    difference,
    grid_of,
    missing,
    phase_curves,
)

if TYPE_CHECKING:
    import xarray

#: Numbers of the table, each with its error, and what they are called there.
_ROWS = {"q": "$q$", "m": "$m$", "V": "$V$", "theta": r"$\theta$", **LOSSES}
_VERDICTS = (
    "Lower training loss: semantic",
    "Lower training loss: positional",
    "Training losses equal within their errors",
    "Only the semantic branch is found here",
    "Only the positional branch is found here",
    "Neither branch is found here",
)
_CAPTIONS = {
    "train_loss": "Blue: the semantic branch has the lower training loss. Orange: the positional "
    "one.",
    "test_error": "Blue: the semantic branch has a lower test error than the best linear map. "
    "Orange: a higher one.",
}
_HINT = (
    "The table is of the cell below the pointer. Click or tap on a cell to hold it, and once more, "
    "or Esc, to let it go; on a map that has the focus, arrow keys go from cell to cell. The "
    "address of the page then ends in the point. Curves are interpolated between the cells."
)


def page(data: xarray.Dataset) -> str:
    """The page: two maps, and what is known at the point that is pointed at.

    The left map shows the training loss, semantic minus positional, the right one the semantic test
    error minus that of the best linear map. The point follows the mouse, a finger, the arrow keys,
    two lists, and the end of the address, as in `page.html#alpha=1.2&omega=0.3`; a table has the
    fixed points there with their errors.

    Its JSON, in the element `data`, has as numbers `x.values` and `y.values`; for each branch
    matrices of shape (y, x) of `[value, error]`, in decimal to the digits that the error leaves,
    null where there is no fixed point.

    data: as of `symattn.sweep.dataset.open_store`.

    Raises
    ------
    InvalidInput
        When it is no such data set.
    """
    grid = grid_of(data)
    curves = phase_curves(data)
    holes = {of: missing(data, NEEDED[of]) for of in MAPS}
    figures = [
        f"<figure>\n<h2>{escape(title)}</h2>\n"
        + drawn_map(of, title, (grid.x, grid.y), difference(data, of), holes[of], curves)
        + f"\n<figcaption>{_CAPTIONS[of]}</figcaption>\n</figure>"
        for of, title in MAPS.items()
    ]
    told = [
        *(
            (curve_sample(name), marked_up(CURVES[name][0]))
            for name, pieces in curves.items()
            if pieces
        ),
        *(
            (hatch_sample("train_loss", why), escape(text))
            for why, text in MISSING.items()
            if any(np.any(masks[why]) for masks in holes.values() if why in masks)
        ),
    ]
    legend = "".join(f"<li>{sample}<span>{text}</span></li>" for sample, text in told)
    title = rf"Phase diagram over $\{grid.x.name}$ and $\{grid.y.name}$"
    fixed = parameters(grid.model, grid.alpha, without=(grid.x.name, grid.y.name))
    return (
        '<!DOCTYPE html>\n<html lang="en-GB">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>symattn: {escape(plain(title))}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f'<h1>{marked_up(title)}</h1>\n<p class="faint">Solvable attention, {marked_up(fixed)}. '
        f"Numbers have relative errors of at most {_short(grid.accuracy)}.</p>\n<main>\n"
        + "\n".join(figures)
        + f'\n<div class="about">\n<ul class="legend">{legend}</ul>\n'
        f'<p class="faint" id="hint">{_HINT}</p>\n{_meanings(data)}</div>\n'
        + _point(grid)
        + f'\n</main>\n<script type="application/json" id="data">{_json(_contents(data, grid))}'
        f"</script>\n<script>{SCRIPT}</script>\n</body>\n</html>\n"
    )


def _point(grid: Grid) -> str:
    """The table of one point; the script fills it."""
    lists = "".join(
        f'<label><i>&{axis.name};</i> = <select id="{place}" aria-label="{axis.name}">'
        + "".join(f"<option>{text}</option>" for text in _texts(axis))
        + "</select></label>"
        for place, axis in (("x", grid.x), ("y", grid.y))
    )
    head = "".join(f'<th scope="col">{branch}</th>' for branch in BRANCHES)
    rows = "\n".join(
        f'<tr><th scope="row">{label}</th>'
        + "".join(f'<td data-branch="{branch}" data-row="{row}"></td>' for branch in BRANCHES)
        + "</tr>"
        for row, label in _row_labels().items()
    )
    return (
        '<section class="point" aria-label="Fixed points at one point of the maps">\n'
        f'<div class="places">{lists}</div>\n'
        '<p class="verdict" id="verdict"></p>\n'
        '<p class="heard" id="heard" aria-live="polite"></p>\n'
        f'<table>\n<thead><tr><th scope="col">branch</th>{head}</tr></thead>\n<tbody>\n{rows}\n'
        '<tr><th scope="row"><span class="words">best</span> linear'
        '<span class="words"> map</span></th>'
        f'<td colspan="{len(BRANCHES)}"><span id="linear"></span> '
        "<small>test error</small></td></tr>"
        "\n</tbody>\n</table>\n<noscript>The table needs JavaScript.</noscript>\n</section>"
    )


def _row_labels() -> dict[str, str]:
    """Words before the symbol are left out on a small screen."""
    labels = {}
    for name, text in _ROWS.items():
        words, _, symbol = text.rpartition(" ")
        said = f'<span class="words">{escape(words)}</span> ' if words else ""
        labels[name] = said + marked_up(symbol)
    return {**labels, "stability": "stability", "status": "status"}


def _meanings(data: xarray.Dataset) -> str:
    named = {**_ROWS, "growth": "growth", "status": "status"}
    items = "".join(
        f"<dt>{marked_up(text)}</dt><dd>{escape(str(data[name].attrs.get('long_name', '')))}</dd>"
        for name, text in named.items()
    )
    return f"<details><summary>What the numbers are</summary><dl>{items}</dl></details>\n"


def _contents(data: xarray.Dataset, grid: Grid) -> dict[str, Any]:
    """What the script works with."""
    return {
        "drawing": {"width": WIDTH, "height": HEIGHT, "left": LEFT, "top": TOP, "side": SIDE},
        **{
            place: {"name": axis.name, "values": axis.values, "texts": _texts(axis)}
            for place, axis in (("x", grid.x), ("y", grid.y))
        },
        "branches": {branch: _table(data.sel(branch=branch)) for branch in BRANCHES},
        "linear_test_error": _each(_decimal, data["linear_test_error"]),
        "verdicts": _VERDICTS,
        "verdict": _verdict(data).tolist(),
    }


def _texts(axis: Axis) -> list[str]:
    """The values to so many digits that all of them differ."""
    for digits in (6, 10, 17):
        texts = [f"{value:.{digits}g}" for value in axis.values]
        if len(set(texts)) == len(texts):
            break
    return texts


def _table(there: xarray.Dataset) -> dict[str, Any]:
    """The rows of one branch, each a matrix of what stands in the table and the note below it."""
    return {
        **{name: _each(_with_error, there[name], there[f"{name}_error"]) for name in _ROWS},
        "stability": _each(_stability, there["growth"]),
        "status": _each(lambda status: [str(status), ""], there["status"]),
    }


def _each(of: Callable[..., Any], *matrices: xarray.DataArray) -> list[list[Any]]:
    rows = zip(*(np.asarray(matrix).tolist() for matrix in matrices), strict=True)
    return [[of(*values) for values in zip(*row, strict=True)] for row in rows]


def _with_error(value: float, error: float) -> list[str] | None:
    if not math.isfinite(value):
        return None
    shown, bound = with_error(value, error)
    return [shown, bound if bound in ("", "exact") else f"± {bound}"]


def _stability(growth: float) -> list[str] | None:
    if not math.isfinite(growth):
        return None
    return ["unstable" if growth > 1.0 else "stable", f"growth {growth:.3g}"]


def _decimal(value: float) -> str | None:
    return f"{value:.10g}" if math.isfinite(value) else None


def _verdict(data: xarray.Dataset) -> IntArray:
    """Places in `_VERDICTS`, shape (y, x)."""
    semantic, positional = (data["train_loss"].sel(branch=branch) for branch in BRANCHES)
    less = difference(data, "train_loss")
    bound = np.asarray(data["train_loss_error"].sum("branch"))
    here, there = np.isfinite(semantic), np.isfinite(positional)
    return np.select(
        [here & there & (np.abs(less) <= bound), here & there, here, there],
        [2, np.where(less < 0, 0, 1), 3, 4],
        5,
    )


def _short(value: float) -> str:
    return re.sub(r"e-0", "e-", f"{value:g}")


def _json(contents: dict[str, Any]) -> str:
    """As the text of an element, in which no tag can begin."""
    text = json.dumps(contents, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
