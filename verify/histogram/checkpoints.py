"""Weights and moments of a batch of runs in a file of the safetensors format."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from symattn._files import write_results
from symattn.errors import InvalidInput

_SUFFIX = ".safetensors"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Checkpoint:
    """The state of training after some epochs.

    Attributes
    ----------
    label : mapping
        What it is of: digest of the plan, epochs done, and whatever else the tensors depend on.
    tensors : mapping
        Name to the tensor of all runs, (R, ...), or one that all have in common.
    """

    label: Mapping[str, str]
    tensors: Mapping[str, Tensor]

    def write(self, path: Path) -> None:
        """Write the file at once.

        Raises
        ------
        ComputationFailed
            When it cannot be written.
        """
        tensors = {name: t.detach().cpu().contiguous() for name, t in self.tensors.items()}
        metadata = {**self.label, "sha256": _checksum(tensors)}
        write_results({path.name: save(tensors, metadata)}, path.parent)

    @classmethod
    def read(
        cls, path: Path, label: Mapping[str, str], shapes: Mapping[str, torch.Size]
    ) -> Checkpoint:
        """The checkpoint with this label and tensors of these shapes.

        Raises
        ------
        InvalidInput
            When the file is none, is damaged, or has another label or other tensors.
        """
        try:
            with safe_open(path, framework="pt", device="cpu") as file:
                metadata = file.metadata()
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        except (OSError, SafetensorError) as error:
            raise _refused(path) from error
        if metadata != {**label, "sha256": _checksum(tensors)}:
            raise _refused(path)
        if {name: tensor.shape for name, tensor in tensors.items()} != dict(shapes):
            raise _refused(path)
        return cls(label=label, tensors=tensors)


def _checksum(tensors: Mapping[str, Tensor]) -> str:
    """Of the names and the bytes of all tensors."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        tensor = tensors[name].contiguous()
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.flatten().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def checkpoint_path(directory: Path, label: str, plan: str, epoch: int) -> Path:
    """Where a checkpoint is kept."""
    return directory / f"{label}-{plan}-epoch{epoch:04}{_SUFFIX}"


def kept_epochs(directory: Path, label: str, plan: str) -> list[int]:
    """The epochs that there are checkpoints of, in order."""
    start = f"{label}-{plan}-epoch"
    names = (
        path.name.removeprefix(start).removesuffix(_SUFFIX)
        for path in directory.glob(f"{start}*{_SUFFIX}")
    )
    return sorted(int(name) for name in names if name.isdecimal())


def _refused(path: Path) -> InvalidInput:
    return InvalidInput(
        f"{path} is no checkpoint of this run, or damaged; delete it to have it trained again"
    )
