"""Tables of students: limits with controls, and the lowest minimum of a state."""

import numpy as np
import pytest

from symattn import AttentionModel
from tests.verify.experiments.made_up_rows import along
from tests.verify.planted import planted_row, scattered
from verify.experiments.students import Students, all_rows, parameters, sizes_in_words

_MODEL = AttentionModel()
_ALPHA, _TRUTH = 1.5, 0.13
_BRANCHES = ("semantic", "positional")


def _students(sizes, noise=1e-3):
    rows = []
    for d, count in sizes.items():
        for seed in range(d, d + count):
            row = planted_row(_MODEL, d, seed, _ALPHA, start="semantic")
            rows.append({**row, "theta": scattered(_MODEL, row, _TRUTH, noise)})
    return Students(_MODEL, rows)


def test_controls_have_the_limit_zero_and_scatter_like_one_over_root_d():
    controls = _students({250: 400, 1000: 400}).controls()
    assert controls.shape == (800, 2)
    for part in (controls[:400], controls[400:]):
        error = part.std(axis=0) / len(part) ** 0.5
        assert np.all(np.abs(part.mean(axis=0)) < 4 * error)
    ratio = controls[:400].std(axis=0) / controls[400:].std(axis=0)
    np.testing.assert_allclose(ratio, 2.0, rtol=0.2)


def test_a_planted_limit_is_found_and_controls_make_it_sharper():
    students = _students({250: 40, 500: 20, 1000: 10})
    found = students.limit("theta")
    assert abs(found.t(_TRUTH)) < 4
    assert found.bias == pytest.approx(3 * _TRUTH, abs=4 * found.bias_error)
    # The noise beside the controls is 1e-3/sqrt(d); what the controls explain, 2 limit/sqrt(d).
    assert found.residual == pytest.approx(1e-3, rel=0.3)
    assert found.error < 0.01 * (2 * _TRUTH) / 20
    twice = students.limit_of(2 * students.column("theta"))
    assert twice.value == pytest.approx(2 * found.value)
    assert twice.error == pytest.approx(2 * found.error)


@pytest.mark.parametrize("sizes", [{250: 12, 500: 6}, {500: 12}])
def test_without_controls_a_number_depends_on_the_dimension_alone(sizes):
    students = _students(sizes, noise=0.0)
    expected = _TRUTH * (1 + 3 / students.column("dimension"))
    assert np.ptp(students.column("theta")) > 0.01
    np.testing.assert_allclose(students.without_controls("theta"), expected, rtol=1e-9)


def test_rows_are_chosen_by_their_labels():
    rows = [{"alpha": a, "start": s} for a in (1.0, 2.0) for s in ("semantic", "positional")]
    students = Students(_MODEL, all_rows([rows[:1], rows[1:]]))
    assert students.rows == rows
    assert students.where(alpha=2.0).rows == rows[2:]
    assert students.where(alpha=2.0, start="semantic").rows == [rows[2]]
    assert students.where(alpha=3.0).rows == []


def _minimum(seed, alpha, loss, semantic, positional, start="semantic"):
    numbers = along(semantic, positional, 0.05, 0.1)
    labels = {"seed": seed, "alpha": alpha, "start": start, "teacher": 0.1}
    return {**labels, "train_loss": loss, **numbers}


def test_the_lowest_is_the_lowest_in_the_state_of_the_branch():
    semantic, positional = (0.8, 0.1), (0.1, -0.7)
    rows = [
        _minimum(1, 1.0, 3.0, *semantic),
        _minimum(1, 1.0, 2.0, *semantic),
        _minimum(1, 1.0, 1.0, *positional),
        _minimum(1, 2.0, 9.0, *semantic),
        # None of this training set is semantic.
        _minimum(2, 1.0, 5.0, *positional),
        _minimum(2, 1.0, 4.0, *positional),
        _minimum(2, 2.0, 1.0, *positional),
        _minimum(2, 2.0, 7.0, *semantic),
    ]

    def losses(branch, rows):
        lowest = Students(_MODEL, rows).lowest(branch).rows
        return {(row["seed"], row["alpha"]): row["train_loss"] for row in lowest}

    for order in (rows, rows[::-1]):
        assert losses("semantic", order) == {
            (1, 1.0): 2.0,
            (1, 2.0): 9.0,
            (2, 2.0): 7.0,
        }
        assert losses("positional", order) == {
            (1, 1.0): 1.0,
            (2, 1.0): 4.0,
            (2, 2.0): 1.0,
        }

    semantic, positional = (Students(_MODEL, rows).in_state(b) for b in _BRANCHES)
    assert [row["train_loss"] for row in semantic.rows] == [3.0, 2.0, 9.0, 7.0]
    assert semantic.sets_with((1.0, 2.0)) == {1}
    assert semantic.sets_with((2.0,)) == {1, 2}
    assert positional.sets_with((1.0, 2.0)) == {2}
    assert [row["train_loss"] for row in semantic.of_sets({2}).rows] == [7.0]


def test_parameters_and_sizes_in_words():
    assert parameters(AttentionModel(omega=0.1, sigma=2.0), 1.25) == {
        "omega": 0.1,
        "lambda": 0.01,
        "sigma": 2.0,
        "A": "[[0.6, 0.4], [0.4, 0.6]]",
        "alpha": 1.25,
    }
    assert sizes_in_words({500: 8}) == "8 training sets at d = 500"
    assert sizes_in_words({1000: 4, 500: 8, 250: 16}) == (
        "16 training sets at d = 250, 8 at d = 500 and 4 at d = 1000"
    )
