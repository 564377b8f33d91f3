"""What continuation gives: points, special points, branches and maps of branches."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from symattn._frozen import FrozenMapping
from symattn.model import AttentionModel
from symattn.overlaps import Overlaps

#: Parameters in which a branch can be followed.
PARAMETERS = ("alpha", "lambda", "omega", "sigma")

_LOSSES = ("train_loss", "test_error")
#: Numbers of a point that have an error.
_NUMBERS = (*Overlaps._fields, *_LOSSES)


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchPoint:
    """A fixed point on a branch.

    Attributes
    ----------
    parameter : float
        Value of the parameter that is followed in, exact.
    overlaps : Overlaps
        q, m, V, theta.
    train_loss, test_error : float
        eps_t = min risk/d in its extremal form, and eps_g = E|y - f_Q(x)|_F^2/(2 d).
    train_loss_slope : float
        d eps_t/d parameter along the branch, for interpolation, without an error.
    stable : bool
        Whether no eigenvalue of the Jacobian of state evolution, in all four directions, has a real
        part above +1.
    errors : mapping
        Absolute, of q, m, V, theta, train_loss and test_error at this value of the parameter: the
        difference to coarser grids through (1 - J)^-1, which is large next to a fold and infinite
        where that is singular.
    eigenvalues : tuple of complex
        Of that Jacobian, without errors.
    """

    parameter: float
    overlaps: Overlaps
    train_loss: float
    train_loss_slope: float
    test_error: float
    stable: bool
    errors: Mapping[str, float]
    eigenvalues: tuple[complex, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecialPoint:
    """Where the character of a branch changes.

    Attributes
    ----------
    kind : str
        "fold", "symmetry breaking", "merger", "baseline crossing" or "end".
    parameter : float
    overlaps : Overlaps
        At an end, those of the last point that was found, or of Q = 0.
    errors : mapping
        Absolute, of the parameter (`parameter`) and of q, m, V, theta. Where `note` says "not
        located" or "lost on finer grids" they are the length of a step, which is no bound; so is
        that of the parameter at an end that is only the last point that was found.
    note : str
        What happens there, in words.
    direction : str
        For symmetry breaking, the overlap that grows, m or theta; for a merger, the one that
        vanishes; empty otherwise.
    """

    kind: str
    parameter: float
    overlaps: Overlaps
    errors: Mapping[str, float]
    note: str
    direction: str = ""

    @property
    def error(self) -> float:
        """Absolute error of the parameter."""
        return self.errors["parameter"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LossCrossing:
    """Where two branches have the same training loss.

    Attributes
    ----------
    branches : tuple of str
        Names of the two; the first has the lower loss at smaller values of the parameter.
    parameter, error : float
        Where, and its absolute error; infinite if the losses are not known to differ nearby.
    train_loss : float
        eps_t of both, up to `train_loss_error`.
    train_loss_error : float
    overlaps : tuple of Overlaps
        Of the two, in the same order.
    """

    branches: tuple[str, str]
    parameter: float
    error: float
    train_loss: float
    train_loss_error: float
    overlaps: tuple[Overlaps, Overlaps]


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """A branch of fixed points.

    Attributes
    ----------
    name : str
        semantic, positional, uninformed, or mixed (both overlaps).
    model : AttentionModel
        What is followed in aside, which differs from point to point.
    alpha : float
        Sample complexity; likewise, where it is followed in.
    over : str
        One of `PARAMETERS`.
    points : tuple of BranchPoint
        In their order along the branch.
    special_points : tuple of SpecialPoint
        In the same order.
    """

    name: str
    model: AttentionModel
    alpha: float
    over: str
    points: tuple[BranchPoint, ...]
    special_points: tuple[SpecialPoint, ...]

    def __str__(self) -> str:
        """The table of special points."""
        from symattn.continuation.tables import branch_table

        return branch_table(self)

    def to_dict(self) -> dict[str, Any]:
        """The branch as JSON-able values; every number that has an error has it in `errors`."""
        return {
            "name": self.name,
            "points": [
                {
                    self.over: point.parameter,
                    **point.overlaps._asdict(),
                    "train_loss": point.train_loss,
                    "test_error": point.test_error,
                    "stable": point.stable,
                    "errors": {name: _known(error) for name, error in point.errors.items()},
                    "eigenvalues": [[z.real, z.imag] for z in point.eigenvalues],
                }
                for point in self.points
            ],
            "special_points": [
                {
                    "kind": point.kind,
                    self.over: point.parameter,
                    **point.overlaps._asdict(),
                    "errors": _named(point.errors, self.over),
                    "note": point.note,
                    "direction": point.direction,
                }
                for point in self.special_points
            ],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchMap:
    """Branches over the same range of the same parameter.

    Attributes
    ----------
    model, alpha, over
        As in `Branch`.
    branches : tuple of Branch
    loss_crossings : tuple of LossCrossing
        Between any two of them.
    absent : mapping
        Branches that were looked for and are not there, and why.
    """

    model: AttentionModel
    alpha: float
    over: str
    branches: tuple[Branch, ...]
    loss_crossings: tuple[LossCrossing, ...]
    absent: Mapping[str, str]

    @classmethod
    def of(cls, branch: Branch) -> BranchMap:
        """The map of a single branch."""
        return cls(
            model=branch.model,
            alpha=branch.alpha,
            over=branch.over,
            branches=(branch,),
            loss_crossings=(),
            absent=FrozenMapping({}),
        )

    def __str__(self) -> str:
        """The tables of special points, and the reasons for what is absent."""
        from symattn.continuation.tables import map_table

        return map_table(self)

    def to_dict(self) -> dict[str, Any]:
        """The map as JSON-able values; every number that has an error has it in `errors`."""
        setting = {} if self.over == "alpha" else {"alpha": self.alpha}
        return {
            "model": self.model.to_dict(),
            "over": self.over,
            **setting,
            "branches": [branch.to_dict() for branch in self.branches],
            "loss_crossings": [
                {
                    "branches": list(crossing.branches),
                    self.over: crossing.parameter,
                    "train_loss": crossing.train_loss,
                    "errors": {
                        self.over: _known(crossing.error),
                        "train_loss": _known(crossing.train_loss_error),
                    },
                    "overlaps": [overlaps._asdict() for overlaps in crossing.overlaps],
                }
                for crossing in self.loss_crossings
            ],
            "absent": dict(self.absent),
        }

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """A table: a row of names, then one for each point and special point, empty if unknown.

        `kind` is "point" or that of the special point; those of a branch follow its points.
        """
        eigenvalues = [f"eigenvalue_{k}_{part}" for k in range(1, 5) for part in ("real", "imag")]
        yield (
            "branch",
            "kind",
            self.over,
            *_NUMBERS,
            "stable",
            f"{self.over}_error",
            *(f"{name}_error" for name in _NUMBERS),
            *eigenvalues,
        )
        for branch in self.branches:
            for point in branch.points:
                yield (
                    branch.name,
                    "point",
                    point.parameter,
                    *point.overlaps,
                    point.train_loss,
                    point.test_error,
                    point.stable,
                    0.0,
                    *(point.errors[name] for name in _NUMBERS),
                    *(part for z in point.eigenvalues for part in (z.real, z.imag)),
                )
            for special in branch.special_points:
                yield (
                    branch.name,
                    special.kind,
                    special.parameter,
                    *special.overlaps,
                    "",
                    "",
                    "",
                    special.error,
                    *(special.errors[name] for name in Overlaps._fields),
                    "",
                    "",
                    *("" for _ in eigenvalues),
                )


def _known(error: float) -> float | None:
    """JSON has no infinity; an error that is not known is null."""
    return error if math.isfinite(error) else None


def _named(errors: Mapping[str, float], over: str) -> dict[str, float | None]:
    return {over if name == "parameter" else name: _known(error) for name, error in errors.items()}
