"""Units of work that take no time, for processes to import."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from symattn.errors import ComputationFailed, InvalidInput
from verify.units import unit_key


@dataclass(frozen=True)
class Square:
    """The square of a number, with the process and the threads that computed it."""

    number: float
    kind: str = "square"

    @property
    def key(self) -> str:
        return unit_key(self.kind, f"{self.number}", [self.number])

    @property
    def cost(self) -> float:
        return 1.0 + abs(self.number)

    def run(self, device: Any) -> dict[str, Any]:
        import torch

        return {
            "square": self.number**2,
            "device": device.kind,
            "process": os.getpid(),
            "threads": torch.get_num_threads(),
        }


@dataclass(frozen=True)
class Sleeping(Square):
    """Says in the directory `place` that it has begun, and sleeps."""

    place: Path = field(default_factory=Path)
    seconds: float = 60.0

    def run(self, device: Any) -> dict[str, Any]:
        begun = self.place / f"begun-{os.getpid()}"
        begun.touch()
        time.sleep(self.seconds)
        return super().run(device)


@dataclass(frozen=True)
class Killed(Square):
    """Its process ends as if memory had run out."""

    def run(self, device: Any) -> dict[str, Any]:
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError


@dataclass(frozen=True)
class Failing(Square):
    """Fails, with bad input or in the computation or by mistake."""

    kind: str = "failing"
    how: str = "failed"

    def run(self, device: Any) -> dict[str, Any]:
        if self.how == "failed":
            raise ComputationFailed(f"{self.number} has no square; try another")
        if self.how == "input":
            raise InvalidInput.of("number", self.number, "a square")
        raise ZeroDivisionError


@dataclass(frozen=True)
class Talking(Square):
    """Prints, as a library may."""

    def run(self, device: Any) -> dict[str, Any]:
        print("something that is no result")
        os.write(1, b"and once more\n")
        return super().run(device)


@dataclass(frozen=True)
class Unreadable(Square):
    """Cannot be made again from what is sent of it."""

    def __reduce__(self) -> Any:
        return _unreadable, ()


def _unreadable() -> None:
    raise ImportError("of another version")


@dataclass(frozen=True)
class Large(Square):
    """A result larger than a pipe holds, and itself as large."""

    filling: bytes = field(default=bytes(300_000), repr=False)

    def run(self, device: Any) -> dict[str, Any]:
        return {**super().run(device), "filling": self.filling.hex()}
