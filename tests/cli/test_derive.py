"""`symattn derive`: files written, compared, named."""

import json
from pathlib import Path

import pytest

from symattn import ComputationFailed
from symattn.cli import main

NAMES = (
    "derivation_l3_r1_t1.md",
    "derivation_l3_r1_t1.tex",
    "numba_l3_r1_t1.py",
    "numpy_l3_r1_t1.py",
    "torch_l3_r1_t1.py",
    "mpmath_l3_r1_t1.py",
    "arb_l3_r1_t1.py",
)


@pytest.fixture(autouse=True)
def _no_latex(monkeypatch):
    """No LaTeX is found, whatever this machine has."""
    monkeypatch.setattr("symattn.symbolic.typeset.PROGRAMS", {"no-such-latex": ()})


def test_what_is_installed_is_current(capsys):
    assert main(["derive", "--check"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert len(captured.out.splitlines()) == 1


def test_three_tokens_go_where_they_are_told(tmp_path, capsys):
    assert main(["derive", "--length", "3", "--out", str(tmp_path / "new"), "--json"]) == 0
    written = json.loads(capsys.readouterr().out)
    assert written["model"]["length"] == 3
    assert written["pdf"] is None
    assert {Path(name).name for name in written["written"]} == set(NAMES)
    assert {path.name for path in (tmp_path / "new").iterdir()} == set(NAMES)


def test_files_that_differ_are_named_and_written_anew(tmp_path, capsys):
    words = ["derive", "--out", str(tmp_path)]
    assert main(words) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(NAMES) + 1

    edited = tmp_path / "numba_l2_r1_t1.py"
    edited.write_text(edited.read_text() + "\n")
    assert main([*words, "--check", "--json"]) == 1
    captured = capsys.readouterr()
    assert json.loads(captured.out)["differing"] == [str(edited)]
    assert len(captured.err.splitlines()) == 1
    assert str(edited) in captured.err
    assert "torch" not in captured.err

    assert main(words) == 0
    assert capsys.readouterr().out.splitlines()[1:] == [str(edited)]
    assert main(words) == 0
    assert "up to date" in capsys.readouterr().out


def test_other_sizes_need_a_directory(capsys):
    assert main(["derive", "--length", "3"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("symattn: --out is missing")
    assert len(captured.err.splitlines()) == 1


def test_a_step_that_does_not_hold_is_status_1(monkeypatch, capsys):
    def fails(*_, **__):
        raise ComputationFailed("the check of the step hats failed: 1 != 2")

    monkeypatch.setattr("symattn.symbolic.regenerate", fails)
    assert main(["derive"]) == 1
    assert capsys.readouterr() == ("", "symattn: the check of the step hats failed: 1 != 2\n")


@pytest.mark.parametrize("words", [["--check"], []])
def test_nothing_is_made_where_nothing_can_be_written(words, capsys):
    assert main(["derive", "--out", "/dev/null/below", *words]) == 2
    assert "--out = '/dev/null/below'" in capsys.readouterr().err


def test_without_latex_there_is_no_pdf_and_it_says_so(tmp_path, capsys):
    assert main(["derive", "--out", str(tmp_path)]) == 0
    captured = capsys.readouterr()
    assert captured.err == (
        "symattn: no LaTeX found (pdflatex or tectonic), so no PDF of the derivation\n"
    )
    assert not list(tmp_path.glob("*.pdf"))


def test_with_latex_the_pdf_is_beside_the_document(tmp_path, monkeypatch, capsys):
    pdf = tmp_path / "derivation_l2_r1_t1.pdf"
    monkeypatch.setattr("symattn.symbolic.typeset_document", lambda model, out: pdf)
    assert main(["derive", "--out", str(tmp_path), "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["pdf"] == str(pdf)
    assert captured.err == ""
    assert main(["derive", "--out", str(tmp_path), "--check", "--json"]) == 0
    assert "pdf" not in json.loads(capsys.readouterr().out)
