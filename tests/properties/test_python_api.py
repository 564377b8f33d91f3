"""Arguments of the wrong kind, shape or size: `InvalidInput` at once, and never a silent NaN."""

import math
import time

import numpy as np
import pytest

from symattn import (
    AttentionModel,
    ComputationFailed,
    InvalidInput,
    all_thresholds,
    follow_all,
    follow_branch,
    linear_baseline,
    open_store,
    solve,
    threshold,
    threshold_curve,
)
from symattn.sweep import Axis, merge, sweep
from symattn.sweep.dataset import export
from symattn.sweep.grid import Grid
from tests.sweep import planted

MODEL = AttentionModel(lam=0.1)
ALPHA = Axis(name="alpha", values=(1.0, 2.0))
OMEGA = Axis(name="omega", values=(0.1, 0.2))
LAMBDA = Axis(name="lambda", values=(0.1, 0.2))
# Something that starts to compute takes longer than any check.
MOST_SECONDS = 2.0

NOTHING = {
    "None": None,
    "an object": object(),
    "a class": float,
    "a function": abs,
    "the ellipsis": ...,
    "a complex number": 1j,
    "bytes": b"1",
    "a mapping": {"alpha": 1.0},
    "a list": [1.0],
    "a tuple": (1.0,),
    "a set": {1.0},
    "an array": np.array([1.0, 2.0]),
    "no time": np.datetime64("NaT"),
}
TEXTS = {
    "text": "1.0",
    "no text": "",
    "many digits": "9" * 5000,
    "a formula": "__import__('os').getcwd()",
    "a zero byte": "a\0b",
}
NUMBERS = {
    "NaN": math.nan,
    "NaN of numpy": np.float32(math.nan),
    "NaN in an array": np.array(math.nan),
    "infinity": math.inf,
    "minus infinity": -np.inf,
    "a truth value": True,
    "a negative number": -1,
    "0": 0,
}
HUGE = {"a huge number": 10**400, "a huge negative number": -(10**400)}
ALL = {**NOTHING, **TEXTS, **NUMBERS, **HUGE}


def without(*names):
    return {name: value for name, value in ALL.items() if name not in names}


def hashable(values):
    """Without what cannot be looked up among names."""
    return {n: v for n, v in values.items() if not isinstance(v, np.ndarray | list | dict | set)}


def model(name):
    return lambda value: AttentionModel(**{name: value})


def following(name):
    return lambda value: follow_branch(
        MODEL, **{"branch": "semantic", "low": 1.0, "high": 2.0, name: value}
    )


def gridded(name):
    return lambda value: Grid(
        **{"model": MODEL, "alpha": None, "x": ALPHA, "y": OMEGA, "accuracy": 1e-3, name: value}
    )


def sweeping(name):
    def call(value, store):
        given = {"model": MODEL, "over": [ALPHA, OMEGA], "store": store, name: value}
        return sweep(given.pop("model"), given.pop("over"), given.pop("store"), **given)

    return call


