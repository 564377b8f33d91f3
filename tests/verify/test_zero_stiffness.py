"""The stiffness at Q = 0 against its Hessian written out."""

import numpy as np
import pytest

from symattn import AttentionModel
from verify.device import choose_device
from verify.layer import inputs_and_labels
from verify.samples import draw_samples
from verify.zero_stiffness import ZeroStiffness

_D = 40


def _hessian(model, seed, count):
    """At Q = 0: S = J + (h h^T less its row means)/2 to second order in h, J = 1/2.

    So sum |y - S z|^2/(2 d) has the second-order term -sum Tr (y - J z) z^T (h h^T)'/(2 d).
    """
    samples = draw_samples(model, _D, count, [seed])
    x, y = (array.numpy() for array in inputs_and_labels(samples, 0))
    z = x + samples.encoding.numpy()
    matrix = model.lam * np.eye(_D)
    for one, label in zip(z, y, strict=True):
        by_attention = -(label - one.mean(axis=0)) @ one.T / _D
        by_logits = (by_attention - by_attention.mean(axis=1, keepdims=True)) / 2
        matrix += one.T @ (by_logits + by_logits.T) @ one / _D
    return matrix, samples.encoding[0].numpy()


def test_stiffness_is_that_of_the_hessian_at_zero():
    model, alphas, seeds = AttentionModel(lam=0.3, sigma=0.6), (0.7, 1.5), (4, 9)
    unit = ZeroStiffness(experiment="x", model=model, dimension=_D, seeds=seeds, alphas=alphas)
    rows = unit.run(choose_device("cpu"))
    assert [(row["seed"], row["alpha"]) for row in rows] == [(s, a) for s in seeds for a in alphas]
    for row in rows:
        matrix, e = _hessian(model, row["seed"], round(row["alpha"] * _D))
        assert row["stiffness"] == pytest.approx(1 / (e @ np.linalg.inv(matrix) @ e), rel=1e-9)


def test_a_stiffness_is_not_regular_where_other_directions_are_unstable():
    """At lambda = 0.01 the Hessian of the whole space orthogonal to p_1 has negative directions."""
    model = AttentionModel(lam=0.01)
    matrix, e = _hessian(model, 1, 4 * _D)
    basis = np.linalg.svd(e[None])[2][1:]
    assert np.linalg.eigvalsh(basis @ matrix @ basis.T)[0] < 0
    unit = ZeroStiffness(experiment="x", model=model, dimension=_D, seeds=(1,), alphas=(4.0,))
    [row] = unit.run(choose_device("cpu"))
    assert not row["regular"]


def test_a_negative_stiffness_can_be_regular():
    """Only the direction of the positions is unstable there."""
    model = AttentionModel(lam=0.1)
    matrix, e = _hessian(model, 1, 60)
    assert (np.linalg.eigvalsh(matrix) < 0).sum() == 1
    unit = ZeroStiffness(experiment="x", model=model, dimension=_D, seeds=(1,), alphas=(1.5,))
    [row] = unit.run(choose_device("cpu"))
    assert row["stiffness"] == pytest.approx(1 / (e @ np.linalg.inv(matrix) @ e))
    assert row["stiffness"] < 0
    assert row["regular"]
