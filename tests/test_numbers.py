"""Numbers as text: what is shown must cover what is known."""

import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symattn._numbers import significant_digits, with_error

magnitudes = st.floats(min_value=1e-300, max_value=1e300)


@given(value=magnitudes, sign=st.sampled_from([1, -1]), error=magnitudes)
def test_the_shown_interval_contains_the_known_one(value, sign, error):
    value *= sign
    shown, bound = with_error(value, error)
    assert abs(Decimal(shown) - Decimal(value)) + Decimal(error) <= Decimal(bound)


@given(value=magnitudes, exponent=st.integers(min_value=1, max_value=14))
def test_the_shown_error_is_at_most_a_quarter_larger(value, exponent):
    error = value * 10.0**-exponent
    bound = with_error(value, error)[1]
    assert Decimal(bound) <= Decimal("1.25") * Decimal(error)


@pytest.mark.parametrize(
    ("value", "error", "shown", "bound"),
    [
        (0.2552542624, 2.5e-9, "0.2552542624", "2.6e-9"),
        (15.45816325, 1.4e-6, "15.4581633", "1.5e-6"),
        (-0.0041, 5.6e-5, "-0.004100", "5.7e-5"),
        (2.77e-8, 1e-10, "2.770e-8", "1.1e-10"),
        (1e-12, 1e-9, "0", "1.1e-9"),
        (-0.0, 0.0, "0", "exact"),
        (0.5, 0.0, "0.5", "exact"),
    ],
)
def test_examples(value, error, shown, bound):
    assert with_error(value, error) == (shown, bound)


@pytest.mark.parametrize(
    ("value", "error"), [(math.nan, 1e-3), (math.inf, 1e-3), (1.0, math.nan), (1.0, math.inf)]
)
def test_nothing_is_shown_where_value_or_error_is_not_known(value, error):
    assert with_error(value, error) == ("not known", "")


@pytest.mark.parametrize(
    ("relative", "digits"), [(0.4e-6, 6), (0.6e-6, 5), (0.6, 0), (math.inf, 0), (math.nan, 0)]
)
def test_significant_digits_are_those_whose_half_unit_covers_the_error(relative, digits):
    assert significant_digits(relative) == digits
