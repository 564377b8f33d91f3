"""What goes to which stream, and in which form."""

import io
import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symattn import ComputationFailed
from symattn.cli._console import Console, one_line


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def console():
    return Console()


def test_progress_is_silent_where_nobody_watches(console, capsys):
    console.progress("step 1")
    assert capsys.readouterr() == ("", "")


def test_progress_is_lines_on_standard_error_when_asked_for(console, capsys):
    console.verbose = True
    console.progress("step 1")
    console.progress("step\n2")
    assert capsys.readouterr() == ("", "step 1\nstep 2\n")


def test_progress_on_a_terminal_is_one_line_that_disappears(console, monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    monkeypatch.setenv("COLUMNS", "20")
    console.progress("a step whose description is long")
    console.progress("step 2")
    console.result("done")
    erase = "\r\x1b[2K"
    assert terminal.getvalue() == f"a step whose descri{erase}step 2{erase}"
    assert capsys.readouterr().out == "done\n"


def test_a_note_is_one_line_after_the_programs_name(console, capsys):
    console.note("wrong:\n  it is")
    assert capsys.readouterr() == ("", "symattn: wrong: it is\n")


def test_a_long_note_keeps_its_beginning_and_its_end(console, capsys):
    console.note(f"--alpha = {'9' * 10_000} must be short")
    line = capsys.readouterr().err
    assert len(line) < 700
    assert line.startswith("symattn: --alpha = 9")
    assert line.endswith("must be short\n")


def test_json_is_strict(console, capsys):
    console.json({"alpha": 1.5})
    assert json.loads(capsys.readouterr().out) == {"alpha": 1.5}
    with pytest.raises(ValueError, match="Out of range"):
        console.json({"alpha": float("nan")})


def test_what_the_encoding_lacks_is_escaped(console, monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr("sys.stdout", stream)
    console.result("results/\N{GREEK SMALL LETTER ALPHA}\udc80")
    stream.seek(0)
    assert stream.read() == "results/\\u03b1\\udc80\n"


def test_a_full_disk_is_a_failure_with_its_reason(console, monkeypatch):
    if not os.path.exists("/dev/full"):
        pytest.skip("this system has no /dev/full")
    with open("/dev/full", "w") as stream:
        monkeypatch.setattr("sys.stdout", stream)
        with pytest.raises(ComputationFailed, match="No space left"):
            console.result("done")


def test_closed_streams_are_no_crash(console, monkeypatch):
    monkeypatch.setattr("sys.stdout", None)
    monkeypatch.setattr("sys.stderr", None)
    console.progress("step 1")
    console.note("wrong")
    with pytest.raises(ComputationFailed, match="closed"):
        console.result("done")


@given(st.text())
def test_any_text_becomes_one_printable_line(text):
    line = one_line(text)
    assert line == "" or line.isprintable()
    assert len(line.splitlines()) <= 1
