"""The equations of the model in sympy, from its definition to what is solved, and their checks.

`derive` gives the derivation, `regenerate` writes the rendered documents and the kernels. Nothing
that computes numbers at run time imports this package.
"""

from __future__ import annotations

from symattn.symbolic.derivation import Chapter, Check, Derivation, Equation, Step
from symattn.symbolic.regenerate import derive, regenerate, typeset_document
from symattn.symbolic.size import Size

__all__ = [
    "Chapter",
    "Check",
    "Derivation",
    "Equation",
    "Size",
    "Step",
    "derive",
    "regenerate",
    "typeset_document",
]
