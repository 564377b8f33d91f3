"""From equations to source files: which modules there are and what is in them."""

from __future__ import annotations

from symattn.kernels import two_tokens
from symattn.kernels.printers import BACK_ENDS
from symattn.symbolic.size import Size

MODULE_DOC = """Kernels of the attention model with L = {length}, r = {student_rank}, t = {target_rank}."""


def sources(size: Size) -> dict[str, str]:
    """File name to source text of the kernel modules of a size, one for each back end."""
    kernels = two_tokens.kernels()
    doc = MODULE_DOC.format(
        length=size.length, student_rank=size.student_rank, target_rank=size.target_rank
    )
    return {
        f"{back_end.name}_{size.tag}.py": back_end.module(doc, kernels) for back_end in BACK_ENDS
    }
