"""The transformer against its formula, in numpy and one position after the other."""

import math

import numpy as np
import pytest
import torch
from scipy.special import softmax

from symattn.errors import InvalidInput
from tests.verify.histogram.made_up import TASK, random_sequences, scattered
from verify.histogram.task import HistogramTask
from verify.histogram.transformer import RESTRICTIONS, HistogramTransformer

WIDTH, HIDDEN = 6, 7


def transformer(restriction, seed=1):
    """A small one, no weight of which is as it is first drawn."""
    module = HistogramTransformer(TASK, restriction, width=WIDTH, hidden=HIDDEN)
    weights = {name: weight.detach() for name, weight in module.named_parameters()}
    module.load_state_dict(scattered(weights, seed, scale=1.0))
    return module


def halves(restriction):
    """Coordinates of token vectors, of position vectors, and those that attention sees."""
    everything, first, second = range(WIDTH), range(WIDTH // 2), range(WIDTH // 2, WIDTH)
    return {
        "none": (everything, everything, everything),
        "semantic": (first, second, first),
        "positional": (first, second, second),
    }[restriction]


def by_the_formula(module, sequence):
    """Attention and logits of one sequence."""
    w = {name: weight.detach().numpy() for name, weight in module.named_parameters()}
    of_symbols, of_positions, seen_by_attention = halves(module.restriction)
    embedded = np.zeros((TASK.length, WIDTH))
    seen = np.zeros((TASK.length, WIDTH))
    for place, symbol in enumerate(sequence):
        for i in of_symbols:
            embedded[place, i] += w["symbols"][symbol, i]
        for i in of_positions:
            embedded[place, i] += w["positions"][place, i]
        for i in seen_by_attention:
            seen[place, i] = embedded[place, i]
    attention = np.zeros((TASK.length, TASK.length))
    logits = []
    for place in range(TASK.length):
        query = w["query"].T @ seen[place]
        scores = [query @ (w["key"].T @ other) / math.sqrt(WIDTH) for other in seen]
        attention[place] = softmax(scores)
        x = sum(a * (w["value"].T @ e) for a, e in zip(attention[place], embedded, strict=True))
        x = (x - x.mean()) / np.sqrt(x.var() + 1e-5) * w["norm.weight"] + w["norm.bias"]
        x = np.maximum(w["hidden.weight"] @ x + w["hidden.bias"], 0)
        logits.append(w["readout.weight"] @ x + w["readout.bias"])
    return attention, np.array(logits)


@pytest.mark.parametrize("restriction", RESTRICTIONS)
def test_attention_and_logits_are_those_of_the_formula(restriction, double):
    module = transformer(restriction)
    sequences = random_sequences(2, 3)
    attention, logits = module.attention(sequences), module(sequences)
    assert logits.shape == (2, 3, TASK.length, TASK.length + 1)
    for index in np.ndindex(2, 3):
        expected = by_the_formula(module, sequences[index].tolist())
        np.testing.assert_allclose(attention[index].detach(), expected[0], rtol=1e-12)
        np.testing.assert_allclose(logits[index].detach(), expected[1], rtol=1e-11, atol=1e-13)


def test_positional_attention_is_the_same_for_all_sequences(double):
    attention = transformer("positional").attention(random_sequences(20)).detach()
    torch.testing.assert_close(attention, attention[:1].expand(20, -1, -1), rtol=0, atol=0)
    # But not for all positions
    assert float(attention[0].std(dim=0).max()) > 0.01


def test_semantic_attention_moves_with_the_symbols(double):
    """Rows and columns of a permuted sequence are permuted, and it does not know the places."""
    module = transformer("semantic")
    sequences, order = random_sequences(20), torch.tensor([2, 0, 3, 1])
    attention = module.attention(sequences).detach()
    torch.testing.assert_close(
        module.attention(sequences[:, order]).detach(),
        attention[:, order][:, :, order],
        rtol=1e-12,
        atol=0,
    )
    assert float(attention.std(dim=0).max()) > 0.01


def test_without_restriction_attention_depends_on_both(double):
    module = transformer("none")
    sequences, order = random_sequences(20), torch.tensor([2, 0, 3, 1])
    attention = module.attention(sequences).detach()
    moved = module.attention(sequences[:, order]).detach()
    assert float((moved - attention[:, order][:, :, order]).abs().max()) > 0.01
    assert float(attention.std(dim=0).max()) > 0.01


@torch.no_grad()
def test_first_weights_have_the_laws_that_are_documented(double):
    task = HistogramTask()
    module = HistogramTransformer(task, generator=torch.Generator().manual_seed(5))
    assert module.query.shape == (64, 64)
    for weight in (module.symbols, module.positions):
        # Mean and variance of n standard normal numbers, within four standard errors
        assert abs(float(weight.mean())) < 4 / math.sqrt(weight.numel())
        assert abs(float(weight.var()) - 1) < 4 * math.sqrt(2 / weight.numel())
    for weight, inputs in (
        (module.query, 64),
        (module.key, 64),
        (module.value, 64),
        (module.hidden.weight, 64),
        (module.hidden.bias, 64),
        (module.readout.weight, 128),
    ):
        bound = 1 / math.sqrt(inputs)
        assert float(weight.abs().max()) <= bound
        # Variance of uniform numbers, whose fourth moment is 1/5
        error = bound**2 * math.sqrt((1 / 5 - 1 / 9) / weight.numel())
        assert abs(float(torch.square(weight).mean()) - bound**2 / 3) < 4 * error
    assert float(module.readout.bias.abs().max()) <= 1 / math.sqrt(128)
    assert module.norm.weight.tolist() == 64 * [1.0]
    assert module.norm.bias.tolist() == 64 * [0.0]
    assert not torch.equal(module.query, module.key)


@pytest.mark.parametrize("restriction", ["", "both", "None"])
def test_another_restriction_is_refused(restriction):
    with pytest.raises(InvalidInput, match="one of none, positional, semantic"):
        HistogramTransformer(TASK, restriction)


@pytest.mark.parametrize("restriction", RESTRICTIONS)
@pytest.mark.parametrize("width", [0, 1, 5, -1, -2])
def test_a_width_without_halves_is_refused(width, restriction):
    """Before anything is made of it: torch has words of its own for a negative size."""
    with pytest.raises(InvalidInput, match="an even number >= 2") as caught:
        HistogramTransformer(TASK, restriction, width=width)
    assert caught.value.parameter == "width"
