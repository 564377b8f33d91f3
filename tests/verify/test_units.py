"""Work divided into units."""

from dataclasses import dataclass

import pytest

from tests.verify.tiny_units import Square
from verify.units import Chain, divided, in_order


@dataclass(frozen=True)
class _Work:
    seeds: tuple[int, ...]
    seconds: float

    @property
    def cost(self):
        return self.seconds * len(self.seeds)


@pytest.mark.parametrize("seconds", [1e-3, 1.0, 2.1, 100.0])
def test_units_have_all_seeds_in_order_and_take_some_seconds(seconds):
    seeds = tuple(range(40))
    units = divided(_Work(seeds, seconds))
    assert tuple(seed for unit in units for seed in unit.seeds) == seeds
    assert all(len(unit.seeds) == 1 or unit.cost <= 10 for unit in units)
    assert all(len(unit.seeds) <= 16 and unit.seconds == seconds for unit in units)
    assert len(units) <= max(3, seconds * 40 / 4)


def test_a_chain_is_its_units_in_order_and_costs_what_they_cost():
    units = Square(3.0), Square(-1.0), Square(2.5)
    chain = Chain(units)
    assert in_order(chain) == units
    # 1 + |x| for each
    assert chain.cost == pytest.approx(4.0 + 2.0 + 3.5)
    assert in_order(units[0]) == (units[0],)
    assert Chain(units) == chain != Chain(units[::-1])
