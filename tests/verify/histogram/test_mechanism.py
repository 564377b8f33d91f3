"""The index against closed forms, and against projections by enumeration of all sequences."""

import math
from itertools import permutations, product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from symattn.errors import InvalidInput
from tests.verify.histogram.made_up import TASK, ensemble
from verify.histogram.mechanism import mechanisms
from verify.histogram.task import HistogramTask

L, T = TASK.length, TASK.symbols
TINY = HistogramTask(length=3, symbols=3)

# So many standard errors: a wrong alarm of a right error bar is one in a hundred thousand.
_ERRORS = 5.0


def fixed(*matrices):
    """Attention that does not depend on the sequence, one matrix for each run."""
    stacked = torch.tensor(np.array(matrices), dtype=torch.float64)
    return lambda sequences: stacked[:, None].expand(-1, len(sequences), -1, -1)


def next_place():
    """Each place looks at the next one, the last at the first."""
    return np.roll(np.eye(L), 1, axis=1)


def equal_symbols(sequences):
    """Each place looks at all places of its symbol alike: (1, B, L, L)."""
    same = (sequences[:, :, None] == sequences[:, None, :]).double()
    return (same / same.sum(dim=-1, keepdim=True))[None]


def by_pairs(scores):
    """Attention from a score of each pair of symbols, (T, T)."""

    def attention(sequences):
        of_pairs = torch.tensor(scores)[sequences[:, :, None], sequences[:, None, :]]
        return torch.softmax(of_pairs, dim=-1)[None]

    return attention


def of_both(task, positional, semantic, other, seed=0):
    """Scores of positions, of symbols, and of the whole sequence, each of its own strength."""
    random = np.random.default_rng(seed)
    length, symbols = task.length, task.symbols
    of_places = torch.tensor(random.standard_normal((length, length)))
    of_symbols = torch.tensor(random.standard_normal((symbols, symbols)))
    of_all = torch.tensor(random.standard_normal((*[symbols] * length, length, length)))

    def attention(sequences):
        scores = (
            positional * of_places
            + semantic * of_symbols[sequences[:, :, None], sequences[:, None, :]]
            + other * of_all[tuple(sequences.T)]
        )
        return torch.softmax(scores, dim=-1)[None]

    return attention


def enumerated(task, attention):
    """Mean squares of delta and its projections: square, positional, semantic, common."""
    length = task.length
    sequences = list(product(range(task.symbols), repeat=length))
    number = {sequence: i for i, sequence in enumerate(sequences)}
    delta = attention(torch.tensor(sequences))[0].numpy() - 1 / length
    orders = list(permutations(range(length)))
    semantic = np.zeros_like(delta)
    for i, sequence in enumerate(sequences):
        for order in orders:
            permuted = delta[number[tuple(sequence[k] for k in order)]]
            # Place k of the permuted sequence is place order[k] of the sequence.
            for row, column in np.ndindex(length, length):
                semantic[i, order[row], order[column]] += permuted[row, column] / len(orders)
    positional, common = delta.mean(axis=0), semantic.mean(axis=0)
    return [float(np.square(part).mean()) for part in (delta, positional, semantic, common)]


def index_of(parts):
    _, positional, semantic, common = parts
    return (semantic - positional) / (semantic + positional - 2 * common)


def one_in_count():
    """Mean of 1/n for a symbol that occurs n times, itself one of them: n - 1 is binomial."""
    return (1 - (1 - 1 / T) ** L) * T / L


def test_a_fixed_matrix_is_purely_positional():
    random = np.random.default_rng(1).random((L, L))
    shift, other = mechanisms(
        TASK, fixed(next_place(), random / random.sum(axis=1, keepdims=True)), seed=1
    )
    assert shift.square == pytest.approx((L - 1) / L**2, rel=1e-13)
    # delta is -1/L on the diagonal, whose projection has the mean square 1/(L^2 (L - 1)).
    assert shift.common == pytest.approx(1 / (L - 1) ** 2, rel=1e-11)
    for found in (shift, other):
        assert found.positional == pytest.approx(1, rel=1e-11)
        assert abs(found.index + 1) < _ERRORS * found.index_error
        assert 0 < found.index_error < 0.05


