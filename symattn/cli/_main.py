"""One command from its words to its exit status."""

from __future__ import annotations

import traceback
import warnings
from pathlib import Path

from symattn.cli import (
    INTERRUPTED,
    branch,
    derive,
    export,
    merge,
    plot,
    report,
    solve,
    sweep,
    threshold,
    verify,
)
from symattn.cli._console import Console
from symattn.cli._options import as_typed
from symattn.cli._parser import Parser, join_negative_values
from symattn.errors import InvalidInput, SymattnError

_COMMANDS = {
    "solve": solve,
    "threshold": threshold,
    "branch": branch,
    "sweep": sweep,
    "merge": merge,
    "export": export,
    "derive": derive,
    "report": report,
    "verify": verify,
    "plot": plot,
}

# What a shell reports of a program that SIGPIPE ends: 128 + SIGPIPE.
_NOBODY_READS = 141


def run(words: list[str]) -> int:
    """Run the command that `words` give; an error is one line on standard error and a status."""
    console = Console()
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: console.note(f"warning: {message}")
        try:
            _run(words, console)
        except SystemExit:  # argparse, after --help and --version
            return 0
        except InvalidInput as error:
            console.note(as_typed(error))
            return error.exit_code
        except SymattnError as error:
            console.note(str(error))
            return error.exit_code
        except KeyboardInterrupt:
            console.note("interrupted")
            return INTERRUPTED
        except BrokenPipeError:
            return _NOBODY_READS
        except Exception as error:
            console.note(f"internal error, please report it: {_described(error)}")
            return SymattnError.exit_code
    return 0


def _run(words: list[str], console: Console) -> None:
    parser = Parser(
        prog="symattn",
        description="Exact asymptotics of a solvable attention layer.",
        epilog="Each command has its own options and examples: symattn solve --help",
    )
    parser.add_argument("--version", action="version", version=_version())
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, command in _COMMANDS.items():
        added = commands.add_parser(
            name,
            help=command.SUMMARY,
            description=command.SUMMARY[0].upper() + command.SUMMARY[1:] + ".",
            epilog=command.EXAMPLES,
        )
        command.add_options(added)
    arguments = parser.parse_args(join_negative_values(words))
    console.verbose = arguments.verbose
    _COMMANDS[arguments.command].run(arguments, console)


def _version() -> str:
    from symattn import __version__

    return f"symattn {__version__}"


def _described(error: Exception) -> str:
    """Kind, message and place of an error that nobody expected."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(place.filename).name}, line {place.lineno})"
