"""One map of a phase diagram as SVG, to stand in a page."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape, unescape

import numpy as np
from numpy.typing import NDArray

from symattn._typing import FloatArray
from symattn.plotting import DIVERGING, axis_label
from symattn.sweep.grid import Axis
from symattn.sweep.phases import CURVES, largest

#: Of the drawing, and of the cells in it: the script finds the cell below the pointer by them.
WIDTH, HEIGHT = 474, 392
LEFT, TOP, SIDE = 72, 24, 318

_BAR, _BAR_WIDTH = LEFT + SIDE + 16, 14
_LINE = 1.8
# Steps of colour from 0 to the end.
_SHADES = 64
_MOST_TICKS = 7
_MATH = re.compile(r"\$([^$]*)\$")
# Lines of the hatches, in a square of 8.
_STROKES = {
    "semantic": '<path d="M-2,2 L2,-2 M0,8 L8,0 M6,10 L10,6"/>',
    "positional": '<path d="M-2,6 L2,10 M0,0 L8,8 M6,-2 L10,2"/>',
    "unknown": '<circle cx="2" cy="2" r="1"/><circle cx="6" cy="6" r="1"/>',
}


def drawn_map(
    name: str,
    title: str,
    axes: tuple[Axis, Axis],
    values: FloatArray,
    missing: Mapping[str, NDArray[np.bool_]],
    curves: Mapping[str, Sequence[FloatArray]],
) -> str:
    """The map as an element of HTML.

    All cells have the same size, also where values of an axis are not evenly spaced.

    Parameters
    ----------
    name : str
        The beginning of the ids in it.
    title : str
        What it shows, for those who do not see it.
    axes : tuple of Axis
        x and y.
    values : array, shape (y, x)
        What the colours show.
    missing : mapping
        As of `symattn.sweep.phases.missing`, each of shape (y, x).
    curves : mapping
        As of `symattn.sweep.phases.phase_curves`.
    """
    x, y = axes
    label = f"Map of {title} over {x.name} and {y.name}. Arrow keys move the point."
    parts = [
        _definitions(name),
        *_cells(values),
        *_hatched(name, missing),
        *(_curve(axes, key, piece) for key, pieces in curves.items() for piece in pieces),
        f'<rect class="frame" x="{LEFT}" y="{TOP}" width="{SIDE}" height="{SIDE}"/>',
        *_axis_labels(x, y),
        *_scale(name, largest(values)),
        '<g class="here"><rect class="halo"/><rect class="edge"/></g>',
    ]
    inside = "\n".join(parts)
    return (
        f'<svg class="map" id="{name}" viewBox="0 0 {WIDTH} {HEIGHT}" tabindex="0" '
        f'role="application" aria-label="{escape(label)}" aria-describedby="hint">\n'
        f'<g aria-hidden="true">\n{inside}\n</g>\n</svg>'
    )


def curve_sample(curve: str) -> str:
    """A piece of a curve for a legend."""
    return _sample(_path(curve, "M2,6 L38,6"))


def hatch_sample(name: str, missing: str) -> str:
    """A hatched box for a legend; name: of a map, whose pattern it uses."""
    return _sample(
        '<rect class="hole" width="40" height="12"/>'
        f'<rect fill="url(#{name}-{missing})" width="40" height="12"/>'
    )


def marked_up(text: str) -> str:
    """Text with formulas between dollars as in TeX, as HTML. Formulas have letters and indices."""

    def formula(found: re.Match[str]) -> str:
        letters = re.sub(r"\\([a-z]+)", r"&\1;", escape(found[1]))
        return "<i>" + re.sub(r"_(\w)", r"<sub>\1</sub>", letters) + "</i>"

    return _MATH.sub(formula, escape(text, quote=False))


def plain(text: str) -> str:
    """The same text without markup."""
    return unescape(re.sub(r"<[^>]*>", "", marked_up(text)))


def _sample(drawn: str) -> str:
    return f'<svg class="sample" viewBox="0 0 40 12" aria-hidden="true">{drawn}</svg>'


def _definitions(name: str) -> str:
    patterns = "".join(
        f'<pattern id="{name}-{missing}" width="8" height="8" patternUnits="userSpaceOnUse" '
        f'class="hatch">{strokes}</pattern>'
        for missing, strokes in _STROKES.items()
    )
    stops = "".join(
        f'<stop offset="{i / (len(DIVERGING) - 1):.4f}" stop-color="{color}"/>'
        for i, color in enumerate(DIVERGING)
    )
    gradient = (
        f'<linearGradient id="{name}-scale" x1="0" y1="1" x2="0" y2="0">{stops}</linearGradient>'
    )
    return f"<defs>{patterns}{gradient}</defs>"


def _cells(values: FloatArray) -> list[str]:
    """One path for all cells of a colour."""
    bound = largest(values)
    by_color: dict[str, list[tuple[int, int]]] = {}
    for row, column in np.argwhere(np.isfinite(values)):
        shade = round(float(values[row, column]) / bound * _SHADES) / _SHADES
        by_color.setdefault(_color(shade), []).append((int(row), int(column)))
    return [
        f'<path fill="{color}" d="{_squares(cells, values.shape)}"/>'
        for color, cells in sorted(by_color.items())
    ]


def _hatched(name: str, missing: Mapping[str, NDArray[np.bool_]]) -> list[str]:
    drawn = []
    for why, mask in missing.items():
        if np.any(mask):
            squares = _squares(np.argwhere(mask).tolist(), mask.shape)
            drawn.append((why, squares))
    return [
        *(f'<path class="hole" d="{squares}"/>' for _, squares in drawn),
        *(f'<path fill="url(#{name}-{why})" d="{squares}"/>' for why, squares in drawn),
    ]


def _squares(cells: Iterable[Sequence[int]], shape: tuple[int, ...]) -> str:
    rows, columns = shape
    width, height = SIDE / columns, SIDE / rows
    return "".join(
        f"M{LEFT + column * width:.2f},{TOP + SIDE - (row + 1) * height:.2f}"
        f"h{width:.2f}v{height:.2f}h{-width:.2f}z"
        for row, column in cells
    )


def _color(place: float) -> str:
    """Of a number from -1 to 1."""
    at = (place + 1) / 2 * (len(DIVERGING) - 1)
    low = min(int(at), len(DIVERGING) - 2)
    ends = [[int(DIVERGING[i][k : k + 2], 16) for k in (1, 3, 5)] for i in (low, low + 1)]
    mixed = (round(a + (at - low) * (b - a)) for a, b in zip(*ends, strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)


def _curve(axes: tuple[Axis, Axis], name: str, piece: FloatArray) -> str:
    x, y = axes
    across, up = _place(x, piece[:, 0]), _place(y, piece[:, 1])
    corners = (f"{LEFT + a:.2f},{TOP + SIDE - b:.2f}" for a, b in zip(across, up, strict=True))
    return _path(name, "M" + " L".join(corners))


def _path(curve: str, path: str) -> str:
    """A curve in black with a white edge."""
    dashes = " ".join(f"{_LINE * length:g}" for length in CURVES[curve][1])
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    return (
        f'<path class="halo" d="{path}"/>'
        f'<path class="curve {curve}" stroke-width="{_LINE}"{dashed} d="{path}"/>'
    )


def _place(axis: Axis, values: FloatArray) -> FloatArray:
    """How far from the beginning of the cells values of a parameter are."""
    count = len(axis.values)
    return (np.interp(values, axis.values, np.arange(count)) + 0.5) * SIDE / count


def _axis_labels(x: Axis, y: Axis) -> list[str]:
    bottom, middle = TOP + SIDE, TOP + SIDE / 2
    parts = []
    for value, text in _ticks_of(x):
        at = LEFT + float(_place(x, np.array(value)))
        parts.append(f'<path class="tick" d="M{at:.2f},{bottom}v5"/>')
        parts.append(f'<text class="x" x="{at:.2f}" y="{bottom + 19}">{text}</text>')
    for value, text in _ticks_of(y):
        at = bottom - float(_place(y, np.array(value)))
        parts.append(f'<path class="tick" d="M{LEFT},{at:.2f}h-5"/>')
        parts.append(f'<text class="y" x="{LEFT - 8}" y="{at:.2f}" dy="0.35em">{text}</text>')
    below, beside = (escape(plain(axis_label(axis.name))) for axis in (x, y))
    return [
        *parts,
        f'<text class="x" x="{LEFT + SIDE / 2}" y="{HEIGHT - 8}">{below}</text>',
        f'<text class="x" transform="translate(12,{middle}) rotate(-90)">{beside}</text>',
    ]


def _scale(name: str, bound: float) -> list[str]:
    """What the colours mean."""
    exponent = math.floor(math.log10(bound))
    exponent = 0 if -2 <= exponent <= 3 else exponent
    right = _BAR + _BAR_WIDTH
    parts = [
        f'<rect class="bar" fill="url(#{name}-scale)" x="{_BAR}" y="{TOP}" '
        f'width="{_BAR_WIDTH}" height="{SIDE}"/>'
    ]
    top = bound / 10.0**exponent
    for value in ticks(-top, top):
        at = TOP + SIDE * (1 - value / top) / 2
        parts.append(f'<path class="tick" d="M{right},{at:.2f}h4"/>')
        parts.append(f'<text x="{right + 7}" y="{at:.2f}" dy="0.35em">{_number(value)}</text>')
    if exponent:
        power = f'10<tspan dy="-5" font-size="70%">{_number(exponent)}</tspan>'
        parts.append(f'<text class="y" x="{WIDTH - 4}" y="{TOP - 9}">&times; {power}</text>')
    return parts


def _ticks_of(axis: Axis) -> list[tuple[float, str]]:
    """Round numbers, or values of the axis where these are not evenly spaced."""
    steps = np.diff(axis.values)
    if np.ptp(steps) < 1e-6 * steps.mean():
        return [(value, _number(value)) for value in ticks(axis.values[0], axis.values[-1])]
    count = len(axis.values)
    places = np.unique(np.linspace(0, count - 1, min(count, 5)).round().astype(int))
    return [(axis.values[place], _number(float(f"{axis.values[place]:.2g}"))) for place in places]


def ticks(low: float, high: float) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten from low to high, 3 to 7 of them."""
    power = 10.0 ** math.floor(math.log10((high - low) / _MOST_TICKS))
    slack = 1e-9 * (high - low)
    for factor in (1, 2, 5, 10):
        step = factor * power
        first, last = math.ceil((low - slack) / step), math.floor((high + slack) / step)
        if last - first < _MOST_TICKS:
            break
    return [k * step for k in range(first, last + 1)]


def _number(value: float) -> str:
    return f"{value:.4g}".replace("-", "&minus;")
