"""Random weights for the tests of training."""

import torch


def random_weights(*shape, seed=0):
    source = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=source, dtype=torch.float64)
