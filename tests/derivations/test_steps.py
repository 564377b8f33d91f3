"""Every step of the derivation holds, and its check would notice if it did not."""

from itertools import combinations, islice
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


# Overlaps that play parallel parts, also with a hat or a tilde, and their components.
PARALLEL = [("q", "V"), ("m", "theta"), ("q", "chi")]


def mutations(formula):
    """A formula with the wrong sign, a factor of 2, one term less, and symbols swapped.

    Swapped are two symbols, the first that make a difference, and all overlaps of parallel parts.
    """
    yield -formula
    yield 2 * formula
    if formula.is_Add:
        yield formula - formula.args[0]
    yield from islice(swaps(formula, combinations(sorted(formula.free_symbols, key=str), 2)), 1)
    yield from swaps(formula, overlap_pairs(formula))


def swaps(formula, pairs):
    """The formula with two symbols in each other's place, where that makes a difference."""
    for first, second in pairs:
        swapped = formula.xreplace({first: second, second: first})
        if sp.expand(swapped - formula) != 0:
            yield swapped


def overlap_pairs(formula):
    """Pairs of symbols in the formula that are the same component of parallel overlaps."""
    symbols = {x.name: x for x in formula.free_symbols}
    for left, right in PARALLEL:
        for name, symbol in symbols.items():
            base, *rest = name.split("_")
            other = "_".join([right, *rest])
            if base == left and other in symbols:
                yield symbol, symbols[other]


def test_overlaps_of_parallel_parts_are_found():
    q, V, m_hat, theta_hat = sp.symbols("q V m_hat theta_hat")
    assert list(overlap_pairs(q * V + m_hat)) == [(q, V)]
    assert list(overlap_pairs(theta_hat - m_hat)) == [(m_hat, theta_hat)]
    assert V - 2 * q in mutations(q - 2 * V)


@named(PAPER)
def test_check_notices_a_wrong_formula(step):
    formulas = step.formulas
    for place, formula in enumerate(formulas):
        for wrong in mutations(formula):
            mutated = step.with_formulas([*formulas[:place], wrong, *formulas[place + 1 :]])
            assert not mutated.verify().passed, f"{step.equations[place].left} = {wrong}"


@named(OTHERS)
def test_check_notices_a_wrong_sign_for_other_sizes(step):
    for place, formula in enumerate(step.formulas):
        wrong = list(step.formulas)
        wrong[place] = -formula
        assert not step.with_formulas(wrong).verify().passed, step.equations[place].left


@pytest.mark.parametrize("steps", [PAPER, OTHERS], ids=["paper", "others"])
def test_what_is_physics_is_marked(steps):
    marked = {step.key for step in steps if step.postulate}
    assert marked == {"ansatz", "replica_limit", "scaling"}


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
