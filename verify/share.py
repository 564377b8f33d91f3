"""How often something happened, as an estimate with an error."""

from __future__ import annotations

import math

from verify.statistics import Estimate


def share(count: int, of: int) -> Estimate:
    """`count` of `of` as a share, with Wilson's interval of one standard deviation.

    Its middle is (count + 1/2)/(of + 1), and its width is not 0 for none and for all.
    """
    return Estimate(
        value=(count + 0.5) / (of + 1),
        error=math.sqrt(count * (of - count) / of + 0.25) / (of + 1),
        freedom=math.inf,
        count=of,
    )
