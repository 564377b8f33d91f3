"""From equations to source files: which modules there are and what is in them."""

from __future__ import annotations

from symattn.kernels import any_size, two_tokens
from symattn.kernels.function import Kernel, lower
from symattn.kernels.printers import BACK_ENDS
from symattn.symbolic.size import Size


def kernels(size: Size) -> list[Kernel]:
    """The kernels of a size: in rotated coordinates for two tokens of rank one."""
    return two_tokens.kernels() if size.is_rotated else any_size.kernels(size)


def sources(size: Size) -> dict[str, str]:
    """File name to source text of the kernel modules of a size, one for each back end."""
    doc = (
        f"Kernels of the attention model with L = {size.length}, r = {size.student_rank}, "
        f"t = {size.target_rank}."
    )
    lowered = [lower(kernel) for kernel in kernels(size)]
    return {
        f"{back_end.name}_{size.tag}.py": back_end.module(doc, lowered) for back_end in BACK_ENDS
    }
