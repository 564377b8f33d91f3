"""What is written down is read back as it was."""

import csv
import json
from itertools import permutations
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import derivations
from symattn import ASYMMETRIC, AttentionModel, derive, linear_baseline, open_store, solve
from symattn._frozen import FrozenMapping
from symattn.model import parse_mixing
from symattn.sweep import export, merge
from symattn.sweep.grid import BRANCHES, Axis, Grid
from symattn.sweep.point import NUMBERS, Outcome
from symattn.sweep.store import create_or_open, grid_from_dict, grid_to_dict, open_existing
from symattn.symbolic.regenerate import size_of
from tests.properties.strategies import models

ENDINGS = ("csv", "parquet", "nc")

#: Values that each parameter may have along an axis.
DOMAINS = {"alpha": (1e-3, 1e3), "omega": (0.0, 1.0), "lambda": (1e-6, 1e3), "sigma": (0.1, 1.0)}

texts = st.text(max_size=20)


def any_doubles(seed, count):
    """Finite doubles of any size, subnormal ones included."""
    bits = np.random.default_rng(seed).integers(0, 2**64, size=count, dtype=np.uint64)
    values = bits.view(np.float64)
    return np.where(np.isfinite(values), values, 5e-324).tolist()


@st.composite
def axes(draw, name):
    low, high = DOMAINS[name]
    values = draw(st.sets(st.floats(low, high), min_size=2, max_size=3))
    return Axis(name=name, values=tuple(sorted(values)))


@st.composite
def grids(draw):
    """Any two parameters in any order."""
    first, second = draw(st.sampled_from(list(permutations(DOMAINS, 2))))
    alone = "alpha" not in (first, second)
    return Grid(
        model=draw(models()),
        alpha=draw(st.floats(1e-3, 1e3)) if alone else None,
        x=draw(axes(first)),
        y=draw(axes(second)),
        accuracy=draw(st.floats(1e-9, 1e-2)),
    )


@st.composite
def outcomes(draw):
    """Found, with any numbers that a double has, or not, with any reason."""
    *drawn, growth, fold, aim, seconds = any_doubles(
        draw(st.integers(0, 2**32 - 1)), 2 * len(NUMBERS) + 4
    )
    if draw(st.booleans()):
        values, errors = drawn[: len(NUMBERS)], np.abs(drawn[len(NUMBERS) :]).tolist()
        return Outcome(
            values=FrozenMapping(
                {
                    name: abs(value) if name == "test_error" else value
                    for name, value in zip(NUMBERS, values, strict=True)
                }
            ),
            errors=FrozenMapping(dict(zip(NUMBERS, errors, strict=True))),
            growth=growth,
            fold=fold,
            aim=aim,
            seconds=seconds,
        )
    status = draw(st.sampled_from(["absent", "failed", "unstarted"]))
    return Outcome(status=status, reason=draw(texts), seconds=seconds)


@st.composite
def sweeps(draw):
    """A grid and outcomes of some of its points, by branch, line and place."""
    grid = draw(grids())
    keys = st.tuples(
        st.sampled_from(BRANCHES),
        st.integers(0, len(grid.y.values) - 1),
        st.integers(0, len(grid.x.values) - 1),
    )
    return grid, draw(st.dictionaries(keys, outcomes(), max_size=4))


def keep(path, grid, known):
    with create_or_open(path, grid) as store:
        for (branch, line, place), outcome in known.items():
            store.put(branch, line, [(place, outcome)])


def kept(path):
    with open_existing(path) as store:
        return store.grid, {row[:3]: row[3] for row in store.outcomes()}


@given(grids())
def test_a_grid_comes_back_from_json(grid):
    again = grid_from_dict(json.loads(json.dumps(grid_to_dict(grid), allow_nan=False)))
    assert again == grid
    assert hash(again) == hash(grid)


@given(models())
def test_a_mixing_comes_back_from_the_command_line(model):
    text = ",".join(repr(entry) for row in model.mixing for entry in row)
    assert parse_mixing(text, 2) == model.mixing