def test_attention_to_equal_symbols_is_purely_semantic():
    [found] = mechanisms(TASK, equal_symbols, seed=2)
    square = one_in_count() / L - 1 / L**2
    common = (one_in_count() - 1 / L) ** 2 / (L - 1)
    # 1/n scatters by less than 0.35: so much for 4096 x 4 of them
    assert found.square == pytest.approx(square, abs=_ERRORS * 0.35 / 64 / L)
    assert found.common == pytest.approx(common / square, abs=0.03)
    assert found.semantic == pytest.approx(1, rel=1e-11)
    assert abs(found.index - 1) < _ERRORS * found.index_error
    assert 0 < found.index_error < 0.05


@pytest.mark.parametrize("seed", range(4))
def test_attention_by_pairs_of_symbols_is_purely_semantic(seed):
    scores = 2 * np.random.default_rng(seed).standard_normal((T, T))
    [found] = mechanisms(TASK, by_pairs(scores), seed=seed)
    assert found.semantic == pytest.approx(1, rel=1e-11)
    assert abs(found.index - 1) < _ERRORS * found.index_error


@pytest.mark.parametrize("weight", [0.2, 0.5, 0.8])
def test_a_mixture_has_the_index_of_its_own_squares(weight):
    """What is common cancels: S - C is the semantic part's own square, and P - C the other's."""

    def mixture(sequences):
        positional = fixed(next_place())(sequences)
        return weight * equal_symbols(sequences) + (1 - weight) * positional

    semantic = one_in_count() / L - 1 / L**2 - (one_in_count() - 1 / L) ** 2 / (L - 1)
    positional = (L - 1) / L**2 - 1 / (L**2 * (L - 1))
    a, b = weight**2 * semantic, (1 - weight) ** 2 * positional
    for seed in range(5):
        [found] = mechanisms(TASK, mixture, seed=seed)
        assert abs(found.index - (a - b) / (a + b)) < _ERRORS * found.index_error
        assert 0 < found.index_error < 0.05


@settings(max_examples=20)
@given(
    positional=st.floats(0, 3),
    semantic=st.floats(0.5, 3),
    other=st.floats(0, 1),
    seed=st.integers(0, 1000),
)
def test_the_index_is_that_of_enumeration(positional, semantic, other, seed):
    attention = of_both(TINY, positional, semantic, other, seed)
    [found] = mechanisms(TINY, attention, seed=seed, inputs=2048)
    exact = index_of(enumerated(TINY, attention))
    assert -1 - 1e-12 <= exact <= 1 + 1e-12
    assert abs(found.index - exact) < _ERRORS * found.index_error
    assert abs(found.index) < 1 + _ERRORS * found.index_error
    assert 0 < found.square <= (TINY.length - 1) / TINY.length**2


# Of positions, of symbols, and of both: one run of each
_STRENGTHS = [(1.0, 1.0, 0.5), (2.0, 0.7, 0.0), (0.5, 2.0, 1.0)]
_SEEDS = 80


@pytest.fixture(scope="module")
def strengths():
    """The attention of all of them, and by enumeration their parts, (runs, 4)."""
    each = [of_both(TINY, *one) for one in _STRENGTHS]

    def attention(sequences):
        return torch.cat([one(sequences) for one in each])

    return attention, np.array([enumerated(TINY, one) for one in each])


def test_the_standard_error_covers(strengths):
    """Deviations in units of it are Student's t, with the 31 degrees of freedom of 32 blocks."""
    attention, parts = strengths
    found = [mechanisms(TINY, attention, seed=seed, inputs=1024) for seed in range(_SEEDS)]
    indices, errors = (
        np.array([[getattr(run, name) for run in runs] for runs in found])
        for name in ("index", "index_error")
    )
    exact = [index_of(of_run) for of_run in parts]
    many = mechanisms(TINY, attention, seed=0, inputs=16 * 1024)
    for run, t in enumerate(((indices - exact) / errors).T):
        typical = math.sqrt(np.mean(np.square(errors[:, run])))
        # The scatter over the seeds, which they tell to 1/sqrt(2 (seeds - 1))
        scatter = indices[:, run].std(ddof=1)
        assert scatter == pytest.approx(typical, rel=3 / math.sqrt(2 * (_SEEDS - 1)))
        assert stats.kstest(t, stats.t(31).cdf).pvalue > 1e-3
        inside = int(np.sum(np.abs(t) < stats.t(31).ppf(0.975)))
        assert stats.binomtest(inside, _SEEDS, 0.95).pvalue > 1e-3
        # Sixteen times as many sequences have a fourth of the error, which 32 blocks tell to 13 %.
        assert many[run].index_error == pytest.approx(typical / 4, rel=4 / math.sqrt(2 * 31))


