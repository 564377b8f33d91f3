"""What is installed, what an import costs, and whether the documents say what is so."""

import doctest
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import symattn

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def modules_loaded_by(statement):
    """Top-level modules that a fresh interpreter holds after the statement."""
    script = f"{statement}\nimport sys\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    finished = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return set(finished.stdout.split())


def test_the_import_loads_no_heavy_library():
    loaded = modules_loaded_by("import symattn; symattn.AttentionModel()")
    assert "symattn" in loaded
    assert not loaded & {"sympy", "numba", "scipy", "mpmath", "matplotlib", "torch"}


def test_the_baseline_loads_no_symbolic_library_and_no_compiler():
    loaded = modules_loaded_by("import symattn; symattn.linear_baseline")
    assert "numpy" in loaded
    assert not loaded & {"sympy", "numba", "scipy", "matplotlib", "torch"}


def test_every_public_name_is_there():
    for name in symattn.__all__:
        assert getattr(symattn, name) is not None
    assert set(symattn.__all__) <= set(dir(symattn))
    with pytest.raises(AttributeError, match="no attribute 'no_such_name'"):
        _ = symattn.no_such_name


def direct_dependencies():
    """The requirements of the package and of its extras."""
    extras = PROJECT["optional-dependencies"].values()
    return [Requirement(line) for lines in (PROJECT["dependencies"], *extras) for line in lines]


def test_every_direct_dependency_is_pinned_within_its_range():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    required = direct_dependencies()
    assert set(pins) == {requirement.name for requirement in required}
    for requirement in required:
        assert requirement.specifier.contains(pins[requirement.name]), requirement


def test_the_changelog_tells_of_this_version():
    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    assert headings[0] == symattn.__version__


@pytest.mark.parametrize("document", ["README.md", "docs/verification.md"])
def test_the_examples_of_the_documents_hold(document):
    outcome = doctest.testfile(str(ROOT / document), module_relative=False)
    assert outcome.attempted > 0
    assert outcome.failed == 0


@pytest.mark.slow
def test_the_wheel_holds_kernels_types_and_all_packages(tmp_path):
    # From a copy, because setuptools builds in place and would pick up what an older build left.
    copy = shutil.copytree(
        ROOT, tmp_path / "source", ignore=shutil.ignore_patterns(".*", "build", "*.egg-info")
    )
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", tmp_path, copy]
    subprocess.run(build, check=True)
    (wheel,) = tmp_path.glob("symattn-*.whl")
    contents = set(zipfile.ZipFile(wheel).namelist())
    wanted = {"symattn/py.typed", "verify/__init__.py"}
    wanted |= {f"derivations/derivation.{ending}" for ending in ("md", "tex")}
    for package in ("symattn", "derivations", "verify"):
        sources = (ROOT / package).rglob("*.py")
        wanted |= {source.relative_to(ROOT).as_posix() for source in sources}
    assert wanted <= contents
    assert not any(name.startswith(("tests/", "benchmarks/")) for name in contents)
