"""Training sets drawn from the model, reduced to what a training step needs of them.

The loss of a sample depends on Q only through its local fields (x + p) Q / sqrt(d). Given those,
all that is left of the sample are Gram matrices of L x L entries, which are computed once here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from symattn.errors import InvalidInput
from symattn.model import AttentionModel

# Samples are drawn by blocks of this many, whatever the memory: so a seed means the same training
# set on every machine, and a smaller set is the beginning of a larger one.
_BLOCK = 256


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Samples:
    """n samples of each of B seeds, in d dimensions.

    Attributes
    ----------
    model : AttentionModel
        Isotropic; any L and ranks.
    seeds : tuple of int
        One for each of the B training sets.
    tokens : Tensor, (B, L, n, d)
        x + p: token l of sample mu is `tokens[b, l, mu]`. In double or single precision; the other
        tensors are in double precision, computed from these very tokens.
    teacher : Tensor, (B, t, d)
        Q*, by columns.
    encoding : Tensor, (L, d)
        p, by rows.
    target_fields : Tensor, (B, t, L, n)
        h* = x Q* / sqrt(d).
    gram : Tensor, (B, L, L, n)
        (x + p)(x + p)^T / d.
    correlation : Tensor, (B, L, L, n)
        y (x + p)^T / d.
    power : Tensor, (B, n)
        |y|_F^2 / d.
    inputs : Tensor, (B, L, L, n)
        x x^T / d.
    mixed : Tensor, (B, L, L, n)
        x (x + p)^T / d.
    """

    model: AttentionModel
    seeds: tuple[int, ...]
    tokens: Tensor
    teacher: Tensor
    encoding: Tensor
    target_fields: Tensor
    gram: Tensor
    correlation: Tensor
    power: Tensor
    inputs: Tensor
    mixed: Tensor

    @property
    def dimension(self) -> int:
        """d."""
        return self.tokens.shape[3]

    @property
    def count(self) -> int:
        """n."""
        return self.tokens.shape[2]

    def of_sets(self, sets: Tensor) -> Samples:
        """The training sets of these indices, in that order."""
        picked = {
            name: getattr(self, name)[sets]
            for name in (
                "tokens",
                "teacher",
                "target_fields",
                "gram",
                "correlation",
                "power",
                "inputs",
                "mixed",
            )
        }
        return replace(self, seeds=tuple(self.seeds[b] for b in sets.tolist()), **picked)

    def with_target(self, omega: float) -> Samples:
        """The same inputs and teacher with the labels of another omega; the tokens are shared."""
        model = replace(self.model, omega=omega)
        correlation, power = _labels(model, self.target_fields, self.inputs, self.mixed)
        return replace(self, model=model, correlation=correlation, power=power)


def positional_encoding(length: int, dimension: int) -> Tensor:
    """p: L rows of norm 1 in d dimensions, a regular simplex: p_l.p_k = -1/(L - 1), sum 0.

    For L = 2 they are p_1 = -p_2 = (1, .., 1)/sqrt(d). For other L they lie in the span of the
    first L - 1 cosines over the dimensions.

    Returns
    -------
    Tensor, (L, d), double precision

    Raises
    ------
    InvalidInput
        When d < L.
    """
    if dimension < length:
        raise InvalidInput.of("dimension", dimension, f"at least the number of tokens, {length}")
    place = (torch.arange(dimension, dtype=torch.float64) + 0.5) * math.pi / dimension
    waves = torch.stack([torch.cos(k * place) for k in range(length - 1)])
    waves /= torch.linalg.vector_norm(waves, dim=1, keepdim=True)
    # The same construction gives the corners: L - 1 orthonormal vectors orthogonal to (1, .., 1).
    corner = (torch.arange(length, dtype=torch.float64) + 0.5) * math.pi / length
    corners = torch.stack([torch.cos(k * corner) for k in range(1, length)])
    corners /= torch.linalg.vector_norm(corners, dim=1, keepdim=True)
    return math.sqrt(length / (length - 1)) * corners.T @ waves


def softmax_attention(fields: Tensor) -> Tensor:
    """softmax(h h^T), row by row.

    fields: (.., r, L, n), h of n samples. Returned: (.., L, L, n), each row, over the last but one
    axis, of sum 1.
    """
    logits = (fields.unsqueeze(-2) * fields.unsqueeze(-3)).sum(dim=-4)
    return torch.softmax(logits, dim=-2)


def target_attention(model: AttentionModel, target_fields: Tensor) -> Tensor:
    """T[h*] = (1 - omega) softmax(h* h*^T) + omega A.

    target_fields: (.., t, L, n). Returned: (.., L, L, n).
    """
    mixing = torch.tensor(model.mixing, dtype=target_fields.dtype, device=target_fields.device)
    return (1 - model.omega) * softmax_attention(target_fields) + model.omega * mixing.unsqueeze(-1)


def draw_samples(
    model: AttentionModel,
    dimension: int,
    count: int,
    seeds: Sequence[int],
    *,
    device: torch.device | str = "cpu",
    precision: torch.dtype = torch.float64,
) -> Samples:
    """Draw a teacher and n samples for every seed.

    A seed gives the same teacher and samples whatever the other seeds are, and the first samples of
    a larger n. Different devices draw different numbers.

    Parameters
    ----------
    model : AttentionModel
        With a sigma, not a spectrum.
    dimension, count : int
        d and n.
    seeds : sequence of int
        One training set is drawn for each.
    device : torch.device or str
        Where the tensors lie.
    precision : torch.dtype
        Of the tokens: float64, or float32, which takes half the memory and time.

    Raises
    ------
    InvalidInput
        When d < L, n < 1, or the model has a spectrum.
    torch.OutOfMemoryError
        When they do not fit; they take about B L n d numbers.
    """
    if model.sigma is None:
        raise InvalidInput.of("spectrum", model.spectrum, "absent (isotropic data) to be sampled")
    if count < 1:
        raise InvalidInput.of("count", count, "a whole number of samples >= 1")
    length, d = model.length, dimension
    encoding = positional_encoding(length, d).to(device)
    batch, rank = len(seeds), model.target_rank
    tokens = torch.empty((batch, length, count, d), device=device, dtype=precision)
    teacher = encoding.new_empty((batch, rank, d))
    target_fields = encoding.new_empty((batch, rank, length, count))
    inputs = encoding.new_empty((batch, length, length, count))
    mixed, gram = torch.empty_like(inputs), torch.empty_like(inputs)
    for b, seed in enumerate(seeds):
        source = torch.Generator(device=device).manual_seed(seed)
        teacher[b].normal_(generator=source)
        for first in range(0, count, _BLOCK):
            block = slice(first, min(first + _BLOCK, count))
            drawn = tokens.new_empty((_BLOCK, length, d)).normal_(generator=source)
            x = drawn[: block.stop - first].transpose(0, 1).double() * model.sigma
            tokens[b, :, block] = x + encoding.unsqueeze(1)
            z = tokens[b, :, block].double()
            x = z - encoding.unsqueeze(1)
            target_fields[b, :, :, block] = torch.einsum("lnd,td->tln", x, teacher[b]) / d**0.5
            gram[b, :, :, block] = torch.einsum("lnd,knd->lkn", z, z) / d
            inputs[b, :, :, block] = torch.einsum("lnd,knd->lkn", x, x) / d
            mixed[b, :, :, block] = torch.einsum("lnd,knd->lkn", x, z) / d
    correlation, power = _labels(model, target_fields, inputs, mixed)
    return Samples(
        model=model,
        seeds=tuple(seeds),
        tokens=tokens,
        teacher=teacher,
        encoding=encoding,
        target_fields=target_fields,
        gram=gram,
        correlation=correlation,
        power=power,
        inputs=inputs,
        mixed=mixed,
    )


def _labels(
    model: AttentionModel, target_fields: Tensor, inputs: Tensor, mixed: Tensor
) -> tuple[Tensor, Tensor]:
    """y (x + p)^T / d and |y|_F^2 / d of the labels y = T[h*] x."""
    target = target_attention(model, target_fields)
    correlation = torch.einsum("bacn,bckn->bakn", target, mixed)
    power = torch.einsum("bacn,bckn,bakn->bn", target, inputs, target)
    return correlation, power
