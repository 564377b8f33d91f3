"""Fixed points against the independent state evolution, published figures and identities."""

import copy
import math
import pickle
import re

import numpy as np
import pytest

from symattn import (
    ASYMMETRIC,
    STANDARD,
    AttentionModel,
    ComputationFailed,
    InvalidInput,
    linear_baseline,
    solve,
)
from symattn._search import _follow
from symattn.quadrature.expectations import Resolution, channel_expectations
from tests.reference.expectations import Parameters, expectations
from tests.reference.fixed_point import updated
from tests.reference.stored import stored_fixed_points
from tests.smooth_channel import smooth_expectations

PAPER = AttentionModel()
ALPHA = 11 / 7
SMOOTH = AttentionModel(lam=0.1)

# arXiv 2402.03902, public data at alpha = 11/7, good to a few percent:
# q, m, V, theta, training loss
PUBLISHED = {
    "semantic": (0.0968805, 0.0, 14.922, 0.139969, 0.00314566),
    "positional": (0.0488174, 0.25643, 12.784, 0.0, 0.00345937),
}


@pytest.fixture(scope="module", params=["semantic", "positional"])
def paper_point(request):
    return solve(PAPER, ALPHA, branch=request.param)[request.param]


def test_agrees_with_the_published_figures(paper_point):
    ours = (*paper_point.overlaps, paper_point.train_loss)
    assert ours == pytest.approx(PUBLISHED[paper_point.branch], rel=0.05)


def test_is_the_fixed_point_of_the_brute_force_state_evolution(paper_point):
    [kept] = [point for point in stored_fixed_points() if point.branch == paper_point.branch]
    expected = tuple(kept.overlaps.values())
    assert paper_point.overlaps == pytest.approx(expected, rel=1e-6)
    for ours, theirs, name in zip(paper_point.overlaps, expected, kept.overlaps, strict=True):
        bound = paper_point.errors[name] + kept.relative_error * theirs
        assert abs(ours - theirs) <= bound, name


def test_two_forms_of_the_training_loss_agree_within_their_errors(paper_point):
    gap = abs(paper_point.train_loss - paper_point.train_loss_direct)
    assert gap <= paper_point.errors["train_loss"] + paper_point.errors["train_loss_direct"]


@pytest.mark.slow
def test_one_step_of_the_brute_force_state_evolution_leads_back(paper_point):
    """By global minimisation, split at the jumps.

    The step's distance from its start is the error times 1 - J, whose entries here are below 60.
    """
    q, m, V, theta = paper_point.overlaps
    parameters = Parameters(q=q, m=m, V=V, theta=theta)
    image = updated(parameters, expectations(parameters, 1e-3), ALPHA, PAPER.lam)
    scale = np.array([q, max(m, math.sqrt(q)), V, max(theta, math.sqrt(q))])
    assert np.max(np.abs(image - np.array([q, m, V, theta])) / scale) < 3e-6


def test_the_slope_in_alpha_where_the_prox_jumps(paper_point):
    # an error e of the fixed points would enter the quotient as e/change
    change = 0.005
    below, above = (
        solve(PAPER, ALPHA + k * change, branch=paper_point.branch, start=paper_point)[
            paper_point.branch
        ]
        for k in (-1, 1)
    )
    slope = (above.train_loss - below.train_loss) / (2 * change)
    assert paper_point.certificate["fold"] > 1e-5
    assert slope == pytest.approx(paper_point.envelope, rel=1e-5)


def test_the_slope_in_alpha_is_the_mean_envelope():
    change = 1e-3
    below, here, above = (
        solve(SMOOTH, 1.5 + k * change, branch="positional", digits=9)["positional"]
        for k in (-1, 0, 1)
    )
    slope = (above.train_loss - below.train_loss) / (2 * change)
    assert slope == pytest.approx(here.envelope, rel=1e-6)


def test_the_slope_in_lambda_is_the_penalty_per_lambda():
    change = 1e-4
    below, here, above = (
        solve(AttentionModel(lam=0.1 + k * change), 1.5, branch="positional", digits=9)[
            "positional"
        ]
        for k in (-1, 0, 1)
    )
    slope = (above.train_loss - below.train_loss) / (2 * change)
    assert slope == pytest.approx(here.overlaps.q / (2 * SMOOTH.sigma**2), rel=1e-6)


