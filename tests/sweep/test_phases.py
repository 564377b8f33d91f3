"""What a phase diagram is made of, against closed forms."""

import numpy as np
import pytest

from symattn import InvalidInput
from symattn.sweep.phases import difference, grid_of, largest, missing, phase_curves
from tests.sweep import planted


@pytest.fixture(scope="module")
def data():
    return planted.dataset()


def found(branch, row, column):
    return planted.status(branch, planted.ALPHAS[column], planted.OMEGAS[row]) == "found"


def test_differences_are_the_closed_forms_where_all_is_there_and_nothing_elsewhere(data):
    loss, error = difference(data, "train_loss"), difference(data, "test_error")
    assert loss.shape == (len(planted.OMEGAS), len(planted.ALPHAS))
    for row, column in np.ndindex(loss.shape):
        alpha, omega = planted.ALPHAS[column], planted.OMEGAS[row]
        semantic, positional = (found(b, row, column) for b in ("semantic", "positional"))
        wanted = -0.0013 * (alpha - planted.alpha_c(omega)) if semantic and positional else np.nan
        assert loss[row, column] == pytest.approx(wanted, abs=1e-15, nan_ok=True)
        wanted = -0.0006 * (alpha - planted.alpha_l(omega)) if semantic else np.nan
        assert error[row, column] == pytest.approx(wanted, abs=1e-15, nan_ok=True)


@pytest.mark.parametrize("name", planted.CURVES)
def test_curves_are_the_closed_forms_and_go_from_edge_to_edge(name, data):
    [curve] = phase_curves(data)[name]
    assert curve[:, 0] == pytest.approx(planted.CURVES[name](curve[:, 1]), abs=1e-12)
    assert sorted(curve[[0, -1], 1]) == [planted.OMEGAS[0], planted.OMEGAS[-1]]


def test_other_parameters_have_the_same_curves():
    lambdas = np.geomspace(0.01, 0.4, 6)
    data = planted.dataset(planted.grid(("omega", planted.ALPHAS[:3]), ("lambda", lambdas)))
    assert set(phase_curves(data)) == set(planted.CURVES)


def test_what_is_missing_is_told_apart(data):
    assert set(missing(data, ("semantic",))) == {"semantic", "unknown"}
    masks = missing(data, ("semantic", "positional"))
    for branch in ("semantic", "positional"):
        for row, column in np.ndindex(masks[branch].shape):
            status = planted.status(branch, planted.ALPHAS[column], planted.OMEGAS[row])
            assert masks[branch][row, column] == (status == "absent")
    failed = planted.ALPHAS.index(planted.FAILED[0]), planted.OMEGAS.index(planted.FAILED[1])
    assert [tuple(at[::-1]) for at in np.argwhere(masks["unknown"])] == [failed]


def test_a_part_of_a_data_set_has_the_grid_of_the_part(data):
    whole, part = grid_of(data), grid_of(data.isel(alpha=slice(2, 5)))
    assert whole == planted.grid()
    assert (part.x.values, part.y.values) == (planted.ALPHAS[2:5], planted.OMEGAS)
    others = [data.drop_attrs(), data.drop_vars("alpha"), data.isel(omega=[0]), None]
    for other in (*others, data.assign_attrs(grid="{")):
        with pytest.raises(InvalidInput):
            grid_of(other)


def test_colours_end_at_the_largest_number():
    assert largest(np.array([[np.nan, -3.0], [2.0, np.nan]])) == 3.0
    assert largest(np.array([[0.0, np.nan]])) == largest(np.array([[np.nan]])) == 1.0
