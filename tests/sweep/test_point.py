"""A swept point is the fixed point that `solve` certifies to more digits, within its errors."""

import math

import pytest

from symattn import AttentionModel, Overlaps, solve
from symattn.quadrature._columns import ENVELOPE
from symattn.quadrature.expectations import Resolution
from symattn.state_evolution import evolve, transported
from symattn.sweep.grid import Axis, Grid, Line
from symattn.sweep.point import NUMBERS, Request, compute, first_aim

SMOOTH = AttentionModel(lam=0.1)


def request(model, alpha, branch, starts=(), accuracy=1e-5):
    return Request(
        model=model,
        alpha=alpha,
        branch=branch,
        accuracy=accuracy,
        aim=first_aim(accuracy, []),
        starts=starts,
        neighbours=3 if len(starts) > 1 else len(starts),
    )


@pytest.mark.parametrize(
    ("model", "alpha", "branch"),
    [
        (SMOOTH, 1.5, "positional"),
        (AttentionModel(), 1.5, "semantic"),
        pytest.param(AttentionModel(), 1.5, "positional", marks=pytest.mark.slow),
        pytest.param(AttentionModel(omega=0.1), 0.8, "semantic", marks=pytest.mark.slow),
        pytest.param(AttentionModel(omega=0.5), 0.4, "positional", marks=pytest.mark.slow),
    ],
)
def test_errors_cover_the_difference_to_more_digits(model, alpha, branch):
    truth = solve(model, alpha, branch=branch, digits=7)[branch]
    q, m, V, theta = truth.overlaps
    # Once with and once without something near to start from.
    nearby = Overlaps(1.02 * q, 0.99 * m, 0.98 * V, theta)
    for starts in ((), (nearby,), (nearby, nearby)):
        found = compute(request(model, alpha, branch, starts))
        assert found.status == "found"
        assert set(found.values) == set(found.errors) == set(NUMBERS)
        for name in NUMBERS:
            slack = found.errors[name] + truth.errors[name]
            assert abs(found.values[name] - truth.numbers[name]) <= slack, name
        assert 0 < found.worst <= 1e-5
        assert (found.growth <= 1) == truth.stable
        assert found.growth == pytest.approx(max(z.real for z in truth.eigenvalues), rel=1e-3)
        assert (found.fold == 0) == (truth.jump_probability == 0)


def test_more_accuracy_is_reached_when_asked_for():
    coarse, fine = (compute(request(SMOOTH, 1.5, "positional", accuracy=a)) for a in (1e-3, 1e-8))
    assert coarse.worst <= 1e-3
    assert fine.worst <= 1e-8
    assert fine.aim < coarse.aim
    for name in NUMBERS:
        slack = coarse.errors[name] + fine.errors[name]
        assert abs(coarse.values[name] - fine.values[name]) <= slack


def test_a_branch_that_is_not_there_is_said_with_the_reason():
    # Below the weak-learning thresholds at lambda = 0.1, which are above 1
    alone = compute(request(SMOOTH, 0.3, "positional"))
    assert alone.status == "unstarted"
    beside = compute(request(SMOOTH, 0.3, "positional", (Overlaps(0.005, 0.1, 2.4, 0.0),)))
    assert beside.status == "absent"
    for outcome in (alone, beside):
        assert outcome.reason
        assert not outcome.values
        assert outcome.growth is None


def test_accuracy_out_of_reach_is_said():
    found = compute(request(SMOOTH, 1.5, "positional", accuracy=1e-16))
    assert found.status == "failed"
    assert "a relative error of" in found.reason


def envelope(step):
    return step.expectations.means[ENVELOPE]


def test_transport_is_the_first_order():
    """Halving the distance quarters what is left."""
    model, alpha = AttentionModel(lam=0.1), 1.5
    resolution = Resolution.for_accuracy(1e-8)
    at = Overlaps(0.02, 0.1, 2.4, 0.02)
    step = evolve(model, alpha, at, resolution)
    left = []
    for share in (1.0, 0.5):
        there = Overlaps(*(x * (1 + share * 0.02 * (k + 1)) for k, x in enumerate(at)))
        exact = evolve(model, alpha, there, resolution)
        carried = transported(model, alpha, step, there)
        assert carried.overlaps == there
        left.append(
            [
                abs(a - b)
                for a, b in zip(
                    (*carried.image, *carried.hats, carried.train_loss_direct, envelope(carried)),
                    (*exact.image, *exact.hats, exact.train_loss_direct, envelope(exact)),
                    strict=True,
                )
            ]
            + [
                abs(carried.expectations.means[k] - exact.expectations.means[k])
                for k in (ENVELOPE,)
            ]
        )
    for whole, half in zip(*left, strict=True):
        assert half < 0.32 * whole


def test_lines_of_real_points_end_where_the_branch_does():
    """The positional branch of lambda = 0.1 begins at the weak-learning threshold, 1.05."""
    grid = Grid(
        model=SMOOTH,
        alpha=None,
        x=Axis(name="alpha", values=(0.9, 1.0, 1.1, 1.3, 1.6, 2.0)),
        y=Axis(name="omega", values=(0.3, 0.4)),
        accuracy=1e-4,
    )
    line, known = Line(grid=grid, branch="positional", row=0), {}
    while items := dict(line.next(known)):
        for place, item in items.items():
            known[place] = compute(item) if isinstance(item, Request) else item
    assert [known[k].status for k in range(6)] == ["absent"] * 2 + ["found"] * 4
    m = [known[k].values["m"] for k in range(2, 6)]
    assert m == sorted(m)
    # A square root beyond the threshold, roughly.
    assert 0.5 < math.log(m[1] / m[0]) / math.log((1.3 - 1.0544) / (1.1 - 1.0544)) * 2 < 1.5
