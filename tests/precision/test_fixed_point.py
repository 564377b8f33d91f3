"""Fixed points beyond double precision: by hand, against more digits, and what is refused."""

import json
import os
import pickle
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from mpmath import mp, mpf

from symattn import AttentionModel, ComputationFailed, solve
from symattn._progress import silent
from symattn.cli import main
from symattn.fixed_points import CERTIFIED, digits_reached
from symattn.precision.fixed_point import precise_fixed_point
from tests.reference.expectations import Parameters
from tests.reference.fixed_point import updated
from tests.smooth_channel import smooth_expectations

pytest.importorskip("flint", reason="python-flint is not installed")

SMOOTH = AttentionModel(lam=0.1)


@pytest.fixture(scope="module")
def point():
    return solve(SMOOTH, 1.5, branch="positional", digits=16)["positional"]


def assert_errors_hold(rough, fine):
    ours, truth = rough.numbers, fine.numbers
    for name, error in rough.errors.items():
        assert abs(ours[name] - truth[name]) <= error + fine.errors[name], name


def test_has_the_digits_asked_for_as_numbers_of_mpmath(point):
    assert digits_reached(point.numbers, point.errors) >= 16
    for name in CERTIFIED:
        value = point.numbers[name]
        assert isinstance(value, mpf)
        assert point.errors[name] <= 0.5e-16 * abs(value)
    assert point.overlaps.theta == point.errors["theta"] == 0


def test_agrees_with_double_precision(point):
    double = solve(SMOOTH, 1.5, branch="positional", digits=12)["positional"]
    assert_errors_hold(double, point)


def test_the_step_by_hand_leads_back(point):
    """In double precision, without a line of the package."""
    overlaps = [float(value) for value in point.overlaps]
    parameters = Parameters(*overlaps)
    image = updated(parameters, smooth_expectations(parameters), 1.5, SMOOTH.lam)
    np.testing.assert_allclose(image, overlaps, rtol=1e-13, atol=1e-16)


def test_the_two_forms_of_the_training_loss_agree_beyond_double_precision(point):
    # the direct form is not stationary: they agree at a fixed point only
    gap = abs(point.train_loss - point.train_loss_direct)
    assert gap <= point.errors["train_loss"] + point.errors["train_loss_direct"] < 1e-18


def test_json_holds_the_numbers_as_text_and_their_errors_as_numbers(point):
    written = json.loads(json.dumps(point.to_dict()))
    for name, value in point.numbers.items():
        if isinstance(value, mpf):
            assert isinstance(written[name], str)
        with mp.workdps(40):
            off = abs(mpf(written[name]) - value)
            assert off + point.errors[name] <= written["errors"][name] * (1 + mpf(10) ** -12)
    assert set(written["errors"]) == set(point.errors)


def test_the_table_shows_every_digit_that_is_known(point):
    shown = {row.split()[0]: row.split() for row in str(point).splitlines()[2:]}
    _, value, _, error, *_ = shown["V"]
    assert len(value) >= 18
    with mp.workdps(40):
        assert abs(mpf(value) - point.overlaps.V) + point.errors["V"] <= mpf(error)


@pytest.mark.slow
def test_fourteen_digits_are_doubles(point):
    found = solve(SMOOTH, 1.5, branch="positional", digits=14)
    ours = found["positional"]
    assert_errors_hold(ours, point)
    for name, value in ours.numbers.items():
        assert type(value) is float
        if name in CERTIFIED:
            assert ours.errors[name] <= 0.5e-14 * abs(value)
    assert type(found.linear_test_error) is float


def test_alpha_stands_for_its_decimal():
    # 1.6 and 8/5 agree, which the double nearest to 1.6 would not show at 20 digits
    point = solve(SMOOTH, 1.6, branch="zero", digits=18)["zero"]
    with mp.workdps(40):
        ratio = point.train_loss / point.envelope
        assert abs(ratio - mpf(8) / 5) < mpf(10) ** -19


@pytest.mark.parametrize("digits", [16, 20])
def test_zero_point_solves_its_equation_by_another_rule(digits):
    """By Gauss-Legendre in polar coordinates of h*, from the model's definition."""
    point = solve(SMOOTH, 1.5, branch="zero", digits=digits)["zero"]
    finer = digits + 10
    with mp.workdps(finer + 10):
        sigma2, lam, omega = mpf(1) / 4, mpf(1) / 10, mpf(3) / 10
        V = point.overlaps.V

        def trace(u, v):
            weights = [1 / (1 + mp.exp(-sigma2 * u * (u + sign * v))) for sign in (1, -1)]
            t11, t22 = (omega * mpf(6) / 10 + (1 - omega) * s for s in weights)
            tau, delta = t11 + t22 - 1, t11 - t22
            # H = -sigma^2 [[tau, delta/2], [delta/2, 0]]
            h_uu, h_uv = -sigma2 * tau, -sigma2 * delta / 2
            det = 1 + V * h_uu - (V * h_uv) ** 2
            return (h_uu - 2 * V * h_uv**2) / det

        angles, radii = 40 + 6 * finer, 20 + 4 * finer
        x, w = _gauss_legendre(radii)
        reach = mp.sqrt(2 * (finer + 5) * mp.log(10))
        mean = mpf(0)
        for node, weight in zip(x, w, strict=True):
            r = reach * (1 + node) / 2
            ring = mp.fsum(
                trace(r * mp.cos(a), r * mp.sin(a))
                for a in (mp.pi * (k + mpf(1) / 2) / angles for k in range(angles))
            )
            mean += weight * reach / 2 * r * mp.exp(-(r**2) / 2) * ring / angles
        residual = V * (lam + sigma2 * mpf(3) / 2 * mean) - sigma2
        # dK/dV = -K^2, so this is its derivative by V
        slope = sigma2 / V * point.replicon
        assert abs(residual) <= slope * point.errors["V"]
        assert abs(point.hats.V_hat - mpf(3) / 2 * mean) <= point.errors["V_hat"]


