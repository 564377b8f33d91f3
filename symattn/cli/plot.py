"""`symattn plot`: figures of a sweep, and its phase diagram as a page."""

from __future__ import annotations

import argparse
from io import BytesIO
from typing import TYPE_CHECKING, Any

from symattn._packages import require
from symattn._parsing import number
from symattn.cli._console import Console
from symattn.cli._options import add_output, output_file
from symattn.errors import InvalidInput

if TYPE_CHECKING:
    import xarray

SUMMARY = "draw the points of a sweep: lines over alpha, or the phase diagram"
EXAMPLES = """\
examples:
  symattn plot sweep.db --kind loss --at 0.3 --out loss.png    both branches and alpha_c
  symattn plot sweep.db --kind phase-diagram --out phases.pdf  two maps with their curves
  symattn plot sweep.db --kind phase-diagram --out phases.html a page to point at

kinds: overlaps (q, m and theta), loss (the training loss, with alpha_c where the branches cross),
error (the test error, with alpha_l where the semantic one is that of the best linear map), each
over the first parameter of the sweep (alpha), unstable branches dashed; and phase-diagram: training
loss, semantic minus positional, and semantic test error minus that of the best linear map over both
parameters, with alpha_c, alpha_l, and where a branch becomes unstable. Curves are interpolated
between the points of the sweep; symattn threshold computes them. A sweep that is not finished is
drawn as far as it is."""

_PHASES = "phase-diagram"
_KINDS = ("overlaps", "loss", "error", _PHASES)
_FIGURES = (".png", ".svg", ".pdf")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the store of a sweep")
    parser.add_argument("--kind", required=True, metavar="NAME", help=f"{', '.join(_KINDS)}")
    parser.add_argument(
        "--out",
        required=True,
        metavar="FILE",
        help="where it goes, ending in .png, .svg or .pdf, or for a phase-diagram in .html",
    )
    parser.add_argument(
        "--at",
        type=number,
        metavar="X",
        help="value of the second parameter; the nearest of the sweep is taken (the middle one)",
    )
    add_output(parser)


def run(arguments: argparse.Namespace, console: Console) -> None:
    kind = arguments.kind
    if kind not in _KINDS:
        raise InvalidInput.of("kind", kind, f"one of {', '.join(_KINDS)}")
    if kind == _PHASES and arguments.at is not None:
        raise InvalidInput(f"at does not go with --kind {_PHASES}, which has all values", "at")
    endings = (*_FIGURES, ".html") if kind == _PHASES else _FIGURES
    out = output_file(arguments.out, endings)
    require("sweep", "xarray", *(("matplotlib",) if out.suffix in _FIGURES else ()))

    from symattn._checks import checked_output
    from symattn._files import write_file
    from symattn.sweep.dataset import open_store

    data = open_store(arguments.file)
    checked_output("out", out, arguments.file)
    write_file(out, _drawn(data, kind, arguments.at, out.suffix))
    if arguments.json:
        console.json({"written": str(out)})
    else:
        console.result(f"Written: {out}")


def _drawn(data: xarray.Dataset, kind: str, at: Any, ending: str) -> bytes:
    if ending == ".html":
        from symattn.sweep.page import page

        return page(data).encode()

    from symattn.plotting import save
    from symattn.sweep.figures import lines_figure, phase_figure

    figure = phase_figure(data) if kind == _PHASES else lines_figure(data, kind, at)
    save(figure, file := BytesIO(), ending.removeprefix("."))
    return file.getvalue()
