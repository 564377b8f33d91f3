"""Exit statuses, streams and what is never seen: a traceback."""

import contextlib
import io
import os
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import symattn
from symattn import ComputationFailed, InvalidInput
from symattn.cli import main

ROOT = Path(__file__).parents[2]
COMMANDS = ("solve", "threshold", "branch", "derive", "report")
ENTRY_POINTS = (
    "symattn.fixed_points.solve",
    "symattn.thresholds.threshold",
    "symattn.continuation.follow_all",
    "symattn.continuation.follow_branch",
    "symattn.symbolic.regenerate",
)


def outcome(*words):
    """Status, standard output and standard error of a command."""
    with (
        contextlib.redirect_stdout(io.StringIO()) as out,
        contextlib.redirect_stderr(io.StringIO()) as err,
    ):
        status = main(words)
    return status, out.getvalue(), err.getvalue()


def process(*words, **settings):
    return subprocess.Popen(
        [sys.executable, "-m", "symattn", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        **settings,
    )


def raising(error):
    def compute(*_, **__):
        raise error

    return compute


BAD_WORDS = {
    "no command": ([], ["COMMAND", "symattn --help"]),
    "unknown command": (["sove"], ["'sove'", "solve", "derive", "report"]),
    "no alpha": (["solve"], ["--alpha", "symattn solve --help"]),
    "alpha without a value": (["solve", "--alpha"], ["--alpha"]),
    "alpha zero": (["solve", "--alpha", "0"], ["--alpha = 0.0", "positive"]),
    "alpha negative": (["solve", "--alpha", "-1e-3"], ["--alpha = -0.001", "positive"]),
    "alpha NaN": (["solve", "--alpha", "nan"], ["--alpha = nan", "positive"]),
    "alpha too large": (["solve", "--alpha", "1e999"], ["--alpha = '1e999'", "finite"]),
    "alpha no number": (["solve", "--alpha", "1,5"], ["--alpha = '1,5'", "number"]),
    "lambda zero": (["solve", "--alpha", "1", "--lambda", "0"], ["--lambda = 0.0", "> 0"]),
    "lambda negative": (["solve", "--alpha", "1", "--lambda", "-.1"], ["--lambda = -0.1", "> 0"]),
    "omega above 1": (["solve", "--alpha", "1", "--omega", "1.1"], ["--omega = 1.1", "0 to 1"]),
    "sigma infinite": (["solve", "--alpha", "1", "--sigma", "inf"], ["--sigma = inf", "1e-30"]),
    "mixing not stochastic": (
        ["solve", "--alpha", "1", "--mixing", "0.5,0.5,0.5,0.6"],
        ["--mixing", "0.6", "sum to 1"],
    ),
    "mixing unknown": (
        ["solve", "--alpha", "1", "--mixing", "odd"],
        ["--mixing = 'odd'", "standard", "asymmetric", "4 decimal numbers"],
    ),
    "branch unknown": (
        ["solve", "--alpha", "1", "--branch", "both"],
        ["--branch = 'both'", "semantic", "positional", "uninformed", "all"],
    ),
    "no digits": (["solve", "--alpha", "1", "--digits", "0"], ["--digits = 0", "1 to 1000"]),
    "digits too many": (["solve", "--alpha", "1", "--digits", "1001"], ["--digits = 1001"]),
    "digits no number": (["solve", "--alpha", "1", "--digits", "6.0"], ["--digits = '6.0'"]),
    "length not solved": (["solve", "--alpha", "1", "--length", "3"], ["--length = 3", "2"]),
    "rank not solved": (["solve", "--alpha", "1", "--rank", "2"], ["--rank = 2", "1"]),
    "rank too large": (["derive", "--rank", "17"], ["--rank = 17", "from 1 to 16"]),
    "no threshold": (["threshold"], ["NAME", "symattn threshold --help"]),
    "threshold unknown": (
        ["threshold", "alpha_x"],
        ["name = 'alpha_x'", "alpha_c", "alpha_l", "weak_positional", "weak_semantic", "weak_bulk"],
    ),
    "threshold without digits": (["threshold", "weak_bulk", "--digits", "0"], ["--digits = 0"]),
    "threshold digits": (["threshold", "weak_bulk", "--digits", "1001"], ["1 to 1000"]),
    "threshold length": (["threshold", "weak_bulk", "--length", "3"], ["--length = 3"]),
    "certificate unknown": (
        ["threshold", "weak_bulk", "--certificate", "sure"],
        ["--certificate = 'sure'", "estimated or proved"],
    ),
    "certificate of a crossing": (
        ["threshold", "alpha_c", "--certificate", "proved"],
        ["--certificate = 'proved'", "estimated for alpha_c"],
    ),
    "abbreviated": (["solve", "--alpha", "1", "--lam", "0.1"], ["--lam"]),
    "nowhere to write": (["report", "--out", "/dev/null/x"], ["--out = '/dev/null/x'"]),
    "report of three tokens": (["report", "--out", "x", "--length", "3"], ["--length = 3"]),
    "line breaks": (["solve", "--alpha", "1\n2\u20283"], ["--alpha = '1\\n2\\u20283'"]),
    "a flag with a value": (["solve", "--alpha", "1", "--json=no"], ["--json", "'no'"]),
}


@pytest.mark.parametrize("name", BAD_WORDS)
def test_bad_input_is_one_line_and_status_2(name):
    words, wanted = BAD_WORDS[name]
    status, out, err = outcome(*words)
    assert (status, out) == (2, "")
    assert len(err.splitlines()) == 1
    for text in ("symattn: ", *wanted):
        assert text in err


OPTIONS = ("alpha", "omega", "sigma", "lambda", "mixing", "length", "rank", "branch", "digits")


@given(option=st.sampled_from(OPTIONS), text=st.text())
def test_text_where_a_value_belongs_is_refused_by_the_name_of_its_option(option, text):
    # No value that is allowed has a question mark.
    words = {"alpha": "1", option: f"{text}?"}
    status, out, err = outcome("solve", *(f"--{name}={value}" for name, value in words.items()))
    assert (status, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert err.startswith(f"symattn: --{option} = ")


WORDS = st.one_of(
    st.sampled_from(COMMANDS),
    st.sampled_from(
        [f"--{name}" for name in (*OPTIONS, "json", "verbose", "check", "out", "help", "version")]
    ),
    st.sampled_from(["-1", "0.5", "2", "nan", "-inf", "1e999", "standard", "all", "0.5,0.5,1,0"]),
    st.text(max_size=5),
)
ERRORS = (ComputationFailed("not converged"), InvalidInput("odd"), RuntimeError("x"), OSError(5))


@given(words=st.lists(WORDS, max_size=8), error=st.sampled_from(ERRORS))
def test_no_words_lead_to_a_traceback(words, error):
    with pytest.MonkeyPatch.context() as patch:
        for name in ENTRY_POINTS:
            patch.setattr(name, raising(error))
        patch.setattr("symattn.cli.report.run", raising(error))
        status, _, err = outcome(*words)
    assert status in (0, 1, 2)
    assert len(err.splitlines()) == (status != 0)


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_is_complete_and_has_examples(command):
    status, out, err = outcome(*command.split(), "--help")
    assert (status, err) == (0, "")
    assert "symattn solve" in out or "examples:" in out
    for name in COMMANDS if not command else ("--omega", "--lambda", "--json", "--verbose"):
        assert name in out


def test_the_version_is_that_of_the_package():
    assert outcome("--version") == (0, f"symattn {symattn.__version__}\n", "")


def test_a_failed_computation_is_one_line_and_status_1(monkeypatch):
    monkeypatch.setattr("symattn.fixed_points.solve", raising(ComputationFailed("3 digits\nonly")))
    assert outcome("solve", "--alpha", "1") == (1, "", "symattn: 3 digits only\n")


def test_an_unexpected_error_names_its_place_on_one_line(monkeypatch):
    monkeypatch.setattr("symattn.fixed_points.solve", raising(ZeroDivisionError("by 0")))
    status, out, err = outcome("solve", "--alpha", "1")
    assert (status, out) == (1, "")
    assert len(err.splitlines()) == 1
    assert "internal error" in err
    assert "ZeroDivisionError: by 0 (test_main.py, line " in err


def test_a_warning_is_one_line_on_standard_error(monkeypatch):
    def warn(*_, **__):
        warnings.warn("the cache\ncannot be written", UserWarning, stacklevel=1)
        raise ComputationFailed("stop")

    monkeypatch.setattr("symattn.fixed_points.solve", warn)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        err = outcome("solve", "--alpha", "1")[2]
    assert err == "symattn: warning: the cache cannot be written\nsymattn: stop\n"


def test_an_interruption_is_one_line_and_the_status_of_the_signal():
    with process("solve", "--alpha", "1.5", "--verbose") as running:
        running.stderr.readline()
        running.send_signal(signal.SIGINT)
        out, err = running.communicate()
    assert running.returncode == 128 + signal.SIGINT
    assert out == ""
    assert err.splitlines()[-1] == "symattn: interrupted"
    assert "Traceback" not in err


# Runs a command that is interrupted when it imports the module named first.
INTERRUPTED_IMPORT = """
import runpy, sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == module:
            raise KeyboardInterrupt

module = sys.argv.pop(1)
sys.meta_path.insert(0, Interrupt())
runpy.run_module("symattn", run_name="__main__")
"""


@pytest.mark.parametrize(
    "module", ["symattn.cli._main", "argparse", "symattn.model", "symattn.cli.solve", "numba"]
)
def test_an_interruption_during_the_imports_is_one_line_too(module):
    finished = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_IMPORT, module, "solve", "--alpha", "1"],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert finished.returncode == 128 + signal.SIGINT
    assert (finished.stdout, finished.stderr) == ("", "symattn: interrupted\n")


def test_a_reader_that_left_is_no_error_message():
    with process("solve", "--alpha", "4", "--lambda", "0.1") as running:
        running.stdout.close()
        err = running.stderr.read()
    assert running.returncode == 128 + signal.SIGPIPE
    assert err == ""


def test_a_full_disk_is_one_line_and_status_1():
    if not os.path.exists("/dev/full"):
        pytest.skip("this system has no /dev/full")
    with open("/dev/full", "w") as full:
        finished = subprocess.run(
            [
                sys.executable,
                "-m",
                "symattn",
                "solve",
                "--lambda=0.1",
                "--alpha=0.5",
                "--branch=zero",
            ],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
    assert finished.returncode == 1
    assert len(finished.stderr.splitlines()) == 1
    assert "No space left" in finished.stderr


def modules_after(*words):
    """Names of the modules that a fresh interpreter holds after a command."""
    script = (
        "import sys\n"
        "from symattn.cli import main\n"
        "main(sys.argv[1:])\n"
        "print('modules:', *sys.modules, file=sys.stderr)\n"
    )
    finished = subprocess.run(
        [sys.executable, "-c", script, *words], capture_output=True, text=True, cwd=ROOT, check=True
    )
    last = finished.stderr.splitlines()[-1]
    assert last.startswith("modules: ")
    return set(last.split())


def test_help_and_bad_input_load_no_library():
    for words in (["solve", "--help"], ["solve", "--alpha", "1", "--lambda", "-1"]):
        loaded = modules_after(*words)
        assert "symattn.cli.solve" in loaded
        assert not loaded & {"numpy", "scipy", "numba", "sympy", "mpmath", "matplotlib", "torch"}


def test_solve_loads_nothing_that_it_does_not_use():
    loaded = modules_after("solve", "--alpha", "4", "--lambda", "0.1", "--branch", "semantic")
    assert "numba" in loaded
    assert not loaded & {"sympy", "matplotlib", "scipy.optimize", "torch", "pandas"}
