"""Folds, on a curve that is known in closed form."""

from types import SimpleNamespace

import numpy as np
import pytest

from symattn import AttentionModel
from symattn._progress import silent
from symattn.continuation.curve import At, Curve
from symattn.continuation.special import between
from symattn.continuation.walk import start_node, walk

FOLD = 0.6


class Parabola(Curve):
    """omega = FOLD - (q - 1)^2, V = 2 q: two solutions below FOLD, none above."""

    def at(self, y):
        q, V, omega = y
        step = SimpleNamespace(
            overlaps=self.overlaps(y),
            jacobian=np.zeros((4, 4)),
            expectations=SimpleNamespace(
                certificate=SimpleNamespace(uncovered=0.0, doubled=0.0, normalisation=0.0)
            ),
        )
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
