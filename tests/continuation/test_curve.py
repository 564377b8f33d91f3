"""The system along a branch: its derivatives against differences."""

import math

import numpy as np
import pytest

from symattn import AttentionModel
from symattn.continuation.curve import Curve
from symattn.overlaps import Overlaps

ALPHA = 1.3

# name of the branch, model, overlaps: one where nothing jumps, one where the prox jumps
CASES = {
    "mixed, no jumps": ("mixed", AttentionModel(lam=0.1), Overlaps(0.02, 0.1, 2.4, 0.02)),
    "semantic, no jumps": ("semantic", AttentionModel(lam=0.1), Overlaps(0.02, 0.0, 2.4, 0.03)),
    "positional, jumps": ("positional", AttentionModel(), Overlaps(0.06, 0.15, 14.0, 0.0)),
}
VALUES = {"alpha": ALPHA, "lambda": 0.07, "omega": 0.35, "sigma": 0.48}


@pytest.mark.parametrize("over", VALUES)
@pytest.mark.parametrize("case", CASES)
def test_the_matrix_is_the_derivative_of_the_residual(case, over):
    name, model, overlaps = CASES[case]
    curve = Curve(model=model, alpha=ALPHA, over=over, name=name, accuracy=1e-5)
    y = curve.pack(overlaps, VALUES[over])
    matrix = curve.at(y).matrix
    scale = curve.scale(y)
    for k in range(len(y)):
        change = np.zeros(len(y))
        change[k] = 1e-3 * scale[k]
        there, back = (curve.at(y + sign * change).residual for sign in (1.0, -1.0))
        # omega and sigma are differences on one side themselves
        by_channel = k == len(y) - 1 and over in ("omega", "sigma")
        np.testing.assert_allclose(
            matrix[:, k],
            (there - back) / (2.0 * change[k]),
            rtol=2e-2 if by_channel else 1e-3,
            atol=1e-3 * np.max(np.abs(matrix[:, k])),
        )


def test_the_coordinate_of_a_positive_parameter_is_its_logarithm():
    curve = Curve(model=AttentionModel(), alpha=1.0, over="lambda", name="semantic", accuracy=1e-3)
    y = curve.pack(Overlaps(0.1, 0.0, 10.0, 0.1), 0.02)
    assert y.tolist() == [0.1, 10.0, 0.1, math.log(0.02)]
    assert curve.overlaps(y) == Overlaps(0.1, 0.0, 10.0, 0.1)
    model, alpha = curve.setting(curve.parameter(y))
    assert model.lam == pytest.approx(0.02, rel=1e-15)
    assert alpha == 1.0


def test_the_tangent_lies_in_the_kernel_of_the_matrix():
    name, model, overlaps = CASES["mixed, no jumps"]
    curve = Curve(model=model, alpha=ALPHA, over="alpha", name=name, accuracy=1e-4)
    at = curve.at(curve.pack(overlaps, ALPHA))
    tangent = curve.tangent(at, -curve.along_parameter)
    scale = curve.scale(at.y)
    np.testing.assert_allclose(at.matrix @ tangent, 0.0, atol=1e-12)
    assert np.linalg.norm(tangent / scale) == pytest.approx(1.0)
    assert tangent[-1] < 0.0
