"""Several processes at once, and places where nothing can be kept."""

import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOLVE = ("solve", "--alpha", "4", "--lambda", "0.1", "--branch", "semantic", "--json")


def run(*words, package=ROOT, **variables):
    """Status, standard output and standard error of a command in a process of its own."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **variables}
    finished = subprocess.run(
        [sys.executable, "-m", "symattn", *words],
        capture_output=True,
        text=True,
        cwd=package,
        env=environment,
        timeout=900,
    )
    return finished.returncode, finished.stdout, finished.stderr


def solved(**where):
    status, out, err = run(*SOLVE, **where)
    assert (status, err) == (0, "")
    return json.loads(out)


@pytest.fixture(scope="module")
def sealed(tmp_path_factory):
    """A copy of the package beside which no cache can be written, not even by the superuser."""
    folder = tmp_path_factory.mktemp("sealed")
    shutil.copytree(
        ROOT / "symattn", folder / "symattn", ignore=shutil.ignore_patterns("__pycache__")
    )
    for place in [path for path in folder.rglob("*") if path.is_dir()]:
        (place / "__pycache__").write_text("")
    return folder


@pytest.mark.slow
def test_processes_that_compile_at_once_into_one_empty_cache_agree(tmp_path):
    known = solved()
    place = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    with ThreadPoolExecutor(2) as pool:
        both = list(pool.map(lambda _: solved(**place), range(2)))
    assert list((tmp_path / "cache").rglob("*.nbc"))
    # What they left is whole.
    assert both == [known, known]
    assert solved(**place) == known


@pytest.mark.slow
@pytest.mark.parametrize("place", ["/dev/null/cache", None])
def test_where_nothing_can_be_cached_the_result_is_the_same(place, sealed, tmp_path):
    nowhere = {"HOME": "/dev/null", "XDG_CACHE_HOME": "/dev/null/cache", "TMPDIR": str(tmp_path)}
    if place is not None:
        nowhere["NUMBA_CACHE_DIR"] = place
    assert solved(package=sealed, **nowhere) == solved()
    assert list(tmp_path.iterdir()) == []
