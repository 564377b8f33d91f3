"""Steps of the trapezoidal rule for integrands whose error is known."""

import math

import numpy as np
import pytest

from symattn.precision._integrands import Law
from symattn.precision._steps import Growth, growths, window

X = np.linspace(-9.0, 9.0, 181)
Y = np.array([0.0, *(0.1 * 1.1 ** np.arange(60))])


@pytest.mark.parametrize("decay", [20.0, 40.0])
def test_a_gaussian_needs_the_step_of_its_fourier_transform(decay):
    # |exp(-(x + i y)^2/2)|; the sum errs by exp(-2 pi^2/step^2)
    logs = -0.5 * X[:, None] ** 2 + 0.5 * Y**2 + math.log(X[1] - X[0])
    step = Growth(logs, Y, np.full(len(X), np.inf)).step(decay)
    assert step == pytest.approx(math.pi * math.sqrt(2.0 / decay), rel=0.05)
    assert step < math.pi * math.sqrt(2.0 / decay)


def test_a_pole_limits_the_step():
    # exp(-x^2/2)/(1 + x^2) with poles at +-i: the sum errs by about exp(-2 pi/step)
    z = X[:, None] + 1j * Y
    logs = np.log(np.abs(np.exp(-0.5 * z**2) / (1 + z**2))) + math.log(X[1] - X[0])
    step = Growth(logs, Y, np.abs(X) * 0.0 + 1.0).step(30.0)
    assert 0.15 < step < 2.0 * math.pi / 30.0
    axis = step * np.arange(-2000, 2001)
    total = step * math.fsum(np.exp(-0.5 * axis**2) / (1 + axis**2))
    # int exp(-x^2/2)/(1 + x^2) dx = pi e^(1/2) erfc(2^(-1/2))
    exact = math.pi * math.exp(0.5) * math.erfc(math.sqrt(0.5))
    assert abs(total - exact) < math.exp(-30.0) + 1e-14


def test_a_pole_nearer_than_every_shift_limits_the_step_too():
    # exp(-x^2/2)/(1 + (x/y)^2): the sum errs by about exp(-2 pi y/step)
    near = 0.5 * Y[1]
    logs = -np.log1p((X / near) ** 2)[:, None] - 0.5 * X[:, None] ** 2 + 0.0 * Y
    step = Growth(logs, Y, np.full(len(X), near)).step(30.0)
    assert step < 2.0 * math.pi * near / 30.0


def test_some_shift_is_below_the_nearest_pole():
    law = Law(1.0, 0.3, 0.6, 0.6, V=0.3, shift=0.14, slope=0.0, variance=0.02)
    for growth in growths(law, window(law, 46.0), 46.0):
        assert growth.shifts[0] == 0.0
        assert growth.shifts[1] < 0.95 * growth.poles.min()


def test_beyond_a_rise_nothing_is_gained():
    # a barrier between two regions of small values: only the first may be used
    logs = np.tile(0.5 * Y**2, (len(X), 1)) - 0.5 * X[:, None] ** 2
    barred = logs.copy()
    barred[:, Y > 4.0] = -1e3
    # the shifts before the barrier must include a rise
    barred[:, (Y > 3.0) & (Y < 4.0)] += 50.0
    free = Growth(logs, Y, np.full(len(X), np.inf)).step(40.0)
    assert Growth(barred, Y, np.full(len(X), np.inf)).step(40.0) <= free
