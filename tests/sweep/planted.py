"""A sweep whose numbers have closed forms; those of which curves are zeros are linear."""

import json

import numpy as np
import xarray

from symattn import AttentionModel
from symattn._frozen import FrozenMapping
from symattn.sweep.grid import BRANCHES, Axis, Grid
from symattn.sweep.point import NUMBERS, Outcome
from symattn.sweep.store import create_or_open, grid_to_dict

ALPHAS = tuple(np.linspace(0.5, 2.5, 11))
OMEGAS = tuple(np.linspace(0.0, 0.5, 6))
# Neither branch is computed at these: alpha and omega.
FAILED = (ALPHAS[9], OMEGAS[0])
ABOUT = {"growth": "largest eigenvalue", "status": "how it went"}


def alpha_c(omega):
    return 0.95 + 0.93 * omega


def alpha_l(omega):
    return 1.21 + 1.3 * omega


def spinodal(branch, omega):
    return 0.83 + 0.7 * omega if branch == "semantic" else 1.77 + 0.4 * omega


CURVES = {
    "alpha_c": alpha_c,
    "alpha_l": alpha_l,
    "spinodal_semantic": lambda omega: spinodal("semantic", omega),
    "spinodal_positional": lambda omega: spinodal("positional", omega),
}


def linear_test_error(omega):
    return 0.004 - 0.005 * omega


def status(branch, alpha, omega):
    beyond = alpha - spinodal(branch, omega)
    if (beyond < -0.3) if branch == "semantic" else (beyond > 0.3):
        return "absent"
    return "failed" if (alpha, omega) == FAILED else "found"


def growth(branch, alpha, omega):
    side = 1 if branch == "semantic" else -1
    return 1.0 - 0.5 * side * (alpha - spinodal(branch, omega))


def numbers(branch, alpha, omega):
    """Each of `NUMBERS`, those that nobody draws as 1."""
    loss = 0.002 + 0.001 * alpha
    if branch == "semantic":
        test_error = linear_test_error(omega) - 0.0006 * (alpha - alpha_l(omega))
        own = {"q": 0.05 * alpha, "m": 0.0, "theta": 0.1 * alpha, "V": 20.0 / alpha}
    else:
        loss += 0.0013 * (alpha - alpha_c(omega))
        test_error = 0.003 + 0.001 * omega
        own = {"q": 0.03 + 0.02 * omega, "m": 0.2 + omega, "theta": 0.0, "V": 15.0 / alpha}
    return dict.fromkeys(NUMBERS, 1.0) | own | {"train_loss": loss, "test_error": test_error}


def errors(branch, alpha, omega):
    return {name: 1e-6 * abs(value) for name, value in numbers(branch, alpha, omega).items()}


def grid(x=("alpha", ALPHAS), y=("omega", OMEGAS)):
    swept = {x[0], y[0]}
    return Grid(
        model=AttentionModel(omega=0.3),
        alpha=None if "alpha" in swept else 1.5,
        x=Axis(name=x[0], values=x[1]),
        y=Axis(name=y[0], values=y[1]),
        accuracy=1e-5,
    )


def dataset(of=None, found=None):
    """As `symattn.sweep.dataset.open_store` would give it.

    Whatever the parameters of the grid are, the first stands for alpha and the second for omega.
    found: of branch, alpha and omega, which points are there, in place of `status`.
    """
    of = of or grid()
    shape = (len(BRANCHES), len(of.y.values), len(of.x.values))
    arrays = {n: np.full(shape, np.nan) for n in (*NUMBERS, *(f"{n}_error" for n in NUMBERS))}
    arrays |= {"growth": np.full(shape, np.nan), "status": np.full(shape, "", dtype="<U9")}
    for at in np.ndindex(*shape):
        point = BRANCHES[at[0]], of.x.values[at[2]], of.y.values[at[1]]
        arrays["status"][at] = status(*point)
        if found is not None:
            arrays["status"][at] = "found" if found(*point) else "absent"
        if arrays["status"][at] != "found":
            continue
        for name, value in numbers(*point).items():
            arrays[name][at] = value
            arrays[f"{name}_error"][at] = errors(*point)[name]
        arrays["growth"][at] = growth(*point)
    axes = ("branch", of.y.name, of.x.name)
    linear = [[linear_test_error(omega)] * len(of.x.values) for omega in of.y.values]
    return xarray.Dataset(
        {
            **{n: (axes, array, {"long_name": ABOUT.get(n, n)}) for n, array in arrays.items()},
            "linear_test_error": (axes[1:], linear),
        },
        coords={
            "branch": list(BRANCHES),
            of.x.name: list(of.x.values),
            of.y.name: list(of.y.values),
        },
        attrs={"grid": json.dumps(grid_to_dict(of))},
    )


def write_store(path):
    """The same points in the file of a sweep."""
    with create_or_open(path, grid()) as store:
        for branch in BRANCHES:
            for row, omega in enumerate(OMEGAS):
                outcomes = []
                for alpha in ALPHAS:
                    point = branch, alpha, omega
                    found = status(*point) == "found"
                    outcomes.append(
                        Outcome(
                            status=status(*point),
                            values=FrozenMapping(numbers(*point) if found else {}),
                            errors=FrozenMapping(errors(*point) if found else {}),
                            growth=growth(*point) if found else None,
                            fold=0.0 if found else None,
                        )
                    )
                store.put(branch, row, list(enumerate(outcomes)))
