"""Where training runs: a processor or a GPU, with what it may use."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from symattn.errors import InvalidInput

# On a processor a larger batch only makes all training sets of it wait for the slowest.
_BUDGET_OF_CPU = 64 * 2**20
# Of the memory of a GPU; the rest is for what one evaluation takes.
_SHARE_OF_GPU = 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """A device of torch.

    Attributes
    ----------
    kind : str
        `cpu` or `cuda`.
    name : str
        What it is, in words.
    budget : int
        Bytes that a batch of training sets may take.
    precision : torch.dtype
        Of the tokens.
    """

    kind: str
    name: str
    budget: int
    precision: torch.dtype = torch.float64


_PRECISIONS = {"double": torch.float64, "single": torch.float32}


def choose_device(name: str = "auto", precision: str = "double") -> Device:
    """The device `auto`, `cpu` or `cuda`; `auto` is a GPU where torch finds one.

    precision: `double` or `single`, of the tokens; single takes half the memory and time.

    Raises
    ------
    InvalidInput
        For another name, or for `cuda` where torch finds no GPU.
    """
    if precision not in _PRECISIONS:
        raise InvalidInput.of("precision", precision, "double or single")
    if name not in ("auto", "cpu", "cuda"):
        raise InvalidInput.of("device", name, "auto, cpu or cuda")
    if name == "cuda" and not torch.cuda.is_available():
        raise InvalidInput.of("device", name, "auto or cpu: torch finds no GPU here")
    tokens = _PRECISIONS[precision]
    if name == "cpu" or not torch.cuda.is_available():
        return Device(kind="cpu", name="CPU", budget=_BUDGET_OF_CPU, precision=tokens)
    budget = int(_SHARE_OF_GPU * torch.cuda.mem_get_info()[0])
    return Device(
        kind="cuda",
        name=torch.cuda.get_device_name(),
        budget=budget,
        precision=tokens,
    )
