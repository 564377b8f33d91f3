"""Crossings at the paper's parameters."""

import pytest

from symattn import AttentionModel, threshold


@pytest.mark.parametrize(
    ("name", "digits"), [("alpha_c", 6), ("alpha_c", 10), ("alpha_l", 6), ("alpha_l", 8)]
)
def test_crossing(benchmark, name, digits):
    model = AttentionModel()
    threshold(model, name, digits=2)  # compiles, where that has not been done
    found = benchmark.pedantic(threshold, (model, name), {"digits": digits}, rounds=1)
    assert found.digits >= digits
