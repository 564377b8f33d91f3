"""A checkpoint comes back as it was, or is refused and left as it is."""

import pickle

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import save

from symattn.errors import ComputationFailed, InvalidInput
from verify.histogram.checkpoints import Checkpoint, checkpoint_path, kept_epochs

PLAN = "0123456789abcdef"
TENSORS = {
    "query": torch.tensor([[1.5, -0.0, 1e-38]]),
    "step": torch.tensor(7.0),
    "double": torch.tensor([1 / 3], dtype=torch.float64),
}


def written(directory, plan=PLAN, epoch=3, tensors=TENSORS):
    path = checkpoint_path(directory, "free", plan, epoch)
    Checkpoint(plan=plan, epoch=epoch, tensors=tensors).write(path)
    return path


def refused(path, plan=PLAN, epoch=3):
    """That it is, in one line that names it, and that it is as it was."""
    content = path.read_bytes()
    with pytest.raises(InvalidInput, match="is no checkpoint of this run, or damaged") as caught:
        Checkpoint.read(path, plan, epoch)
    assert str(caught.value).startswith(str(path))
    assert "delete it" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == content


def test_tensors_come_back_bit_for_bit(tmp_path):
    path = written(tmp_path / "new" / "place")
    found = Checkpoint.read(path, PLAN, 3)
    assert (found.plan, found.epoch) == (PLAN, 3)
    assert found.tensors.keys() == TENSORS.keys()
    for name, tensor in TENSORS.items():
        assert found.tensors[name].dtype == tensor.dtype
        assert found.tensors[name].numpy().tobytes() == tensor.numpy().tobytes()
        assert found.tensors[name].shape == tensor.shape
    assert [other.name for other in path.parent.iterdir()] == [path.name]


@settings(max_examples=30)
@given(st.lists(st.floats(width=32), min_size=1, max_size=9))
def test_single_precision_comes_back_as_it_was(tmp_path_factory, numbers):
    tensor = torch.tensor(numbers, dtype=torch.float32)
    path = written(tmp_path_factory.mktemp("kept"), tensors={"x": tensor})
    found = Checkpoint.read(path, PLAN, 3).tensors["x"]
    assert found.numpy().tobytes() == tensor.numpy().tobytes()


def test_tensors_that_are_views_and_that_have_gradients_are_kept(tmp_path):
    whole = torch.arange(6.0).reshape(2, 3).requires_grad_()
    path = written(tmp_path, tensors={"view": whole.T})
    assert torch.equal(Checkpoint.read(path, PLAN, 3).tensors["view"], whole.detach().T)


def test_writing_again_replaces_the_old_one(tmp_path):
    written(tmp_path)
    path = written(tmp_path, tensors={"query": torch.ones(2)})
    assert Checkpoint.read(path, PLAN, 3).tensors["query"].tolist() == [1.0, 1.0]


def test_wherever_it_was_cut_it_is_refused(tmp_path):
    path = written(tmp_path)
    content = path.read_bytes()
    for length in (*range(0, len(content), 7), len(content) - 1):
        path.write_bytes(content[:length])
        refused(path)
    path.write_bytes(content + b"\0")
    refused(path)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"rubbish",
        b"\xff" * 64,
        pickle.dumps({"query": [1.0]}),
        save({"query": torch.ones(2)}),
        save({"query": torch.ones(2)}, {"plan": PLAN}),
        save({"query": torch.ones(2)}, {"plan": PLAN, "epoch": "3", "more": ""}),
    ],
)
def test_another_file_is_refused(content, tmp_path):
    path = checkpoint_path(tmp_path, "free", PLAN, 3)
    path.write_bytes(content)
    refused(path)


def test_the_checkpoint_of_another_plan_or_epoch_is_refused(tmp_path):
    refused(written(tmp_path, plan="fedcba9876543210"))
    refused(written(tmp_path, epoch=4))


def test_what_is_not_there_is_refused(tmp_path):
    path = checkpoint_path(tmp_path, "free", PLAN, 3)
    with pytest.raises(InvalidInput, match="is no checkpoint of this run"):
        Checkpoint.read(path, PLAN, 3)
    path.mkdir()
    with pytest.raises(InvalidInput, match="is no checkpoint of this run"):
        Checkpoint.read(path, PLAN, 3)


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ComputationFailed, match=r"epoch0003\.safetensors: .*; name a directory"):
        written(tmp_path / "file")


def test_kept_epochs_are_those_of_the_plan_in_order(tmp_path):
    for epoch in (10, 2, 12345, 9):
        written(tmp_path, epoch=epoch)
    written(tmp_path, plan="fedcba9876543210", epoch=1)
    for other in (f"free-{PLAN}-epochx", f"free-{PLAN}-epoch-1", f"free-n30-{PLAN}-epoch0004"):
        (tmp_path / f"{other}.safetensors").write_bytes(b"")
    (tmp_path / f"free-{PLAN}-epoch0005.safetensors.12.part").write_bytes(b"")
    assert kept_epochs(tmp_path, "free", PLAN) == [2, 9, 10, 12345]
    assert kept_epochs(tmp_path / "nowhere", "free", PLAN) == []
