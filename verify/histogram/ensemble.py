"""Many transformers of one kind as one batch, whose embedding takes few values.

Queries, keys and values are linear in the embedding, and a token vector is one of T. So they are
computed once for the T symbols and the L positions instead of for every sequence, and the score of
one position for another is a sum of four entries of a table of (T + L) x (T + L). Symbols are
looked up by products with their indicators, which have a fast gradient.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.func import stack_module_state
from torch.nn import functional

from verify.histogram.task import HistogramTask
from verify.histogram.transformer import HistogramTransformer, Parts, parts


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ensemble:
    """R transformers of the same restriction and size.

    Attributes
    ----------
    task : HistogramTask
    restriction : str
    weights : mapping
        Name of a parameter of `HistogramTransformer` to those of all, (R, ...).
    parts : Parts
        Those of the restriction.
    """

    task: HistogramTask
    restriction: str
    weights: Mapping[str, Tensor]
    parts: Parts

    @classmethod
    def draw(
        cls, task: HistogramTask, restriction: str, seeds: Sequence[int], device: torch.device
    ) -> Ensemble:
        """Transformers of default size with random initial weights, one for each seed.

        Raises
        ------
        InvalidInput
            For a restriction that is not known.
        """
        modules = [
            HistogramTransformer(task, restriction, generator=torch.Generator().manual_seed(seed))
            for seed in seeds
        ]
        weights, _ = stack_module_state(modules)
        moved = {name: weight.detach().to(device) for name, weight in weights.items()}
        return cls(
            task=task,
            restriction=restriction,
            weights=moved,
            parts=_parts(restriction, moved["query"].shape[-1], device),
        )

    def __len__(self) -> int:
        return len(self.weights["symbols"])

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.weights["symbols"].device

    def with_weights(self, weights: Mapping[str, Tensor]) -> Ensemble:
        """The same transformers with other weights."""
        return replace(self, weights=weights)

    def module(self, run: int) -> HistogramTransformer:
        """One of them as a module of its own, on the processor."""
        own = {name: weight[run].cpu() for name, weight in self.weights.items()}
        width, hidden = own["query"].shape[0], own["hidden.bias"].shape[0]
        module = HistogramTransformer(self.task, self.restriction, width=width, hidden=hidden)
        module.load_state_dict(own)
        return module

    def logits(self, sequences: Tensor) -> Tensor:
        """Logits of the counts, (R, B, L, L + 1), of sequences (R, B, L) or, for all, (B, L)."""
        w = self.weights
        table, values = self._table_and_values()
        indicators, attention = self._indicators_and_attention(sequences, table)
        runs, batch, length = indicators.shape[:3]
        # How much of the attention goes to each symbol and to each position
        looked_at = torch.cat((torch.matmul(attention, indicators), attention), dim=-1)
        attended = torch.bmm(looked_at.flatten(1, 2), values)
        x = functional.layer_norm(attended, attended.shape[-1:])
        x = x * w["norm.weight"].unsqueeze(1) + w["norm.bias"].unsqueeze(1)
        x = _linear(x, w["hidden.weight"], w["hidden.bias"])
        x = _linear(torch.relu(x), w["readout.weight"], w["readout.bias"])
        return x.view(runs, batch, length, -1)

    def attention(self, sequences: Tensor) -> Tensor:
        """Attention matrices, (R, B, L, L), of sequences (R, B, L) or, for all, (B, L)."""
        return self._indicators_and_attention(sequences, self._table_and_values()[0])[1]

    @torch.no_grad()
    def unrestricted(self, noise: float, seeds: Sequence[int]) -> Ensemble:
        """The same functions in the space of all transformers without restriction.

        Those of `folded`, with normal numbers of standard deviation `noise` on the vectors, W_Q and
        W_K, one seed for each transformer.
        """
        w = dict(self.folded())
        generators = [torch.Generator().manual_seed(seed) for seed in seeds]
        for name in ("symbols", "positions", "query", "key"):
            drawn = [torch.randn(w[name].shape[1:], generator=g) for g in generators]
            w[name] = w[name] + noise * torch.stack(drawn).to(self.device)
        free = _parts("none", w["query"].shape[-1], self.device)
        return Ensemble(task=self.task, restriction="none", weights=w, parts=free)

    @torch.no_grad()
    def folded(self) -> Mapping[str, Tensor]:
        """The weights of the same functions without restriction.

        The projector becomes part of queries and keys, and the coordinates that vectors do not have
        are 0.
        """
        w = dict(self.weights)
        symbols_part, positions_part, attended_part = self.parts
        w["symbols"] = w["symbols"] * symbols_part
        w["positions"] = w["positions"] * positions_part
        for name in ("query", "key"):
            w[name] = w[name] * attended_part.unsqueeze(1)
        return w

    def _table_and_values(self) -> tuple[Tensor, Tensor]:
        """Scores (R, T + L, T + L) of symbols and positions for each other, and values."""
        w = self.weights
        symbols_part, positions_part, attended_part = self.parts
        embedded = torch.cat((w["symbols"] * symbols_part, w["positions"] * positions_part), dim=1)
        seen = embedded * attended_part
        queries, keys = torch.bmm(seen, w["query"]), torch.bmm(seen, w["key"])
        table = torch.bmm(queries, keys.transpose(1, 2)) / math.sqrt(queries.shape[-1])
        return table, torch.bmm(embedded, w["value"])

    def _indicators_and_attention(self, sequences: Tensor, table: Tensor) -> tuple[Tensor, Tensor]:
        """Which symbol is where, (R, B, L, T), and the attention matrices."""
        if sequences.dim() == 2:
            sequences = sequences.expand(len(self), *sequences.shape)
        symbols = self.task.symbols
        indicators = torch.eye(symbols, device=self.device)[sequences]
        runs, batch, length = sequences.shape
        of_symbols = torch.bmm(indicators.flatten(1, 2), table[:, :symbols])
        rows = of_symbols.view(runs, batch, length, -1) + table[:, None, symbols:]
        scores = torch.matmul(rows[..., :symbols], indicators.transpose(2, 3))
        return indicators, torch.softmax(scores + rows[..., symbols:], dim=-1)


def _parts(restriction: str, width: int, device: torch.device) -> Parts:
    return Parts(*(part.to(device) for part in parts(restriction, width)))


def _linear(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return torch.baddbmm(bias.unsqueeze(1), x, weight.transpose(1, 2))
