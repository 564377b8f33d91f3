"""`symattn solve`, where no prox jumps and it takes well under a second."""

import importlib.util
import json
import re

import pytest

from symattn.cli import main

FAST = ("solve", "--alpha", "4", "--lambda", "0.1")
OVERLAPS = ("q", "m", "V", "theta")
LOSSES = ("train_loss", "test_error")
NUMBERS = (
    *OVERLAPS,
    *(f"{name}_hat" for name in OVERLAPS),
    *LOSSES,
    "train_loss_direct",
    "envelope",
    "replicon",
    "jump_probability",
    "jump_flux",
)


@pytest.fixture(scope="module")
def solution():
    """The object that `--json` prints, and nothing else on standard output."""
    with pytest.MonkeyPatch.context() as patch:
        printed = []
        patch.setattr(
            "symattn.cli._console.Console.result", lambda self, text: printed.append(text)
        )
        assert main([*FAST, "--json"]) == 0
    (text,) = printed
    return json.loads(text)


def test_the_object_has_model_alpha_fixed_points_and_baseline(solution):
    assert set(solution) == {
        "model", "alpha", "fixed_points", "absent", "linear_test_error", "errors"
    }  # fmt: skip
    assert solution["alpha"] == 4.0
    assert solution["model"]["lam"] == 0.1
    assert set(solution["errors"]) == {"linear_test_error"}


def test_every_branch_is_either_there_or_absent_with_a_reason(solution):
    found = [point["branch"] for point in solution["fixed_points"]]
    assert {"semantic", "positional"} <= set(found)
    assert sorted([*found, *solution["absent"]]) == [
        "positional", "semantic", "uninformed", "zero"
    ]  # fmt: skip
    assert all(solution["absent"].values())


def test_every_number_has_its_error(solution):
    for point in solution["fixed_points"]:
        assert set(point["errors"]) == set(NUMBERS)
        assert set(NUMBERS) <= set(point)
        assert point["certificate"]


def test_the_digits_asked_for_by_default_are_six(solution):
    for point in solution["fixed_points"]:
        for name in (*OVERLAPS, *LOSSES):
            assert point["errors"][name] <= 0.5e-6 * abs(point[name])


def test_branches_are_what_they_are_called(solution):
    points = {point["branch"]: point for point in solution["fixed_points"]}
    assert points["semantic"]["m"] == 0
    assert points["semantic"]["theta"] > 0
    assert points["positional"]["theta"] == 0
    assert points["positional"]["m"] > 0


def test_both_forms_of_the_training_loss_agree_within_their_errors(solution):
    for point in solution["fixed_points"]:
        errors = point["errors"]["train_loss"] + point["errors"]["train_loss_direct"]
        assert abs(point["train_loss"] - point["train_loss_direct"]) <= errors


def test_the_overlaps_obey_the_ridge_equations(solution):
    rho, lam = 0.25, 0.1
    for point in solution["fixed_points"]:
        D = lam + rho * point["V_hat"]
        assert point["V"] == pytest.approx(rho / D, rel=1e-6)
        assert point["m"] == pytest.approx(point["m_hat"] / D, rel=1e-6)
        assert point["theta"] == pytest.approx(rho**2 * point["theta_hat"] / D, rel=1e-6)


def test_standard_output_holds_the_object_alone_and_standard_error_the_progress(capsys):
    assert main([*FAST, "--branch", "positional", "--json", "--verbose"]) == 0
    captured = capsys.readouterr()
    assert [point["branch"] for point in json.loads(captured.out)["fixed_points"]] == ["positional"]
    assert "positional" in captured.err


def test_the_table_shows_every_number_with_its_error(capsys, solution):
    assert main(list(FAST)) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    blocks = captured.out.split("\n\n")
    assert "lambda = 0.1" in blocks[0]
    assert "alpha = 4.0" in blocks[0]
    for point in solution["fixed_points"]:
        (block,) = [text for text in blocks if text.startswith(f"{point['branch']} fixed point")]
        for name in NUMBERS:
            shown, bound = re.search(rf"^  {name} +(\S+) +(exact|\+- \S+)", block, re.M).groups()
            error = 0.0 if bound == "exact" else float(bound.removeprefix("+- "))
            assert abs(float(shown) - point[name]) <= error
        assert "E[1] = 1 within" in block
    assert "best linear positional map" in captured.out
    for branch, reason in solution["absent"].items():
        assert f"{branch}: {reason}" in captured.out


def test_the_best_branch_has_the_lowest_training_loss(capsys, solution):
    assert main([*FAST, "--branch", "best", "--json"]) == 0
    (best,) = json.loads(capsys.readouterr().out)["fixed_points"]
    lowest = min(solution["fixed_points"], key=lambda point: point["train_loss"])
    assert best["branch"] == lowest["branch"]


def test_a_named_branch_that_is_absent_is_status_1_with_the_reason(capsys):
    # A target that does not depend on h* leaves nothing for theta to grow on.
    words = ["solve", "--alpha", "1", "--lambda", "0.1", "--omega", "1", "--branch", "semantic"]
    assert main(words) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1
    assert "omega" in captured.err


def test_digits_out_of_reach_are_status_1_with_what_is_within(capsys):
    assert main([*FAST, "--branch", "positional", "--digits", "400"]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1
    if importlib.util.find_spec("flint") is None:
        assert "pip install 'symattn[proofs]'" in captured.err
    else:
        assert re.search(r"400 digits need .*; try \d\d digits$", captured.err)
