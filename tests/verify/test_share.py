"""A share is shown by Wilson's interval of one standard deviation."""

import pytest
from scipy import stats

from verify.share import share


@pytest.mark.parametrize(("count", "of"), [(0, 6), (3, 7), (12, 16), (16, 16)])
def test_the_interval_is_wilsons(count, of):
    found = share(count, of)
    level = 1 - 2 * stats.norm.sf(1.0)
    wilson = stats.binomtest(count, of).proportion_ci(level, method="wilson")
    assert found.value - found.error == pytest.approx(wilson.low, abs=1e-12)
    assert found.value + found.error == pytest.approx(wilson.high, abs=1e-12)
    assert found.error > 0
