"""What the tests of the histogram task share."""

import pytest
import torch


@pytest.fixture
def double():
    """Meanwhile all weights are drawn, and trained, in double precision."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)
