"""Speed of a fixed point: certified digits here, and the published algorithm at the same alpha.

`make bench` prints the times of one run side by side, with their ratio in brackets. Compilation is
not in the figures: each case is run once before it is timed.
"""

from __future__ import annotations

import pytest

from benchmarks.published_algorithm import solve_published
from symattn import AttentionModel, solve

ALPHA = 11.0 / 7.0
BRANCHES = ("semantic", "positional")


@pytest.mark.parametrize("branch", BRANCHES)
@pytest.mark.benchmark(group="one fixed point at the paper's parameters")
def test_certified_to_six_digits(benchmark, branch):
    model = AttentionModel()
    benchmark.pedantic(
        solve,
        args=(model, ALPHA),
        kwargs={"branch": branch, "digits": 6},
        rounds=3,
        warmup_rounds=1,
    )


@pytest.mark.parametrize("branch", BRANCHES)
@pytest.mark.benchmark(group="one fixed point at the paper's parameters")
def test_published_algorithm(benchmark, branch):
    benchmark.pedantic(solve_published, args=(ALPHA,), kwargs={"branch": branch}, rounds=1)


@pytest.mark.parametrize("digits", [4, 6, 8, 10])
@pytest.mark.benchmark(group="digits where the prox jumps (positional, paper's parameters)")
def test_digits_with_jumps(benchmark, digits):
    benchmark.pedantic(
        solve,
        args=(AttentionModel(), ALPHA),
        kwargs={"branch": "positional", "digits": digits},
        rounds=1,
        warmup_rounds=1,
    )


@pytest.mark.parametrize("digits", [6, 12])
@pytest.mark.benchmark(group="digits where nothing jumps (positional, lambda = 0.1, alpha = 1.5)")
def test_digits_without_jumps(benchmark, digits):
    benchmark.pedantic(
        solve,
        args=(AttentionModel(lam=0.1), 1.5),
        kwargs={"branch": "positional", "digits": digits},
        rounds=3,
        warmup_rounds=1,
    )
