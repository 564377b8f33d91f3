"""The index is that of least-squares fits by indicators, and what it must be in extreme cases."""

import numpy as np
import pytest
import torch

from symattn import InvalidInput
from verify.histogram.mechanism import mechanisms
from verify.histogram.task import HistogramTask

TASK = HistogramTask(length=4, symbols=3)
L, T = TASK.length, TASK.symbols
GENERATOR = torch.Generator().manual_seed(5)
PLACES = torch.softmax(torch.randn(L, L, generator=GENERATOR, dtype=torch.float64), dim=1)
KINDS = torch.randn(T, T, generator=GENERATOR, dtype=torch.float64)


def at_positions(sequences):
    return PLACES.expand(1, len(sequences), L, L)


def at_symbols(sequences):
    """Entries, not normalised, that are functions of the two symbols."""
    return 1 / L + 0.1 * KINDS[sequences[:, :, None], sequences[:, None, :]][None]


def softmax_of_symbols(sequences):
    return torch.softmax(KINDS[sequences[:, :, None], sequences[:, None, :]], dim=-1)[None]


def of_both(sequences):
    return at_positions(sequences) + at_symbols(sequences) - 1 / L


def of_neither(sequences):
    """A random matrix for each sequence, and so what neither explains."""
    weights = torch.tensor([T**k for k in range(L)])
    chosen = (sequences * weights).sum(dim=1)
    table = torch.randn(T**L, L, L, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    return torch.softmax(table, dim=-1)[chosen][None]


def shares_by_indicators(attention, inputs, seed):
    """P, S and J by least squares on a matrix of indicators, over the same sequences."""
    generator = torch.Generator().manual_seed(seed)
    blocks = [torch.randint(T, (inputs // 16, L), generator=generator) for _ in range(16)]
    sequences = torch.cat(blocks)
    y = (attention(sequences)[0] - 1 / L).double().numpy().ravel()
    place = np.eye(L * L)[np.tile(np.arange(L * L), len(sequences))]
    pair = (sequences[:, :, None] * T + sequences[:, None, :]).numpy().ravel()
    kind = np.eye(T * T)[pair]
    explained = []
    for design in (place, kind, np.hstack([place, kind])):
        fit = design @ np.linalg.lstsq(design, y, rcond=None)[0]
        explained.append(float(fit @ fit / (y @ y)))
    return float(y @ y / y.size), explained


@pytest.mark.parametrize(
    "attention", [at_positions, at_symbols, softmax_of_symbols, of_both, of_neither]
)
def test_shares_are_those_of_least_squares(attention):
    [found] = mechanisms(TASK, attention, seed=3, inputs=320)
    square, (positional, semantic, joint) = shares_by_indicators(attention, 320, 3)
    assert found.square == pytest.approx(square)
    assert found.positional == pytest.approx(positional)
    assert found.semantic == pytest.approx(semantic)
    assert found.joint == pytest.approx(joint)
    assert found.rest == pytest.approx(1 - joint, abs=1e-12)
    if found.index is not None:
        expected = (semantic - positional) / (2 * joint - semantic - positional)
        assert found.index == pytest.approx(expected, abs=1e-9)
        assert -1 - 1e-9 <= found.index <= 1 + 1e-9


def test_extreme_cases():
    for attention, index in ((at_positions, -1.0), (at_symbols, 1.0)):
        [found] = mechanisms(TASK, attention, seed=0)
        assert found.index == pytest.approx(index, abs=1e-9)
        assert found.index_error < 1e-6
        assert found.joint == pytest.approx(1.0)


def test_a_position_that_looks_at_itself_alone_is_positional():
    """Functions of symbols cannot tell it from others of the same symbol."""
    [found] = mechanisms(TASK, lambda x: torch.eye(L).expand(1, len(x), L, L), seed=0)
    assert found.index == pytest.approx(-1.0, abs=1e-6)
    assert found.square == pytest.approx((L - 1) / L**2)
    # Of pairs with equal symbols, which are a share p, a share r = 1/(L p) is the position itself:
    # the best function of symbols is r there, less 1/L everywhere.
    p = (1 + (L - 1) / T) / L
    explained = (1 / (L * p) - 1 / L) ** 2 * p + (1 - p) / L**2
    assert found.semantic == pytest.approx(explained / found.square, abs=0.02)


def test_looking_at_equal_symbols_is_semantic():
    def attention(sequences):
        return torch.softmax(2.0 * (sequences[:, :, None] == sequences[:, None, :]), dim=-1)[None]

    [found] = mechanisms(HistogramTask(), attention, seed=0)
    assert 0.7 < found.index < 1
    assert found.rest < 0.2


def test_more_of_one_moves_the_index_to_its_side():
    def mixed(share):
        def attention(sequences):
            return (1 - share) * at_positions(sequences) + share * at_symbols(sequences)

        [found] = mechanisms(TASK, attention, seed=0)
        return found.index

    indices = [mixed(share) for share in (0.0, 0.2, 0.5, 0.8, 1.0)]
    assert indices == sorted(indices)
    assert len(set(indices)) == 5


def test_runs_are_measured_by_themselves():
    def several(sequences):
        return torch.cat([a(sequences) for a in (at_positions, softmax_of_symbols, of_both)])

    alone = [mechanisms(TASK, a, seed=2)[0] for a in (at_positions, softmax_of_symbols, of_both)]
    for one, other in zip(mechanisms(TASK, several, seed=2), alone, strict=True):
        assert one.index == pytest.approx(other.index)
        assert one.joint == pytest.approx(other.joint)


def test_the_error_is_the_scatter_over_seeds():
    found = [mechanisms(TASK, of_mixture, seed=s, inputs=320)[0] for s in range(200)]
    scatter = np.std([each.index for each in found], ddof=1)
    stated = np.median([each.index_error for each in found])
    assert stated == pytest.approx(scatter, rel=0.25)


def of_mixture(sequences):
    return 0.5 * of_both(sequences) + 0.5 * of_neither(sequences)


@pytest.mark.parametrize("value", [1 / L, 1 / L + 1e-8])
def test_uniform_attention_has_no_index(value):
    [found] = mechanisms(TASK, lambda x: torch.full((1, len(x), L, L), value), seed=0)
    assert found.index is None
    assert found.index_error is None
    assert all(np.isfinite([found.square, found.positional, found.semantic, found.joint]))


def test_names_of_symbols_do_not_matter():
    order = torch.tensor([2, 0, 1])
    [here] = mechanisms(TASK, softmax_of_symbols, seed=0)
    [there] = mechanisms(TASK, lambda x: softmax_of_symbols(order[x]), seed=0)
    assert here.index == pytest.approx(there.index, abs=3 * (here.index_error + there.index_error))


@pytest.mark.parametrize("inputs", [0, 16, 33, 100, -32])
def test_other_numbers_of_sequences_are_refused(inputs):
    with pytest.raises(InvalidInput, match="a multiple of 16 from 32 on"):
        mechanisms(TASK, at_positions, seed=0, inputs=inputs)
