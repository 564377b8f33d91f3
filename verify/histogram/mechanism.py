"""How positional and how semantic attention is: an index from symmetries of attention matrices.

Let delta(x) = A(x) - 1/L be the deviation of the attention matrix of a sequence x from uniform
attention; its entries sum to 0 for every x. Two averages of it, over sequences of independent,
uniform symbols, are projections that commute, since the law of x is symmetric:

- onto functions of the two positions alone, which do not depend on x: the mean of delta over x.
- onto functions of the symbols alone, which do not know of positions: if x is permuted, rows and
  columns of A are permuted with it. It is the mean over permutations, each undone after it.

A purely positional attention is its own first projection, a purely semantic one its own second.
Some matrices are both: those that only tell the diagonal from the rest, with all x the same. With
P, S and C for the squared length of the projections onto the first, the second and what both have
in common, as parts of that of delta,

    index = (S - P)/(S + P - 2 C),

from -1, where symbols alone explain nothing, to 1, where positions alone explain nothing. It is to
be read beside the rest, 1 - S - P + C, the part of delta that takes both, positions and symbols:
attention is purely positional (semantic) if the index is -1 (1) and the rest is 0. Where neither
positions nor symbols alone explain anything beyond the error, as in uniform attention, or attention
that only tells the diagonal from the others, there is no index.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from symattn.errors import InvalidInput
from verify.histogram.task import HistogramTask

#: Of sequences that are measured, each with one permutation.
_INPUTS = 4096
_BLOCKS = 32

# An index takes a denominator of so many standard errors, and more than the rounding of attention
# in single precision leaves where squares cancel.
_CLEAR, _ROUNDING = 5.0, 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Mechanism:
    """What the attention of one transformer depends on.

    Attributes
    ----------
    square : float
        Mean square of the entries of delta = A - 1/L; (L - 1)/L^2 if each position looks at one.
    positional, semantic, common : float
        P, S and C: parts of that, from 0 to 1, that positions explain, that symbols explain, and
        that either does. As estimates from random sequences they may be off by their errors.
    index, index_error : float or None
        (S - P)/(S + P - 2 C) and its standard error, by the jackknife over blocks of sequences;
        None where S + P - 2 C is below five of its own standard errors.
    """

    square: float
    positional: float
    semantic: float
    common: float
    index: float | None
    index_error: float | None

    @property
    def rest(self) -> float:
        """1 - P - S + C, the part that takes positions and symbols together."""
        return 1 - self.positional - self.semantic + self.common


def mechanisms(
    task: HistogramTask, attention: Callable[[Tensor], Tensor], *, seed: int, inputs: int = _INPUTS
) -> list[Mechanism]:
    """The mechanism of each of R transformers.

    Parameters
    ----------
    task : HistogramTask
    attention : callable
        Sequences (B, L) to the attention matrices (R, B, L, L).
    seed : int
        Of the sequences and permutations, which are the same for all R.
    inputs : int
        Sequences, a multiple of 32 from 64 on.

    Raises
    ------
    InvalidInput
        For another number of sequences.
    """
    if inputs % _BLOCKS or inputs < 2 * _BLOCKS:
        raise InvalidInput.of("inputs", inputs, f"a multiple of {_BLOCKS} from {2 * _BLOCKS} on")
    generator = torch.Generator().manual_seed(seed)
    size = inputs // _BLOCKS
    blocks = torch.stack([_sums(task, attention, size, generator) for _ in range(_BLOCKS)])
    everything = blocks.sum(dim=0)
    found = _squares(everything, inputs, task.length)
    without = _squares(everything - blocks, inputs - size, task.length)
    has_index = found.own() > _CLEAR * _jackknife(without.own()) + _ROUNDING
    columns = (*found.shares(), found.index(), _jackknife(without.index()))
    return [
        Mechanism(
            square=square,
            positional=positional,
            semantic=semantic,
            common=common,
            index=index if has else None,
            index_error=error if has else None,
        )
        for has, (square, positional, semantic, common, index, error) in zip(
            has_index.tolist(), torch.stack(columns, dim=1).tolist(), strict=True
        )
    ]


def _jackknife(without: Tensor) -> Tensor:
    """Standard errors (R,) of what is (blocks, R) with one block left out at a time."""
    scatter = torch.square(without - without.mean(dim=0)).sum(dim=0)
    return torch.sqrt(scatter * (_BLOCKS - 1) / _BLOCKS)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Squares:
    """Mean squares of entries of delta and of its projections, (..., R)."""

    square: Tensor
    positional: Tensor
    semantic: Tensor
    common: Tensor

    def shares(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        of = self.square
        return of, self.positional / of, self.semantic / of, self.common / of

    def own(self) -> Tensor:
        """What only positions or only symbols explain."""
        return self.positional + self.semantic - 2 * self.common

    def index(self) -> Tensor:
        return (self.semantic - self.positional) / self.own()


@torch.no_grad()
def _sums(
    task: HistogramTask,
    attention: Callable[[Tensor], Tensor],
    inputs: int,
    generator: torch.Generator,
) -> Tensor:
    """Sums over sequences, (R, L^2 + 4): of delta, its square, its product, in the new order,
    with that of the permuted sequence, its mean on the diagonal, and that squared.
    """
    length = task.length
    sequences = torch.randint(task.symbols, (inputs, length), generator=generator)
    order = torch.argsort(torch.rand(inputs, length, generator=generator), dim=1)
    permuted = torch.gather(sequences, 1, order)
    delta, moved = (attention(x).double().cpu() - 1 / length for x in (sequences, permuted))
    each = torch.arange(inputs)[:, None, None]
    reordered = delta[:, each, order[:, :, None], order[:, None, :]]
    diagonal = delta.diagonal(dim1=2, dim2=3).mean(dim=2)
    columns = (
        torch.square(delta).sum(dim=(1, 2, 3)),
        (reordered * moved).sum(dim=(1, 2, 3)),
        diagonal.sum(dim=1),
        torch.square(diagonal).sum(dim=1),
    )
    return torch.cat((delta.sum(dim=1).flatten(1), torch.stack(columns, dim=1)), dim=1)


def _squares(sums: Tensor, count: int, length: int) -> _Squares:
    """The mean squares from the sums over `count` sequences, (..., R, L^2 + 4), without bias."""
    of_delta, columns = sums[..., : length**2], sums[..., length**2 :]
    square, permuted, diagonal, squared_diagonal = columns.unbind(dim=-1)
    pairs = count * (count - 1)
    entries = length**2
    mean_square = (torch.square(of_delta).sum(dim=-1) - square) / pairs
    # A matrix of zero sum that only tells its diagonal, a, from the rest has the mean square
    # a^2/(L - 1).
    diagonal_square = (torch.square(diagonal) - squared_diagonal) / pairs
    return _Squares(
        square=square / (count * entries),
        positional=mean_square / entries,
        semantic=permuted / (count * entries),
        common=diagonal_square / (length - 1),
    )
