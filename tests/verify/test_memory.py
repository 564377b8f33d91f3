"""Groups of seeds under a budget, and what happens when memory runs out."""

import pytest
import torch

from symattn import AttentionModel, ComputationFailed
from verify.memory import by_groups, bytes_per_seed, groups_of_seeds
from verify.samples import draw_samples


@pytest.mark.parametrize("precision", [torch.float64, torch.float32])
def test_what_a_training_set_keeps_is_counted(precision):
    model, d, count = AttentionModel(), 200, 300
    samples = draw_samples(model, d, count, [1], precision=precision)
    kept = sum(
        getattr(samples, name).nbytes
        for name in ("tokens", "gram", "correlation", "inputs", "mixed")
    )
    said = bytes_per_seed(model, d, count, runs=1, precision=precision)
    assert kept < said < 1.5 * kept


def test_groups_are_as_equal_as_can_be():
    assert groups_of_seeds([5, 6, 7, 8, 9], 3) == [(5, 6), (7, 8, 9)]
    assert groups_of_seeds([5, 6], 3) == [(5, 6)]
    assert groups_of_seeds([], 3) == []


def test_groups_fill_the_budget():
    groups = list(by_groups(lambda group: group, range(7), seed_bytes=10, budget=39))
    assert groups == [(0, 1), (2, 3), (4, 5, 6)]


def test_a_seed_beyond_the_budget_is_tried_alone():
    assert list(by_groups(lambda group: group, [3, 4], seed_bytes=10, budget=1)) == [(3,), (4,)]


def too_large(group):
    """What torch says of an array that no memory holds."""
    torch.empty(2**58, dtype=torch.float64)


@pytest.mark.parametrize("failing", [too_large, torch.OutOfMemoryError, MemoryError])
def test_a_group_that_does_not_fit_is_halved(failing):
    tried = []

    def work(group):
        tried.append(group)
        if len(group) > 2:
            error = failing(group)
            raise error
        return group

    done = list(by_groups(work, range(8), seed_bytes=1, budget=5))
    assert [seed for group in done for seed in group] == list(range(8))
    assert max(map(len, done)) <= 2
    assert tried[0] == (0, 1, 2, 3)
    assert len([group for group in tried if len(group) > 2]) == 1


def test_one_seed_that_does_not_fit_is_a_failure_with_advice():
    with pytest.raises(ComputationFailed) as caught:
        list(by_groups(too_large, [7], seed_bytes=3 * 2**30, budget=2**30))
    assert str(caught.value) == (
        "training set of seed 7: it takes about 3 GiB, more than there is; try a smaller "
        "dimension or alpha, or single precision"
    )


def test_other_errors_pass():
    def work(group):
        raise RuntimeError("something else")

    with pytest.raises(RuntimeError, match="something else"):
        list(by_groups(work, [1, 2], seed_bytes=1, budget=2))
