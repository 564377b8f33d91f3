"""Writing, or checking, what is generated: the rendered derivation and the kernels."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

from symattn._files import replace_file
from symattn._progress import Progress, silent
from symattn.errors import ComputationFailed, InvalidInput
from symattn.model import AttentionModel
from symattn.symbolic.derivation import Derivation
from symattn.symbolic.size import Size
from symattn.symbolic.typeset import typeset

#: The LaTeX document by its name in the repository.
LATEX = "derivations/derivation.tex"


def size_of(model: AttentionModel) -> Size:
    """The sizes of a model.

    Raises InvalidInput where they are too large for equations that are written out.
    """
    return Size(model.length, model.student_rank, model.target_rank)


def derive(model: AttentionModel | None = None) -> Derivation:
    """The derivation of the equations for the sizes of a model (the paper's by default).

    The other parameters stay symbols. `derivation.verify()` runs the machine check of every step.

    Raises
    ------
    InvalidInput
        When the model has more tokens or directions than the equations are written out for.
    """
    # The scripts build on this package; it only meets them here.
    from derivations import derivation

    return derivation(Size() if model is None else size_of(model))


def regenerate(
    model: AttentionModel | None = None,
    out: str | os.PathLike[str] | None = None,
    *,
    check: bool = False,
    progress: Progress = silent,
) -> tuple[str, ...]:
    """Derive, check every step, and write the document and the kernels; or compare with the files.

    Parameters
    ----------
    model : AttentionModel, optional
        Its sizes are derived for; the paper's by default.
    out : path, optional
        Directory for the files `derivation_lL_rR_tT.md`, the same as `.tex`, and
        `BACKEND_lL_rR_tT.py`. By default they go where they are installed, which exists for the
        paper's sizes only.
    check : bool
        Compare with the files that are there instead of writing.
    progress : callable
        Gets a line of text about what is going on.

    Returns
    -------
    The names of the files that differ from what is derived (check), or that were changed.

    Raises
    ------
    InvalidInput
        When out is missing for sizes that have no installed files, or the sizes are too large.
    ComputationFailed
        When the check of a step fails, or a file cannot be written or read.
    """
    size = Size() if model is None else size_of(model)
    if out is None and size != Size():
        raise InvalidInput(
            "out is missing: only the files of length 2 and ranks 1 are part of symattn, not those "
            f"of length {size.length}, ranks {size.student_rank} and {size.target_rank}",
            "out",
        )
    places = _places(size, None if out is None else Path(out))
    different = []
    for name, text in _texts(size, progress).items():
        path = places[name]
        try:
            same = path.is_file() and path.read_bytes() == text.encode()
            if not same and not check:
                replace_file(path, text.encode())
        except OSError as error:
            raise ComputationFailed(
                f"{path}: {error.strerror}; name a directory that can be written with out"
            ) from error
        if not same:
            different.append(str(path if out is not None else name))
    return tuple(different)


def typeset_document(
    model: AttentionModel | None = None, out: str | os.PathLike[str] | None = None
) -> Path | None:
    """Write the PDF of the LaTeX document that `regenerate` wrote, beside it.

    Parameters
    ----------
    model, out
        As for `regenerate`.

    Returns
    -------
    Its path; None where no LaTeX (pdflatex or tectonic) is installed.

    Raises
    ------
    ComputationFailed
        When LaTeX fails, or the PDF cannot be written.
    """
    size = Size() if model is None else size_of(model)
    return typeset(_places(size, None if out is None else Path(out))[LATEX])


def _texts(size: Size, progress: Progress) -> dict[str, str]:
    """What is derived, by the name that it has in the repository."""
    from derivations import derivation
    from symattn.kernels.generate import sources

    progress(f"deriving the equations for L = {size.length}, r = {size.student_rank}")
    derived = derivation(size)
    steps = list(derived)
    for number, step in enumerate(steps, start=1):
        progress(f"checking step {number} of {len(steps)}: {step.title}")
        outcome = step.verify()
        if not outcome.passed:
            raise ComputationFailed(f"the check of the step {step.key} failed: {outcome.detail}")
    progress("generating kernels")
    kernels = {f"symattn/kernels/generated/{name}": text for name, text in sources(size).items()}
    return {
        "derivations/derivation.md": derived.to_markdown(),
        LATEX: derived.to_latex(),
        **kernels,
    }


def _places(size: Size, out: Path | None) -> dict[str, Path]:
    """Where each file goes."""
    from symattn.kernels.printers import BACK_ENDS

    names = [f"{back_end.name}_{size.tag}.py" for back_end in BACK_ENDS]
    if out is None:
        document = _directory("derivations") / "derivation"
        kernels = _directory("symattn.kernels.generated")
    else:
        document = out / f"derivation_{size.tag}"
        kernels = out
    return {
        "derivations/derivation.md": document.with_suffix(".md"),
        LATEX: document.with_suffix(".tex"),
        **{f"symattn/kernels/generated/{name}": kernels / name for name in names},
    }


def _directory(package: str) -> Path:
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise ComputationFailed(f"the package {package} is not installed with symattn")
    return Path(spec.origin).parent
