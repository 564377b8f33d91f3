"""What holds at every fixed point of state evolution, wherever it was found."""

from functools import cache

import numpy as np
import pytest
import sympy as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from symattn import AttentionModel, ComputationFailed, solve
from symattn.overlaps import Overlaps
from symattn.quadrature._columns import ENVELOPE
from symattn.quadrature.expectations import Resolution, channel_expectations
from symattn.quadrature.generalization_error import mean_test_loss
from symattn.state_evolution import evolve
from symattn.sweep.point import NUMBERS, Request, compute, first_aim
from symattn.symbolic import Size, losses
from symattn.symbolic import symbols as y
from symattn.symbolic.overlaps import order_parameters
from symattn.zero_point import loss_at_zero, zero_point
from tests.properties.strategies import by_diagonal, log_floats, mixings

BRANCHES = ("semantic", "positional", "uninformed")


@st.composite
def problems(draw, branch=None, strengths=(1.0, 2.0)):
    """A model and a sample complexity; lambda is so many sigma^4, which decides how much jumps.

    With a branch, a target that it can follow: one that attends to the token itself, by position
    or by meaning.
    """
    sigma = draw(st.floats(0.35, 0.6))
    low, high = {"semantic": (0.0, 0.4), "positional": (0.3, 1.0)}.get(branch, (0.0, 1.0))
    diagonal = st.floats(0.6, 1.0)
    model = AttentionModel(
        sigma=sigma,
        lam=sigma**4 * draw(log_floats(*strengths)),
        omega=draw(st.one_of(st.sampled_from([low, high]), st.floats(low, high))),
        mixing=draw(mixings if branch is None else st.builds(by_diagonal, diagonal, diagonal)),
    )
    return model, draw(st.floats(2.0, 5.0))


@st.composite
def points(draw, accuracy=1e-4, branches=("semantic", "positional"), **bounds):
    """Model, sample complexity, branch and a fixed point on it; most draws have one."""
    branch = draw(st.sampled_from(branches))
    model, alpha = draw(problems(branch, **bounds))
    outcome = computed(model, alpha, branch, accuracy)
    assert outcome.status != "failed", outcome.reason
    assume(outcome.status == "found")
    return model, alpha, branch, outcome


@cache
def computed(model, alpha, branch, accuracy=1e-4, start=None):
    request = Request(
        model=model,
        alpha=alpha,
        branch=branch,
        accuracy=accuracy,
        aim=first_aim(accuracy, []),
        starts=() if start is None else (start,),
        neighbours=0 if start is None else 1,
    )
    return compute(request)


@cache
def extremal_form():
    """The free energy and its slopes by the hats, as a function of numbers."""
    p = order_parameters(Size())
    form = losses.extremal_form(
        p, y.envelope, losses.ridge_denominator(p).inv(), losses.ridge_source(p)
    )
    hats = [sp.Symbol(f"{x.name}_hat", **x.assumptions0) for x in p.overlaps.symbols]
    named = {x.name: x for x in form.free_symbols}
    hats = [named[x.name] for x in hats]
    arguments = [y.alpha, y.envelope, *p.overlaps.symbols, *hats, y.lam, y.sigma]
    return sp.lambdify(arguments, [form, *(form.diff(x) for x in hats)])


