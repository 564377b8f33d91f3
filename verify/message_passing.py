"""Generalised approximate message passing on training sets, and its state evolution.

One row of z = x + p is a token. An iteration, (14.1) of the derivation, is

    w = z Q/sqrt(d) - V g(before),    x* = prox of w,    g = (x* - w)/V,
    Gamma = sum z^T g/sqrt(d) + sigma^2 V_hat Q,    D = lambda + sigma^2 V_hat,
    Q = Gamma/D,    V = sigma^2/D,

for two tokens and rank one. At a fixed point g = -grad loss(z Q/sqrt(d)), and lambda Q is the sum
over z^T g/sqrt(d): the gradient of the risk vanishes, whatever V_hat is. It is V_hat that decides
whether the iterations obey state evolution. It must be -(1/d) sum_mu div_w g with what the jumps of
the prox contribute, which no derivative at the samples' own fields sees; at the paper's parameters
that is an eighth of V_hat on the positional branch. By Stein's lemma the mean of dg/dw is the
coefficient of w in the linear regression of g on h* and w, which are jointly Gaussian. So V_hat is
taken from that regression over the samples. It knows of the jumps, uses neither the theory nor the
overlaps, and the sample covariances in it remove noise of E[g.(w - mean)]/s^2.

The overlaps of d dimensions are off state evolution by O(1/d), and by fluctuations of
O(d^-1/2), which grow where its Jacobian has eigenvalues below -1: at the paper's parameters and
alpha = 1.5 by 1.6 in each iteration on the semantic branch, in m, and by 4.5 on the positional one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from symattn.errors import ComputationFailed, InvalidInput
from symattn.model import AttentionModel
from symattn.overlaps import Overlaps
from symattn.quadrature.expectations import Resolution
from symattn.state_evolution import evolve
from verify.overlaps import measured_overlaps
from verify.proximal import proximal_map
from verify.risk import Risk
from verify.samples import Samples


class State(NamedTuple):
    """Overlaps of B students at one iteration, (B,) each; the names are those of `Overlaps`."""

    q: Tensor
    m: Tensor
    V: Tensor
    theta: Tensor


class Conjugates(NamedTuple):
    """The hats of one iteration, (B,) each, with sample means in place of those of `Hats`."""

    q_hat: Tensor
    m_hat: Tensor
    V_hat: Tensor
    theta_hat: Tensor


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trajectory:
    """Message passing on B training sets.

    Attributes
    ----------
    states : tuple of State
        Of the start and after each iteration, with the overlaps measured on Q.
    hats : tuple of Conjugates
        Of each iteration, measured at the state before it: `hats[t]` leads to `states[t + 1]`.
    changes : Tensor, (iterations, B)
        |Q' - Q|/|Q| of each, for the undamped Q'.
    converged : Tensor, (B,)
        Whether the last change is within the tolerance.
    weights : Tensor, (B, d)
        The last Q.
    """

    states: tuple[State, ...]
    hats: tuple[Conjugates, ...]
    changes: Tensor
    converged: Tensor
    weights: Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictedTrajectory:
    """State evolution from one start.

    Attributes
    ----------
    states, errors : tuple of Overlaps
        Of the start and after each iteration, and their absolute errors: the distance to a
        trajectory on coarser grids.
    """

    states: tuple[Overlaps, ...]
    errors: tuple[Overlaps, ...]


def weights_with_overlaps(
    samples: Samples, overlaps: Overlaps, generator: torch.Generator
) -> Tensor:
    """Random Q with exactly these q, m and theta, (B, d), from which state evolution can be tested.

    Q is a sum of Q*, p_1 and noise, independent of the samples if the generator's numbers are.

    Raises
    ------
    InvalidInput
        When q is not above sigma^2 m^2 + theta^2/rho, or d < 3.
    """
    sigma = samples.model.require_solvable()
    d = samples.dimension
    if d < 3:
        raise InvalidInput.of("dimension", d, "at least 3")
    teacher = samples.teacher[:, 0]
    signals = torch.stack((teacher, (math.sqrt(d) * samples.encoding[0]).expand_as(teacher)), dim=1)
    gram = signals @ signals.transpose(1, 2) / d

    def within(products: Tensor) -> Tensor:
        """The vector in the span of the signals with these products over d."""
        coefficients: Tensor = torch.linalg.solve(gram, products)
        return (coefficients * signals).sum(dim=1)

    wanted = torch.tensor([[overlaps.theta / sigma**2], [overlaps.m]], dtype=torch.float64)
    signal = within(wanted.to(gram.device).expand(len(gram), 2, 1))
    power = overlaps.q / sigma**2 - (signal**2).sum(dim=1) / d
    if not bool((power > 0).all()):
        raise InvalidInput.of("q", overlaps.q, "above sigma^2 m^2 + theta^2/rho")
    noise = torch.randn(
        teacher.shape, generator=generator, dtype=torch.float64, device=generator.device
    ).to(gram.device)
    noise -= within(signals @ noise.unsqueeze(-1) / d)
    return signal + noise * torch.sqrt(power * d / (noise**2).sum(dim=1)).unsqueeze(1)


def run_message_passing(
    samples: Samples,
    weights: Tensor,
    V: float,
    iterations: int,
    *,
    damping: float = 0.0,
    tolerance: float = 0.0,
) -> Trajectory:
    """Iterate from the given Q until every training set's Q changes by no more than the tolerance.

    Parameters
    ----------
    samples : Samples
        Of B seeds, with L = 2 and r = t = 1.
    weights : Tensor, (B, d)
        Where to start. The first iteration has no term of Onsager's in w, so state evolution holds
        only if these are independent of the samples.
    V : float
        The response to start from.
    iterations : int
        At most so many.
    damping : float
        The part of Q, g and V that is kept in an iteration, 0 <= damping < 1. State evolution is
        that of 0. For convergence more can be needed, where its Jacobian has eigenvalues below -1.
    tolerance : float
        Of |Q' - Q|/|Q|.

    Raises
    ------
    InvalidInput
        When the model has other sizes, or V, iterations or damping are out of range.
    ComputationFailed
        When lambda + sigma^2 V_hat, or a prox, is lost.
    """
    model = samples.model
    sigma = model.require_solvable()
    if iterations < 1:
        raise InvalidInput.of("iterations", iterations, "a whole number >= 1")
    if not 0.0 <= damping < 1.0:
        raise InvalidInput.of("damping", damping, "at least 0 and below 1")
    risk = Risk.of(samples, 1)
    target, scale = _loss_parameters(samples)
    response = torch.full_like(weights[:, 0], V)
    g = torch.zeros_like(target)
    states = [_state(samples, weights, response)]
    hats: list[Conjugates] = []
    changes: list[Tensor] = []
    while len(hats) < iterations:
        fields = risk.fields(weights[:, None, None])[:, 0, 0]
        w = fields - response[:, None, None] * g
        fresh = proximal_map(w, target, scale, response).g
        # in the first iteration there is nothing to keep
        g = torch.lerp(fresh, g, damping) if hats else fresh
        hats.append(_hats(samples, states[-1], w, fresh))
        onsager = sigma**2 * hats[-1].V_hat
        if not bool((model.lam + onsager > 0).all()):
            seed = samples.seeds[int(onsager.argmin())]
            raise ComputationFailed(
                f"message passing: lambda + sigma^2 V_hat is not positive in iteration {len(hats)} "
                f"of seed {seed}; try more damping, another start or a larger dimension"
            )
        descent = risk.pull_back(g[:, None, None])[:, 0, 0]
        gamma = descent + onsager.unsqueeze(1) * weights
        ahead = gamma / (model.lam + onsager).unsqueeze(1)
        length = torch.linalg.vector_norm(weights, dim=1)
        changes.append(torch.linalg.vector_norm(ahead - weights, dim=1) / length)
        weights = torch.lerp(ahead, weights, damping)
        response = torch.lerp(sigma**2 / (model.lam + onsager), response, damping)
        states.append(_state(samples, weights, response))
        if bool((changes[-1] <= tolerance).all()):
            break
    return Trajectory(
        states=tuple(states),
        hats=tuple(hats),
        changes=torch.stack(changes),
        converged=changes[-1] <= tolerance,
        weights=weights,
    )


def predicted_trajectory(
    model: AttentionModel,
    alpha: float,
    start: Overlaps,
    iterations: int,
    *,
    accuracy: float = 1e-7,
) -> PredictedTrajectory:
    """What state evolution says of undamped message passing from a start with these overlaps.

    Parameters
    ----------
    model : AttentionModel
        With L = 2 and r = t = 1, isotropic.
    alpha : float
        n/d.
    start : Overlaps
        Of the first Q, with the response that message passing starts from.
    iterations : int
        How many.
    accuracy : float
        Relative, of the means over the channel, for which the grids are chosen.

    Raises
    ------
    ComputationFailed
        When state evolution leaves the overlaps that are admissible.
    """

    def states(accuracy: float) -> tuple[Overlaps, ...]:
        grids = Resolution.for_accuracy(accuracy)
        found = [start]
        for _ in range(iterations):
            found.append(evolve(model, alpha, found[-1], grids).image)
        return tuple(found)

    fine, coarse = states(accuracy), states(100.0 * accuracy)
    errors = tuple(
        Overlaps(*(abs(x - y) + 1e-14 * abs(x) for x, y in zip(*pair, strict=True)))
        for pair in zip(fine, coarse, strict=True)
    )
    return PredictedTrajectory(states=fine, errors=errors)


def _loss_parameters(samples: Samples) -> tuple[Tensor, Tensor]:
    """(T_11, T_22), (B, 2, n), and sigma, (B, n), with which the channel's loss is each sample's.

    With two tokens an output lies on the line through z_1 and z_2, at S_11 on it or S_22. So
    |y - f|^2/(2 d) is |z_1 - z_2|^2/(2 d) ((T_11 - S_11)^2 + (T_22 - S_22)^2) and a constant, with
    T where y projects onto that line. For large d these are the target's T and sigma^2.
    """
    gram, correlation = samples.gram, samples.correlation
    across = gram[:, 0, 0] + gram[:, 1, 1] - 2.0 * gram[:, 0, 1]
    first = correlation[:, 0, 0] - correlation[:, 0, 1] + gram[:, 1, 1] - gram[:, 0, 1]
    second = correlation[:, 1, 1] - correlation[:, 1, 0] + gram[:, 0, 0] - gram[:, 0, 1]
    return torch.stack((first, second), dim=1) / across.unsqueeze(1), torch.sqrt(across / 2.0)


def _state(samples: Samples, weights: Tensor, V: Tensor) -> State:
    overlaps = measured_overlaps(samples, weights[:, None, None]).scalars()
    q, m, theta = (overlap[:, 0] for overlap in overlaps)
    return State(q=q, m=m, V=V, theta=theta)


def _hats(samples: Samples, state: State, w: Tensor, g: Tensor) -> Conjugates:
    """From sample means, with the teacher's own rho."""
    alpha = samples.count / samples.dimension
    rho = samples.model.require_solvable() ** 2 * (samples.teacher[:, 0] ** 2).mean(dim=1)
    target_fields = samples.target_fields[:, 0]
    known = torch.cat((torch.ones_like(w[:, :1]), target_fields, w), dim=1)
    coefficients = torch.linalg.solve(known @ known.transpose(1, 2), known @ g.transpose(1, 2))
    V_hat = -alpha * (coefficients[:, 3, 0] + coefficients[:, 4, 1])
    signal = alpha * (g * target_fields).sum(dim=1).mean(dim=1)
    return Conjugates(
        q_hat=alpha * (g**2).sum(dim=1).mean(dim=1),
        m_hat=alpha * (g[:, 0] - g[:, 1]).mean(dim=1),
        V_hat=V_hat,
        theta_hat=(signal + state.theta * V_hat) / rho,
    )