# What is refused, by what it is given to. Where a value is missing it is a good one there.
CALLS = {
    **{
        f"model, {name}": (model(name), ALL)
        for name in ("length", "student_rank", "target_rank", "lam", "mixing")
    },
    "model, sigma": (model("sigma"), without("None")),
    "model, spectrum": (model("spectrum"), without("None")),
    "model, omega": (model("omega"), without("0")),
    "model, parameters": (AttentionModel.from_dict, ALL),
    "solve, model": (lambda value: solve(value, 1.0), ALL),
    "solve, alpha": (lambda value: solve(MODEL, value), ALL),
    "solve, branch": (lambda value: solve(MODEL, 1.0, branch=value), without("an array")),
    "solve, digits": (lambda value: solve(MODEL, 1.0, digits=value), ALL),
    "threshold, model": (lambda value: threshold(value, "alpha_c"), ALL),
    "threshold, name": (lambda value: threshold(MODEL, value), without("an array")),
    "threshold, digits": (
        lambda value: threshold(MODEL, "weak_bulk", digits=value),
        without("None"),
    ),
    "threshold, certificate": (
        lambda value: threshold(MODEL, "weak_bulk", certificate=value),
        without("None", "an array"),
    ),
    "all_thresholds, model": (lambda value: all_thresholds(value, "alpha_c"), ALL),
    "all_thresholds, name": (lambda value: all_thresholds(MODEL, value), without("an array")),
    "curve, model": (
        lambda value: threshold_curve(value, "alpha_c", over="omega", values=[0.1]),
        ALL,
    ),
    "curve, name": (
        lambda value: threshold_curve(MODEL, value, over="omega", values=[0.1]),
        without("an array"),
    ),
    "curve, over": (
        lambda value: threshold_curve(MODEL, "alpha_c", over=value, values=[0.1]),
        hashable(ALL),
    ),
    "curve, values": (
        lambda value: threshold_curve(MODEL, "alpha_c", over="lambda", values=[value]),
        hashable(ALL),
    ),
    "curve, digits": (
        lambda value: threshold_curve(MODEL, "alpha_c", over="omega", values=[0.1], digits=value),
        without("None"),
    ),
    "follow, model": (lambda value: follow_branch(value, "semantic", low=1.0, high=2.0), ALL),
    "follow, branch": (following("branch"), without("an array")),
    "follow, over": (following("over"), without("an array")),
    "follow, low": (following("low"), without(*HUGE)),
    "follow, high": (following("high"), without(*HUGE)),
    "follow, alpha": (following("alpha"), without("None")),
    "follow, digits": (following("digits"), ALL),
    "follow_all, model": (lambda value: follow_all(value, low=1.0, high=2.0), ALL),
    "linear_baseline": (linear_baseline, ALL),
    "axis, name": (lambda value: Axis(name=value, values=(1.0, 2.0)), without("an array")),
    "grid, alpha twice": (gridded("alpha"), {"a number": 1.0}),
    "grid, one parameter twice": (gridded("y"), {"alpha": ALPHA}),
    "grid, beyond its domain": (
        gridded("y"),
        {
            "omega": Axis(name="omega", values=(0.5, 1.5)),
            "sigma": Axis(name="sigma", values=(0, 1)),
        },
    ),
    "axis, values": (
        lambda value: Axis(name="alpha", values=value),
        {
            "none": (),
            "one": (1.0,),
            "too many": tuple(range(1, 1002)),
            "falling": (2.0, 1.0),
            "equal": (1.0, 1.0),
            "NaN": (1.0, math.nan),
            "infinite": (1.0, math.inf),
        },
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_what_is_not_allowed_is_refused_at_once(name):
    call, values = CALLS[name]
    for said, value in values.items():
        begun = time.monotonic()
        with pytest.raises(InvalidInput) as caught:
            pytest.fail(f"{said} gave {call(value)}")
        assert time.monotonic() - begun < MOST_SECONDS
        assert len(str(caught.value).splitlines()) == 1
        assert len(str(caught.value)) < 1000


SWEEPS = {
    "model": ALL,
    "over": {**ALL, "one": [ALPHA], "three": [ALPHA, OMEGA, LAMBDA], "names": ["alpha", "omega"]},
    "alpha": {**without("None"), "twice": 1.0},
    "accuracy": ALL,
    "workers": {**without("None", "a truth value"), "a truth value": True, "half": 0.5},
    "shard": {**ALL, "three": (1, 2, 3), "halves": (0.5, 1.5), "texts": ("1", "2"), "0": (0, 1)},
}


@pytest.mark.parametrize("name", SWEEPS)
def test_a_sweep_of_what_is_not_allowed_makes_no_file(name, tmp_path):
    for said, value in SWEEPS[name].items():
        with pytest.raises(InvalidInput) as caught:
            pytest.fail(f"{said} gave {sweeping(name)(value, tmp_path / 'a.db')}")
        assert len(str(caught.value).splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_path_is_refused(tmp_path):
    good = tmp_path / "good.db"
    planted.write_store(good)
    bad = without("text", "many digits", "a formula")
    for value in [*bad.values(), good.parent, tmp_path / "missing" / "a.db"]:
        with pytest.raises(InvalidInput):
            open_store(value)
        with pytest.raises(InvalidInput):
            merge([value], tmp_path / "merged.db")
        with pytest.raises(InvalidInput):
            merge([good], value)
        with pytest.raises(InvalidInput):
            export(good, value)
        with pytest.raises(InvalidInput):
            export(value, tmp_path / "a.csv")
        with pytest.raises(InvalidInput):
            sweep(MODEL, [ALPHA, OMEGA], value)
    with pytest.raises(InvalidInput, match="one file at least"):
        merge(str(good), tmp_path / "merged.db")
    assert list(tmp_path.iterdir()) == [good]


@pytest.mark.parametrize("sigma", [1e-30, 1e-12, 1e-6, 0.5, 2.0, 10.0, 1e30])
@pytest.mark.parametrize("omega", [0.0, 1e-12, 1.0])
def test_a_baseline_is_a_number_with_an_error_or_an_error(sigma, omega):
    model = AttentionModel(sigma=sigma, omega=omega, mixing=((0.0, 1.0), (0.5, 0.5)))
    try:
        found = linear_baseline(model)
    except ComputationFailed:
        assert sigma > 4.0
        return
    numbers = (found.test_error, found.error, found.W_error, *found.W[0], *found.W[1])
    assert all(math.isfinite(number) and number >= 0.0 for number in numbers)
    assert found.W_error > 0.0
    assert found.error > 0.0 or found.test_error == 0.0
