"""A sweep as a data set of xarray, and in the formats of others."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from symattn._checks import checked_output, checked_path
from symattn._files import can_be_file, write_file
from symattn._packages import require
from symattn._tables import MEANINGS
from symattn.baselines import linear_baseline
from symattn.errors import InvalidInput
from symattn.sweep.grid import BRANCHES, Grid
from symattn.sweep.point import NUMBERS
from symattn.sweep.store import SCHEMA, grid_to_dict, open_existing

if TYPE_CHECKING:
    import xarray

_AXES = {
    "alpha": "sample complexity n/d",
    "omega": "positional share of the target",
    "lambda": "strength of the ridge penalty",
    "sigma": "standard deviation of the data",
}
_ABOUT = {
    "growth": "largest real part of an eigenvalue of the Jacobian of state evolution; above 1 the "
    "fixed point is unstable",
    "fold": "E[number of saddles of the energy]: 0 where the proximal map does not jump",
    "status": "found, absent, failed (found, but not to the accuracy) or unstarted (not done yet)",
    "linear_test_error": "test error of the best linear positional map",
}


def open_store(path: str | Path) -> xarray.Dataset:
    """The points of a sweep, as far as they are done.

    Returns
    -------
    xarray.Dataset
        With dimensions branch and the two parameters; the numbers of `symattn.sweep.point.NUMBERS`,
        each with its absolute error as NAME_error, NaN where there is no fixed point; `growth`,
        `fold`, `status`; and, without a branch, `linear_test_error`. Definitions are in the
        attributes `long_name`; everything is dimensionless. Attributes of the data set: grid (JSON,
        with the model), model (in words), accuracy and schema.

    Raises
    ------
    InvalidInput
        When the file is no store.
    ComputationFailed
        When it cannot be read, or xarray is not installed.
    """
    require("sweep", "xarray")
    import xarray

    with open_existing(checked_path("store", path)) as store:
        grid = store.grid
        shape = (len(BRANCHES), len(grid.y.values), len(grid.x.values))
        names = (*NUMBERS, *(f"{name}_error" for name in NUMBERS), "growth", "fold")
        numbers = {name: np.full(shape, np.nan) for name in names}
        status = np.full(shape, "unstarted", dtype="<U9")
        for branch, line, place, outcome in store.outcomes():
            at = (BRANCHES.index(branch), line, place)
            status[at] = outcome.status
            if outcome.status != "found":
                continue
            for name in NUMBERS:
                numbers[name][at] = outcome.values[name]
                numbers[f"{name}_error"][at] = outcome.errors[name]
            numbers["growth"][at] = outcome.growth
            numbers["fold"][at] = outcome.fold
    axes = ("branch", grid.y.name, grid.x.name)
    variables = {
        name: (axes, values, {"long_name": _about(name)}) for name, values in numbers.items()
    }
    baseline = (axes[1:], _linear(grid), {"long_name": _ABOUT["linear_test_error"]})
    return xarray.Dataset(
        {
            **variables,
            "status": (axes, status, {"long_name": _ABOUT["status"]}),
            "linear_test_error": baseline,
        },
        coords={
            "branch": list(BRANCHES),
            **{
                a.name: (a.name, list(a.values), {"long_name": _AXES[a.name]})
                for a in (grid.x, grid.y)
            },
        },
        attrs={
            "title": "fixed points of state evolution of a solvable attention layer",
            "grid": json.dumps(grid_to_dict(grid)),
            "model": str(grid.model),
            "accuracy": grid.accuracy,
            "schema": SCHEMA,
        },
    )


def export(store: str | Path, path: str | Path) -> None:
    """Write the points of a sweep as .csv, .parquet or .nc (NetCDF), by the ending of the name.

    Tables have one row for each point and branch; the definitions of their columns are in lines
    that begin with # (CSV), in the metadata of the columns (Parquet), or attributes (NetCDF).

    Raises
    ------
    InvalidInput
        For another ending, a place where no file can be, the store itself, or a file that is no
        store.
    ComputationFailed
        When a package is missing, or the file cannot be written.
    """
    path = checked_path("to", path)
    if path.suffix not in _CONTENTS or not can_be_file(path):
        allowed = f"the name of a file, ending in {', '.join(_CONTENTS)}"
        raise InvalidInput.of("to", str(path), allowed)
    data = open_store(store)
    write_file(checked_output("to", path, store), _CONTENTS[path.suffix](data))


def _csv(data: xarray.Dataset) -> bytes:
    lines = [f"# {name}: {text}" for name, text in _definitions(data).items()]
    table = data.to_dataframe().reset_index()
    return ("\n".join(lines) + "\n" + table.to_csv(index=False, lineterminator="\n")).encode()


def _parquet(data: xarray.Dataset) -> bytes:
    require("sweep", "pyarrow")
    import pyarrow
    from pyarrow import parquet

    table = pyarrow.Table.from_pandas(data.to_dataframe().reset_index(), preserve_index=False)
    told = _definitions(data)
    fields = [
        field.with_metadata({"long_name": told.get(field.name, "")}) for field in table.schema
    ]
    metadata = {name: str(value) for name, value in data.attrs.items()}
    schema = pyarrow.schema(fields, metadata={**(table.schema.metadata or {}), **metadata})
    parquet.write_table(table.cast(schema), file := BytesIO())
    return file.getvalue()


def _netcdf(data: xarray.Dataset) -> bytes:
    return bytes(data.to_netcdf(engine="scipy"))


_CONTENTS: Mapping[str, Callable[[Any], bytes]] = {
    ".csv": _csv,
    ".parquet": _parquet,
    ".nc": _netcdf,
}


def _definitions(data: xarray.Dataset) -> dict[str, str]:
    said = {str(name): str(value) for name, value in data.attrs.items()}
    said |= {
        str(n): v.attrs["long_name"] for n, v in data.variables.items() if "long_name" in v.attrs
    }
    return said


def _about(name: str) -> str:
    if name.endswith("_error") and name.removesuffix("_error") in NUMBERS:
        return f"absolute error of {name.removesuffix('_error')}"
    return _ABOUT.get(name) or MEANINGS[name]


def _linear(grid: Grid) -> Any:
    """Test error of the best linear map at every point, (y, x)."""
    known: dict[Any, float] = {}
    values = np.empty((len(grid.y.values), len(grid.x.values)))
    for line, place in np.ndindex(*values.shape):
        model, _ = grid.at(place, line)
        if model not in known:
            known[model] = linear_baseline(model).test_error
        values[line, place] = known[model]
    return values