def test_the_parts_have_no_bias(strengths):
    """Means over many seeds of few sequences, with which a square of a mean would be too large."""
    attention, parts = strengths
    found = [mechanisms(TINY, attention, seed=seed, inputs=64) for seed in range(_SEEDS)]
    squares = np.array(
        [
            [m.square * np.array([1.0, m.positional, m.semantic, m.common, m.rest]) for m in runs]
            for runs in found
        ]
    )
    # What neither explains, since both together explain P + S - C
    parts = np.column_stack([parts, parts @ [1, -1, -1, 1]])
    error = squares.std(axis=0, ddof=1) / math.sqrt(_SEEDS)
    assert np.abs((squares.mean(axis=0) - parts) / error).max() < 4
    # The mean over 64 sequences, squared, would be too large by a 64th of what is not positional.
    bias = (parts[:, 0] - parts[:, 1]) / 64
    assert np.max(bias / error[:, 1]) > 8


def test_names_of_symbols_and_places_do_not_matter():
    made = ensemble("none", (1, 2, 3))
    symbols, places = torch.tensor([3, 0, 4, 1, 2]), torch.tensor([2, 0, 3, 1])
    back = torch.argsort(places)

    def renamed(sequences):
        return made.attention(symbols[sequences])

    def moved(sequences):
        return made.attention(sequences[:, places])[:, :, back][:, :, :, back]

    plain = mechanisms(TASK, made.attention, seed=1)
    assert len({round(one.index, 1) for one in plain}) > 1
    for attention in (renamed, moved):
        for one, other in zip(plain, mechanisms(TASK, attention, seed=2), strict=True):
            both = math.hypot(one.index_error, other.index_error)
            assert abs(one.index - other.index) < _ERRORS * both


def test_random_transformers_have_the_index_of_their_restriction():
    for restriction, expected in (("positional", -1), ("semantic", 1)):
        for found in mechanisms(TASK, ensemble(restriction, (1, 2)).attention, seed=3):
            assert abs(found.index - expected) < _ERRORS * found.index_error
    for found in mechanisms(TASK, ensemble("none", (1, 2)).attention, seed=3):
        assert abs(found.index) < 1 - _ERRORS * found.index_error


def test_each_run_has_the_numbers_that_it_has_alone():
    made = of_both(TASK, 1.0, 1.0, 0.0), of_both(TASK, 0.3, 1.0, 0.0, seed=1)
    together = mechanisms(TASK, lambda x: torch.cat([attention(x) for attention in made]), seed=4)
    for found, attention in zip(together, made, strict=True):
        [alone] = mechanisms(TASK, attention, seed=4)
        for name in ("square", "positional", "semantic", "common", "rest", "index", "index_error"):
            assert getattr(found, name) == pytest.approx(getattr(alone, name), rel=1e-10)


def test_the_same_seed_gives_the_same_numbers_and_another_one_others():
    attention = of_both(TASK, 1.0, 1.0, 0.5)
    first, same, other = (mechanisms(TASK, attention, seed=seed) for seed in (1, 1, 2))
    assert first == same
    assert first[0].index != other[0].index


def test_attention_that_only_tells_a_place_from_the_others_has_no_index():
    """The other runs of the batch have theirs all the same, and their error."""
    owns = (1.0, 0.4, 0.2, 0.0)
    matrices = [(1 - own) / (L - 1) * (1 - np.eye(L)) + own * np.eye(L) for own in owns]
    *found, other = mechanisms(TASK, fixed(*matrices, next_place()), seed=1)
    for own, one in zip(owns, found, strict=True):
        # a = own - 1/L on the diagonal, and -a/(L - 1) elsewhere
        assert one.square == pytest.approx((own - 1 / L) ** 2 / (L - 1), rel=1e-10)
        assert [one.positional, one.semantic, one.common] == pytest.approx([1, 1, 1], rel=1e-10)
        assert one.rest == pytest.approx(0, abs=1e-10)
        assert one.index is one.index_error is None
    [alone] = mechanisms(TASK, fixed(next_place()), seed=1)
    assert other.index == pytest.approx(alone.index, rel=1e-12)
    assert other.index == pytest.approx(-1, abs=0.05)


