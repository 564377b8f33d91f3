"""Words that nobody should type: one line, a status, and files that stay as they were."""

import builtins
import contextlib
import importlib
import io
import os
import pkgutil
import shutil
import sys
from pathlib import Path

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

import symattn
import verify
from symattn import ComputationFailed, InvalidInput, NotFound
from symattn.cli import main
from tests.sweep import planted
from tests.sweep.made_up import here, where

# A module that were imported while something is replaced would keep the replacement.
for package in (symattn, verify):
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)

COMPUTING = (
    "symattn.fixed_points.solve",
    "symattn.thresholds.threshold",
    "symattn.thresholds.all_thresholds",
    "symattn.threshold_curves.threshold",
    "symattn.continuation.follow_all",
    "symattn.continuation.follow_branch",
    "symattn.symbolic.regenerate",
    "symattn.report.make_report",
    "verify.comparison.solve",
    "verify.run.run_suite",
)
ERRORS = (ComputationFailed("not converged; try more"), NotFound("searched from 3\nstarts"))
LONG = "9" * 5000
NUMBERS = (
    *("nan", "-nan", "+-nan", "inf", "-inf", "-0", "0", "-1e-3", "1e400", "-1e400", "1e-400"),
    *("0e999999999", "0e-999999999", f"1{LONG}e-5000", LONG, f"{LONG}x", "1/0", "1/3", "0x1p3"),
    *(
        "1_0",
        "٣",
        "½",
        "",
        " ",
        "1,5",
        "1 ",
        "\n1",
        "1e",
        ".",
        "-",
        "--",
        "=",
        "0.3",
        "1e-12",
        "1e12",
    ),
    *("__import__('os')", "1+1", "0.5;0.6", "%s%n", "$(true)", "${HOME}", "@words", "\ud800", "\0"),
)
COUNTS = ("0", "-1", "1", "2", "3", "1001", "1000000000", "2.0", "1e3", LONG, "", "two", "٣")
NAMES = (
    *("semantic", "positional", "mixed", "best", "all", "alpha_c", "weak_bulk", "proved", "quick"),
    *("phase-diagram", "loss", "standard", "0.5,0.5,1,0", "nan,1,1,0", "1/3", "1/2", "3/2", "cpu"),
)
PLACES = (
    *("good.db", "missing.db", "empty.db", "text.db", "folder.db", "pipe.db", "loop.db", "cut.db"),
    *(
        "new.csv",
        "text.csv",
        "folder.csv",
        "pipe.csv",
        "loop.csv",
        "good.csv",
        "new.svg",
        "good.svg",
    ),
    *("new.html", "new.parquet", "new.nc", "pipe.svg", "", ".", "..", "folder", f"{LONG}.csv"),
    *("missing/new.csv", "text.csv/new.csv", "/dev/null", "/dev/null/x.csv", "a\nb.csv", "a\0.csv"),
    *("\udcff.db", "--", "-x.csv", "~", "new.CSV", "*", "tcp://127.0.0.1:1", "tcp://:1", LONG),
)
OVER = (
    *("alpha=1:2:3", "alpha=1:2", "omega=0.1:0.2:2", "lambda=0.1:0.2:2", "sigma=0.4:0.5:2"),
    *("alpha=2:1:3", "alpha=1:1:3", "alpha=1:2:1", "alpha=1:2:-3", "alpha=1:2:1000000000", "=::"),
    *("alpha=+-nan:1:3", "alpha=nan:inf:3", "omega=0e999999999:0.5:3", f"omega=0:1{LONG}:3"),
    *("alpha=1:1.0000000000000002:9", "omega=-1:2:3", "beta=1:2:3", "alpha=1:2:3:4", "", "alpha"),
    *(f"omega=0:1{LONG}e-5001:3", "alpha=1e-300:1e300:3", "alpha=a:b:c", "omega=0.1:0.2:٢"),
)
#: What stands before the options of a command, and what may be where a value belongs.
BEFORE = {
    "solve": [],
    "threshold": [NAMES],
    "branch": [],
    "sweep": [],
    "merge": [PLACES, PLACES],
    "export": [PLACES],
    "derive": [],
    "report": [],
    "verify": [],
    "plot": [PLACES],
}
MODEL = {
    **dict.fromkeys(("alpha", "omega", "sigma", "lambda"), NUMBERS),
    "mixing": NAMES + NUMBERS,
    **dict.fromkeys(("length", "rank"), COUNTS),
}
OPTIONS = {
    "solve": {**MODEL, "branch": NAMES, "digits": COUNTS},
    "threshold": {**MODEL, "over": OVER, "out": PLACES, "digits": COUNTS, "certificate": NAMES},
    "branch": {**MODEL, "branch": NAMES, "over": OVER, "out": PLACES, "digits": COUNTS},
    "sweep": {
        **MODEL,
        "accuracy": NUMBERS,
        "workers": COUNTS,
        "shard": NAMES + COUNTS,
        "scheduler": PLACES,
    },
    "merge": {"store": PLACES},
    "export": {"to": PLACES},
    "derive": {**MODEL, "out": PLACES},
    "report": {**MODEL, "out": PLACES},
    "verify": {
        **dict.fromkeys(("suite", "device", "precision"), NAMES),
        "compare": PLACES,
        "seed": COUNTS,
    },
    "plot": {"at": NUMBERS},
}
#: Options that a command is given in most cases, so that not all of it is about what is missing.
NEEDED = {
    "solve": {"alpha": NUMBERS},
    "branch": {"branch": NAMES, "over": OVER},
    "merge": {"store": PLACES},
    "export": {"to": PLACES},
    "report": {"out": PLACES},
    "verify": {"out": PLACES},
    "plot": {"kind": NAMES, "out": PLACES},
}
FLAGS = ("--json", "--verbose", "--all", "--check", "--help", "--version", "--nothing", "-h", "-1")


