"""The one way in which numeric kernels are compiled.

Scalar float64 code, cached on disk beside the source (or, when that place is read-only, in numba's
user cache), free of the interpreter lock so that threads run it side by side, with IEEE division.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

_F = TypeVar("_F", bound=Callable[..., Any])


def compiled(function: _F) -> _F:
    """Compile `function` with numba on its first call."""
    return njit(cache=True, error_model="numpy", nogil=True)(function)  # type: ignore[no-any-return]