def test_twelve_digits_where_nothing_jumps():
    point = solve(SMOOTH, 1.5, branch="positional", digits=12)["positional"]
    assert point.certificate["fold"] == 0.0
    values = {**point.overlaps._asdict(), "test_error": point.test_error}
    for name, value in values.items():
        assert point.errors[name] <= 0.5e-12 * abs(value)
    # and the step by hand, without a line of the package, leads back
    parameters = Parameters(*point.overlaps)
    image = updated(parameters, smooth_expectations(parameters), 1.5, SMOOTH.lam)
    np.testing.assert_allclose(image, point.overlaps, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("branch", ["semantic", "positional", "uninformed"])
def test_is_admissible_and_beats_the_zero_student(branch):
    point = solve(PAPER, 1.0, branch=branch, digits=4)[branch]
    q, m, V, theta = point.overlaps
    assert V > 0
    assert q * PAPER.rho > theta**2
    assert (m == 0.0) == (branch != "positional")
    assert (theta == 0.0) == (branch != "semantic")
    assert point.test_error > 0
    # the risk of Q = 0 is alpha sigma^2 E[(t_11 - 1/2)^2 + (t_22 - 1/2)^2]: at most alpha sigma^2/2
    assert 0 < point.train_loss < 0.5 * PAPER.sigma**2


# (model, alpha, branch): jumping and not, three mixings, the corners of omega
POINTS = [
    (AttentionModel(omega=0.0, lam=0.02), 1.2, "semantic"),
    (AttentionModel(omega=1.0, lam=0.006, sigma=0.48), 0.4, "positional"),
    (AttentionModel(omega=0.0, lam=0.22, mixing=((0.27, 0.73), (0.74, 0.26))), 4.4, "positional"),
    (AttentionModel(omega=0.2, lam=0.03, sigma=0.6), 2.0, "semantic"),
    (AttentionModel(mixing=ASYMMETRIC), 1.5, "semantic"),
    (AttentionModel(omega=0.6), 0.5, "uninformed"),
]


def _assert_errors_hold(rough, fine):
    ours, truth = rough.to_dict(), fine.to_dict()
    for name, error in rough.errors.items():
        assert abs(ours[name] - truth[name]) <= error + fine.errors[name], name


@pytest.mark.parametrize(("model", "alpha", "branch"), POINTS, ids=str)
def test_errors_cover_the_difference_to_a_finer_solution(model, alpha, branch):
    rough = solve(model, alpha, branch=branch, digits=4)[branch]
    _assert_errors_hold(rough, solve(model, alpha, branch=branch, digits=7, start=rough)[branch])


def _drawn(rng):
    """A random model, sample complexity and branch, the corners of omega included."""
    a, b = rng.uniform(size=2)
    model = AttentionModel(
        omega=(rng.uniform(), rng.uniform(), 0.0, 1.0)[rng.integers(4)],
        lam=10 ** rng.uniform(math.log10(0.005), 0.0),
        sigma=rng.uniform(0.2, 0.75),
        mixing=(STANDARD, ASYMMETRIC, ((a, 1 - a), (1 - b, b)))[rng.integers(3)],
    )
    branch = ("semantic", "positional", "uninformed")[rng.integers(3)]
    return model, 10 ** rng.uniform(math.log10(0.05), math.log10(5.0)), branch


def _solved(model, alpha, branch):
    """The fixed point to four digits; None where none is found, as in most draws."""
    try:
        return solve(model, alpha, branch=branch, digits=4)[branch]
    except ComputationFailed as error:
        if "not refined" in str(error) or "digits" in str(error):
            raise
        return None


@pytest.mark.slow
def test_errors_cover_the_difference_at_random_points():
    rng = np.random.default_rng(20261130)
    jumping = smooth = 0
    while jumping + smooth < 30:
        model, alpha, branch = _drawn(rng)
        rough = _solved(model, alpha, branch)
        if rough is None:
            continue
        fine = solve(model, alpha, branch=branch, digits=6, start=rough)[branch]
        print(f"{branch} at alpha = {alpha:.3f} of {model}: fold {rough.certificate['fold']:.1e}")
        _assert_errors_hold(rough, fine)
        jumping += rough.certificate["fold"] > 1e-6
        smooth += rough.certificate["fold"] <= 1e-6
    assert jumping >= 10
    assert smooth >= 5


def test_where_the_prox_jumps_digits_beyond_double_precision_are_refused_at_once(paper_point):
    lines = []
    with pytest.raises(ComputationFailed, match=r"3 digits reached.*20 asked.*try 8") as caught:
        solve(
            PAPER,
            ALPHA,
            branch=paper_point.branch,
            digits=20,
            start=paper_point,
            progress=lines.append,
        )
    assert not any("certified" in line for line in lines)
    for name, value in paper_point.overlaps._asdict().items():
        shown = re.search(rf"\b{name} = ([^,)]+)", str(caught.value))[1]
        assert float(shown) == pytest.approx(value, rel=0.01)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"alpha": 0.0}, "alpha = 0.0"),
        ({"alpha": -1}, "alpha = -1"),
        ({"alpha": math.nan}, "alpha = nan"),
        ({"alpha": math.inf}, "alpha = inf"),
        ({"alpha": True}, "alpha = True"),
        ({"alpha": "1"}, "alpha = '1'"),
        ({"alpha": 10**400}, "alpha = 1000"),
        ({"branch": "both"}, "branch = 'both'"),
        ({"digits": 0}, "digits = 0"),
        ({"digits": 1001}, "digits = 1001"),
        ({"digits": 1.5}, "digits = 1.5"),
        ({"digits": True}, "digits = True"),
    ],
)
def test_bad_input_is_one_line_that_names_the_value(arguments, named):
    with pytest.raises(InvalidInput) as caught:
        solve(PAPER, **{"alpha": 1.0, **arguments})
    assert named in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_model_is_an_attention_model():
    with pytest.raises(InvalidInput, match="model = 'paper'"):
        solve("paper", 1.0)