@settings(max_examples=6)
@given(sweeps())
def test_a_store_keeps_every_bit(swept):
    with TemporaryDirectory() as place:
        path = Path(place, "a.db")
        keep(path, *swept)
        assert kept(path) == swept
        # what comes again changes nothing
        keep(path, *swept)
        assert kept(path) == swept


@settings(max_examples=4)
@given(sweeps())
def test_shards_merge_to_the_whole(swept):
    grid, known = swept
    with TemporaryDirectory() as place:
        parts = []
        for line in range(len(grid.y.values)):
            parts.append(Path(place, f"{line}.db"))
            keep(parts[-1], grid, {key: value for key, value in known.items() if key[1] == line})
        whole = Path(place, "whole.db")
        merge(parts, whole)
        assert kept(whole) == swept


@settings(max_examples=4)
@given(sweeps())
def test_tables_have_what_the_store_has(swept):
    xarray = pytest.importorskip("xarray", reason="xarray is not installed")
    grid, known = swept
    with TemporaryDirectory() as place:
        path = Path(place, "a.db")
        keep(path, grid, known)
        data = open_store(path)
        for ending in ENDINGS:
            export(path, f"{place}/a.{ending}")
        back = xarray.open_dataset(f"{place}/a.nc", engine="scipy").load()
        assert back.identical(data)
        back.close()
        tables = [rows_of_csv(f"{place}/a.csv"), rows_of_parquet(f"{place}/a.parquet")]
    assert grid_from_dict(json.loads(data.attrs["grid"])) == grid
    for table in tables:
        points = {key(row, grid): row for row in table}
        assert len(points) == len(table) == data.status.size
        for (branch, line, place), row in points.items():
            outcome = known.get((branch, line, place), Outcome(status="unstarted"))
            assert row["status"] == outcome.status
            for name in NUMBERS:
                assert_same(row[name], outcome.values.get(name))
                assert_same(row[f"{name}_error"], outcome.errors.get(name))
            for name in ("growth", "fold"):
                assert_same(row[name], getattr(outcome, name))
            model, _ = grid.at(place, line)
            assert float(row["linear_test_error"]) == linear_baseline(model).test_error


def rows_of_csv(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def rows_of_parquet(path):
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    return parquet.read_table(path).to_pylist()


def key(row, grid):
    places = (axis.values.index(float(row[axis.name])) for axis in (grid.y, grid.x))
    return (row["branch"], *places)


def assert_same(found, expected):
    """A number in a table; nothing, or what is no number, where there is none."""
    if expected is None:
        assert found in ("", None) or np.isnan(found)
    else:
        assert float(found) == expected


@settings(max_examples=4)
@given(st.floats(0.3, 0.6), st.floats(0.0, 1.0), st.floats(1.5, 4.0))
def test_a_solution_comes_back_from_json(sigma, omega, alpha):
    model = AttentionModel(sigma=sigma, omega=omega, lam=2.0 * sigma**4)
    found = solve(model, alpha, branch="best", digits=2)
    text = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert AttentionModel.from_dict(text["model"]) == model
    assert text["alpha"] == alpha
    assert text["linear_test_error"] == found.linear_test_error
    assert text["absent"] == dict(found.absent)
    for point, written in zip(found.fixed_points, text["fixed_points"], strict=True):
        assert {name: written[name] for name in point.numbers} == point.numbers
        assert written["errors"] == dict(point.errors)
        assert [complex(*pair) for pair in written["eigenvalues"]] == list(point.eigenvalues)


@settings(max_examples=3)
@given(models(), models())
def test_a_derivation_depends_on_the_sizes_alone(model, other):
    """The parameters stay symbols, so that the bytes are the same."""
    assert size_of(model) == size_of(other)
    for text in ("to_markdown", "to_latex"):
        assert getattr(derive(model), text)() == getattr(derive(other), text)()


def test_a_derivation_made_anew_has_the_same_bytes():
    first = derive()
    derivations.derivation.cache_clear()
    second = derive(AttentionModel(mixing=ASYMMETRIC))
    assert second is not first
    assert second.to_markdown() == first.to_markdown()
    assert second.to_latex() == first.to_latex()