@settings(max_examples=5)
@given(points(accuracy=1e-5))
def test_the_free_energy_is_stationary_in_overlaps_and_hats(point):
    model, alpha, _, outcome = point
    overlaps = outcome.overlaps
    hats = [outcome.values[f"{name}_hat"] for name in Overlaps._fields]
    resolution = Resolution.for_accuracy(1e-5)

    def form(at):
        envelope = channel_expectations(model, at, resolution).means[ENVELOPE]
        return extremal_form()(alpha, envelope, *at, *hats, model.lam, model.sigma)

    value, by_q_hat, by_m_hat, by_V_hat, by_theta_hat = form(overlaps)
    assert value == pytest.approx(outcome.values["train_loss"], rel=1e-5)
    assert abs(by_V_hat) < 1e-4 * overlaps.q
    assert abs(by_q_hat) < 1e-4 * overlaps.V
    assert abs(by_m_hat) < 1e-4 * overlaps.m or overlaps.m == by_m_hat == 0.0
    assert abs(by_theta_hat) < 1e-4 * overlaps.theta or overlaps.theta == by_theta_hat == 0.0

    free = overlaps.q - overlaps.theta**2 / model.rho
    for k, conjugate in enumerate([hats[2] / 2.0, hats[1], hats[0] / 2.0, hats[3]]):
        if overlaps[k] == 0.0:
            continue
        # theta and q move within what they leave of q - theta^2/rho
        change = 0.02 * overlaps[k] * (free / overlaps.q if k in (0, 3) else 1.0)
        far_below, below, above, far_above = (
            form(overlaps._replace(**{Overlaps._fields[k]: overlaps[k] + times * change}))[0]
            for times in (-2, -1, 1, 2)
        )
        slope = (8.0 * (above - below) - (far_above - far_below)) / (12.0 * change)
        noise = 1e-6 * value / change
        assert abs(slope) < 1e-3 * abs(conjugate) + noise, Overlaps._fields[k]


@settings(max_examples=5)
@given(points())
def test_two_forms_of_the_training_loss_agree_within_their_errors(point):
    model, alpha, branch, _ = point
    point = solve(model, alpha, branch=branch, digits=3)[branch]
    gap = abs(point.train_loss - point.train_loss_direct)
    assert gap <= point.errors["train_loss"] + point.errors["train_loss_direct"]
    # both by finer grids at the same overlaps, where only the first is stationary
    fine = evolve(model, alpha, point.overlaps, Resolution.for_accuracy(1e-7))
    for name in ("train_loss", "train_loss_direct"):
        assert abs(getattr(fine, name) - getattr(point, name)) <= point.errors[name], name


def slope_of_the_training_loss(at):
    """Derivative by x of the training loss at x = 0, relative change, and its error.

    at: the outcome at x times the change; the differences are of fourth order.
    """
    change = 0.02
    outcomes = [at(times * change) for times in (-2, -1, 1, 2)]
    assume(all(outcome.status == "found" for outcome in outcomes))
    weights = np.array([1.0, -8.0, 8.0, -1.0]) / (12.0 * change)
    values, errors = (
        np.array([numbers["train_loss"] for numbers in listed])
        for listed in zip(*((o.values, o.errors) for o in outcomes), strict=True)
    )
    return weights @ values, np.abs(weights) @ errors


@settings(max_examples=5)
@given(points())
def test_the_training_loss_rises_with_alpha_by_the_mean_envelope(point):
    model, alpha, branch, outcome = point
    slope, error = slope_of_the_training_loss(
        lambda x: computed(model, alpha * (1.0 + x), branch, start=outcome.overlaps)
    )
    expected = alpha * outcome.values["envelope"]
    assert abs(slope - expected) <= error + alpha * outcome.errors["envelope"] + 1e-4 * expected
    assert error < 1e-2 * expected


@settings(max_examples=5)
@given(points())
def test_the_training_loss_rises_with_lambda_by_half_the_norm(point):
    model, alpha, branch, outcome = point

    def at(x):
        moved = AttentionModel.from_dict({**model.to_dict(), "lam": model.lam * (1.0 + x)})
        return computed(moved, alpha, branch, start=outcome.overlaps)

    slope, error = slope_of_the_training_loss(at)
    expected, bound = (
        model.lam * numbers["q"] / (2.0 * model.rho) for numbers in (outcome.values, outcome.errors)
    )
    # next to where a branch begins q falls to 0, and so does what it is compared with
    assert abs(slope - expected) <= error + bound + 1e-3 * expected


def lowest(model, alpha):
    """The least training loss of the branches that are found, and its error."""
    outcomes = [computed(model, alpha, branch) for branch in BRANCHES]
    ends = [
        (outcome.values["train_loss"], outcome.errors["train_loss"])
        for outcome in outcomes
        if outcome.status == "found"
    ]
    try:
        rest = zero_point(model, alpha)
        ends.append((alpha * rest.loss, alpha * rest.errors["loss"]))
    except ComputationFailed:
        assume(ends)
    return min(ends)


