"""Batches of seeds that fit into memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, TypeAlias, TypeVar

import torch

from symattn.errors import ComputationFailed
from symattn.model import AttentionModel
from verify.device import Device
from verify.samples import Samples, draw_samples

Result = TypeVar("Result")

Row: TypeAlias = dict[str, Any]
"""Numbers and labels of one run by name."""

_DOUBLE = 8
#: Arrays of L x L doubles a sample: the five that are kept, and those of one evaluation a run.
_KEPT, _WORKING = 5, 8


def bytes_per_seed(
    model: AttentionModel, dimension: int, count: int, *, runs: int, precision: torch.dtype
) -> int:
    """Memory that one training set of n samples takes while K runs are trained on it, in bytes.

    The tokens, L n d numbers, outweigh the L x L matrices of the samples when d is large.
    """
    tokens = model.length * count * dimension * precision.itemsize
    matrices = model.length**2 * count * (_KEPT + _WORKING * runs) * _DOUBLE
    return tokens + matrices


def groups_of_seeds(seeds: Sequence[int], size: int) -> list[tuple[int, ...]]:
    """The seeds in order, in groups of at most `size`, as equal as can be."""
    groups = -(-len(seeds) // max(size, 1))
    bounds = [len(seeds) * k // groups for k in range(groups + 1)] if groups else [0]
    return [tuple(seeds[a:b]) for a, b in pairwise(bounds)]


def by_groups(
    work: Callable[[tuple[int, ...]], Result],
    seeds: Sequence[int],
    *,
    seed_bytes: int,
    budget: int,
) -> Iterator[Result]:
    """work(group) for groups of seeds that fit into `budget` bytes, in order.

    A group that does not fit after all is halved, and so are those after it. One seed is tried
    even where it exceeds the budget.

    Raises
    ------
    ComputationFailed
        When memory does not suffice for one seed.
    """
    size = max(budget // seed_bytes, 1)
    waiting = groups_of_seeds(seeds, size)
    while waiting:
        group = waiting.pop(0)
        try:
            result = work(group)
        except (MemoryError, RuntimeError) as failure:
            if not is_out_of_memory(failure):
                raise
        else:
            yield result
            continue
        # Out of the handler, where the failure no longer holds the arrays of `work`.
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        if len(group) == 1:
            raise ComputationFailed(
                f"training set of seed {group[0]}: it takes about {seed_bytes / 2**30:.3g} GiB, "
                "more than there is; try a smaller dimension or alpha, or single precision"
            )
        size = len(group) // 2
        left = [seed for later in [group, *waiting] for seed in later]
        waiting = groups_of_seeds(left, size)


def rows_of_sets(
    work: Callable[[Samples], list[Row]],
    model: AttentionModel,
    dimension: int,
    count: int,
    seeds: Sequence[int],
    device: Device,
    *,
    runs: int,
) -> list[Row]:
    """The rows that `work` makes of the training sets of all seeds, drawn by groups that fit.

    count: samples of each set; runs: how many students are trained on each at once.

    Raises
    ------
    ComputationFailed
        When memory does not suffice for one seed.
    """

    def drawn(group: tuple[int, ...]) -> list[Row]:
        samples = draw_samples(
            model, dimension, count, group, device=device.kind, precision=device.precision
        )
        return work(samples)

    seed_bytes = bytes_per_seed(model, dimension, count, runs=runs, precision=device.precision)
    groups = by_groups(drawn, seeds, seed_bytes=seed_bytes, budget=device.budget)
    return [row for rows in groups for row in rows]


def is_out_of_memory(failure: BaseException) -> bool:
    """Whether memory ran out: torch says so on the CPU by a RuntimeError like any other."""
    return isinstance(failure, (MemoryError, torch.OutOfMemoryError)) or (
        "DefaultCPUAllocator: can't allocate memory" in str(failure)
    )
