"""The one way in which numeric kernels are compiled.

Scalar float64 code, cached on disk beside the source (or, when that place is read-only, in numba's
user cache), free of the interpreter lock so that threads run it side by side, with IEEE division.

numba compiles what a function calls into it, but asks only the function's own file whether a cached
version is out of date. So the name under which a function is cached carries a digest of the other
files that it takes compiled functions from, and of the numbers that stand in any of them as
constants: a changed kernel or constant is another name, for every function that reaches it, and
processes that run different versions do not meet.

A cache that cannot be read or written costs time only: functions are compiled anew. Where no place
for one can be written at all, where numba would give up, it is a folder that ends with the process.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

from numba import config, njit
from numba.core.caching import FunctionCache
from numba.extending import is_jitted

_F = TypeVar("_F", bound=Callable[..., Any])


class _Cache(FunctionCache):
    """The cache of a function, which lets it be compiled where an entry cannot be read or kept."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        numbas: Any = super()
        try:
            return numbas.load_overload(sig, target_context)
        except Exception:  # whatever a torn file leads to
            with suppress(OSError):
                numbas.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        numbas: Any = super()
        with suppress(OSError):
            numbas.save_overload(sig, data)


def _cache(function: Callable[..., Any]) -> Any:
    """The cache of a function. Where numba finds no place for it, one is made first."""
    made: Any = _Cache
    try:
        return made(function)
    except RuntimeError:
        folder = tempfile.mkdtemp(prefix="symattn-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        settings: Any = config
        # For this process and those that it starts.
        settings.CACHE_DIR = os.environ["NUMBA_CACHE_DIR"] = folder
        return made(function)


def compiled(function: _F) -> _F:
    """Compile `function` with numba on its first call."""
    dispatcher: Any = njit(error_model="numpy", nogil=True)(function)
    name = function.__qualname__
    # numba takes the name of the cache file from here, once.
    function.__qualname__ = f"{name}-{_digest_of_what_it_uses(function)}"
    try:
        dispatcher._cache = _cache(function)  # in place of `cache=True`
    finally:
        function.__qualname__ = name
    return dispatcher


def _digest_of_what_it_uses(function: Callable[..., Any]) -> str:
    """Digest of the files of the compiled functions that `function` can reach, and of constants.

    Its own file is left out: numba looks after that one. The constants are those imported into one
    of the files, from wherever: compiled code holds their values.
    """
    own = function.__code__.co_filename
    files = {own}
    constants: set[str] = set()
    _add_used(function.__globals__, files, constants)
    parts = [_digest(path) for path in sorted(files - {own})]
    parts += [constant.encode() for constant in sorted(constants)]
    return sha256(b"\n".join(parts)).hexdigest()[:16]


def _add_used(names: Mapping[str, Any], files: set[str], constants: set[str]) -> None:
    """Add numbers among `names`, files of compiled functions there, and what those can reach."""
    for name, value in list(names.items()):
        if isinstance(value, bool | int | float):
            constants.add(f"{name} = {value!r}")
        elif is_jitted(value) and value.py_func.__code__.co_filename not in files:
            files.add(value.py_func.__code__.co_filename)
            _add_used(value.py_func.__globals__, files, constants)


@lru_cache
def _digest(path: str) -> bytes:
    return sha256(Path(path).read_bytes()).digest()


# The generated kernels have numba's own decorator, which would find no place: one is made before
# they are imported.
_cache(compiled)
