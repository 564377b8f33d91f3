"""One step of state evolution, overlaps -> hats -> overlaps, with its exact Jacobian.

The hats are the gradient of alpha E[M] in the overlaps, since with P(q, V, m, theta) = E[M]

    q_hat = -2 alpha dP/dV,  V_hat = 2 alpha dP/dq,  m_hat = -alpha dP/dm,
    theta_hat = -alpha dP/dtheta;

so their Jacobian is a Hessian, and its symmetry supplies all derivatives by V but d q_hat/dV.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from symattn._typing import FloatArray
from symattn.kernels.generated.numba_l2_r1_t1 import (
    hats,
    hats_jacobian,
    ridge,
    ridge_jacobian,
    train_loss_direct,
    train_loss_direct_gradient,
    train_loss_extremal,
)
from symattn.model import AttentionModel
from symattn.overlaps import Hats, Overlaps
from symattn.quadrature import _columns as columns
from symattn.quadrature.expectations import Expectations, Resolution, channel_expectations


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """State evolution applied once.

    Attributes
    ----------
    overlaps : Overlaps
        Where the step starts.
    hats : Hats
        The conjugates there.
    image : Overlaps
        Where it ends.
    jacobian : array, shape (4, 4)
        d image/d overlaps, both in the order (q, m, V, theta).
    hats_jacobian : array, shape (4, 4)
        d hats/d overlaps.
    image_by_alpha, image_by_lambda : array, shape (4,)
        d image/d alpha and d image/d lambda at fixed overlaps: there the hats are proportional to
        alpha, and lambda enters as V_hat does, in D = lambda + sigma^2 V_hat.
    train_loss, train_loss_direct : float
        eps_t in the extremal form and as alpha E[loss at the prox] + lambda q/(2 sigma^2). Equal
        at a fixed point; only the first is stationary there.
    expectations : Expectations
        The means over the channel that all of this came from.
    """

    overlaps: Overlaps
    hats: Hats
    image: Overlaps
    jacobian: FloatArray
    hats_jacobian: FloatArray
    image_by_alpha: FloatArray
    image_by_lambda: FloatArray
    train_loss: float
    train_loss_direct: float
    expectations: Expectations

    @property
    def residual(self) -> FloatArray:
        """overlaps - image, shape (4,): zero at a fixed point."""
        return np.subtract(self.overlaps, self.image)


def evolve(
    model: AttentionModel,
    alpha: float,
    overlaps: Overlaps,
    resolution: Resolution,
) -> Step:
    """Apply state evolution at sample complexity `alpha` = n/d to `overlaps`.

    Raises
    ------
    ComputationFailed
        If the overlaps are not admissible, or the means cannot be computed there.
    """
    sigma = model.require_solvable()
    expectations = channel_expectations(model, overlaps, resolution)
    means = expectations.means
    conjugates = Hats(
        *hats(
            alpha,
            means[columns.G_SQUARED],
            means[columns.G_MEAN],
            means[columns.G_DIV],
            means[columns.G_TARGET],
            overlaps.theta,
            sigma,
        )
    )
    outer = np.array(ridge_jacobian(*conjugates, model.lam, sigma)).reshape(4, 4)
    inner = np.array(
        hats_jacobian(
            alpha,
            conjugates.V_hat,
            means[columns.DQ_G_SQUARED],
            means[columns.DM_G_SQUARED],
            means[columns.DTHETA_G_SQUARED],
            means[columns.DQ_G_MEAN],
            means[columns.DM_G_MEAN],
            means[columns.DTHETA_G_MEAN],
            means[columns.DQ_G_TARGET],
            means[columns.DTHETA_G_TARGET],
            means[columns.DQ_G_DIV],
            means[columns.RESPONSE],
            overlaps.theta,
            sigma,
        )
    ).reshape(4, 4)
    return Step(
        overlaps=overlaps,
        hats=conjugates,
        image=Overlaps(*ridge(*conjugates, model.lam, sigma)),
        jacobian=outer @ inner,
        hats_jacobian=inner,
        image_by_alpha=outer @ np.array(conjugates) / alpha,
        image_by_lambda=outer[:, 2] / sigma**2,
        train_loss=train_loss_extremal(
            alpha, means[columns.ENVELOPE], *overlaps, *conjugates, model.lam, sigma
        ),
        train_loss_direct=train_loss_direct(
            alpha, means[columns.LOSS], overlaps.q, model.lam, sigma
        ),
        expectations=expectations,
    )


def direct_loss_gradient(model: AttentionModel, alpha: float, step: Step) -> FloatArray:
    """d `train_loss_direct`/d overlaps, shape (4,), in the order (q, m, V, theta)."""
    means = step.expectations.means
    gradient = train_loss_direct_gradient(
        alpha,
        *step.hats,
        means[columns.DQ_G_SQUARED],
        means[columns.DM_G_SQUARED],
        means[columns.DTHETA_G_SQUARED],
        means[columns.RESPONSE],
        step.overlaps.V,
        model.lam,
        model.require_solvable(),
    )
    return np.array(gradient)


def transported(model: AttentionModel, alpha: float, step: Step, overlaps: Overlaps) -> Step:
    """What the same grids give at other overlaps, to first order in the difference.

    The extremal training loss changes with the square of it near a fixed point, where it is
    stationary. Of the means only that of the envelope is carried along; the Jacobians are those of
    the step.
    """
    by = np.subtract(overlaps, step.overlaps)
    q_hat, m_hat, V_hat, theta_hat = step.hats
    means = step.expectations.means.copy()
    slopes = np.array([0.5 * V_hat, -m_hat, -0.5 * q_hat, -theta_hat])
    means[columns.ENVELOPE] += float(slopes @ by) / alpha
    return replace(
        step,
        overlaps=overlaps,
        hats=Hats(*map(float, np.add(step.hats, step.hats_jacobian @ by))),
        image=Overlaps(*map(float, np.add(step.image, step.jacobian @ by))),
        train_loss_direct=step.train_loss_direct
        + float(direct_loss_gradient(model, alpha, step) @ by),
        expectations=replace(step.expectations, means=means),
    )
