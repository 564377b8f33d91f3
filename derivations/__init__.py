"""The derivation, one script a chapter, in the order of their numbers.

Each script has one function, `chapter(size)`, which returns the chapter's steps with their machine
checks. `derivation.md` and `derivation.tex` are what `symattn derive` renders from them.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module

from symattn.symbolic.derivation import Derivation
from symattn.symbolic.size import Size

SCRIPTS = (
    "01_local_fields",
    "02_partition_function",
    "03_replica_symmetry",
    "04_zero_temperature",
    "05_free_energy",
    "06_channel",
    "07_inverse_prox",
    "08_hats",
    "09_ridge",
    "10_losses",
    "11_symmetries",
    "12_jacobian",
    "13_zero_point",
    "14_message_passing",
    "15_ridge_regression",
)


@lru_cache(maxsize=8)
def derivation(size: Size) -> Derivation:
    """All chapters that there are for a size."""
    scripts = (import_module(f"derivations.{name}") for name in SCRIPTS)
    chapters = (script.chapter(size) for script in scripts)
    return Derivation(size, tuple(chapter for chapter in chapters if chapter.steps))
