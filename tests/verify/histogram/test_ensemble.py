"""Many transformers as one batch do what each does by itself, and so do their gradients."""

import math

import pytest
import torch
from torch.nn import functional

from symattn.errors import InvalidInput
from tests.verify.histogram.made_up import CPU, TASK, ensemble, random_sequences
from verify.histogram.ensemble import Ensemble
from verify.histogram.transformer import RESTRICTIONS, HistogramTransformer

SEEDS = (3, 1, 4)
_LIFTED = ("symbols", "positions", "query", "key")


@pytest.mark.parametrize("restriction", RESTRICTIONS)
def test_logits_and_attention_are_those_of_each_run(restriction, double):
    made = ensemble(restriction, SEEDS)
    own, common = random_sequences(3, 5), random_sequences(6, seed=1)
    assert len(made) == 3
    for sequences in (own, common):
        logits, attention = made.logits(sequences), made.attention(sequences)
        for run in range(3):
            module = made.module(run)
            of_run = sequences[run] if sequences is own else sequences
            torch.testing.assert_close(logits[run], module(of_run), rtol=1e-11, atol=1e-12)
            torch.testing.assert_close(
                attention[run], module.attention(of_run), rtol=1e-12, atol=1e-15
            )


@pytest.mark.parametrize("restriction", RESTRICTIONS)
def test_gradients_are_those_of_each_run(restriction, double):
    """Of a sum over runs, since no run depends on the weights of another."""
    drawn = ensemble(restriction, SEEDS)
    made = drawn.with_weights({name: w.requires_grad_() for name, w in drawn.weights.items()})
    sequences = random_sequences(3, 5)
    counts = TASK.counts(sequences)
    logits = made.logits(sequences)
    functional.cross_entropy(logits.flatten(0, 2), counts.flatten(), reduction="sum").backward()
    for run in range(3):
        module = made.module(run)
        functional.cross_entropy(
            module(sequences[run]).flatten(0, 1), counts[run].flatten(), reduction="sum"
        ).backward()
        for name, weight in module.named_parameters():
            torch.testing.assert_close(
                made.weights[name].grad[run], weight.grad, rtol=1e-10, atol=1e-12
            )
            assert float(weight.grad.abs().max()) > 1e-3


def test_single_precision_costs_digits_alone():
    made = ensemble("none", SEEDS)
    sequences = random_sequences(8)
    double = {name: weight.double() for name, weight in made.weights.items()}
    logits = made.logits(sequences)
    assert logits.dtype == torch.float32
    for run in range(3):
        module = made.module(run).double()
        module.load_state_dict({name: weight[run] for name, weight in double.items()})
        torch.testing.assert_close(logits[run].double(), module(sequences), rtol=1e-4, atol=1e-4)


def test_a_run_has_the_weights_of_its_seed():
    together = Ensemble.draw(TASK, "none", SEEDS, CPU)
    for run, seed in enumerate(SEEDS):
        alone = Ensemble.draw(TASK, "none", [seed], CPU)
        for name, weight in together.weights.items():
            assert torch.equal(weight[run], alone.weights[name][0])
    assert not torch.equal(together.weights["query"][0], together.weights["query"][1])
    assert together.device == CPU


def test_another_restriction_is_refused():
    with pytest.raises(InvalidInput, match="one of none, positional, semantic"):
        Ensemble.draw(TASK, "syntactic", SEEDS, CPU)


@pytest.mark.parametrize("restriction", RESTRICTIONS)
def test_folded_weights_are_zero_where_there_is_nothing(restriction, double):
    """And a module without restriction that has them is the same function."""
    made = ensemble(restriction, SEEDS)
    before = {name: weight.clone() for name, weight in made.weights.items()}
    folded = made.folded()
    # Rows of W_Q and W_K belong to the coordinates of the embedding.
    rows = {name: weight.clone() for name, weight in before.items()}
    if restriction != "none":
        rows["symbols"][:, :, 32:] = 0
        rows["positions"][:, :, :32] = 0
        unseen = slice(32, None) if restriction == "semantic" else slice(32)
        rows["query"][:, unseen] = 0
        rows["key"][:, unseen] = 0
    assert folded.keys() == rows.keys()
    assert all(torch.equal(folded[name], weight) for name, weight in rows.items())
    assert all(torch.equal(made.weights[name], weight) for name, weight in before.items())
    sequences = random_sequences(9)
    for run in range(3):
        module = HistogramTransformer(TASK)
        module.load_state_dict({name: weight[run] for name, weight in folded.items()})
        torch.testing.assert_close(
            module(sequences), made.module(run)(sequences), rtol=1e-12, atol=1e-13
        )


@pytest.mark.parametrize("restriction", RESTRICTIONS)
def test_lifted_without_noise_it_is_the_same_function(restriction, double):
    made = ensemble(restriction, SEEDS)
    lifted = made.unrestricted(0.0, (7, 8, 9))
    sequences = random_sequences(9)
    torch.testing.assert_close(
        lifted.attention(sequences), made.attention(sequences), rtol=1e-13, atol=1e-15
    )
    torch.testing.assert_close(
        lifted.logits(sequences), made.logits(sequences), rtol=1e-12, atol=1e-13
    )
    assert lifted.restriction == "none"
    # As modules of their own, which know of no restriction, as well
    module = lifted.module(1)
    torch.testing.assert_close(module(sequences), made.module(1)(sequences), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("restriction", ["positional", "semantic"])
def test_lifted_it_can_learn_what_was_masked(restriction, double):
    """All coordinates have a gradient, and attention can come to depend on the other half."""
    lifted = ensemble(restriction, SEEDS).unrestricted(1e-3, (7, 8, 9))
    free = lifted.with_weights({name: w.requires_grad_() for name, w in lifted.weights.items()})
    free.logits(random_sequences(40)).square().sum().backward()
    for name in _LIFTED:
        used = free.weights[name].grad.abs().flatten(1)
        assert float((used > 0).double().mean()) == 1.0


def test_the_noise_is_normal_and_that_of_the_seed_in_vectors_queries_and_keys_alone(double):
    made, noise = ensemble("semantic", SEEDS), 0.01
    exact = made.unrestricted(0.0, (7, 8, 9)).weights
    noisy = made.unrestricted(noise, (7, 8, 7)).weights
    differences = {name: noisy[name] - exact[name] for name in exact}
    for name, difference in differences.items():
        if name not in _LIFTED:
            assert not difference.any()
            continue
        count = difference[:2].numel()
        scaled = difference[:2] / noise
        assert abs(float(scaled.mean())) < 4 / math.sqrt(count)
        assert abs(float(scaled.var()) - 1) < 4 * math.sqrt(2 / count)
        torch.testing.assert_close(difference[2], difference[0], rtol=0, atol=1e-15)
        assert not torch.allclose(difference[1], difference[0], rtol=0.1)
    # Queries and keys have numbers of their own.
    assert not torch.allclose(differences["query"], differences["key"], rtol=0.1)


def test_lifting_leaves_the_restricted_ones_as_they_are():
    made = ensemble("semantic", SEEDS)
    before = {name: weight.clone() for name, weight in made.weights.items()}
    made.unrestricted(1.0, (7, 8, 9))
    assert all(torch.equal(made.weights[name], weight) for name, weight in before.items())
