"""`symattn verify`: trained layers and message passing against the theory."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from symattn._packages import require
from symattn._parsing import long_whole_number
from symattn.cli._console import Console
from symattn.cli._options import add_output, output_directory
from symattn.errors import ComputationFailed, InvalidInput, SymattnError

if TYPE_CHECKING:
    from verify.predictions import Prediction, SuiteResult

SUMMARY = "train attention layers, run message passing, and judge the theory by both"
EXAMPLES = """\
examples:
  symattn verify --out quick                          the quick suite, some minutes
  symattn verify --suite paper --out paper            the published figures, half an hour
  symattn verify --suite all --device cuda --out all  everything, on a GPU
  symattn verify --compare mine.csv --out mine        your own training results

suites: quick (the core predictions), paper (the published figures and appendices), scaling (how
finite dimensions approach the limit), histogram (transformers that count, by positions or by
meaning), histogram-short, and all (paper, scaling and histogram). It writes report.html,
report.json and figures, and keeps its measurements, so that the same command goes on after an
interruption. If the theory is right, a suite fails with a probability of at most 0.001.

columns of the CSV file: alpha, start (semantic or positional) and dimension; any of q, m, theta,
train_loss and test_error, each with NAME_error, its standard error, or NAME_std and seeds; and,
where they are not the paper's, omega, lambda, sigma, a11, a12, a21, a22.

exit status 3: a prediction fails."""

_LARGEST_SEED = 2**32 - 1

# What a comparison has no use for.
_OF_SUITES = ("suite", "device", "precision", "seed")


class PredictionsFail(SymattnError):
    """The run is complete, and the theory is refuted in some prediction."""

    exit_code: ClassVar[int] = 3


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", required=True, metavar="DIR", help="where the files go")
    parser.add_argument("--suite", metavar="NAME", help="see below (quick)")
    parser.add_argument("--device", metavar="NAME", help="auto, cpu or cuda (auto)")
    parser.add_argument(
        "--precision",
        metavar="NAME",
        help="double or single, of the data that layers are trained on (double)",
    )
    parser.add_argument(
        "--seed", type=long_whole_number, metavar="S", help="of all random numbers (0)"
    )
    parser.add_argument(
        "--compare", metavar="FILE", help="judge the training results in a CSV file, and train none"
    )
    add_output(parser)


def run(arguments: argparse.Namespace, console: Console) -> None:
    require("verify", "torch", "matplotlib", "safetensors")
    if arguments.compare is not None:
        for name in _OF_SUITES:
            if getattr(arguments, name) is not None:
                raise InvalidInput(f"compare goes without --{name}", "compare")
    seed = _or(arguments.seed, 0)
    if not isinstance(seed, int) or not 0 <= seed <= _LARGEST_SEED:
        raise InvalidInput.of("seed", seed, f"a whole number from 0 to {_LARGEST_SEED}")

    from verify.device import choose_device
    from verify.report import write_report
    from verify.run import compare_table, run_suite
    from verify.suites import SUITES

    suite = _or(arguments.suite, "quick")
    if suite not in SUITES:
        raise InvalidInput.of("suite", suite, f"one of {', '.join(SUITES)}")
    device = choose_device(_or(arguments.device, "auto"), _or(arguments.precision, "double"))
    out = output_directory(arguments.out)
    if arguments.compare is None:
        result = run_suite(suite, device, seed, out, console.progress)
    else:
        if (out / "measurements.jsonl").exists():
            allowed = "another directory than that of a suite, whose report would be lost"
            raise InvalidInput.of("out", arguments.out, allowed)
        result = compare_table(Path(arguments.compare), console.progress)
    paths = write_report(result, out)
    if arguments.json:
        console.json(result.to_dict())
    else:
        console.result(_table(result, paths))
    if failures := result.failures():
        raise ComputationFailed("; ".join(failures))
    failed = list(result.predictions("fails"))
    if failed:
        names = ", ".join(prediction.name for prediction in failed)
        fail = "1 prediction fails" if len(failed) == 1 else f"{len(failed)} predictions fail"
        raise PredictionsFail(f"{fail}: {names}")


def _or(given: Any, default: Any) -> Any:
    return default if given is None else given


def _table(result: SuiteResult, paths: tuple[Path, ...]) -> str:
    from verify.report.page import summary_sentences

    lines: list[str] = []
    width = max((len(prediction.name) for prediction in result.predictions()), default=0)
    for finding in result.findings:
        lines.append(finding.title)
        lines += [_line(prediction, width) for prediction in finding.predictions]
        lines += [f"  no result: {finding.failure}"] if finding.failure else []
        lines.append("")
    lines += summary_sentences(result)
    written = [str(path) for path in paths if path.suffix in (".html", ".json")]
    return "\n".join([*lines, "", "Written:", *written])


def _line(prediction: Prediction, width: int) -> str:
    from symattn._numbers import with_error

    measured = predicted = ""
    if prediction.measured is not None:
        value, error = with_error(prediction.measured.value, prediction.measured.error)
        measured = f"{value} +- {error}"
    if prediction.predicted is not None:
        # More figures than the measurement has mean nothing beside it.
        predicted = f"{prediction.predicted:.6g}"
        if prediction.exceeds:
            predicted = f"more than {predicted}"
    z = "" if prediction.z is None else f"z = {prediction.z:.1f}"
    verdict = "not tested" if prediction.verdict == "shown" else prediction.verdict
    return f"  {prediction.name:<{width}} {measured:<24} {predicted:<14} {z:<10} {verdict}"
