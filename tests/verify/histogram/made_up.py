"""Transformers of a small task with random weights, none of which is special."""

import torch

from verify.histogram.ensemble import Ensemble
from verify.histogram.task import HistogramTask

TASK = HistogramTask(length=4, symbols=5)
CPU = torch.device("cpu")


def scattered(weights, seed=0, scale=0.2):
    """Weights with normal numbers added: those of a new layer norm are 1 and 0."""
    source = torch.Generator().manual_seed(seed)
    return {
        name: weight + scale * torch.randn(weight.shape, generator=source, dtype=weight.dtype)
        for name, weight in weights.items()
    }


def ensemble(restriction, seeds, task=TASK):
    """Transformers of one restriction, no weight of which is as it is first drawn."""
    drawn = Ensemble.draw(task, restriction, seeds, CPU)
    return drawn.with_weights(scattered(drawn.weights))


def random_sequences(*shape, task=TASK, seed=0):
    source = torch.Generator().manual_seed(seed)
    return torch.randint(task.symbols, (*shape, task.length), generator=source)
