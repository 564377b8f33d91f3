"""The cost of a point of a sweep and the memory of the process that keeps them, as the grid grows.

Both branches over alpha = 0.2 to 2.5 and omega = 0 to 0.5 at the paper's parameters, to a relative
accuracy of 1e-5, by as many processes as there are cores, their start included.
"""

from __future__ import annotations

import resource

import pytest

from symattn import AttentionModel
from symattn.sweep import Axis, sweep


def axis(name, low, high, count):
    step = (high - low) / (count - 1)
    return Axis(name=name, values=tuple(low + k * step for k in range(count)))


@pytest.mark.parametrize("count", [7, 13, 26])
@pytest.mark.benchmark(group="sweep")
def test_a_grid(benchmark, count, tmp_path):
    axes = [axis("alpha", 0.2, 2.5, count), axis("omega", 0.0, 0.5, count)]

    swept = benchmark.pedantic(
        lambda: sweep(AttentionModel(), axes, tmp_path / "map.db"), rounds=1, iterations=1
    )
    seconds = benchmark.stats.stats.max
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    each = 1e3 * seconds / count**2 / 2
    benchmark.extra_info.update(swept._asdict(), milliseconds_a_point=each)
    print(
        f"\n{count} x {count}, both branches: {seconds:.0f} s, {each:.0f} ms a point and "
        f"branch, {swept.found} found, {swept.failed} failed; peak {peak:.0f} MiB here"
    )
