"""One evaluation given h*, by the package and by the brute-force reference."""

import math

import numpy as np

from symattn.quadrature import _columns as columns
from symattn.quadrature._channel import expectations_given_target
from symattn.quadrature.expectations import Resolution, inner_grids
from tests.reference.expectations import SCALES, Parameters, integrate_plane

PITCH = 0.1

#: Columns of a row in the reference's order of names.
COLUMNS = {
    "one": columns.NORM,
    "M": columns.ENVELOPE,
    "g2": columns.G_SQUARED,
    "gm": columns.G_MEAN,
    "div": columns.G_DIV,
    "gh": columns.G_TARGET,
    "loss": columns.LOSS,
}


def evaluate(p, u_star, v_star, accuracy=1e-9, *, diagnose=False):
    """Row and report at h* = (u_star, v_star)."""
    resolution = Resolution.for_accuracy(accuracy)
    s = math.sqrt(p.q - p.theta**2 / p.sigma**2)
    mean = math.sqrt(2.0) * p.m + abs(p.theta) / p.sigma**2 * math.hypot(u_star, v_star)
    half_size = math.ceil((mean + resolution.cut_off * s + 4.0) / PITCH)
    row = np.zeros(columns.COLUMNS)
    report = np.zeros(columns.REPORT_COLUMNS)
    expectations_given_target(
        u_star,
        v_star,
        (p.sigma, p.omega, p.a11, p.a22),
        (p.q, p.m, p.V, p.theta),
        inner_grids(resolution, s, half_size),
        diagnose,
        row,
        report,
    )
    return row, report


def brute_force(p, u_star, v_star, tolerance=1e-8, steps=60):
    """The same means by name, in the order of `COLUMNS`, from global minimisations on lines."""
    out = np.empty(len(SCALES))
    integrate_plane(
        (v_star + u_star) / math.sqrt(2.0),
        (v_star - u_star) / math.sqrt(2.0),
        p.m,
        p.V,
        p.theta / p.sigma**2,
        math.sqrt(p.q - p.theta**2 / p.sigma**2),
        p.sigma,
        p.omega,
        p.a11,
        p.a22,
        tolerance * SCALES,
        steps,
        out,
    )
    return dict(zip(COLUMNS, out, strict=False))


def random_parameters(rng):
    """Overlaps and a model, sigma in 0.3 .. 0.7, V in 5 .. 50, m and theta not zero."""
    sigma = float(rng.uniform(0.3, 0.7))
    q = float(np.exp(rng.uniform(np.log(0.03), np.log(0.3))))
    a11, a22 = [(0.6, 0.6), (0.3, 0.2), (0.9, 0.8)][rng.integers(3)]
    return Parameters(
        q=q,
        m=float(rng.uniform(0.0, 0.4)),
        V=float(np.exp(rng.uniform(np.log(5.0), np.log(50.0)))),
        theta=float(rng.uniform(0.0, 0.9)) * math.sqrt(q) * sigma,
        sigma=sigma,
        omega=float(rng.uniform(0.0, 1.0)),
        a11=a11,
        a22=a22,
    )