@st.composite
def word_lists(draw, command):
    """Words for a command: of the right form mostly, with odd values."""
    words = [command]
    words += [draw(st.sampled_from(values)) for values in BEFORE[command]]
    chosen = [item for item in NEEDED.get(command, {}).items() if draw(st.integers(0, 9))]
    if command == "sweep":
        # Without them the grid is a large one.
        chosen += [("store", PLACES), *[("over", OVER)] * draw(st.integers(1, 3))]
    names = draw(st.lists(st.sampled_from(sorted(OPTIONS[command])), max_size=3))
    chosen += [(name, OPTIONS[command][name]) for name in names]
    for name, values in chosen:
        odd = st.text(max_size=8).filter(lambda text: not set(text) & set("/~"))
        value = draw(st.one_of(st.sampled_from(values), odd))
        words += draw(st.sampled_from([[f"--{name}={value}"], [f"--{name}", value]]))
    return words + draw(st.lists(st.sampled_from(FLAGS), max_size=1))


def outcome(words):
    """Status, standard output and standard error of a command."""
    with (
        contextlib.redirect_stdout(io.StringIO()) as out,
        contextlib.redirect_stderr(io.StringIO()) as err,
    ):
        status = main(words)
    return status, out.getvalue(), err.getvalue()


def contents(folder):
    """What is in the files that are there."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def box(tmp_path_factory):
    """A folder of files of all kinds, which is the working directory."""
    folder, before = tmp_path_factory.mktemp("box"), Path.cwd()
    os.chdir(folder)
    planted.write_store(Path("good.db"))
    for name in ("good.csv", "good.svg"):
        shutil.copy("good.db", name)
    Path("cut.db").write_bytes(Path("good.db").read_bytes()[:10000])
    Path("empty.db").touch()
    for name in ("text.db", "text.csv"):
        Path(name).write_text("alpha,start,dimension\n1,2\n")
    for name in ("folder", "folder.db", "folder.csv"):
        Path(name).mkdir()
    for name in ("pipe.db", "pipe.csv", "pipe.svg"):
        os.mkfifo(name)
    for name in ("loop.db", "loop.csv"):
        Path(name).symlink_to(name)
    yield folder
    os.chdir(before)


@contextlib.contextmanager
def nothing_computed(error):
    """Whatever computes fails at once, sweeps are made up, and text is not evaluated."""
    evaluated = []

    def fail(*_, **__):
        raise error

    def watched(run):
        # Code of others makes classes from text, but never while ours is the caller.
        def instead(source, *rest, **named):
            place = sys._getframe(1).f_code.co_filename
            if isinstance(source, str) and ("symattn" in place or "verify" in place):
                evaluated.append(source)
            return run(source, *rest, **named)

        return instead

    def no_cluster(address):
        raise InvalidInput.of("scheduler", address, "there")

    with pytest.MonkeyPatch.context() as patch:
        for name in COMPUTING:
            patch.setattr(name, fail)
        engine = here(where(lambda branch, alpha, _: branch == "positional" or alpha > 1.0))
        patch.setattr("symattn.sweep.run.local_processes", lambda _: engine)
        patch.setattr("symattn.sweep.run.dask_cluster", no_cluster)
        patch.setattr(sympy, "sympify", lambda *_, **__: evaluated.append("sympify"))
        patch.setattr(builtins, "eval", watched(eval))
        patch.setattr(builtins, "exec", watched(exec))
        yield
    assert evaluated == []


def check(words, folder, error=ERRORS[0]):
    """Run a command and hold it against what is promised; its status and standard error."""
    before = contents(folder)
    with nothing_computed(error):
        status, out, err = outcome(words)
    assert status in (0, 1, 2)
    assert len(err.splitlines()) == (status != 0) or (status, "--verbose" in words) == (0, True)
    assert "internal error" not in err
    assert "Traceback" not in err
    if status == 2:
        assert out == ""
        after = contents(folder)
        assert {path: after.get(path) for path in before} == before
    return status, err


@pytest.mark.parametrize("command", BEFORE)
def test_odd_values_are_one_line_and_a_status(command, box):
    @settings(max_examples=settings.default.max_examples // 4)
    @given(words=word_lists(command), error=st.sampled_from(ERRORS))
    def hold(words, error):
        check(words, box, error)

    hold()


FOUND = {
    "signs before nan": (["threshold", "alpha_l", "--over=omega=+-nan:1:3"], "--over"),
    "an exponent that makes a number of gigabytes": (
        ["threshold", "alpha_l", "--over=omega=0e999999999:0.5:3"],
        "not converged",
    ),
    "more digits than Python reads": (
        ["threshold", "alpha_l", f"--over=omega=0:1{LONG}e-5001:3"],
        "not converged",
    ),
    "digits that take ever longer": (
        ["plot", "good.db", "--kind=loss", "--out=a.svg", f"--at={'9' * 100_000}x"],
        "--at",
    ),
    "values that doubles do not tell apart": (
        ["sweep", "--store=x.db", "--over=alpha=1:1.0000000000000002:9", "--over=omega=0:1:2"],
        "--over = 'alpha=1:1.0000000000000002:9'",
    ),
    "workers with an exponent": (["sweep", "--store=x.db", "--workers=1e3"], "1 to 1024"),
    "an accuracy that is no double": (["sweep", "--store=x.db", "--accuracy=1e-400"], "1e-9"),
    "a pipe to write a curve to": (
        ["threshold", "weak_bulk", "--over=omega=0:0.4:3", "--out=pipe.csv"],
        "--out = 'pipe.csv'",
    ),
    "a pipe to draw into": (["plot", "good.db", "--kind=loss", "--out=pipe.svg"], "--out"),
    "a pipe to export to": (["export", "good.db", "--to=pipe.csv"], "--to = 'pipe.csv'"),
    "a link to itself to export to": (["export", "good.db", "--to=loop.csv"], "--to"),
    "a folder to export to": (["export", "good.db", "--to=folder.csv"], "--to"),
    "a link to itself to read": (["export", "loop.db", "--to=fresh.csv"], "'loop.db'"),
    "the store itself to export to": (["export", "good.csv", "--to=good.csv"], "another file"),
    "the store itself to draw into": (
        ["plot", "good.svg", "--kind=loss", "--out=./good.svg"],
        "another file",
    ),
    "a name that is too long to export": (["export", LONG, "--to=fresh.csv"], "store = "),
    "a name that is too long to draw": (["plot", LONG, "--kind=loss", "--out=a.svg"], "store = "),
    "a name that is too long to merge": (["merge", LONG, "--store=fresh.db"], "store = "),
    "a name that is too long to make": (["sweep", f"--store={LONG}"], "--store = "),
}


@pytest.mark.parametrize("name", FOUND)
def test_what_once_ended_otherwise(name, box):
    words, named = FOUND[name]
    status, err = check(words, box)
    assert named in err or status == 0
    assert status == (2 if "not converged" not in named else 0)


OVER_TWO = ("--over=alpha=1:2:3", "--over=omega=0.1:0.2:2")


@pytest.mark.parametrize("limit", ["abc", "0", "-1", "1.5", "9" * 5000, "٣", "nan"])
def test_a_limit_on_processors_that_is_no_number_is_refused(limit, box, monkeypatch):
    monkeypatch.setenv("SYMATTN_THREADS", limit)
    status, err = check(["sweep", "--store=limited.db", *OVER_TWO], box)
    assert status == 2
    assert "SYMATTN_THREADS = " in err
    assert not Path("limited.db").exists()


@pytest.mark.parametrize("limit", ["", "1", " 2 ", "1000", "000000000001"])
def test_a_limit_on_processors_may_be_any_number(limit, box, monkeypatch):
    monkeypatch.setenv("SYMATTN_THREADS", limit)
    assert check(["sweep", "--store=unlimited.db", *OVER_TWO], box) == (0, "")
