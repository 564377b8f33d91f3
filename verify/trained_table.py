"""Training results of others, from a table of comma-separated values."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from symattn._parsing import number as parsed
from symattn.errors import ComputationFailed, InvalidInput, shown
from symattn.model import PARAMETERS, STANDARD, AttentionModel
from verify.statistics import Estimate

#: Columns that every table has.
REQUIRED = ("alpha", "start", "dimension")

#: The start of training to the branch that it leads to.
STARTS = ("semantic", "positional")

#: Columns of measurements, each with NAME_error, or with NAME_std and `seeds`.
QUANTITIES = ("q", "m", "theta", "train_loss", "test_error")

_MIXING = ("a11", "a12", "a21", "a22")
_KNOWN = (
    *REQUIRED,
    *PARAMETERS,
    *_MIXING,
    "seeds",
    *(f"{name}{suffix}" for name in QUANTITIES for suffix in ("", "_error", "_std")),
)

# A table of means has some thousand rows at most.
_MOST_BYTES = 16 * 2**20

# Moduli of numbers other than 0.
_LEAST, _MOST = 1e-60, 1e60


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedRow:
    """Means over seeds at one setting.

    Attributes
    ----------
    line : int
        In the file.
    model : AttentionModel
    alpha : float
        n/d.
    start : str
        One of `STARTS`.
    dimension : int
        d.
    measured : mapping
        Quantity, one of `QUANTITIES`, to its mean.
    """

    line: int
    model: AttentionModel
    alpha: float
    start: str
    dimension: int
    measured: Mapping[str, Estimate]


def read_trained(path: Path) -> tuple[TrainedRow, ...]:
    """The rows of a table in UTF-8 whose first line names the columns.

    Columns are alpha, start (`semantic` or `positional`) and dimension; optionally omega, lambda,
    sigma and all of a11, a12, a21, a22, the entries of A, which are those of the paper where they
    are left out; and any of q, m, theta, train_loss (min risk/d) and test_error
    (E|y - f_Q(x)|_F^2/(2 d)), each with NAME_error, its standard error, or NAME_std, the standard
    deviation over as many seeds as the column seeds says. An empty cell is no measurement.

    Raises
    ------
    InvalidInput
        One line that names the file, the line and the column, and what is allowed.
    ComputationFailed
        When the file cannot be read.
    """
    lines = csv.reader(io.StringIO(_text(path), newline=""), strict=True)
    rows = []
    try:
        header = [name.strip() for name in next(lines, [])]
        _check_header(header, path)
        for cells in lines:
            if not cells:
                continue
            if len(cells) != len(header):
                raise InvalidInput(
                    f"{path}, line {lines.line_num}: there are {len(cells)} cells for "
                    f"{len(header)} columns"
                )
            texts = (cell.strip() for cell in cells)
            rows.append(_Cells(path, lines.line_num, dict(zip(header, texts, strict=True))).row())
    except csv.Error as error:
        raise InvalidInput(f"{path}, line {lines.line_num}: {error}") from error
    if not rows:
        raise InvalidInput(f"{path} has no rows below its header")
    return tuple(rows)


def _text(path: Path) -> str:
    try:
        if not path.is_file():
            raise InvalidInput(f"{path} is not there, or is no file")
        size = path.stat().st_size
        if size > _MOST_BYTES:
            raise InvalidInput(
                f"{path} has {size} bytes, a table of means at most {_MOST_BYTES}; is it the table?"
            )
        content = path.read_bytes()
    except OSError as error:
        raise ComputationFailed(f"{path} cannot be read: {error.strerror}") from error
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise InvalidInput(f"{path}, line {line}: it must be UTF-8 text") from error


def _check_header(header: list[str], path: Path) -> None:
    def refuse(name: str, why: str) -> InvalidInput:
        return InvalidInput(f"{path}, line 1: the column {shown(name)} {why}")

    if not any(header):
        raise InvalidInput(f"{path} is empty; its first line must name the columns")
    for name in header:
        if name not in _KNOWN:
            raise refuse(name, f"is not known; known are {', '.join(_KNOWN)}")
        if header.count(name) > 1:
            raise refuse(name, "is there more than once")
    needed = list(REQUIRED)
    if set(_MIXING) & set(header):
        needed += _MIXING
    for name in needed:
        if name not in header:
            raise refuse(name, "is missing")
    measured = [name for name in QUANTITIES if name in header]
    if not measured:
        raise InvalidInput(f"{path}, line 1: none of {', '.join(QUANTITIES)} is a column")
    for name in measured:
        if f"{name}_error" in header:
            continue
        if f"{name}_std" not in header:
            raise refuse(name, f"needs {name}_error, or {name}_std and seeds, beside it")
        if "seeds" not in header:
            raise refuse("seeds", f"is missing, which {name}_std needs")


@dataclass(frozen=True, slots=True)
class _Cells:
    """One line of the table, as text by column."""

    path: Path
    line: int
    texts: Mapping[str, str]

    def row(self) -> TrainedRow:
        start = self.texts["start"]
        if start not in STARTS:
            raise self._refuse("start", f"{' or '.join(STARTS)}")
        measured = {
            name: self._estimate(name) for name in QUANTITIES if self.texts.get(name, "") != ""
        }
        return TrainedRow(
            line=self.line,
            model=self._model(),
            alpha=self._number("alpha", positive=True),
            start=start,
            dimension=self._whole("dimension"),
            measured=measured,
        )

    def _model(self) -> AttentionModel:
        given: dict[str, Any] = {
            parameter: self._number(column)
            for column, parameter in PARAMETERS.items()
            if self.texts.get(column)
        }
        mixing = STANDARD
        if any(self.texts.get(name) for name in _MIXING):
            a11, a12, a21, a22 = (self._number(name) for name in _MIXING)
            mixing = ((a11, a12), (a21, a22))
        try:
            return AttentionModel(**given, mixing=mixing)
        except InvalidInput as error:
            message = str(error)
            if error.parameter == PARAMETERS["lambda"]:
                message = "lambda" + message.removeprefix(PARAMETERS["lambda"])
            raise InvalidInput(f"{self.path}, line {self.line}: {message}") from error

    def _estimate(self, name: str) -> Estimate:
        seeds = self._whole("seeds") if self.texts.get("seeds") else None
        if self.texts.get(f"{name}_error"):
            error = self._number(f"{name}_error", positive=True)
        elif self.texts.get(f"{name}_std"):
            if seeds is None:
                raise self._refuse("seeds", f"a whole number >= 2, since {name}_std is given")
            error = self._number(f"{name}_std", positive=True) / math.sqrt(seeds)
        else:
            raise InvalidInput(
                f"{self.path}, line {self.line}: {name} has no error; give {name}_error, or "
                f"{name}_std and seeds"
            )
        return Estimate(
            value=self._number(name),
            error=error,
            freedom=math.inf if seeds is None else seeds - 1,
            count=seeds or 1,
        )

    def _number(self, column: str, positive: bool = False) -> float:
        """A number of a modulus that squares and products of such numbers can have too, or 0."""
        number = parsed(self.texts[column])
        size = number if positive else abs(number) if isinstance(number, float) else number
        if isinstance(size, float) and (_LEAST <= size <= _MOST or (size == 0 and not positive)):
            return float(number)
        allowed = f"a number from {_LEAST:g} to {_MOST:g}"
        raise self._refuse(column, allowed if positive else f"0, or plus or minus {allowed}")

    def _whole(self, column: str) -> int:
        text = self.texts[column]
        if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text) >= 2):
            raise self._refuse(column, "a whole number >= 2")
        return int(text)

    def _refuse(self, column: str, allowed: str) -> InvalidInput:
        where = f"{self.path}, line {self.line}, column {column}"
        return InvalidInput(f"{where}: {shown(self.texts[column])} must be {allowed}")
