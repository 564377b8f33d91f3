"""What the tests of training share: weights at random, and minima found by scipy's L-BFGS."""

import numpy as np
import torch
from scipy.optimize import minimize


def random_weights(*shape, seed=0):
    source = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=source, dtype=torch.float64)


def minimum_of(risk, start):
    """The minimum reached from `start`, (B, 1, 1, d), of all B risks, each minimised by itself."""

    def objective(flat):
        value, gradient = risk.value_and_gradient(torch.from_numpy(flat).reshape(start.shape))
        return float(value.sum()), gradient.numpy().ravel()

    found = minimize(
        objective,
        start.numpy().ravel(),
        jac=True,
        method="L-BFGS-B",
        options={"gtol": 1e-9, "ftol": 0.0, "maxiter": 5000, "maxfun": 10000, "maxcor": 50},
    )
    assert np.linalg.norm(found.jac) < 1e-6
    return torch.from_numpy(found.x).reshape(start.shape)
