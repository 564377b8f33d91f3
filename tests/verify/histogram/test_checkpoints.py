"""A checkpoint comes back as it was, or is refused and left as it is."""

import os
import pickle

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.torch import load, save

from symattn.errors import ComputationFailed, InvalidInput
from verify.histogram.checkpoints import Checkpoint, checkpoint_path, kept_epochs

PLAN = "0123456789abcdef"
LABEL = {"plan": PLAN, "epoch": "3", "device": "cpu"}
TENSORS = {
    "query": torch.tensor([[1.5, -0.0, 1e-38]]),
    "key": torch.tensor([[0.5, 2.0, -3.0]]),
    "step": torch.tensor(7.0),
    "double": torch.tensor([1 / 3], dtype=torch.float64),
}


def shapes_of(tensors):
    return {name: tensor.shape for name, tensor in tensors.items()}


def written(directory, plan=PLAN, epoch=3, tensors=TENSORS, label=LABEL):
    path = checkpoint_path(directory, "free", plan, epoch)
    Checkpoint(label=label, tensors=tensors).write(path)
    return path


def read(path, tensors=TENSORS, label=LABEL):
    return Checkpoint.read(path, label, shapes_of(tensors)).tensors


def refused(path, tensors=TENSORS, label=LABEL):
    """That it is, in one line that names it, and that it is as it was."""
    content = path.read_bytes()
    with pytest.raises(InvalidInput, match="is no checkpoint of this run, or damaged") as caught:
        read(path, tensors, label)
    assert str(caught.value).startswith(str(path))
    assert "delete it" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == content


def test_tensors_come_back_bit_for_bit(tmp_path):
    path = written(tmp_path / "new" / "place")
    found = Checkpoint.read(path, LABEL, shapes_of(TENSORS))
    assert found.label == LABEL
    assert found.tensors.keys() == TENSORS.keys()
    for name, tensor in TENSORS.items():
        assert found.tensors[name].dtype == tensor.dtype
        assert found.tensors[name].numpy().tobytes() == tensor.numpy().tobytes()
        assert found.tensors[name].shape == tensor.shape
    assert [other.name for other in path.parent.iterdir()] == [path.name]


def test_other_programs_can_read_it(tmp_path):
    found = load(written(tmp_path).read_bytes())
    assert found.keys() == TENSORS.keys()
    assert all(torch.equal(found[name], tensor) for name, tensor in TENSORS.items())


@settings(max_examples=30)
@given(st.lists(st.floats(width=32), min_size=1, max_size=9))
def test_single_precision_comes_back_as_it_was(tmp_path_factory, numbers):
    tensor = torch.tensor(numbers, dtype=torch.float32)
    path = written(tmp_path_factory.mktemp("kept"), tensors={"x": tensor})
    found = read(path, {"x": tensor})["x"]
    assert found.numpy().tobytes() == tensor.numpy().tobytes()


def test_tensors_that_are_views_and_that_have_gradients_are_kept(tmp_path):
    whole = torch.arange(6.0).reshape(2, 3).requires_grad_()
    path = written(tmp_path, tensors={"view": whole.T})
    assert torch.equal(read(path, {"view": whole.T})["view"], whole.detach().T)


def test_writing_again_replaces_the_old_one(tmp_path):
    written(tmp_path)
    new = {"query": torch.ones(2)}
    path = written(tmp_path, tensors=new)
    assert read(path, new)["query"].tolist() == [1.0, 1.0]


def test_wherever_it_was_cut_it_is_refused(tmp_path):
    path = written(tmp_path)
    content = path.read_bytes()
    for length in (*range(0, len(content), 7), len(content) - 1):
        path.write_bytes(content[:length])
        refused(path)
    path.write_bytes(content + b"\0")
    refused(path)


def test_whichever_bit_has_changed_it_is_refused(tmp_path):
    """Those of numbers, which are numbers all the same, and those of names and sizes."""
    path = written(tmp_path)
    content = path.read_bytes()
    with path.open("r+b", buffering=0) as file:
        for place, byte in enumerate(content):
            for bit in range(8):
                os.pwrite(file.fileno(), bytes([byte ^ 1 << bit]), place)
                with pytest.raises(InvalidInput, match="is no checkpoint of this run"):
                    read(path)
            os.pwrite(file.fileno(), bytes([byte]), place)
    assert read(path).keys() == TENSORS.keys()


def test_tensors_that_have_changed_names_are_refused(tmp_path):
    """Where the shapes are those that are wanted, nothing but the checksum tells."""
    path = written(tmp_path)
    with safe_open(path, framework="pt") as file:
        metadata = file.metadata()
    path.write_bytes(save(TENSORS, metadata))
    assert torch.equal(read(path)["query"], TENSORS["query"])
    exchanged = {**TENSORS, "query": TENSORS["key"], "key": TENSORS["query"]}
    # The order of the names stays what it was.
    renamed = {f"{name}s": tensor for name, tensor in TENSORS.items()}
    for changed in (exchanged, renamed):
        path.write_bytes(save(changed, metadata))
        refused(path, changed)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"rubbish",
        b"\xff" * 64,
        pickle.dumps({"query": [1.0]}),
        save({"query": torch.ones(2)}),
        save({"query": torch.ones(2)}, LABEL),
        save({"query": torch.ones(2)}, {**LABEL, "sha256": 64 * "0"}),
    ],
)
def test_another_file_is_refused(content, tmp_path):
    path = checkpoint_path(tmp_path, "free", PLAN, 3)
    path.write_bytes(content)
    refused(path, {"query": torch.ones(2)})


@pytest.mark.parametrize(
    "label",
    [
        {**LABEL, "plan": "fedcba9876543210"},
        {**LABEL, "epoch": "4"},
        {**LABEL, "device": "cuda"},
        {**LABEL, "more": ""},
        {"plan": PLAN, "epoch": "3"},
        {},
    ],
)
def test_a_checkpoint_with_another_label_is_refused(label, tmp_path):
    path = written(tmp_path)
    refused(path, label=label)
    path = written(tmp_path, label=label)
    refused(path)
    assert read(path, label=label).keys() == TENSORS.keys()


@pytest.mark.parametrize(
    "others",
    [
        {name: tensor for name, tensor in TENSORS.items() if name != "step"},
        {**TENSORS, "value": torch.ones(2)},
        {**TENSORS, "query": torch.ones(3)},
        {**TENSORS, "query": torch.ones(3, 1)},
        {**TENSORS, "step": torch.ones(1)},
        {},
    ],
    ids=["missing", "more", "flat", "transposed", "no scalar", "none"],
)
def test_other_tensors_than_are_wanted_are_refused(others, tmp_path):
    """With a checksum of their own they are no less a checkpoint."""
    path = written(tmp_path, tensors=others)
    assert read(path, others).keys() == others.keys()
    refused(path)


def test_what_is_not_there_is_refused(tmp_path):
    path = checkpoint_path(tmp_path, "free", PLAN, 3)
    with pytest.raises(InvalidInput, match="is no checkpoint of this run"):
        read(path)
    path.mkdir()
    with pytest.raises(InvalidInput, match="is no checkpoint of this run"):
        read(path)


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
