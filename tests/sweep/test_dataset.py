"""A sweep as a data set has every row in its place, with definitions, in every format."""

import math

import numpy as np
import pytest

from symattn import AttentionModel, InvalidInput, linear_baseline, open_store
from symattn.sweep import export
from symattn.sweep.point import NUMBERS, Outcome
from symattn.sweep.store import create_or_open
from tests.sweep.made_up import ALPHAS, OMEGAS, found, grid

xarray = pytest.importorskip("xarray", reason="xarray is not installed")


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "a.db"
    with create_or_open(path, grid()) as store:
        store.put("semantic", 0, [(1, found(1 / 3, growth=0.25, fold=1e-3))])
        store.put("semantic", 2, [(4, found(2.0, growth=1.5))])
        store.put("positional", 1, [(0, Outcome(status="absent", reason="not there"))])
    return path


def test_every_row_is_in_its_place(path):
    data = open_store(path)
    assert dict(data.sizes) == {"branch": 2, "omega": 3, "alpha": 5}
    assert data.alpha.values.tolist() == list(ALPHAS)
    assert data.omega.values.tolist() == list(OMEGAS)
    at = data.sel(branch="semantic", omega=0.1, alpha=1.0)
    for name in NUMBERS:
        assert float(at[name]) == found(1 / 3).values[name]
        assert float(at[f"{name}_error"]) == found(1 / 3).errors[name]
    assert (float(at.growth), float(at.fold), str(at.status.values)) == (0.25, 1e-3, "found")
    assert float(data.train_loss.sel(branch="semantic", omega=0.3, alpha=2.5)) == 18.0
    assert str(data.status.sel(branch="positional", omega=0.2, alpha=0.5).values) == "absent"
    assert int(data.train_loss.notnull().sum()) == 2
    assert int((data.status == "unstarted").sum()) == 27


def test_the_baseline_is_that_of_the_model_at_each_point(path):
    data = open_store(path)
    for omega in OMEGAS:
        expected = linear_baseline(AttentionModel(omega=omega)).test_error
        assert np.all(data.linear_test_error.sel(omega=omega) == expected)


def test_everything_has_its_definition(path):
    data = open_store(path)
    for name, variable in data.variables.items():
        if name != "branch":
            assert len(variable.attrs["long_name"]) > 5, name
    assert "lambda = 0.01" in data.attrs["model"]


def test_tables_and_netcdf_have_the_same(path, tmp_path):
    data = open_store(path)
    for ending in ("csv", "parquet", "nc"):
        export(path, tmp_path / f"new/a.{ending}")
    assert xarray.open_dataset(tmp_path / "new/a.nc", engine="scipy").identical(data)
    import pandas
    from pyarrow import parquet

    table = pandas.read_csv(tmp_path / "new/a.csv", comment="#")
    columns = parquet.read_table(tmp_path / "new/a.parquet")
    assert b"Q^T Sigma Q/d" in columns.schema.field("q").metadata[b"long_name"]
    assert b"lambda = 0.01" in columns.schema.metadata[b"model"]
    for frame in (table, columns.to_pandas()):
        back = frame.set_index(["branch", "omega", "alpha"]).to_xarray()
        back = back.reindex(branch=data.branch.values)
        for name in (*NUMBERS, "growth"):
            np.testing.assert_array_equal(back[name], data[name])
        assert (back.status == data.status).all()
    lines = (tmp_path / "new/a.csv").read_text().splitlines()
    assert "# q: Q^T Sigma Q/d" in lines


@pytest.mark.parametrize("name", ["a.txt", "a", "a.db", ".csv/"])
def test_other_endings_are_refused(path, tmp_path, name):
    with pytest.raises(InvalidInput, match=r"\.csv, \.parquet, \.nc"):
        export(path, tmp_path / name)


def test_missing_points_are_no_numbers(path):
    at = open_store(path).sel(branch="positional", omega=0.2, alpha=0.5)
    assert all(math.isnan(float(at[name])) for name in (*NUMBERS, "growth", "fold"))
