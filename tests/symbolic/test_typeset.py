"""The PDF of the derivation, by whichever LaTeX there is."""

import os
import shutil

import pytest

import derivations
from symattn import ComputationFailed
from symattn.symbolic import Size
from symattn.symbolic.typeset import PROGRAMS, typeset

INSTALLED = [program for program in PROGRAMS if shutil.which(program)]


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "document.tex"
    path.write_text("text")
    return path


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Puts a pdflatex on the path that does what a shell script says, and nothing else."""

    def put(script):
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        (folder / "pdflatex").write_text(f"#!/bin/sh\n{script}\n")
        (folder / "pdflatex").chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}/bin{os.pathsep}/usr/bin")

    return put


def test_without_a_program_there_is_no_pdf(source, monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert typeset(source) is None


def test_the_pdf_is_beside_the_source_and_nothing_else_is(source, program):
    program('for last; do :; done; cp "$last" "${last%.tex}.pdf"; echo > "${last%.tex}.log"')
    before = set(source.parent.iterdir())
    assert typeset(source) == source.with_suffix(".pdf")
    assert source.with_suffix(".pdf").read_text() == "text"
    assert set(source.parent.iterdir()) - before == {source.with_suffix(".pdf")}


def test_a_pdf_that_is_newer_is_kept(source, program):
    program("exit 1")
    pdf = source.with_suffix(".pdf")
    pdf.write_text("there")
    os.utime(pdf, ns=(source.stat().st_mtime_ns + 1,) * 2)
    assert typeset(source) == pdf
    os.utime(pdf, ns=(source.stat().st_mtime_ns - 1,) * 2)
    with pytest.raises(ComputationFailed):
        typeset(source)


def test_what_latex_complains_about_is_told(source, program):
    program("echo This is TeX; echo '! Undefined control sequence.'; exit 1")
    with pytest.raises(ComputationFailed, match=r"pdflatex failed: ! Undefined control sequence\."):
        typeset(source)
    assert not source.with_suffix(".pdf").exists()


@pytest.mark.skipif(not INSTALLED, reason="neither pdflatex nor tectonic is installed")
@pytest.mark.parametrize("size", [Size(), Size(3)], ids=lambda size: size.tag)
def test_the_derivation_compiles(size, tmp_path):
    path = tmp_path / "derivation.tex"
    path.write_text(derivations.derivation(size).to_latex())
    assert typeset(path).read_bytes().startswith(b"%PDF")
