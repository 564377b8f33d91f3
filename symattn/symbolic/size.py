"""How many tokens and how many directions: the sizes that fix the shape of every equation."""

from __future__ import annotations

from dataclasses import dataclass

from symattn.errors import InvalidInput

# The determinant of I + V Hess loss has 2^(L r) minors, each a line of a generated kernel.
LARGEST_SIZE = 6


@dataclass(frozen=True, slots=True)
class Size:
    """Sizes of a model whose equations are written out component by component.

    length: number of tokens L, 2 to 6.
    student_rank: number r of columns of Q, with L r at most 6.
    target_rank: number t of columns of Q*, 1 to 6.

    Raises InvalidInput for other sizes.
    """

    length: int = 2
    student_rank: int = 1
    target_rank: int = 1

    def __post_init__(self) -> None:
        self._require("length", 2, LARGEST_SIZE)
        self._require("student_rank", 1, LARGEST_SIZE // self.length)
        self._require("target_rank", 1, LARGEST_SIZE)

    def _require(self, name: str, smallest: int, largest: int) -> None:
        value = getattr(self, name)
        whole = isinstance(value, int) and not isinstance(value, bool)
        if not whole or not smallest <= value <= largest:
            allowed = f"a whole number from {smallest} to {largest} to be written out"
            if name == "student_rank":
                allowed += f" at length {self.length}"
            raise InvalidInput.of(name, value, allowed)

    @property
    def tag(self) -> str:
        """The sizes as they stand in file names, such as `l2_r1_t1`."""
        return f"l{self.length}_r{self.student_rank}_t{self.target_rank}"

    @property
    def is_rotated(self) -> bool:
        """Whether the equations are written in the rotated coordinates of two tokens."""
        return self == Size(2, 1, 1)