def test_results_can_be_pickled_copied_and_hashed():
    found = solve(SMOOTH, 1.5, branch="positional", digits=3)
    for again in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):
        assert again == found
        assert hash(again) == hash(found)


def test_the_error_of_the_jump_probability_covers_its_scatter_from_grid_to_grid():
    # several saddles at one w, so that minima have to be counted
    model = AttentionModel(omega=1.0)
    point = solve(model, 4.0, branch="uninformed", digits=4)["uninformed"]
    for accuracy in (1e-4, 1e-6, 1e-7):
        resolution = Resolution.for_accuracy(accuracy)
        other = channel_expectations(model, point.overlaps, resolution, diagnose=True)
        gap = abs(other.jump_probability - point.jump_probability)
        assert gap <= point.errors["jump_probability"]


def test_a_branch_that_does_not_exist_says_so():
    with pytest.raises(ComputationFailed, match="theta = 0"):
        solve(AttentionModel(omega=1.0), 1.0, branch="semantic")
    found = solve(AttentionModel(lam=0.5), 0.5)
    assert [point.branch for point in found.fixed_points] == ["zero"]
    assert set(found.absent) == {"semantic", "positional", "uninformed"}


def test_what_is_reported_has_errors_under_the_same_names(paper_point):
    written = paper_point.to_dict()
    numbers = {name for name, value in written.items() if isinstance(value, float)} - {"alpha"}
    assert set(written["errors"]) == numbers
    assert all(error >= 0.0 for error in written["errors"].values())
    for name in ("q", "m", "V", "theta", "train_loss", "test_error"):
        assert written["errors"][name] <= 0.5e-6 * abs(written[name])
    # what symmetry makes zero is exact
    zero = "theta" if paper_point.branch == "positional" else "m"
    for name in (zero, f"{zero}_hat"):
        assert written[name] == written["errors"][name] == 0.0


def test_a_fixed_point_as_text_is_a_table_of_its_numbers(paper_point):
    first, heading, *rows = str(paper_point).splitlines()
    assert first == f"alpha = {ALPHA!r}"
    assert heading == f"{paper_point.branch} fixed point"
    shown = {row.split()[0]: row.split()[1:] for row in rows}
    written = paper_point.to_dict()
    for name, error in paper_point.errors.items():
        value, *bound = shown[name][:3]
        assert float(value) == pytest.approx(written[name], abs=2.0 * error)
        assert bound[0] == ("+-" if error else "exact")
    assert "certificate" in shown


def test_a_start_nearby_leads_to_the_same_point(paper_point):
    other = solve(PAPER, ALPHA * 1.02, branch=paper_point.branch, digits=3)[paper_point.branch]
    again = solve(PAPER, ALPHA, branch=paper_point.branch, start=other)[paper_point.branch]
    assert again.overlaps == pytest.approx(paper_point.overlaps, rel=1e-6)


def test_a_branch_followed_from_another_sample_complexity_is_the_one_found_at_once():
    lines = []
    followed = _follow(SMOOTH, 5.0, 3.0, "positional", lines.append)
    found = solve(SMOOTH, 3.0, branch="positional", digits=4)["positional"]
    assert tuple(followed) == pytest.approx(tuple(found.overlaps), rel=1e-3)
    steps = dict.fromkeys(float(re.search(r"alpha = ([^,]+),", line)[1]) for line in lines)
    # ln(5/3) = 0.51 in steps of at most 0.2
    assert list(steps) == pytest.approx([5.0 * 0.6 ** (k / 3) for k in range(4)], rel=1e-5)


def test_progress_is_told_in_lines():
    lines = []
    solve(SMOOTH, 1.5, branch="positional", digits=3, progress=lines.append)
    assert len(lines) >= 3
    assert all("positional" in line and "\n" not in line for line in lines)


def test_the_linear_baseline_comes_along():
    found = solve(SMOOTH, 1.5, branch="zero")
    baseline = linear_baseline(SMOOTH)
    assert found.linear_test_error == baseline.test_error
    assert found.errors == found.to_dict()["errors"] == {"linear_test_error": baseline.error}
    with pytest.raises(KeyError):
        found["semantic"]


def test_best_is_the_lowest_training_loss():
    everything = solve(SMOOTH, 4.0, digits=4)
    best = solve(SMOOTH, 4.0, branch="best", digits=4)
    lowest = min(point.train_loss for point in everything.fixed_points)
    assert [point.train_loss for point in best.fixed_points] == [pytest.approx(lowest, rel=1e-4)]
