"""Where a branch ends at Q = 0, on a curve that is known in closed form."""

from types import SimpleNamespace

import numpy as np
import pytest

from symattn import AttentionModel
from symattn.continuation.curve import At, Curve
from symattn.continuation.end import end_point


class ToZero(Curve):
    """omega = 0.3 + q + 3 q^2, V = 2 + 5 q + 40 q^2."""

    def at(self, y):
        q, V, omega = y
        return At(
            y=y,
            step=SimpleNamespace(overlaps=self.overlaps(y)),
            residual=np.array([omega - 0.3 - q - 3.0 * q**2, V - 2.0 - 5.0 * q - 40.0 * q**2]),
            matrix=np.array([[-1.0 - 6.0 * q, 0.0, 1.0], [-5.0 - 80.0 * q, 1.0, 0.0]]),
            accuracy=self.accuracy,
        )


@pytest.mark.parametrize("step", [0.3, 1e-4])
def test_parameter_and_response_are_extrapolated_however_close_the_last_points_are(step):
    curve = ToZero(
        model=AttentionModel(), alpha=1.0, over="omega", name="uninformed", accuracy=1e-4
    )
    nodes = [
        curve.at(np.array([q, 2.0 + 5.0 * q + 40.0 * q**2, 0.3 + q + 3.0 * q**2]))
        for q in 1e-4 * np.array([1.0 + 2.0 * step, 1.0 + step, 1.0])
    ]
    end = end_point(curve, nodes)
    assert "ends at Q = 0" in end.note
    assert abs(end.parameter - 0.3) <= end.error < 1e-6
    assert abs(end.overlaps.V - 2.0) <= end.errors["V"] < 1e-5
