"""Compiled functions: cached on disk, and never out of date with what they call."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# far.py is reached through near.py only, by a function that stands below its caller; what near.py
# takes from constant.py stands in the compiled code of all.
MODULES = {
    "constant": "TEN = 10.0\n",
    "far": "from symattn._jit import compiled\n\n@compiled\ndef far(x):\n    return x + 1.0\n",
    "near": "from constant import TEN\nfrom far import far\nfrom symattn._jit import compiled\n\n"
    "@compiled\ndef near(x):\n    return _between(x)\n\n"
    "@compiled\ndef _between(x):\n    return TEN * far(x)\n",
    "top": "from near import near\nfrom symattn._jit import compiled\n\n"
    "@compiled\ndef top(x):\n    return near(x)\n",
}
SCRIPT = (
    "import near, top; print(top.top(1.0), near.near(1.0), "
    "sum(top.top.stats.cache_hits.values()), sum(near.near.stats.cache_hits.values()))"
)


@pytest.fixture
def folder(tmp_path):
    for name, text in MODULES.items():
        (tmp_path / f"{name}.py").write_text(text)
    return tmp_path


def run(folder, **variables):
    """Values of `top` and `near` in a fresh process, and how many came from the cache."""
    environment = {key: value for key, value in os.environ.items() if key != "NUMBA_CACHE_DIR"}
    # Python's own cache trusts time and size of a file, which the change below keeps.
    environment.update(PYTHONPATH=str(ROOT), PYTHONDONTWRITEBYTECODE="1", **variables)
    finished = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return [float(word) for word in finished.stdout.split()]


def change(path, old="x + 1.0", new="x + 2.0"):
    """Another formula in as many bytes, with the old time stamp."""
    before = path.stat()
    path.write_text(path.read_text().replace(old, new))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size


def test_functions_are_compiled_again_when_what_they_call_in_other_files_changes(folder):
    assert run(folder) == [20.0, 20.0, 0, 0]
    assert run(folder) == [20.0, 20.0, 1, 1]
    change(folder / "far.py")
    assert run(folder) == [30.0, 30.0, 0, 0]


def test_functions_are_compiled_again_when_a_constant_of_another_file_changes(folder):
    assert run(folder) == [20.0, 20.0, 0, 0]
    change(folder / "constant.py", "10.0", "20.0")
    assert run(folder) == [40.0, 40.0, 0, 0]


def test_the_same_holds_where_the_folder_cannot_be_written(folder):
    # A file in the place of the cache folder stops even the superuser from writing there.
    (folder / "__pycache__").write_text("")
    cache = {"XDG_CACHE_HOME": str(folder / "cache")}
    assert run(folder, **cache) == [20.0, 20.0, 0, 0]
    change(folder / "far.py")
    assert run(folder, **cache) == [30.0, 30.0, 0, 0]
    assert list((folder / "cache").rglob("*.nbi"))


def test_without_any_place_for_a_cache_functions_are_compiled(folder):
    (folder / "__pycache__").write_text("")
    # NUMBA_CACHE_DIR may name a place that cannot be written, too.
    for cache in ({"XDG_CACHE_HOME": "/dev/null/x"}, {"NUMBA_CACHE_DIR": "/dev/null/x"}):
        where = {"XDG_CACHE_HOME": "/dev/null/x", "TMPDIR": str(folder), **cache}
        assert run(folder, **where) == [20.0, 20.0, 0, 0]
    assert not list(folder.glob("symattn-*"))


@pytest.mark.parametrize(("ending", "content"), [("nbi", b""), ("nbc", b"torn")])
def test_a_file_of_the_cache_that_was_torn_is_written_anew(ending, content, folder):
    assert run(folder) == [20.0, 20.0, 0, 0]
    torn = list(folder.rglob(f"*.{ending}"))
    assert torn
    for path in torn:
        path.write_bytes(content)
    assert run(folder) == [20.0, 20.0, 0, 0]
    assert run(folder) == [20.0, 20.0, 1, 1]


def test_a_compiled_function_keeps_its_name():
    from symattn.quadrature._minima import slope

    assert slope.__qualname__ == slope.py_func.__qualname__ == "slope"