def test_an_index_takes_five_standard_errors():
    """Of P + S - 2 C, whose scatter over seeds is what the blocks of one seed estimate to 13 %."""
    each = [of_both(TINY, positional, 0.0, 1.0) for positional in (0.2, 1.0, 2.0, 4.0)]
    found = [
        mechanisms(TINY, lambda x: torch.cat([one(x) for one in each]), seed=seed, inputs=128)
        for seed in range(30)
    ]
    own = np.array(
        [[m.square * (m.positional + m.semantic - 2 * m.common) for m in runs] for runs in found]
    )
    clear = own / own.std(axis=0, ddof=1)
    has = np.array([[m.index is not None for m in runs] for runs in found])
    assert has.tolist() == [[m.index_error is not None for m in runs] for runs in found]
    assert has[clear > 8].all()
    assert not has[clear < 3].any()
    assert min(np.sum(clear > 8), np.sum(clear < 3)) > 10


def test_what_takes_positions_and_symbols_together_is_the_rest():
    """To the next place if the sum of the symbols is even, else to the one before."""
    step = torch.tensor(next_place())

    def attention(sequences):
        even = (sequences.sum(dim=1) % 2 == 0)[:, None, None]
        return torch.where(even, step, step.T)[None]

    found = [mechanisms(TASK, attention, seed=seed, inputs=512) for seed in range(20)]
    values = np.array([[one.positional, one.semantic, one.common, one.rest] for [one] in found])
    # A symbol is even in 3 of 5 cases, and a sum of four in p.
    p = (1 + (3 / 5 - 2 / 5) ** 4) / 2
    # p and 1 - p beside zeros make the squared length L (p^2 + (1 - p)^2) - 1, of L - 1. What does
    # not know of places is off the diagonal alone, which the positions explain as well.
    positional = (L * (p**2 + (1 - p) ** 2) - 1) / (L - 1)
    common = 1 / (L - 1) ** 2
    exact = np.array([positional, common, common, 1 - positional])
    error = values.std(axis=0, ddof=1) / math.sqrt(len(values))
    # The diagonal is always 0, which leaves rounding alone.
    assert np.all(np.abs(values.mean(axis=0) - exact) < _ERRORS * error + 1e-12)
    assert np.all(error < 0.01)
    assert exact[3] > 0.6
    # The index is that of positions alone, beside which the rest must be read.
    assert all(abs(one.index + 1) < _ERRORS * one.index_error for [one] in found)


def test_what_is_the_sum_of_a_positional_and_a_semantic_part_has_no_rest():
    """The positional one alone, both, and the semantic one alone."""
    weights = torch.tensor([0.0, 0.3, 1.0], dtype=torch.float64)[:, None, None, None]

    def mixtures(sequences):
        positional = fixed(next_place())(sequences)
        return weights * equal_symbols(sequences) + (1 - weights) * positional

    found = [mechanisms(TASK, mixtures, seed=seed, inputs=512) for seed in range(20)]
    rests = np.array([[one.rest for one in runs] for runs in found])
    error = rests.std(axis=0, ddof=1) / math.sqrt(len(rests))
    assert np.all(np.abs(rests.mean(axis=0)) < _ERRORS * error)
    assert np.all(error < 0.02)


@pytest.mark.parametrize("inputs", [-64, 0, 1, 32, 63, 65, 100])
def test_sequences_that_do_not_make_blocks_are_refused(inputs):
    with pytest.raises(InvalidInput, match="a multiple of 32 from 64 on") as caught:
        mechanisms(TASK, fixed(next_place()), seed=1, inputs=inputs)
    assert caught.value.parameter == "inputs"


@pytest.mark.parametrize("inputs", [64, 96])
def test_so_many_sequences_are_looked_at(inputs):
    """And as many again, which are the same with their symbols in another order."""
    seen = []

    def attention(sequences):
        seen.append(sequences)
        return fixed(next_place())(sequences)

    mechanisms(TASK, attention, seed=1, inputs=inputs)
    assert sum(len(sequences) for sequences in seen) == 2 * inputs
    for plain, permuted in zip(seen[::2], seen[1::2], strict=True):
        assert torch.equal(plain.sort(dim=1).values, permuted.sort(dim=1).values)


def test_a_diagonal_that_depends_on_the_symbols_is_semantic():
    """Each place looks at itself by how many different symbols there are."""

    def attention(sequences):
        different = torch.tensor([len(set(row)) for row in sequences.tolist()]).double()
        own = (different / L)[:, None, None]
        eye = torch.eye(L, dtype=torch.float64)
        return (own * eye + (1 - own) / (L - 1) * (1 - eye))[None]

    [found] = mechanisms(TASK, attention, seed=5)
    assert found.semantic == pytest.approx(1, rel=1e-11)
    assert abs(found.index - 1) < _ERRORS * found.index_error
