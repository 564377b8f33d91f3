"""What a phase diagram shows of a sweep: differences, where they change sign, what is missing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from symattn._typing import FloatArray
from symattn.errors import InvalidInput
from symattn.sweep.curves import zero_set
from symattn.sweep.grid import BRANCHES, Axis, Grid
from symattn.sweep.store import grid_from_dict

if TYPE_CHECKING:
    import xarray

#: What the maps show, by what they are differences of.
MAPS = {
    "train_loss": "training loss, semantic minus positional",
    "test_error": "test error, semantic minus best linear map",
}
#: The branches whose lack leaves a hole in a map.
NEEDED = {"train_loss": ("semantic", "positional"), "test_error": ("semantic",)}
#: Curves by name: what they are, and their dashes in widths of the line.
CURVES: Mapping[str, tuple[str, tuple[float, ...]]] = {
    "alpha_c": (r"$\alpha_c$: equal training losses", ()),
    "alpha_l": (r"$\alpha_l$: test error equals that of the linear map", (5.0, 2.0)),
    "spinodal_semantic": ("spinodal of the semantic branch", (7.0, 1.8, 1.2, 1.8)),
    "spinodal_positional": ("spinodal of the positional branch", (1.2, 1.5)),
}
#: What may be the matter with a cell.
MISSING = {
    "semantic": "no semantic branch",
    "positional": "no positional branch",
    "unknown": "not computed to the accuracy",
}


def grid_of(data: xarray.Dataset) -> Grid:
    """The grid of a data set of `open_store`, or of a part of it.

    Raises
    ------
    InvalidInput
        When it is no such data set, or of less than two values of a parameter.
    """
    try:
        whole = grid_from_dict(json.loads(data.attrs["grid"]))
        x, y = (
            Axis(name=axis.name, values=tuple(map(float, data[axis.name].values)))
            for axis in (whole.x, whole.y)
        )
    except (AttributeError, KeyError, TypeError, json.JSONDecodeError) as error:
        raise InvalidInput.of("data", data, "what open_store returns") from error
    return replace(whole, x=x, y=y)


def difference(data: xarray.Dataset, of: str) -> FloatArray:
    """The numbers of a map, shape (y, x); NaN where there are none.

    Of `train_loss` the difference semantic minus positional, of `test_error` semantic minus best
    linear map. data: as of `symattn.sweep.dataset.open_store`, here and below.
    """
    loss = data[of]
    other = loss.sel(branch="positional") if of == "train_loss" else data["linear_test_error"]
    return np.asarray(loss.sel(branch="semantic") - other)


def phase_curves(data: xarray.Dataset) -> dict[str, list[FloatArray]]:
    """The curves of a phase diagram by their names in `CURVES`, each in pieces as of `zero_set`.

    `alpha_c`: the training losses of both branches are equal. `alpha_l`: the semantic test error is
    that of the best linear map. `spinodal_semantic`, `spinodal_positional`: `growth` passes 1, and
    the branch becomes unstable. They are interpolated; `symattn.threshold` gives them with errors.
    """
    grid = grid_of(data)
    over = np.array(grid.x.values), np.array(grid.y.values)
    zero = {
        "alpha_c": difference(data, "train_loss"),
        "alpha_l": difference(data, "test_error"),
        **{f"spinodal_{b}": np.asarray(data["growth"].sel(branch=b)) - 1.0 for b in BRANCHES},
    }
    return {name: zero_set(*over, zero[name]) for name in CURVES}


def missing(data: xarray.Dataset, branches: Sequence[str]) -> dict[str, NDArray[np.bool_]]:
    """Where one of the branches is not there and why, by the names in `MISSING`; shape (y, x)."""
    status = {branch: np.asarray(data["status"].sel(branch=branch)) for branch in branches}
    found = {branch: status[branch] == "absent" for branch in branches}
    known = [np.isin(values, ("found", "absent")) for values in status.values()]
    return {**found, "unknown": ~np.all(known, axis=0)}


def largest(values: FloatArray) -> float:
    """The largest absolute value of a map, where its colours end; 1 if there is none but 0."""
    there = np.abs(values[np.isfinite(values)])
    return float(there.max(initial=0.0)) or 1.0
