"""The transformer of the histogram task as a module of torch."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from symattn.errors import InvalidInput
from verify.histogram.task import HistogramTask

#: What attention sees: all of the embedding, its positional half, or its semantic half.
RESTRICTIONS = ("none", "positional", "semantic")


class Parts(NamedTuple):
    """Indicators of coordinates of the embedding, (D,): 1 where there is something, else 0."""

    symbols_part: Tensor
    positions_part: Tensor
    attended_part: Tensor


def parts(restriction: str, width: int) -> Parts:
    """What token vectors, position vectors and attention have of an embedding of this width.

    Raises
    ------
    InvalidInput
        For another restriction, or a width that is odd or below 2.
    """
    if restriction not in RESTRICTIONS:
        raise InvalidInput.of("restriction", restriction, f"one of {', '.join(RESTRICTIONS)}")
    if width < 2 or width % 2:
        raise InvalidInput.of("width", width, "an even number >= 2")
    if restriction == "none":
        return Parts(*(torch.ones(width) for _ in Parts._fields))
    semantic = (torch.arange(width) < width // 2).to(torch.get_default_dtype())
    positional = 1 - semantic
    return Parts(semantic, positional, semantic if restriction == "semantic" else positional)


class HistogramTransformer(nn.Module):
    """One attention layer between an embedding and a classifier, as in arXiv 2402.03902, app. A.

    A sequence x is embedded as E = token vectors + position vectors, of width D. Attention is
    A = softmax(E F W_Q (E F W_K)^T / sqrt(D)), and its output A E W_V goes through layer norm and a
    ReLU layer to the logits of the counts at every position. There is no way around attention.

    Restricted, the token vectors have the first D/2 coordinates and the position vectors the
    others, and the projector F leaves queries and keys the half that the restriction names. Without
    restriction both have all coordinates, and F = 1.

    Parameters
    ----------
    task : HistogramTask
    restriction : str
        One of `RESTRICTIONS`.
    width : int
        D, even.
    hidden : int
        Units of the ReLU layer.
    generator : torch.Generator, optional
        Of the initial weights: token and position vectors are standard normal, W_Q, W_K and W_V
        (each D x D, from the left) uniform within 1/sqrt(D), the others as torch's linear layers.

    Raises
    ------
    InvalidInput
        For another restriction, or a width that is odd or below 2.
    """

    symbols_part: Tensor
    positions_part: Tensor
    attended_part: Tensor

    def __init__(
        self,
        task: HistogramTask,
        restriction: str = "none",
        *,
        width: int = 64,
        hidden: int = 128,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        own_parts = parts(restriction, width)
        self.task = task
        self.restriction = restriction
        self.symbols = nn.Parameter(torch.empty(task.symbols, width))
        self.positions = nn.Parameter(torch.empty(task.length, width))
        self.query = nn.Parameter(torch.empty(width, width))
        self.key = nn.Parameter(torch.empty(width, width))
        self.value = nn.Parameter(torch.empty(width, width))
        self.norm = nn.LayerNorm(width)
        self.hidden = nn.Linear(width, hidden)
        self.readout = nn.Linear(hidden, task.classes)
        self._initialise(generator)
        for name, part in own_parts._asdict().items():
            self.register_buffer(name, part, persistent=False)

    def forward(self, sequences: Tensor) -> Tensor:
        """Logits of the counts, (..., L, L + 1), of sequences (..., L)."""
        embedded = self._embedded(sequences)
        attended = self._attention(embedded) @ (embedded @ self.value)
        logits: Tensor = self.readout(torch.relu(self.hidden(self.norm(attended))))
        return logits

    def attention(self, sequences: Tensor) -> Tensor:
        """Attention matrices, (..., L, L), whose rows sum to 1."""
        return self._attention(self._embedded(sequences))

    def _embedded(self, sequences: Tensor) -> Tensor:
        symbols = self.symbols * self.symbols_part
        return symbols[sequences] + self.positions * self.positions_part

    def _attention(self, embedded: Tensor) -> Tensor:
        seen = embedded * self.attended_part
        queries, keys = seen @ self.query, seen @ self.key
        scores = queries @ keys.transpose(-2, -1) / math.sqrt(self.query.shape[0])
        return torch.softmax(scores, dim=-1)

    @torch.no_grad()
    def _initialise(self, generator: torch.Generator | None) -> None:
        nn.init.normal_(self.symbols, generator=generator)
        nn.init.normal_(self.positions, generator=generator)
        for weight in (self.query, self.key, self.value):
            _uniform(weight, weight.shape[0], generator)
        for layer in (self.hidden, self.readout):
            _uniform(layer.weight, layer.in_features, generator)
            _uniform(layer.bias, layer.in_features, generator)


def _uniform(weight: Tensor, inputs: int, generator: torch.Generator | None) -> None:
    nn.init.uniform_(weight, -1 / math.sqrt(inputs), 1 / math.sqrt(inputs), generator=generator)
