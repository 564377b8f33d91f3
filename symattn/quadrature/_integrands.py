"""Everything that is averaged over w given h*, added up at one point of the x plane."""

from __future__ import annotations

from symattn._jit import compiled
from symattn._typing import FloatArray
from symattn.kernels.generated.numba_l2_r1_t1 import (
    density,
    envelope,
    hat_integrands,
    response,
    scores,
    slope_integrands,
)
from symattn.quadrature._columns import (
    DM_G_MEAN,
    DM_G_SQUARED,
    DQ_G_DIV,
    DQ_G_MEAN,
    DQ_G_SQUARED,
    DQ_G_TARGET,
    DTHETA_G_MEAN,
    DTHETA_G_SQUARED,
    DTHETA_G_TARGET,
    ENVELOPE,
    G_DIV,
    G_MEAN,
    G_SQUARED,
    G_TARGET,
    LOSS,
    NORM,
    RESPONSE,
)


@compiled
def add(
    row: FloatArray,
    measure: float,
    jet: tuple[float, float, float, float, float, float],
    w: tuple[float, float, float],
    V: float,
    given: tuple[float, float, float, float, float],
    theta: float,
    sigma: float,
) -> float:
    """Add `measure * det * N(w)` times every integrand to `row`; the product is returned.

    `given` = (a_mean, b_mean, s, u_star, v_star).
    """
    loss, l_u, l_v, l_uu, l_uv, l_vv = jet
    a, b, det = w
    a_mean, b_mean, s, u_star, v_star = given
    regular = measure * density(a, b, a_mean, b_mean, s)
    weight = regular * det
    g2, g_mean, g_div, g_target = hat_integrands(
        -l_u, -l_v, a, b, a_mean, b_mean, s, u_star, v_star
    )
    by_q, by_m, by_theta = scores(a, b, a_mean, b_mean, s, u_star, v_star, theta, sigma)
    row[NORM] += weight
    row[ENVELOPE] += weight * envelope(-l_u, -l_v, loss, V)
    row[G_SQUARED] += weight * g2
    row[G_MEAN] += weight * g_mean
    row[G_DIV] += weight * g_div
    row[G_TARGET] += weight * g_target
    row[LOSS] += weight * loss
    slopes = slope_integrands(g2, g_mean, g_div, g_target, by_q, by_m, by_theta, s)
    row[DQ_G_SQUARED] += weight * slopes[0]
    row[DM_G_SQUARED] += weight * slopes[1]
    row[DTHETA_G_SQUARED] += weight * slopes[2]
    row[DQ_G_MEAN] += weight * slopes[3]
    row[DM_G_MEAN] += weight * slopes[4]
    row[DTHETA_G_MEAN] += weight * slopes[5]
    row[DQ_G_TARGET] += weight * slopes[6]
    row[DTHETA_G_TARGET] += weight * slopes[7]
    row[DQ_G_DIV] += weight * slopes[8]
    row[RESPONSE] += regular * response(l_u, l_v, l_uu, l_uv, l_vv, V)
    return weight
