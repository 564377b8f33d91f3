"""Every step of the derivation holds, and its check would notice if it did not."""

from itertools import combinations
from pathlib import Path

import pytest
import sympy as sp

import derivations
from symattn import AttentionModel, InvalidInput
from symattn.symbolic import Size, derive
from symattn.symbolic.checks import agree, at_random

PAPER = list(derivations.derivation(Size()))
OTHERS = [step for size in (Size(3), Size(2, 2, 2)) for step in derivations.derivation(size)]


def named(steps):
    return pytest.mark.parametrize("step", steps, ids=lambda step: step.key)


@named(PAPER)
def test_step_holds(step):
    outcome = step.verify()
    assert outcome.passed, outcome.detail


@named(OTHERS)
def test_step_holds_for_other_sizes(step):
    outcome = step.verify()
    assert outcome.passed, outcome.detail


def mutations(formula):
    """A formula with the wrong sign, a factor of 2, one term less, and two symbols swapped."""
    yield -formula
    yield 2 * formula
    if formula.is_Add:
        yield formula - formula.args[0]
    for first, second in combinations(sorted(formula.free_symbols, key=str), 2):
        swapped = formula.xreplace({first: second, second: first})
        if sp.expand(swapped - formula) != 0:
            yield swapped
            return


@named(PAPER)
def test_check_notices_a_wrong_formula(step):
    formulas = step.formulas
    for place, formula in enumerate(formulas):
        for wrong in mutations(formula):
            mutated = step.with_formulas([*formulas[:place], wrong, *formulas[place + 1 :]])
            assert not mutated.verify().passed, f"{step.equations[place].left} = {wrong}"


@pytest.mark.parametrize("key", ["gradient", "determinant", "hats", "extremal", "ridge"])
@pytest.mark.parametrize("size", [Size(3), Size(2, 2, 2)], ids=["L=3", "r=2"])
def test_check_notices_a_wrong_sign_for_other_sizes(size, key):
    step = derivations.derivation(size)[key]
    for place in (0, len(step.formulas) - 1):
        wrong = list(step.formulas)
        wrong[place] = -wrong[place]
        assert not step.with_formulas(wrong).verify().passed


def test_the_starting_points_are_marked():
    assert [step.key for step in PAPER if step.postulate] == ["law", "extremal"]


def test_keys_are_unique_and_every_step_says_how_it_is_checked():
    keys = [step.key for step in PAPER]
    assert len(keys) == len(set(keys))
    for step in PAPER:
        assert step.equations
        assert len(step.check.method) > 20
        assert step.reason


def test_every_script_is_part_of_the_derivation():
    folder = Path(derivations.__file__).parent
    assert tuple(sorted(path.stem for path in folder.glob("[0-9]*.py"))) == derivations.SCRIPTS


def test_a_derivation_is_for_the_sizes_of_a_model():
    model = AttentionModel(length=3, mixing=[[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    assert derive(model).size == Size(3)
    assert derive().size == Size()
    assert derive()["ridge"].title == "The overlaps"


def test_an_unknown_step_is_a_key_error():
    with pytest.raises(KeyError, match="no such step"):
        derive()["no such step"]


def test_a_model_too_large_to_write_out_is_refused():
    with pytest.raises(InvalidInput, match="length = 9"):
        derive(AttentionModel(length=9, mixing=[[1 / 9] * 9] * 9))


def test_agreement_needs_forty_digits():
    x = sp.Symbol("x", positive=True)
    nearly = x + sp.Rational(1, 10**39)
    assert agree([x], at_random([x], lambda values: [values[x]])).passed
    assert not agree([nearly], at_random([x], lambda values: [values[x]])).passed


def test_agreement_needs_as_many_formulas_as_expectations():
    x = sp.Symbol("x", positive=True)
    with pytest.raises(ValueError, match="zip"):
        agree([x], at_random([x], lambda values: [values[x], values[x]]))
