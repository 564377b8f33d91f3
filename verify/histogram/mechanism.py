"""How positional and how semantic attention is: what positions and what symbols explain of it.

Let delta = A - 1/L be the deviation of the attention matrix of a sequence x from uniform attention,
over sequences of independent, uniform symbols. Its entries are fitted by least squares

- by a function of the two positions, G(l, l'), which explains the part P of their mean square,
- by a function of the two symbols, F(x_l, x_l'), which explains S,
- by the sum of both, which explains J.

J - S is what positions explain beyond the symbols, J - P what symbols explain beyond the positions,
and

    index = ((J - P) - (J - S))/((J - P) + (J - S)) = (S - P)/(2 J - S - P),

from -1, where symbols add nothing to positions, to 1, where positions add nothing to symbols. What
both explain counts for neither: a position is also one where the symbol is its own. The rest,
1 - J, is what takes positions and symbols together, or other symbols of the sequence, such as the
normalisation of softmax. Uniform attention has no index.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from symattn.errors import InvalidInput
from verify.histogram.task import HistogramTask

#: Of sequences that are measured.
_INPUTS = 4096
_BLOCKS = 16

# An index takes a denominator of so many standard errors, and more than the rounding of attention
# in single precision leaves where squares cancel.
_CLEAR, _ROUNDING = 5.0, 1e-9
# Relative to the largest eigenvalue of the normal equations: those that are 0, as a constant is
# both a function of positions and one of symbols.
_SINGULAR = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Mechanism:
    """What the attention of one transformer depends on.

    Attributes
    ----------
    square : float
        Mean square of the entries of delta = A - 1/L; (L - 1)/L^2 if each position looks at one.
    positional, semantic, joint : float
        P, S and J: parts of that, from 0 to 1, that functions of positions, of symbols, and sums of
        both explain.
    index, index_error : float or None
        (S - P)/(2 J - S - P), from -1 to 1, and its standard error, by the jackknife over blocks of
        sequences; None where 2 J - S - P is below five of its own standard errors.
    """

    square: float
    positional: float
    semantic: float
    joint: float
    index: float | None
    index_error: float | None

    @property
    def rest(self) -> float:
        """1 - J: what takes positions and symbols together, or other symbols of the sequence."""
        return 1 - self.joint


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
        Of the sequences, which are the same for all R.
    inputs : int
        Sequences, a multiple of 16 from 32 on.

    Raises
    ------
    InvalidInput
        For another number of sequences.
    """
    if inputs % _BLOCKS or inputs < 2 * _BLOCKS:
        raise InvalidInput.of("inputs", inputs, f"a multiple of {_BLOCKS} from {2 * _BLOCKS} on")
    generator = torch.Generator().manual_seed(seed)
    blocks = [_Sums.over(task, attention, inputs // _BLOCKS, generator) for _ in range(_BLOCKS)]
    everything = _Sums(*(torch.stack(parts).sum(dim=0) for parts in zip(*blocks, strict=True)))
    found = _squares(everything)
    without = [_squares(everything.without(block)) for block in blocks]
    clear = _jackknife([each.own() for each in without])
    has_index = found.own() > _CLEAR * clear + _ROUNDING + _SINGULAR * found.square
    errors = _jackknife([each.share() for each in without])
    of = found.square.clamp(min=_ROUNDING)
    columns = (of, found.positional / of, found.semantic / of, found.joint / of)
    rows = torch.stack((*columns, found.share(), errors), dim=1).tolist()
    return [
        Mechanism(
            square=square,
            positional=positional,
            semantic=semantic,
            joint=joint,
            index=index if has else None,
            index_error=error if has else None,
        )
        for has, (square, positional, semantic, joint, index, error) in zip(
            has_index.tolist(), rows, strict=True
        )
    ]


class _Squares(NamedTuple):
    """Mean squares of the entries of delta and of its fits, (R,)."""

    square: Tensor
    positional: Tensor
    semantic: Tensor
    joint: Tensor

    def own(self) -> Tensor:
        """What only positions or only symbols explain."""
        return 2 * self.joint - self.positional - self.semantic

    def share(self) -> Tensor:
        """The index."""
        own = self.own()
        return (self.semantic - self.positional) / torch.where(own == 0, 1.0, own)


class _Sums(NamedTuple):
    """Sums over entries of delta, and how often pairs occur.

    Of delta at each pair of positions (R, L^2) and of symbols (R, T^2), of its square (R,); how
    often each pair of positions has each pair of symbols (L^2, T^2).
    """

    at_positions: Tensor
    at_symbols: Tensor
    square: Tensor
    together: Tensor

    @classmethod
    @torch.no_grad()
    def over(
        cls,
        task: HistogramTask,
        attention: Callable[[Tensor], Tensor],
        inputs: int,
        generator: torch.Generator,
    ) -> _Sums:
        """Over so many random sequences."""
        places, kinds = task.length**2, task.symbols**2
        sequences = torch.randint(task.symbols, (inputs, task.length), generator=generator)
        pairs = (sequences[:, :, None] * task.symbols + sequences[:, None, :]).view(inputs, places)
        delta = attention(sequences).double().cpu().flatten(2) - 1 / task.length
        runs = len(delta)
        flat = torch.arange(places) * kinds + pairs
        return cls(
            at_positions=delta.sum(dim=1),
            at_symbols=torch.zeros(runs, kinds, dtype=torch.float64).index_add_(
                1, pairs.flatten(), delta.flatten(1)
            ),
            square=torch.square(delta).sum(dim=(1, 2)),
            together=torch.bincount(flat.flatten(), minlength=places * kinds)
            .view(places, kinds)
            .double(),
        )

    def without(self, block: _Sums) -> _Sums:
        """Over the sequences that are not in a block."""
        return _Sums(*(all_ - part for all_, part in zip(self, block, strict=True)))


def _squares(sums: _Sums) -> _Squares:
    """What the fits explain: b^T M^-1 b for normal equations with matrix M and right side b."""
    positions, symbols = sums.together.sum(dim=1), sums.together.sum(dim=0)
    entries = positions.sum()
    both = torch.cat((sums.at_positions, sums.at_symbols), dim=1)
    upper = torch.cat((torch.diag(positions), sums.together), dim=1)
    lower = torch.cat((sums.together.T, torch.diag(symbols)), dim=1)
    inverse = torch.linalg.pinv(torch.cat((upper, lower)), rtol=_SINGULAR, hermitian=True)
    return _Squares(
        square=sums.square / entries,
        positional=(torch.square(sums.at_positions) / positions).sum(dim=1) / entries,
        semantic=(torch.square(sums.at_symbols) / symbols.clamp(min=1)).sum(dim=1) / entries,
        joint=((both @ inverse) * both).sum(dim=1) / entries,
    )


def _jackknife(without: Sequence[Tensor]) -> Tensor:
    """Standard errors (R,) of what is (R,) with each block left out."""
    each = torch.stack(list(without))
    scatter = torch.square(each - each.mean(dim=0)).sum(dim=0)
    return torch.sqrt(scatter * (len(each) - 1) / len(each))
