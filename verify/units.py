"""Units of work: what is computed once and kept, and what an interrupted run need not repeat."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import Field, dataclass, replace
from typing import Any, ClassVar, Protocol, TypeAlias, TypeVar

import numpy as np

from verify.device import Device

# Of 64: seeds are positive as signed numbers too.
_SPARE_BITS = np.uint64(1)

Json: TypeAlias = Any
"""What JSON can hold."""


# A unit takes about so long, and has no more training sets than a batch of small ones needs.
_SECONDS_OF_A_UNIT, _MOST_SEEDS = 8.0, 16


class Unit(Protocol):
    """A piece of work whose result is kept in the store under its key."""

    @property
    def key(self) -> str:
        """The only one of its kind: everything that the result depends on, but seed and device."""

    @property
    def cost(self) -> float:
        """Seconds that it takes on two cores, roughly: for the time left that is shown."""

    def run(self, device: Device) -> Json:
        """The result, as JSON can hold it."""


@dataclass(frozen=True, slots=True)
class Chain:
    """Units that are done one after the other: each may need files that the one before has left."""

    units: tuple[Unit, ...]

    @property
    def cost(self) -> float:
        """Seconds for all of them, roughly."""
        return sum(unit.cost for unit in self.units)


def in_order(work: Unit | Chain) -> tuple[Unit, ...]:
    """The units of a chain, or the one."""
    return work.units if isinstance(work, Chain) else (work,)


def unit_key(kind: str, description: str, everything: Any) -> str:
    """A key that a person can read, made unique by a digest of all that it depends on."""
    text = json.dumps(everything, sort_keys=True)
    return f"{kind} {description} {hashlib.sha256(text.encode()).hexdigest()[:12]}"


def training_seeds(seed: int, name: str, dimension: int, count: int) -> tuple[int, ...]:
    """Seeds of `count` training sets, different for every experiment and dimension."""
    entropy = [seed, dimension, *name.encode()]
    state = np.random.SeedSequence(entropy).generate_state(count, np.uint64)
    return tuple(int(number >> _SPARE_BITS) for number in state)


class OfSeeds(Protocol):
    """A dataclass whose work is the same for each of its training sets."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def seeds(self) -> tuple[int, ...]:
        """Of the training sets."""

    @property
    def cost(self) -> float:
        """Seconds for all of them, roughly."""


SeedsUnit = TypeVar("SeedsUnit", bound=OfSeeds)


def divided(whole: SeedsUnit) -> list[SeedsUnit]:
    """The same work in units that take some seconds, each with some of the training sets."""
    size = round(_SECONDS_OF_A_UNIT * len(whole.seeds) / whole.cost)
    groups = in_groups(whole.seeds, max(1, min(_MOST_SEEDS, size)))
    return [replace(whole, seeds=group) for group in groups]


def in_groups(items: Sequence[int], size: int) -> Iterator[tuple[int, ...]]:
    """The items in order, at most `size` at a time."""
    for first in range(0, len(items), size):
        yield tuple(items[first : first + size])
