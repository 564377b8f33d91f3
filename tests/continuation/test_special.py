"""Folds and mergers, on curves that are known in closed form."""

from types import SimpleNamespace

import numpy as np
import pytest

from symattn import AttentionModel, ComputationFailed, InvalidInput
from symattn._progress import silent
from symattn.continuation import special
from symattn.continuation.conditions import Condition
from symattn.continuation.curve import At, Curve
from symattn.continuation.locate import Solved, _compared, _gradient
from symattn.continuation.special import between, merger
from symattn.continuation.walk import start_node, walk
from symattn.overlaps import Overlaps

FOLD = 0.6


def step_of(overlaps, jacobian):
    """What of a step of state evolution special points are made of."""
    certificate = SimpleNamespace(uncovered=0.0, doubled=0.0, normalisation=0.0)
    return SimpleNamespace(
        overlaps=overlaps,
        jacobian=jacobian,
        expectations=SimpleNamespace(certificate=certificate),
    )


class Parabola(Curve):
    """omega = FOLD - (q - 1)^2, V = 2 q: two solutions below FOLD, none above."""

    def at(self, y):
        q, V, omega = y
        step = step_of(self.overlaps(y), np.zeros((4, 4)))
        # a coarse grid shifts the fold
        return At(
            y=y,
            step=step,
            residual=np.array([(q - 1.0) ** 2 + omega - FOLD + 0.3 * self.accuracy, V - 2.0 * q]),
            matrix=np.array([[2.0 * (q - 1.0), 0.0, 1.0], [-2.0, 1.0, 0.0]]),
            accuracy=self.accuracy,
        )

    def test_error(self, at):
        return 1.0, 0.0


@pytest.fixture(scope="module")
def parabola():
    return Parabola(
        model=AttentionModel(), alpha=1.0, over="omega", name="uninformed", accuracy=1e-4
    )


def test_a_branch_is_followed_around_a_fold_which_is_located(parabola):
    start = parabola.at(np.array([0.5, 1.0, FOLD - 0.25]))
    here = start_node(parabola, start, 1.0)
    nodes, found = [here], []
    for ahead in walk(parabola, here, 0.2, 0.9, silent):
        found += between(parabola, here, ahead, 4)
        nodes.append(ahead)
        here = ahead
    # two solutions at every omega below the fold
    sizes = [node.at.y[0] for node in nodes]
    assert sizes == sorted(sizes)
    assert sizes[-1] > 1.5
    assert all(node.at.y[-1] < FOLD for node in nodes)
    [fold] = found
    assert fold.kind == "fold"
    assert fold.note == "omega turns back"
    assert 0.0 < abs(fold.parameter - FOLD) <= fold.error <= 0.5e-4 * FOLD
    assert abs(fold.overlaps.q - 1.0) <= fold.errors["q"] + 1e-6
    assert abs(fold.overlaps.V - 2.0) <= fold.errors["V"] + 1e-6


def test_beyond_a_fold_there_is_no_solution(parabola):
    above = parabola.at(np.array([1.0, 2.0, FOLD + 0.01]))
    assert parabola.correct_at(above.y, FOLD + 0.01) is None


class Line(Curve):
    """The uninformed branch q = 1 + omega, V = 2; theta grows on it at omega = BREAKING."""

    BREAKING = 0.4

    def at(self, y):
        q, V, omega = y
        if omega > 1.0:
            raise InvalidInput.of("omega", omega, "at most 1")
        jacobian = np.zeros((4, 4))
        jacobian[3, 3] = 1.0 + self.BREAKING - omega
        return At(
            y=y,
            step=step_of(self.overlaps(y), jacobian),
            residual=np.array([q - 1.0 - omega, V - 2.0]),
            matrix=np.array([[1.0, 0.0, -1.0], [0.0, 1.0, 0.0]]),
            accuracy=self.accuracy,
        )


class LineToTheEnd(Line):
    BREAKING = 0.9995


def merged(line):
    """Where a semantic branch that comes to the line merges."""
    curve = line(model=AttentionModel(), alpha=1.0, over="omega", name="semantic", accuracy=1e-4)
    near = line.BREAKING - 0.02
    return merger(curve, curve.pack(Overlaps(1.0 + near, 0.0, 2.01, 0.01), near), 3, 4)


@pytest.mark.parametrize("line", [Line, LineToTheEnd])
def test_a_merger_is_located_also_next_to_the_end_of_the_domain(line):
    point = merged(line)
    assert (point.kind, point.direction) == ("merger", "theta")
    assert point.note == "theta reaches 0 on the uninformed branch"
    assert abs(point.parameter - line.BREAKING) <= point.error + 1e-12
    assert point.error < 1e-6


def test_a_merger_that_is_lost_on_finer_grids_is_given_roughly(monkeypatch):
    def lost(*_):
        raise ComputationFailed("lost")

    monkeypatch.setattr(special, "locate", lost)
    point = merged(Line)
    assert point.kind == "merger"
    assert point.note.endswith("; lost on finer grids")
    assert abs(point.parameter - Line.BREAKING) < point.error


def test_the_gradient_of_a_condition_is_taken_on_one_set_of_grids(parabola):
    condition = Condition("shifted", "", lambda curve, at: at.y[0] + curve.accuracy)
    rough = parabola.finer(10.0)
    at = rough.at(np.array([0.5, 1.0, 0.35]))
    solved = Solved(at, condition.value(rough, at), np.zeros(3), np.zeros(3))
    row = _gradient(parabola, condition, solved)
    np.testing.assert_allclose(row, [1.0, 0.0, 0.0], atol=1e-9)


def test_a_singular_system_leaves_the_error_unknown(parabola):
    condition = Condition("level", "", lambda curve, at: 0.0)
    at = parabola.at(np.array([0.5, 1.0, 0.35]))
    located = _compared(parabola, condition, Solved(at, 0.0, np.zeros(3), np.zeros(3)))
    assert located.error(parabola) == np.inf
