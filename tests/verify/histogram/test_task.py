"""Counts are counts, and no sequence is both for training and for testing."""

from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from symattn.errors import InvalidInput
from verify.histogram.task import HistogramTask, Sequences

SMALL = HistogramTask(length=4, symbols=5)


def rows(sequences):
    return [tuple(row) for row in sequences.tolist()]


def counted(row):
    """How often the symbol at each place occurs."""
    count = Counter(row)
    return [count[symbol] for symbol in row]


@st.composite
def batches(draw):
    """A task, and sequences of it."""
    task = HistogramTask(length=draw(st.integers(2, 7)), symbols=draw(st.integers(2, 6)))
    row = st.lists(st.integers(0, task.symbols - 1), min_size=task.length, max_size=task.length)
    return task, draw(st.lists(row, min_size=1, max_size=4))


@given(batches())
def test_counts_are_those_of_a_counter(batch):
    task, sequences = batch
    found = task.counts(torch.tensor(sequences))
    assert found.tolist() == [counted(row) for row in sequences]
    # However many dimensions there are before the last
    assert torch.equal(task.counts(torch.tensor([sequences, sequences])), found.expand(2, -1, -1))
    assert found.max() < task.classes


def test_the_published_task_is_the_default():
    task = HistogramTask()
    assert (task.length, task.symbols, task.classes) == (10, 15, 11)


@pytest.mark.parametrize("value", [1, 0, -3, 4.0, "4", True])
@pytest.mark.parametrize("name", ["length", "symbols"])
def test_a_task_of_another_size_is_refused(name, value):
    with pytest.raises(InvalidInput, match="a whole number >= 2") as caught:
        HistogramTask(**{name: value})
    assert caught.value.parameter == name


@given(count=st.integers(20, 900), seed=st.integers(0, 2**32))
def test_no_sequence_is_there_twice_and_seven_of_ten_are_for_training(count, seed):
    drawn = Sequences.draw(SMALL, count, seed=seed)
    train, test = rows(drawn.train), rows(drawn.test)
    together = train + test
    assert len(set(together)) == len(together) <= count
    assert all(0 <= symbol < SMALL.symbols for row in together for symbol in row)
    assert {len(row) for row in together} == {SMALL.length}
    # To the last whole sequence, which is for testing
    assert 0 <= 7 * len(together) - 10 * len(train) <= 10
    assert train
    assert test


def test_as_many_sequences_as_expected_are_different():
    drawn = Sequences.draw(SMALL, 300, seed=3)
    # Of 625 different ones 300 draws leave about 625 (1 - exp(-300/625)) = 238.
    assert 210 < len(drawn.train) + len(drawn.test) < 265


def test_enough_draws_find_all_sequences():
    drawn = Sequences.draw(HistogramTask(length=3, symbols=2), 200, seed=1)
    assert sorted(rows(drawn.train) + rows(drawn.test)) == sorted(np.ndindex(2, 2, 2))


def test_symbols_are_uniform_and_independent_in_both_sets():
    task = HistogramTask(length=6, symbols=7)
    drawn = Sequences.draw(task, 6000, seed=2)
    for sequences in (drawn.train.numpy(), drawn.test.numpy()):
        for place in range(task.length):
            once = np.bincount(sequences[:, place], minlength=task.symbols)
            assert stats.chisquare(once).pvalue > 1e-3
            pairs = task.symbols * sequences[:, place] + sequences[:, (place + 1) % task.length]
            twice = np.bincount(pairs, minlength=task.symbols**2)
            assert stats.chisquare(twice).pvalue > 1e-3


def test_the_same_seed_gives_the_same_sequences_and_another_one_others():
    first, same, other = (Sequences.draw(SMALL, 100, seed=seed) for seed in (1, 1, 2))
    assert torch.equal(first.train, same.train)
    assert torch.equal(first.test, same.test)
    assert set(rows(first.train)) != set(rows(other.train))


@pytest.mark.parametrize("count", [0, 1])
def test_too_few_draws_are_refused(count):
    with pytest.raises(InvalidInput, match="enough for a sequence of either kind") as caught:
        Sequences.draw(SMALL, count, seed=0)
    assert caught.value.parameter == "count"


@pytest.mark.parametrize("seed", range(5))
def test_the_majority_is_that_of_the_training_set(seed):
    drawn = Sequences.draw(HistogramTask(length=5, symbols=3), 120, seed=seed)
    train, test = (
        Counter(count for row in rows(sequences) for count in counted(row))
        for sequences in (drawn.train, drawn.test)
    )
    [(commonest, most), (_, next_most), *_] = train.most_common()
    assert most > next_most
    assert drawn.majority() == pytest.approx(test[commonest] / test.total(), rel=1e-14)


def test_the_majority_is_not_that_of_the_test_set():
    train = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 4]])
    test = torch.tensor([[0, 0, 1, 1], [2, 2, 2, 3]])
    # Single symbols are the commonest to train on, and one of eight to test on.
    assert Sequences(task=SMALL, train=train, test=test).majority() == 1 / 8
