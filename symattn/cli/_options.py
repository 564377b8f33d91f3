"""Options that several commands have, and what they mean."""

from __future__ import annotations

import argparse
import math
import tempfile
from itertools import pairwise
from pathlib import Path

from symattn._files import can_be_file
from symattn._parsing import exact, number, whole_number
from symattn.errors import InvalidInput
from symattn.model import STANDARD, AttentionModel, parse_mixing

# The option that sets a parameter, where it is not `--` and the parameter's name.
_OPTIONS = {"lam": "--lambda", "student_rank": "--rank", "target_rank": "--rank"}
_SAME_NAME = (
    "omega",
    "sigma",
    "mixing",
    "length",
    "alpha",
    "over",
    "all",
    "branch",
    "digits",
    "certificate",
    "out",
    "suite",
    "seed",
    "device",
    "precision",
    "compare",
    "store",
    "accuracy",
    "workers",
    "shard",
    "scheduler",
    "to",
    "kind",
    "at",
)


def span(text: str) -> tuple[str, float | str, float | str]:
    """`NAME=A:B` as a name and two ends, with the texts where they are no numbers.

    Raises
    ------
    InvalidInput
        When it does not have that form.
    """
    parts = _over(text)
    if len(parts) != 3:
        raise InvalidInput.of("over", text, "NAME=A:B, as in alpha=0.5:3")
    return parts[0], number(parts[1]), number(parts[2])


def values_over(text: str) -> tuple[str, list[float]]:
    """`NAME=A:B:N` as a name and N evenly spaced values from A to B, exact as decimals.

    Raises
    ------
    InvalidInput
        When it does not have that form, with numbers A < B and a whole number N from 2 to 1000.
    """
    allowed = "NAME=A:B:N with A < B and N from 2 to 1000, as in omega=0:0.5:26"
    parts = _over(text)
    ends = [number(part) for part in parts[1:3]]
    if len(parts) != 4 or not all(isinstance(x, float) and math.isfinite(x) for x in ends):
        raise InvalidInput.of("over", text, allowed)
    low, high, count = exact(parts[1]), exact(parts[2]), whole_number(parts[3])
    if not low < high or isinstance(count, str) or not 2 <= count <= 1000:
        raise InvalidInput.of("over", text, allowed)
    step = (high - low) / (count - 1)
    values = [float(low + k * step) for k in range(count)]
    if not all(a < b for a, b in pairwise(values)):
        raise InvalidInput.of("over", text, f"{allowed}, so far apart that doubles differ")
    return parts[0], values


def _over(text: str) -> list[str]:
    name, _, range_ = text.partition("=")
    return [name, *range_.split(":")]


def add_common(parser: argparse.ArgumentParser) -> None:
    """The options of commands for one model: the model, form of the output, progress."""
    model = parser.add_argument_group("model (what is omitted is as in arXiv 2402.03902)")
    model.add_argument(
        "--omega", type=number, metavar="X", help="positional share of the target, 0 to 1 (0.3)"
    )
    model.add_argument(
        "--sigma", type=number, metavar="X", help="standard deviation of the data (0.5)"
    )
    model.add_argument(
        "--lambda",
        dest="lam",
        type=number,
        metavar="X",
        help="strength of the ridge penalty (0.01)",
    )
    model.add_argument(
        "--mixing",
        metavar="A",
        help="positional part of the target: standard (0.6,0.4,0.4,0.6), asymmetric "
        "(0.3,0.7,0.8,0.2) or the entries by rows, each row with sum 1 (standard; 1/L for other "
        "lengths than 2)",
    )
    model.add_argument("--length", type=whole_number, metavar="L", help="number of tokens (2)")
    model.add_argument(
        "--rank", type=whole_number, metavar="R", help="rank of student and target, r = t (1)"
    )
    add_output(parser)


def add_output(parser: argparse.ArgumentParser) -> None:
    """The options of every command: form of the output, progress."""
    output = parser.add_argument_group("output")
    output.add_argument(
        "--json", action="store_true", help="one JSON object on standard output, nothing else there"
    )
    output.add_argument(
        "--verbose",
        action="store_true",
        help="progress on standard error also where that is no terminal",
    )


def model_of(arguments: argparse.Namespace) -> AttentionModel:
    """The model that the options describe."""
    given = {
        "omega": arguments.omega,
        "sigma": arguments.sigma,
        "lam": arguments.lam,
        "length": arguments.length,
        "student_rank": arguments.rank,
        "target_rank": arguments.rank,
    }
    settings = {name: value for name, value in given.items() if value is not None}
    length = settings.get("length", 2)
    if arguments.mixing is not None:
        mixing = parse_mixing(arguments.mixing, length)
    elif isinstance(length, int) and length > 2:
        mixing = ((1 / length,) * length,) * length
    else:
        mixing = STANDARD
    return AttentionModel(**settings, mixing=mixing)


def output_directory(text: str) -> Path:
    """The directory of `--out`, made if it does not exist yet, and tried with a file.

    Raises
    ------
    InvalidInput
        When no directory of that name can be made and written.
    """
    path = Path(text)
    try:
        if not text:
            raise FileNotFoundError(text)
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except (OSError, ValueError) as error:
        raise InvalidInput.of("out", text, "a directory that can be written or made") from error
    return path


def output_file(text: str, endings: tuple[str, ...]) -> Path:
    """The file of `--out`, in a directory that is made if it does not exist yet.

    Raises
    ------
    InvalidInput
        When it has none of the endings, or no such file can be written.
    """
    path = Path(text)
    if path.suffix not in endings or not can_be_file(path):
        allowed = f"the name of a file, ending in {' or '.join(endings)}"
        raise InvalidInput.of("out", text, allowed)
    output_directory(str(path.parent))
    return path


def as_typed(error: InvalidInput) -> str:
    """The message of an error with the parameter named by its option."""
    message, parameter = str(error), error.parameter
    if parameter is None or not message.startswith(parameter):
        return message
    if parameter in _SAME_NAME:
        return f"--{message}"
    return _OPTIONS.get(parameter, parameter) + message.removeprefix(parameter)