@settings(max_examples=4)
@given(problems(), st.floats(1.1, 1.5), st.floats(1.1, 1.5))
def test_the_lowest_training_loss_is_concave_in_lambda(problem, first, second):
    """It is a minimum over Q of functions that are linear in lambda."""
    model, alpha = problem
    lams = model.lam * np.array([1.0, first, first * second])
    (low, low_error), (middle, middle_error), (high, high_error) = (
        lowest(AttentionModel.from_dict({**model.to_dict(), "lam": lam}), alpha) for lam in lams
    )
    share = (lams[2] - lams[1]) / (lams[2] - lams[0])
    chord = share * low + (1.0 - share) * high
    assert middle >= chord - low_error - middle_error - high_error
    assert low <= middle + low_error + middle_error
    assert middle <= high + middle_error + high_error


@settings(max_examples=10)
@given(points())
def test_overlaps_and_losses_are_admissible(point):
    model, alpha, branch, outcome = point
    q, m, V, theta = outcome.overlaps
    # a vector's components along p_1 and Q* are not longer than itself
    assert q >= model.rho * m**2 + theta**2 / model.rho
    assert V > 0.0
    assert (m > 0.0) == (branch == "positional")
    assert (theta > 0.0) == (branch == "semantic")
    assert outcome.values["q_hat"] >= 0.0
    penalty = model.lam * q / (2.0 * model.rho)
    # the mean loss of the student on its own samples, the envelope, and on others
    on_samples = (outcome.values["train_loss"] - penalty) / alpha
    assert 0.0 < on_samples < outcome.values["envelope"] < outcome.values["test_error"]


@settings(max_examples=6)
@given(problems(), st.floats(0.0, 0.5), st.floats(0.0, 1.0), log_floats(1e-3, 1.0))
def test_no_student_drawn_without_the_samples_has_a_lower_risk(problem, m, theta, rest):
    """The risk of such a Q is alpha times its test error and the penalty."""
    model, alpha = problem
    least, error = lowest(model, alpha)
    theta *= model.rho
    q = model.rho * (m**2 + rest) + theta**2 / model.rho
    blind = mean_test_loss(model, Overlaps(q, m, 1.0, theta), 1e-6)
    assert least - error <= alpha * blind.value * (1.0 + 1e-5) + model.lam * q / (2.0 * model.rho)
    assert least - error <= alpha * loss_at_zero(model)[0]


@settings(max_examples=5)
@given(points())
def test_the_sign_of_the_start_does_not_matter(point):
    model, alpha, branch, outcome = point
    q, m, V, theta = outcome.overlaps
    other = computed(model, alpha, branch, start=Overlaps(1.02 * q, -m, V, -theta))
    assert other.status == "found"
    assert_within_errors(other, outcome)


def assert_within_errors(rough, fine):
    for name in NUMBERS:
        gap = abs(rough.values[name] - fine.values[name])
        assert gap <= rough.errors[name] + fine.errors[name], name


def assert_errors_hold(model, alpha, branch, accuracy, rough):
    assert 0.0 < rough.worst <= accuracy
    fine = computed(model, alpha, branch, 3e-8, rough.overlaps)
    assert fine.status == "found", fine.reason
    assert_within_errors(rough, fine)


@settings(max_examples=5)
@given(points())
def test_errors_cover_the_difference_to_finer_grids(point):
    model, alpha, branch, rough = point
    assert_errors_hold(model, alpha, branch, 1e-4, rough)


@pytest.mark.slow
@pytest.mark.parametrize("accuracy", [1e-4, 1e-5])
@settings(max_examples=120)
@given(data=st.data())
def test_errors_cover_the_difference_to_finer_grids_at_many_points(accuracy, data):
    drawn = points(accuracy=accuracy, strengths=(0.25, 3.0), branches=BRANCHES)
    model, alpha, branch, rough = data.draw(drawn)
    assert_errors_hold(model, alpha, branch, accuracy, rough)