def _gauss_legendre(n):
    """Nodes and weights on (-1, 1) at the working precision."""
    nodes, weights = [], []
    for k in range(n):
        x = mp.cos(mp.pi * (k + mpf(3) / 4) / (n + mpf(1) / 2))
        for _ in range(20):
            before, value = mpf(1), x
            for j in range(2, n + 1):
                before, value = value, ((2 * j - 1) * x * value - (j - 1) * before) / j
            slope = n * (x * value - before) / (x * x - 1)
            step = value / slope
            x -= step
            if abs(step) < mpf(10) ** (5 - mp.dps):
                break
        nodes.append(x)
        weights.append(2 / ((1 - x * x) * slope**2))
    return nodes, weights


@pytest.mark.parametrize("branch", ["positional", "zero"])
def test_digits_out_of_reach_are_refused_with_those_within(branch):
    began = time.monotonic()
    with pytest.raises(ComputationFailed, match=r"1000 digits need .* try \d\d") as caught:
        solve(SMOOTH, 1.5, branch=branch, digits=1000)
    assert "\n" not in str(caught.value)
    assert time.monotonic() - began < 60.0


def test_where_the_prox_jumps_a_little_the_digits_that_it_leaves_are_said():
    model = AttentionModel(lam=0.037)
    point = solve(model, 1.5, branch="positional", digits=4)["positional"]
    with pytest.raises(
        ComputationFailed, match=r"leaves about 10 digits, 20 asked; try 8"
    ) as caught:
        precise_fixed_point(model, 1.5, "positional", 20, point.overlaps, silent)
    weight = float(re.search(r"a weight of ([-0-9.e]+),", str(caught.value))[1])
    assert 0.2 < weight / point.certificate["fold"] < 5.0


def test_without_flint_the_extra_is_named(monkeypatch):
    monkeypatch.setattr("symattn.precision._branch.find_spec", lambda _: None)
    with pytest.raises(ComputationFailed, match=r"python-flint; pip install 'symattn\[proofs\]'"):
        solve(SMOOTH, 1.5, branch="positional", digits=20)


def test_the_command_line_prints_more_digits_than_a_double_has(capsys):
    words = ["solve", "--lambda", "0.1", "--alpha", "1.5", "--branch", "zero", "--digits", "25"]
    assert main([*words, "--json"]) == 0
    [found] = json.loads(capsys.readouterr().out)["fixed_points"]
    assert len(found["V"]) > 25
    assert found["errors"]["V"] <= 0.5e-25 * float(found["V"])


def test_a_precise_point_can_be_a_start_and_be_pickled(point):
    again = pickle.loads(pickle.dumps(point))
    assert again == point
    assert hash(again) == hash(point)
    near = solve(SMOOTH, 1.51, branch="positional", digits=4, start=point)["positional"]
    assert float(near.overlaps.q) == pytest.approx(float(point.overlaps.q), rel=0.05)


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_an_interrupt_ends_the_helping_processes_and_says_so():
    options = ["--alpha", "1.5", "--branch", "positional", "--digits", "30", "--verbose"]
    process = subprocess.Popen(
        [sys.executable, "-m", "symattn", "solve", "--lambda", "0.1", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with process:
        try:
            while "% done" not in process.stderr.readline():
                assert process.poll() is None
            os.killpg(process.pid, signal.SIGINT)
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 130
    assert errors.splitlines()[-1] == "symattn: interrupted"
    assert "Traceback" not in errors
    # nothing of its group is left
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)


# (model, alpha, branch): where nothing jumps; two mixings, the corners of omega
POINTS = [
    (SMOOTH, 4.0, "semantic"),
    (AttentionModel(omega=0.0, lam=0.22, mixing=((0.27, 0.73), (0.74, 0.26))), 4.4, "positional"),
    (AttentionModel(omega=1.0, lam=0.1), 2.0, "positional"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("model", "alpha", "branch"), POINTS, ids=str)
def test_errors_cover_the_difference_to_more_digits(model, alpha, branch):
    rough = solve(model, alpha, branch=branch, digits=16)[branch]
    assert_errors_hold(rough, solve(model, alpha, branch=branch, digits=18)[branch])


@pytest.mark.slow
def test_errors_cover_the_difference_to_more_digits_at_random_points():
    rng = np.random.default_rng(20261130)
    found = 0
    while found < 4:
        a, b = rng.uniform(size=2)
        model = AttentionModel(
            omega=rng.uniform(),
            lam=10 ** rng.uniform(-1.0, -0.5),
            sigma=rng.uniform(0.3, 0.55),
            mixing=((a, 1 - a), (1 - b, b)),
        )
        branch = ("semantic", "positional")[rng.integers(2)]
        alpha = 10 ** rng.uniform(0.0, 1.0)
        try:
            near = solve(model, alpha, branch=branch, digits=4)[branch]
        except ComputationFailed:
            continue
        if near.certificate["fold"] > 0.0:
            continue
        found += 1
        print(f"{branch} at alpha = {alpha:.3f} of {model}")
        rough = solve(model, alpha, branch=branch, digits=14)[branch]
        assert_errors_hold(rough, solve(model, alpha, branch=branch, digits=16)[branch])


@pytest.mark.slow
def test_errors_of_twenty_digits_cover_the_difference_to_thirty(point):
    middle = solve(SMOOTH, 1.5, branch="positional", digits=20)["positional"]
    fine = solve(SMOOTH, 1.5, branch="positional", digits=30)["positional"]
    assert_errors_hold(point, middle)
    assert_errors_hold(middle, fine)
