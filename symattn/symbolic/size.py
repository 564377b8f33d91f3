"""How many tokens and how many directions: the sizes that fix the shape of every equation."""

from __future__ import annotations

from dataclasses import dataclass

from symattn.errors import InvalidInput

LARGEST_LENGTH = 5
LARGEST_RANK = 3


@dataclass(frozen=True)
class Size:
    """Sizes of the model for which the equations are written out.

    length: number of tokens L, 2 to 5.
    student_rank: number of columns r of Q, 1 to 3.
    target_rank: number of columns t of Q*, 1 to 3.

    Raises InvalidInput outside these ranges (expressions grow as the factorial of L r).
    """

    length: int = 2
    student_rank: int = 1
    target_rank: int = 1

    def __post_init__(self) -> None:
        for name, smallest, largest in (
            ("length", 2, LARGEST_LENGTH),
            ("student_rank", 1, LARGEST_RANK),
            ("target_rank", 1, LARGEST_RANK),
        ):
            value = getattr(self, name)
            whole = isinstance(value, int) and not isinstance(value, bool)
            if not whole or not smallest <= value <= largest:
                raise InvalidInput.of(
                    name, value, f"a whole number from {smallest} to {largest} to be written out"
                )

    @property
    def tag(self) -> str:
        """Short name used in file names, such as `l2_r1_t1`."""
        return f"l{self.length}_r{self.student_rank}_t{self.target_rank}"

    @property
    def is_rotated(self) -> bool:
        """Whether the equations use the rotated coordinates of two tokens and one direction."""
        return (self.length, self.student_rank, self.target_rank) == (2, 1, 1)
