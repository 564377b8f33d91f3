"""Writing and checking what is generated."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import derivations
from symattn import AttentionModel, ComputationFailed, InvalidInput
from symattn.kernels.generate import sources
from symattn.symbolic import regenerate
from symattn.symbolic.derivation import Derivation
from symattn.symbolic.size import Size

ROOT = Path(__file__).parents[2]
THREE_TOKENS = AttentionModel(length=3, mixing=[[1, 0, 0], [0, 1, 0], [0, 0, 1]])
COMMITTED = (
    "derivations/derivation.md",
    "derivations/derivation.tex",
    "symattn/kernels/generated/numba_l2_r1_t1.py",
    "symattn/kernels/generated/numpy_l2_r1_t1.py",
    "symattn/kernels/generated/torch_l2_r1_t1.py",
    "symattn/kernels/generated/mpmath_l2_r1_t1.py",
    "symattn/kernels/generated/arb_l2_r1_t1.py",
)


def test_what_is_committed_is_current():
    assert regenerate(check=True) == ()


def test_files_are_written_once_and_then_left_alone(tmp_path):
    written = regenerate(out=tmp_path)
    names = {Path(name).name for name in written}
    assert names == {
        "derivation_l2_r1_t1.md",
        "derivation_l2_r1_t1.tex",
        "numba_l2_r1_t1.py",
        "numpy_l2_r1_t1.py",
        "torch_l2_r1_t1.py",
        "mpmath_l2_r1_t1.py",
        "arb_l2_r1_t1.py",
    }
    for name in COMMITTED[2:]:
        assert (tmp_path / Path(name).name).read_bytes() == (ROOT / name).read_bytes()
    stamps = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert len(stamps) == len(COMMITTED)
    assert regenerate(out=tmp_path) == ()
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == stamps


def test_check_names_the_files_that_differ_and_leaves_them(tmp_path):
    regenerate(out=tmp_path)
    edited = tmp_path / "numba_l2_r1_t1.py"
    edited.write_text(edited.read_text().replace("2.0", "3.0", 1))
    missing = tmp_path / "derivation_l2_r1_t1.md"
    missing.unlink()
    before = edited.read_bytes()
    assert set(regenerate(out=tmp_path, check=True)) == {str(edited), str(missing)}
    assert edited.read_bytes() == before
    assert not missing.exists()
    assert set(regenerate(out=tmp_path)) == {str(edited), str(missing)}


def test_other_sizes_need_a_directory():
    with pytest.raises(InvalidInput, match="out is missing") as caught:
        regenerate(THREE_TOKENS)
    assert caught.value.parameter == "out"


def test_nothing_is_written_when_a_step_does_not_hold(tmp_path, monkeypatch):
    whole = derivations.derivation(Size())
    *others, last = whole.chapters
    step = last.steps[-1]
    broken = step.with_formulas([2 * value for value in step.formulas])
    wrong = Derivation(Size(), (*others, type(last)(last.title, last.introduction, (broken,))))
    monkeypatch.setattr(derivations, "derivation", lambda size: wrong)
    with pytest.raises(ComputationFailed, match=step.key):
        regenerate(out=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_cannot_be_written_is_named(tmp_path):
    in_the_way = tmp_path / "file"
    in_the_way.write_text("")
    with pytest.raises(ComputationFailed, match=r"file.*name a directory that can be written"):
        regenerate(out=in_the_way / "below")


def test_progress_names_every_step():
    lines = []
    regenerate(check=True, progress=lines.append)
    steps = [line for line in lines if line.startswith("checking step")]
    assert len(steps) == len(list(derivations.derivation(Size())))


# Hash seeds, and the integers and rationals that sympy takes up silently.
ENVIRONMENTS = {
    "hash seed 0": {"PYTHONHASHSEED": "0", "SYMPY_GROUND_TYPES": "python"},
    "hash seed 1": {"PYTHONHASHSEED": "1", "SYMPY_GROUND_TYPES": "python"},
    "flint": {"PYTHONHASHSEED": "2", "SYMPY_GROUND_TYPES": "flint"},
}


def texts_of_three_tokens():
    """The documents and the kernels, by name."""
    size = Size(3)
    derivation = derivations.derivation(size)
    documents = {"derivation.md": derivation.to_markdown(), "derivation.tex": derivation.to_latex()}
    return {**documents, **sources(size)}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("hash seed 0", marks=pytest.mark.slow),
        pytest.param("hash seed 1", marks=pytest.mark.slow),
        "flint",
    ],
)
def test_the_same_bytes_come_out_everywhere(name, tmp_path):
    variables = ENVIRONMENTS[name]
    if name == "flint":
        pytest.importorskip("flint", reason="python-flint is not installed")
    script = (
        "import sys\n"
        "from pathlib import Path\n"
        "from sympy.external.gmpy import GROUND_TYPES\n"
        "from symattn.symbolic import regenerate\n"
        "from tests.symbolic.test_regenerate import texts_of_three_tokens\n"
        "for name, text in texts_of_three_tokens().items():\n"
        "    Path(sys.argv[1], name).write_bytes(text.encode())\n"
        "print(GROUND_TYPES, *regenerate(check=True))\n"
    )
    finished = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env={**os.environ, **variables},
    )
    assert finished.stdout.split() == [variables["SYMPY_GROUND_TYPES"]]
    for name, text in texts_of_three_tokens().items():
        assert (tmp_path / name).read_bytes() == text.encode()
