"""Branches of fixed points in a parameter of the model, by pseudo-arclength continuation.

A branch lies in the subspace of its own overlaps (semantic: m = 0, positional: theta = 0, mixed:
all), where it is a curve: the fixed points of state evolution in its unknowns and the parameter. It
is followed along its own length (`walk`), so that it may turn back in the parameter. Where a
condition changes its sign between two neighbours (`special`), a special point is located as the
solution of the square system of the curve's equations and that condition (`locate`):

- fold: det(1 - J) = 0 within the subspace, the parameter turns back;
- symmetry breaking: J_kk = 1 for an overlap k that vanishes on the branch (m or theta), and a
  branch with that overlap leaves;
- merger: the branch's own overlap passes 0, which is a symmetry breaking of the branch without it;
- baseline crossing: the test error passes that of the best linear positional map;
- loss crossing: two branches have equal training loss (`losses`).

Every number is compared with finer grids, which gives its error.
"""

from symattn.continuation.follow import follow_all, follow_branch, leave_at
from symattn.continuation.losses import loss_crossings
from symattn.continuation.results import (
    PARAMETERS,
    Branch,
    BranchMap,
    BranchPoint,
    LossCrossing,
    SpecialPoint,
)

__all__ = [
    "PARAMETERS",
    "Branch",
    "BranchMap",
    "BranchPoint",
    "LossCrossing",
    "SpecialPoint",
    "follow_all",
    "follow_branch",
    "leave_at",
    "loss_crossings",
]
