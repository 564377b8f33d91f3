"""The conjugate order parameters of trained layers, from the force of every sample on its fields.

At a minimum the local fields of a training sample are x* = w + V g, with w those that it would
have if it had been left out and g = -d loss/d fields the force. So g at the trained fields gives
the hats without training again.
"""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

from verify.overlaps import measured_overlaps
from verify.risk import Risk


class MeasuredHats(NamedTuple):
    """Conjugates of the overlaps at L = 2, r = t = 1, and the mean Moreau envelope; (B, K) each.

    q_hat = alpha mean|g|^2, m_hat = alpha mean(g_1 - g_2),
    theta_hat = (alpha mean(g.h*) + theta V_hat)/sigma^2, all with the signs of m and theta, and
    envelope = mean(loss + V |g|^2/2), the theory's E[M].
    """

    q_hat: Tensor
    m_hat: Tensor
    theta_hat: Tensor
    envelope: Tensor


def measured_hats(risk: Risk, weights: Tensor, V: Tensor, V_hat: Tensor) -> MeasuredHats:
    """The hats of trained Q of shape (B, K, 1, d), given the response V and V_hat, (B, K) each.

    Means are over the samples that a run is trained on, and alpha = their number/d.

    Raises
    ------
    InvalidInput
        Unless L = 2 and r = t = 1.
    """
    s = risk.samples
    theta = measured_overlaps(s, weights).scalars().theta
    losses, gradients = risk.losses(risk.fields(weights))
    force = -gradients[:, :, 0]
    size = force.square().sum(dim=(2, 3))
    target_fields = s.target_fields.unsqueeze(1)[:, :, 0]
    along_target = (force * target_fields).sum(dim=(2, 3))
    return MeasuredHats(
        q_hat=size / s.dimension,
        m_hat=(force[:, :, 0] - force[:, :, 1]).sum(dim=-1) / s.dimension,
        theta_hat=(along_target / s.dimension + theta * V_hat) / s.model.rho,
        envelope=(losses.sum(dim=-1) + V * size / 2) / risk.counts,
    )
