"""Triple points: planes that touch the energy three times."""

import numpy as np

from symattn.quadrature._triple_point import triple_tangent
from tests.quadrature.curves import CORNERED, start_on, traced


def test_from_rough_corners_newton_leads_to_the_end_of_a_curve():
    corner = traced(CORNERED, start_on(CORNERED), 1.0)[3]
    rough = corner + 0.01 * np.cos(np.arange(6.0))
    assert triple_tangent(rough, CORNERED)
    np.testing.assert_allclose(rough, corner, atol=1e-10)
