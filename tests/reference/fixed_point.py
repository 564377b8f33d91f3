"""State evolution on the brute-force expectations, the ridge side written by hand."""

from dataclasses import replace

import numpy as np

from tests.reference.expectations import Parameters, expectations

OVERLAPS = ("q", "m", "V", "theta")


def updated(p: Parameters, mean: dict[str, float], alpha: float, lam: float) -> np.ndarray:
    """The overlaps (q, m, V, theta) that the expectations at p lead to."""
    rho = p.sigma**2
    q_hat = alpha * mean["g2"]
    m_hat = alpha * mean["gm"]
    V_hat = -alpha * mean["div"]
    theta_hat = (alpha * mean["gh"] + p.theta * V_hat) / rho
    D = lam + p.sigma**2 * V_hat
    signal = m_hat**2 + p.sigma**2 * rho * theta_hat**2
    return np.array(
        [
            p.sigma**2 * (p.sigma**2 * q_hat + signal) / D**2,
            m_hat / D,
            p.sigma**2 / D,
            p.sigma**2 * rho * theta_hat / D,
        ]
    )


def fixed_point(
    start: Parameters,
    alpha: float,
    lam: float,
    change: float = 1e-8,
    tolerance: float = 1e-3,
    panels: int = 4,
    max_evaluations: int = 30,
):
    """(parameters, expectations there, relative residual of each overlap) at the end of iteration.

    Fixed-point iteration with Broyden's update; an overlap that starts at zero stays there.
    Raises RuntimeError if an overlap's relative residual exceeds change after max_evaluations.
    """
    names = [name for name in OVERLAPS if getattr(start, name) != 0.0]
    rows = [OVERLAPS.index(name) for name in names]
    unit = np.array([getattr(start, name) for name in names])
    x = np.ones(len(names))
    inverse = -np.eye(len(names))
    step = residual = None
    for _ in range(max_evaluations):
        p = replace(start, **dict(zip(names, (x * unit).tolist(), strict=True)))
        mean = expectations(p, tolerance, panels=panels)
        previous, residual = residual, updated(p, mean, alpha, lam)[rows] / unit - x
        if np.all(np.abs(residual) <= change * np.abs(x)):
            return p, mean, dict(zip(names, (residual / x).tolist(), strict=True))
        if previous is not None:
            moved = inverse @ (residual - previous)
            inverse += np.outer(step - moved, step @ inverse) / (step @ moved)
        step = -inverse @ residual
        x = x + step
    raise RuntimeError(f"relative residual {residual / x} after {max_evaluations} evaluations")
