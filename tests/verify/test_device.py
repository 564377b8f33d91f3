"""Devices and the precision of the tokens, with a GPU that is there or not."""

import pytest
import torch

from symattn.errors import InvalidInput
from verify.device import choose_device


@pytest.fixture
def no_gpu(monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)


@pytest.fixture
def gpu(monkeypatch):
    """One of 10 GB, of which 5 are free."""
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.mem_get_info", lambda: (5 * 10**9, 10**10))
    monkeypatch.setattr("torch.cuda.get_device_name", lambda: "Made-up 1")


@pytest.mark.parametrize("name", ["auto", "cpu"])
@pytest.mark.parametrize(
    ("precision", "dtype"), [("double", torch.float64), ("single", torch.float32)]
)
def test_the_processor_has_the_precision_asked_for(name, precision, dtype, no_gpu):
    device = choose_device(name, precision)
    assert (device.kind, device.name, device.precision) == ("cpu", "CPU", dtype)


@pytest.mark.parametrize(
    ("precision", "dtype"), [("double", torch.float64), ("single", torch.float32)]
)
def test_a_gpu_is_taken_where_there_is_one(precision, dtype, gpu):
    for name in ("auto", "cuda"):
        device = choose_device(name, precision)
        assert (device.kind, device.name, device.precision) == ("cuda", "Made-up 1", dtype)
        # What is free, less than all of it.
        assert 10**9 < device.budget < 5 * 10**9
    assert choose_device("cpu", precision).kind == "cpu"


def test_double_precision_is_that_of_no_words(no_gpu):
    assert choose_device() == choose_device("cpu", "double")


@pytest.mark.parametrize(
    ("name", "precision", "parameter"),
    [
        ("tpu", "double", "device"),
        ("cuda", "double", "device"),
        ("cpu", "half", "precision"),
        ("cpu", "", "precision"),
        ("cpu", "float32", "precision"),
    ],
)
def test_what_is_not_there_is_refused(name, precision, parameter, no_gpu):
    with pytest.raises(InvalidInput) as caught:
        choose_device(name, precision)
    assert caught.value.parameter == parameter
