"""What a point is computed from is fixed, whatever the order in which points are done."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symattn import ASYMMETRIC, AttentionModel, InvalidInput
from symattn.sweep.grid import Axis, Line
from symattn.sweep.point import Outcome, Request
from tests.sweep.made_up import ALPHAS, OMEGAS, found, grid, where

SIGMAS = Axis(name="sigma", values=(0.4, 0.5, 0.6))


def walked(line, compute, order):
    """All outcomes of a line whose requests are done in a random order, and the requests."""
    known, asked, waiting = {}, {}, {}
    while True:
        for place, item in line.next(known):
            if isinstance(item, Outcome):
                known[place] = item
            elif place not in waiting:
                asked.setdefault(place, []).append(item)
                waiting[place] = item
        if not waiting:
            return known, asked
        place = order.choice(sorted(waiting))
        known[place] = compute(waiting.pop(place))


@given(
    ends=st.tuples(st.floats(0.0, 3.0), st.floats(0.0, 3.0)).map(sorted),
    seeds=st.tuples(st.integers(), st.integers()),
)
def test_rows_and_requests_do_not_depend_on_the_order(ends, seeds):
    line = Line(grid=grid(), branch="semantic", row=1)
    compute = where(lambda _, alpha, __: ends[0] <= alpha <= ends[1])
    first, second = (walked(line, compute, random.Random(seed)) for seed in seeds)
    assert first == second
    known, asked = first
    assert sorted(known) == list(range(len(ALPHAS)))
    there = [k for k, alpha in enumerate(ALPHAS) if ends[0] <= alpha <= ends[1]]
    # Found where it is, if it is at one of the ends or in the middle of the line.
    started = {0, 2, 4}.intersection(there)
    assert [k for k in sorted(known) if known[k].status == "found"] == (there if started else [])
    assert all(known[k].status == "absent" for k in set(known) - set(there if started else []))
    # Once by itself and once from its neighbours, at most.
    assert all(len(requests) <= 2 for requests in asked.values())


def test_a_point_is_extrapolated_from_those_behind_it():
    line = Line(grid=grid(), branch="positional", row=0)
    known = {0: Outcome(status="unstarted")}
    for place in (4, 3, 2):
        x = ALPHAS[place]
        own = {"q": 1 + 0.1 * x**2, "theta": 0.0, "m": 7.0 - x}
        known[place] = found(values={**found().values, **own})
    [(place, request)] = line.next(known)
    assert place == 1
    ahead, nearest = request.starts
    # A parabola through three points is met.
    assert ahead.q == pytest.approx(1 + 0.1 * ALPHAS[1] ** 2)
    assert ahead.m == pytest.approx(7.0 - ALPHAS[1])
    assert nearest == known[2].overlaps
    assert request.alpha == ALPHAS[1]
    assert request.model.omega == OMEGAS[0]


def test_what_cannot_be_overlaps_is_no_start():
    line = Line(grid=grid(), branch="positional", row=0)
    known = {
        0: Outcome(status="unstarted"),
        4: found(values={**found().values, "q": 1.0, "theta": 0.0}),
        3: found(values={**found().values, "q": 0.1, "theta": 0.0}),
    }
    [(_, request)] = line.next(known)  # q would be -0.8
    assert request.starts == (known[3].overlaps,)


@pytest.mark.parametrize(
    ("name", "values", "starts"),
    [
        ("theta", (0.002, 0.012), 1),  # would be -0.008 at the next place
        ("q", (0.05, 0.03), 2),  # would be 0.07
        ("V", (10.0, 19.0), 1),  # would be 1
    ],
)
def test_what_is_far_from_the_neighbour_is_no_start(name, values, starts):
    line = Line(grid=grid(), branch="semantic", row=0)
    usual = {**found().values, "q": 0.05, "m": 0.0, "V": 20.0, "theta": 0.01}
    nearest, behind = (found(values={**usual, name: value}) for value in values)
    [(_, request)] = line.next({4: behind, 3: nearest})
    assert len(request.starts) == starts
    assert request.starts[-1] == nearest.overlaps


@pytest.mark.parametrize(("branch", "heads"), [("semantic", (4, 2, 0)), ("positional", (0, 4, 2))])
def test_the_head_is_looked_for_at_the_ends_and_in_the_middle(branch, heads):
    line = Line(grid=grid(), branch=branch, row=0)
    missing = Outcome(status="unstarted")
    known = {}
    for place in heads:
        [(asked, request)] = line.next(known)
        assert asked == place
        assert request.starts == ()
        known[place] = missing
    assert {p: o.status for p, o in line.next(known)} == dict.fromkeys(range(5), "absent")


def test_a_point_without_its_accuracy_is_passed_over():
    line = Line(grid=grid(), branch="semantic", row=0)
    known = {4: found(), 3: Outcome(status="failed", reason="the grid is too large")}
    [(place, request)] = line.next(known)
    assert place == 2
    assert request.starts[-1] == known[4].overlaps
    # The line begins elsewhere then.
    known = {4: known[3]}
    for place in (2, 0):
        [(asked, request)] = line.next(known)
        assert asked == place
        assert request.starts == ()
        known[place] = Outcome(status="unstarted")
    assert {p: o.status for p, o in line.next(known)} == dict.fromkeys(range(4), "failed")


def test_the_grids_begin_with_what_sufficed_behind():
    line = Line(grid=grid(), branch="semantic", row=0)
    [(_, first)] = line.next({})
    assert first.aim == pytest.approx(3e-5)
    values = found().values

    def with_error(relative, aim):
        errors = {name: relative * value for name, value in values.items()}
        return found(errors=errors, aim=aim)

    # at half the error allowed, grids for 8e-6 would do; a margin of 0.6
    [(_, request)] = line.next({4: with_error(5e-6, 4e-6)})
    assert request.aim == pytest.approx(0.6 * 8e-6)
    # half as much as at the point before: again half as much
    [(_, request)] = line.next({4: with_error(5e-6, 8e-6), 3: with_error(5e-6, 4e-6)})
    assert request.aim == pytest.approx(0.5 * 0.6 * 8e-6)
    # twice as much: no more than the nearest
    [(_, request)] = line.next({4: with_error(5e-6, 2e-6), 3: with_error(5e-6, 4e-6)})
    assert request.aim == pytest.approx(0.6 * 8e-6)


def test_alpha_is_along_the_lines():
    x, y = Axis(name="omega", values=(0.1, 0.2)), Axis(name="alpha", values=(1.0, 2.0, 3.0))
    made = grid(x=x, y=y)
    assert (made.x, made.y) == (y, x)
    model, alpha = made.at(2, 1)
    assert (alpha, model.omega) == (3.0, 0.2)


def test_any_two_parameters():
    made = grid(
        alpha=1.5,
        model=AttentionModel(mixing=ASYMMETRIC),
        x=Axis(name="lambda", values=(0.01, 0.1)),
        y=Axis(name="sigma", values=(0.4, 0.6)),
    )
    model, alpha = made.at(1, 0)
    assert (alpha, model.lam, model.sigma, model.mixing) == (1.5, 0.1, 0.4, ASYMMETRIC)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"x": Axis(name="omega", values=(0.1, 0.2))}, "two different parameters"),
        ({"alpha": 1.0}, "left out"),
        ({"x": Axis(name="lambda", values=(0.1, 0.2))}, "alpha is missing"),
        ({"accuracy": 0.0}, "accuracy = 0.0"),
        ({"accuracy": 1.0}, "accuracy = 1.0"),
        ({"x": Axis(name="alpha", values=(0.0, 1.0))}, "alpha = 0.0"),
        ({"y": Axis(name="omega", values=(0.5, 1.5))}, "omega = 1.5"),
        ({"y": Axis(name="omega", values=(0.1, 0.5, 1.5))}, "omega = 1.5"),
        ({"x": Axis(name="omega", values=(0.1, 0.5, 1.5)), "y": SIGMAS, "alpha": 1.0}, "omega = 1"),
        ({"y": Axis(name="sigma", values=(-1.0, 1.5))}, "sigma = -1.0"),
        ({"model": AttentionModel(length=3, mixing=((1, 0, 0),) * 3)}, "length = 3"),
    ],
)
def test_bad_grids_are_refused(changes, words):
    with pytest.raises(InvalidInput, match=words):
        grid(**changes)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("rho", (1.0, 2.0)),
        ("alpha", (1.0,)),
        ("alpha", (2.0, 1.0)),
        ("alpha", (1.0, 1.0)),
        ("alpha", (1.0, float("inf"))),
        ("alpha", (float("nan"), 1.0)),
        ("alpha", tuple(range(1, 1002))),
    ],
)
def test_bad_axes_are_refused(name, values):
    with pytest.raises(InvalidInput, match=name):
        Axis(name=name, values=values)


def test_requests_are_of_the_branch_and_accuracy():
    [(_, request)] = Line(grid=grid(accuracy=1e-4), branch="positional", row=2).next({})
    assert isinstance(request, Request)
    assert (request.branch, request.accuracy, request.model.omega) == ("positional", 1e-4, 0.3)
