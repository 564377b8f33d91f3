"""A PDF of the derivation, where a LaTeX is installed."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from symattn.errors import ComputationFailed

#: Programs that typeset, in the order they are looked for, and how they are called.
PROGRAMS = {
    "pdflatex": ("-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape"),
    "tectonic": (),
}

_LONGEST = 300  # seconds


def typeset(source: Path) -> Path | None:
    """Write the PDF of a LaTeX file next to it, unless there is one that is newer.

    Returns its path, or None when none of `PROGRAMS` is installed.
    Raises ComputationFailed when the program fails or the PDF cannot be written.
    """
    result = source.with_suffix(".pdf")
    program = next((name for name in PROGRAMS if shutil.which(name)), None)
    if program is None:
        return None
    if result.is_file() and result.stat().st_mtime_ns >= source.stat().st_mtime_ns:
        return result
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, source.name)
        command = [program, *PROGRAMS[program], copy.name]
        try:
            shutil.copyfile(source, copy)
            finished = subprocess.run(
                command, cwd=folder, capture_output=True, text=True, errors="replace",
                stdin=subprocess.DEVNULL, timeout=_LONGEST, check=False,
            )  # fmt: skip
            if finished.returncode != 0:
                raise ComputationFailed(
                    f"{source}: {program} failed: {_complaint(finished)}; remove it from the "
                    "path to do without the PDF"
                )
            shutil.copyfile(copy.with_suffix(".pdf"), result)
        except subprocess.TimeoutExpired as error:
            raise ComputationFailed(f"{source}: {program} took over {_LONGEST} s") from error
        except OSError as error:
            raise ComputationFailed(f"{result}: not written: {error.strerror}") from error
    return result


def _complaint(finished: subprocess.CompletedProcess[str]) -> str:
    """The line that says what is wrong: TeX's start with an exclamation mark."""
    lines = [line for line in (finished.stdout + finished.stderr).splitlines() if line.strip()]
    marked = [line for line in lines if line.startswith(("!", "error"))]
    return next(iter([*marked, *lines[-1:]]), f"exit status {finished.returncode}")
