"""The sizes for which equations are written out."""

import pytest

from symattn import InvalidInput
from symattn.symbolic import Size


@pytest.mark.parametrize(
    ("sizes", "named"),
    [
        ((1, 1, 1), "length = 1"),
        ((7, 1, 1), "length = 7"),
        ((2, 4, 1), "student_rank = 4"),
        ((4, 2, 1), "student_rank = 2"),
        ((2, 0, 1), "student_rank = 0"),
        ((2, 1, 7), "target_rank = 7"),
        ((2.0, 1, 1), "length = 2.0"),
        ((True, 1, 1), "length = True"),
    ],
)
def test_other_sizes_are_refused_by_name(sizes, named):
    with pytest.raises(InvalidInput) as caught:
        Size(*sizes)
    message = str(caught.value)
    assert message.startswith(named)
    assert "whole number from" in message
    assert "\n" not in message


@pytest.mark.parametrize("sizes", [(2, 1, 1), (6, 1, 1), (2, 3, 6), (3, 2, 2)])
def test_sizes_up_to_six_coordinates_are_accepted(sizes):
    assert Size(*sizes).tag == "l{}_r{}_t{}".format(*sizes)
