"""`symattn derive`: from the model's definition to the rendered derivation and the kernels."""

from __future__ import annotations

import argparse

from symattn.cli._console import Console
from symattn.cli._options import add_common, model_of, output_directory
from symattn.errors import ComputationFailed

SUMMARY = "derive the equations, check every step, and write the documents and the kernels"
EXAMPLES = """\
examples:
  symattn derive --check                    is what is installed what the derivation gives?
  symattn derive                            write it anew
  symattn derive --length 3 --out there     the equations and kernels of three tokens

Only --length and --rank matter here, since all other parameters stay symbols. --check exits with 1
and names the files that differ. The derivation is written as Markdown and as LaTeX; where pdflatex
or tectonic is installed, also as a PDF, which is not compared."""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--check", action="store_true", help="compare with the files that are there; write nothing"
    )
    parser.add_argument(
        "--out",
        metavar="DIR",
        help="where the files are (for L = 2, r = t = 1 they are part of the installation)",
    )
    add_common(parser)


def run(arguments: argparse.Namespace, console: Console) -> None:
    model = model_of(arguments)
    out = None if arguments.out is None else output_directory(arguments.out)

    from symattn.symbolic import regenerate, typeset_document

    differing = regenerate(model, out, check=arguments.check, progress=console.progress)
    pdf = None
    if not arguments.check:
        console.progress("typesetting")
        pdf = typeset_document(model, out)
        if pdf is None:
            console.note("no LaTeX found (pdflatex or tectonic), so no PDF of the derivation")
    if arguments.json:
        outcome = (
            {"differing": list(differing)}
            if arguments.check
            else {"written": list(differing), "pdf": None if pdf is None else str(pdf)}
        )
        console.json({"model": model.to_dict(), **outcome})
    if arguments.check and differing:
        raise ComputationFailed(
            f"{', '.join(differing)}: missing, or not what the derivation gives; run "
            + ("symattn derive" if out is None else f"symattn derive --out {arguments.out}")
        )
    if not arguments.json:
        console.result(_sentence(arguments.check, differing))


def _sentence(check: bool, written: tuple[str, ...]) -> str:
    if check:
        return "Every step of the derivation holds, and the files are what it gives."
    if not written:
        return "Every step of the derivation holds; the files were up to date."
    return "\n".join(["Every step of the derivation holds. Written:", *written])
