"""The field and the energy of the channel of two tokens as functions, in mpmath."""

from mpmath import mp

from symattn.kernels.generated import mpmath_l2_r1_t1
from tests.kernels import model_by_hand


def field_at(t11, t22, sigma, V):
    """(x, y) -> w and det(I + V Hess loss), by the kernels."""

    def field(x, y):
        jet = mpmath_l2_r1_t1.channel(x, y, t11, t22, sigma)
        return mpmath_l2_r1_t1.inverse_prox(x, y, *jet[1:], V)

    return field


def energy_at(a, b, t11, t22, sigma, V):
    """(x, y) -> the energy at w = (a, b), with the loss by hand."""
    target = model_by_hand.two_token_target(t11, t22)

    def energy(x, y):
        loss = model_by_hand.loss(model_by_hand.from_rotated(x, y), target, sigma)
        return mpmath_l2_r1_t1.energy(x, y, a, b, loss, V)

    return energy


def field_slopes(field, u, v):
    """The rows d(a, b)/du and d(a, b)/dv of w = (a, b)."""
    return [
        [mp.diff(lambda x, y, k=k: field(x, y)[k], (u, v), order) for k in (0, 1)]
        for order in ((1, 0), (0, 1))
    ]
