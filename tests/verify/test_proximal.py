"""The prox: its definition by brute force, and what follows from it."""

import math

import numpy as np
import pytest
import torch
from scipy.optimize import brentq, minimize

from symattn import ComputationFailed, InvalidInput
from verify.proximal import proximal_map

SETTINGS = {"paper": (0.5, 10.0, 30.0), "sigma = 1": (1.0, 3.0, 8.0), "no jumps": (0.5, 1.0, 3.0)}


def cases(setting, count, seed):
    """Fields around 0 at several scales, targets and responses: w, T, sigma, V."""
    rng = np.random.default_rng(seed)
    sigma, lowest, highest = SETTINGS[setting]
    w = rng.normal(size=(count, 2)) * rng.choice([0.03, 0.3, 1.0], size=(count, 1))
    target = rng.uniform(0.05, 0.95, size=(count, 2))
    return w, target, sigma, rng.uniform(lowest, highest, count)


def at_each(w, target, sigma, V):
    """`proximal_map` for fields with a V of their own: (N, 2) for x and g, (N,) for div g."""
    found = proximal_map(
        torch.tensor(w).unsqueeze(-1),
        torch.tensor(target).unsqueeze(-1),
        torch.full((len(w), 1), sigma, dtype=torch.float64),
        torch.tensor(V),
    )
    return found.x[..., 0].numpy(), found.g[..., 0].numpy(), found.divergence[..., 0].numpy()


def loss(x1, x2, target, sigma):
    """sigma^2 ((T_11 - S_11)^2 + (T_22 - S_22)^2), from the softmax of x x^T."""
    s11 = np.exp(x1 * x1) / (np.exp(x1 * x1) + np.exp(x1 * x2))
    s22 = np.exp(x2 * x2) / (np.exp(x2 * x2) + np.exp(x1 * x2))
    return sigma**2 * ((target[0] - s11) ** 2 + (target[1] - s22) ** 2)


def energy(x, w, target, sigma, V):
    distance2 = (x[0] - w[0]) ** 2 + (x[1] - w[1]) ** 2
    return distance2 / (2.0 * V) + loss(x[0], x[1], target, sigma)


@pytest.mark.parametrize("setting", SETTINGS)
def test_no_energy_is_lower(setting):
    w, target, sigma, V = cases(setting, 500, seed=1)
    x, _, _ = at_each(w, target, sigma, V)
    axis = np.linspace(-1.0, 1.0, 81)
    ambiguous = 0
    for k in range(len(w)):
        args = (w[k], target[k], sigma, V[k])
        # the loss is not negative, so the minimum is in this disc
        radius = math.sqrt(2.0 * V[k] * energy(w[k], *args))
        table = energy((w[k][0] + radius * axis[:, None], w[k][1] + radius * axis), *args)
        row, column = np.unravel_index(np.argmin(table), table.shape)
        start = w[k] + radius * np.array([axis[row], axis[column]])
        polished = minimize(energy, start, args=args, method="BFGS", options={"gtol": 1e-9})
        ours = energy(x[k], *args)
        assert ours <= polished.fun + 1e-13
        if ours > polished.fun - 1e-9 and np.linalg.norm(polished.x - x[k]) > 1e-3:
            ambiguous += 1  # two wells of one depth
    assert ambiguous <= 5


@pytest.mark.parametrize("setting", SETTINGS)
def test_g_is_the_force_and_minus_the_slope_of_the_loss(setting):
    w, target, sigma, V = cases(setting, 3000, seed=2)
    x, g, _ = at_each(w, target, sigma, V)
    np.testing.assert_allclose(g, (x - w) / V[:, None], atol=1e-11)
    point = torch.tensor(x, requires_grad=True)
    attention = torch.softmax(point.unsqueeze(2) * point.unsqueeze(1), dim=2)
    diagonal = torch.stack((attention[:, 0, 0], attention[:, 1, 1]), dim=1)
    (sigma**2 * ((torch.tensor(target) - diagonal) ** 2).sum()).backward()
    np.testing.assert_allclose(g, -point.grad.numpy(), atol=1e-10)


@pytest.mark.parametrize("setting", SETTINGS)
def test_it_is_monotone_even_where_it_jumps(setting):
    w, target, sigma, V = cases(setting, 3000, seed=3)
    steps = np.random.default_rng(4).normal(size=w.shape) * 0.1
    x = at_each(w, target, sigma, V)[0]
    other = at_each(w + steps, target, sigma, V)[0]
    rise = ((other - x) * steps).sum(axis=1)
    assert rise.min() >= -1e-13
    if setting != "no jumps":
        slope = rise / (steps**2).sum(axis=1)
        assert slope.max() > 10.0  # some pairs lie on two sides of a jump


def test_the_divergence_is_that_of_finite_differences():
    w, target, sigma, V = cases("no jumps", 300, seed=5)
    expected = np.zeros(len(w))
    step = 1e-5
    for token in range(2):
        move = step * np.eye(2)[token]
        ahead, behind = (at_each(w + sign * move, target, sigma, V)[1] for sign in (1, -1))
        expected += (ahead - behind)[:, token] / (2.0 * step)
    np.testing.assert_allclose(at_each(w, target, sigma, V)[2], expected, atol=1e-7)


@pytest.mark.parametrize(("V", "jumps"), [(4.9, False), (5.1, True)])
def test_at_zero_it_jumps_beyond_the_instability(V, jumps):
    # for T_11 = T_22 the energy at w = 0 turns into a saddle where V sigma^2 (T_11 + T_22 - 1) = 1
    target = np.array([[0.9, 0.9], [0.9, 0.9]])
    w = 1e-9 * np.array([[1.0, -1.0], [-1.0, 1.0]])
    x, _, _ = at_each(w, target, 0.5, np.array([V, V]))
    np.testing.assert_allclose(x[0], -x[1], atol=1e-12)
    assert (np.abs(x[0]).max() > 0.05) == jumps
    assert x[0] @ w[0] > 0


@pytest.mark.parametrize("V", [4.99, 5.0])
def test_flat_bottoms_are_found(V):
    # the curvature vanishes at that instability; there x = (k, -k), with S = logistic(2 k^2)
    w = np.outer([1e-6, 1e-5, 1e-4, 1e-3], [1.0, -1.0])

    def force(k, field):
        s = 1.0 / (1.0 + math.exp(-2.0 * k**2))
        return (k - field) / V + 0.5**2 * 2.0 * (s - 0.9) * s * (1.0 - s) * 4.0 * k

    expected = [brentq(force, 0.0, 1.0, args=(field,), xtol=1e-15) for field in w[:, 0]]
    x, _, _ = at_each(w, np.full_like(w, 0.9), 0.5, np.full(len(w), V))
    np.testing.assert_allclose(x[:, 0], expected, atol=1e-8)
    np.testing.assert_allclose(x[:, 1], -x[:, 0], atol=1e-12)


def test_what_cannot_be_done_is_refused():
    w, target = np.zeros((1, 2)), np.array([[0.6, 0.6]])
    with pytest.raises(InvalidInput, match=r"V = -1\.0 is not allowed: it must be positive"):
        at_each(w, target, 0.5, np.array([-1.0]))
    with pytest.raises(ComputationFailed, match="not finite"):
        at_each(w * math.nan, target, 0.5, np.array([2.0]))
    with pytest.raises(ComputationFailed, match="try a smaller V"):
        at_each(w, target, 0.5, np.array([1e5]))
