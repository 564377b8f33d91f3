"""Sweeps whose points are made up in no time, in place of fixed points."""

from concurrent.futures import Future
from contextlib import contextmanager

from symattn import AttentionModel
from symattn._frozen import FrozenMapping
from symattn.sweep.grid import Axis, Grid
from symattn.sweep.point import NUMBERS, Outcome

ALPHAS = (0.5, 1.0, 1.5, 2.0, 2.5)
OMEGAS = (0.1, 0.2, 0.3)


def grid(**changes):
    given = {
        "model": AttentionModel(),
        "alpha": None,
        "x": Axis(name="alpha", values=ALPHAS),
        "y": Axis(name="omega", values=OMEGAS),
        "accuracy": 1e-5,
        **changes,
    }
    return Grid(**given)


def found(number=1.0, **changes):
    """All numbers the same multiple of their place, with errors of a millionth."""
    values = {name: number * (k + 1) for k, name in enumerate(NUMBERS)}
    given = {
        "values": FrozenMapping(values),
        "errors": FrozenMapping({name: 1e-6 * abs(v) for name, v in values.items()}),
        "growth": 0.5,
        "fold": 0.0,
        "aim": 3e-5,
        **changes,
    }
    return Outcome(**given)


def lost(request):
    """What `compute` says of a branch that is not there."""
    return Outcome(status="absent" if request.starts else "unstarted", reason="not there")


def where(exists):
    """In place of `compute`: a branch where exists(branch, alpha, omega) says so.

    Without neighbours it is found all the same; q is alpha, so that lines are straight.
    """

    def compute(request):
        if not exists(request.branch, request.alpha, request.model.omega):
            return lost(request)
        values = {**found(request.model.omega).values, "q": request.alpha, "theta": 0.0, "V": 1.0}
        return found(values=FrozenMapping(values))

    return compute


@contextmanager
def here(compute):
    """An engine that computes at once, in this process."""

    def submit(request):
        future = Future()
        future.set_result(compute(request))
        return future

    yield submit
