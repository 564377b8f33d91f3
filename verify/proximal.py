"""The prox of the attention loss for many fields at once: the global minimum of its energy.

At a field w = (w_1, w_2) the energy |x - w|^2/(2 V) + sigma^2 ((T_11 - S_11)^2 + (T_22 - S_22)^2)
of x can have several minima. As the loss is not negative, the lowest one lies in the disc
|x - w|^2 <= 2 V E of any energy E that was reached: a table over that disc finds the wells, and
Newton's method their bottoms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from symattn.errors import ComputationFailed, InvalidInput
from symattn.kernels.generated.torch_l2_r1_t1 import channel, energy, envelope_curvature

#: Longest pitch of a table, and how many of its wells are followed to the bottom.
_PITCH, _WELLS = 0.12, 4
#: Radius of the largest disc that is searched.
_FARTHEST = 7.5
#: So many entries of tables are worked on at a time, few enough for a processor's cache.
_BLOCK = 2**14
_STEPS, _LONGEST_STEP, _FLATTEST, _STIFFEST = 300, 0.2, 1e-9, 1e8
#: Of |x + V grad loss(x) - w| over 1 + |w|: where a descent ends, and what is accepted.
_GOAL, _ACCEPTED = 1e-14, 1e-10
_ROUNDING = 1e-15
_ROOT = math.sqrt(2.0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Prox:
    """The global minimisers of the energies at fields w.

    Attributes
    ----------
    x : Tensor, (.., 2, n)
        The minimisers x*, one entry a token.
    g : Tensor, (.., 2, n)
        (x* - w)/V = -grad loss(x*).
    divergence : Tensor, (.., n)
        div_w g where x* does not jump, -Tr K with K = H (I + V H)^-1 and H the Hessian of the loss
        at x*. Its mean over fields lacks what the jumps contribute to the mean of div_w g.
    """

    x: Tensor
    g: Tensor
    divergence: Tensor


class _Fields(NamedTuple):
    """Fields in rotated components a = (w_1 - w_2)/sqrt 2, b = (w_1 + w_2)/sqrt 2; each (N,)."""

    a: Tensor
    b: Tensor
    t11: Tensor
    t22: Tensor
    sigma: Tensor
    V: Tensor

    def take(self, which: Tensor) -> _Fields:
        return _Fields(*(entries[which] for entries in self))


def proximal_map(w: Tensor, target: Tensor, sigma: Tensor, V: Tensor) -> Prox:
    """The prox at every field.

    Parameters
    ----------
    w : Tensor, (.., 2, n)
        Fields, one entry a token.
    target : Tensor, (.., 2, n)
        (T_11, T_22) of each sample.
    sigma : Tensor, (.., n)
        sigma of each sample.
    V : Tensor, (..)
        The response, one number for n fields; positive.

    Raises
    ------
    InvalidInput
        When a V is not positive.
    ComputationFailed
        When a field is not finite, V is too large to search all of the disc, or a minimum is not
        found to |x + V grad loss(x) - w| <= 1e-10 (1 + |w|).
    """
    if not bool((V > 0).all()):
        raise InvalidInput.of("V", float(V.min()), "positive")
    if not bool(torch.isfinite(w).all()):
        raise ComputationFailed("the prox of a field that is not finite; look at what led to it")
    a, b = (w[..., 0, :] - w[..., 1, :]) / _ROOT, (w[..., 0, :] + w[..., 1, :]) / _ROOT
    entries = (a, b, target[..., 0, :], target[..., 1, :], sigma, V.unsqueeze(-1).expand_as(a))
    fields = _Fields(*(entry.reshape(-1) for entry in entries))
    u, v = _global_minima(fields)
    _, l_u, l_v, l_uu, l_uv, l_vv = channel(u, v, fields.t11, fields.t22, fields.sigma)
    force_u, force_v = u + fields.V * l_u - fields.a, v + fields.V * l_v - fields.b
    missed = int((~(torch.hypot(force_u, force_v) <= _ACCEPTED * _size(fields))).sum())
    if missed:
        raise ComputationFailed(
            f"the prox was not found to {_ACCEPTED:g} at {missed} of {len(u)} fields; "
            "try a smaller V"
        )
    trace = envelope_curvature(l_uu, l_uv, l_vv, fields.V)[1]
    return Prox(
        x=_by_tokens(u.reshape(a.shape), v.reshape(a.shape)),
        g=-_by_tokens(l_u.reshape(a.shape), l_v.reshape(a.shape)),
        divergence=-trace.reshape(a.shape),
    )


def _by_tokens(u: Tensor, v: Tensor) -> Tensor:
    """(.., 2, n) from rotated components (.., n)."""
    return torch.stack((v + u, v - u), dim=-2) / _ROOT


def _size(fields: _Fields) -> Tensor:
    """1 + |w|."""
    return 1.0 + torch.hypot(fields.a, fields.b)


def _global_minima(fields: _Fields) -> tuple[Tensor, Tensor]:
    """Rotated components of the global minimisers, (N,) each."""
    ends = torch.stack(_descended(fields.a, fields.b, fields))
    radius = torch.sqrt(2.0 * fields.V * ends[2])
    if not bool((radius <= _FARTHEST).all()):
        raise ComputationFailed(
            f"a prox may lie {float(radius.max()):.3g} from its field, farther than the "
            f"{_FARTHEST} that are searched; try a smaller V than {float(fields.V.max()):.3g}"
        )
    owners, starts = _wells(fields, radius)
    others = torch.stack(_descended(starts[0], starts[1], fields.take(owners)))
    for rank in range(_WELLS):
        # each rank holds at most one well of a field
        owner, other = owners[rank == starts[2]], others[:, rank == starts[2]]
        ends[:, owner] = torch.where(other[2] < ends[2, owner], other, ends[:, owner])
    return ends[0], ends[1]


def _wells(fields: _Fields, radius: Tensor) -> tuple[Tensor, Tensor]:
    """Where tables over the discs |x - w| <= radius have their lowest minima.

    Returns
    -------
    owners : Tensor, (W,)
        Which field each is of.
    starts : Tensor, (3, W)
        Rotated components, and the rank among the minima of that field.
    """
    # a pitch more than the disc, so that none of its wells lies at the rim of the table
    halves = 2 ** torch.ceil(torch.log2(torch.clamp(radius / _PITCH + 1.0, min=4.0))).long()
    owners, starts = [], []
    for half in torch.unique(halves).tolist():
        alike = torch.nonzero(halves == half)[:, 0]
        axis = torch.arange(-half, half + 1, dtype=radius.dtype, device=radius.device) / (half - 1)
        for block in torch.split(alike, max(1, _BLOCK // len(axis) ** 2)):
            a, b, t11, t22, sigma, V = (x[:, None, None] for x in fields.take(block))
            u = a + radius[block, None, None] * axis[:, None]
            v = b + radius[block, None, None] * axis
            heights = energy(u, v, a, b, channel(u, v, t11, t22, sigma)[0], V)
            inner = heights[:, 1:-1, 1:-1]
            bottom = (
                (inner <= heights[:, :-2, 1:-1])
                & (inner <= heights[:, 2:, 1:-1])
                & (inner <= heights[:, 1:-1, :-2])
                & (inner <= heights[:, 1:-1, 2:])
            )
            minima = torch.where(bottom, inner, math.inf).flatten(1)
            lowest, cells = torch.topk(minima, _WELLS, dim=1, largest=False)
            which, rank = torch.nonzero(torch.isfinite(lowest), as_tuple=True)
            cell = cells[which, rank]
            row, column = cell // (len(axis) - 2) + 1, cell % (len(axis) - 2) + 1
            owners.append(block[which])
            starts.append(torch.stack((u[which, row, 0], v[which, 0, column], rank.to(u.dtype))))
    return torch.cat(owners), torch.cat(starts, dim=1)


def _descended(u: Tensor, v: Tensor, fields: _Fields) -> tuple[Tensor, Tensor, Tensor]:
    """Local minima of the energies downhill of (u, v), and the energies there.

    Newton's method on V times the energy, with the Hessian shifted to be positive definite.
    """
    ends = torch.stack((u, v, torch.full_like(u, math.nan)))
    at = torch.arange(len(u), device=u.device)
    here = fields
    u, v = u.clone(), v.clone()
    jet = torch.stack(channel(u, v, here.t11, here.t22, here.sigma))
    value = here.V * energy(u, v, here.a, here.b, jet[0], here.V)
    damping = torch.zeros_like(u)
    for _ in range(_STEPS):
        pull_u, pull_v = u + here.V * jet[1] - here.a, v + here.V * jet[2] - here.b
        done = (torch.hypot(pull_u, pull_v) <= _GOAL * _size(here)) | (damping > _STIFFEST)
        ends[:, at] = torch.stack((u, v, value / here.V))
        if bool(done.any()):
            going = ~done
            at, here, jet = at[going], here.take(going), jet[:, going]
            u, v, value, damping = u[going], v[going], value[going], damping[going]
            pull_u, pull_v = pull_u[going], pull_v[going]
        if not len(at):
            break
        h_uu, h_uv, h_vv = 1.0 + here.V * jet[3], here.V * jet[4], 1.0 + here.V * jet[5]
        lowest = 0.5 * (h_uu + h_vv) - torch.hypot(0.5 * (h_uu - h_vv), h_uv)
        # of a curvature the size counts: a floor above small ones would make the last steps crawl
        shift = damping + torch.clamp(torch.clamp(lowest.abs(), min=_FLATTEST) - lowest, min=0.0)
        h_uu, h_vv = h_uu + shift, h_vv + shift
        det = h_uu * h_vv - h_uv**2
        step_u = -(h_vv * pull_u - h_uv * pull_v) / det
        step_v = -(h_uu * pull_v - h_uv * pull_u) / det
        short = torch.clamp(_LONGEST_STEP / torch.hypot(step_u, step_v), max=1.0)
        next_u, next_v = u + short * step_u, v + short * step_v
        ahead = torch.stack(channel(next_u, next_v, here.t11, here.t22, here.sigma))
        next_value = here.V * energy(next_u, next_v, here.a, here.b, ahead[0], here.V)
        down = next_value <= value + _ROUNDING * (1.0 + value)
        u, v = torch.where(down, next_u, u), torch.where(down, next_v, v)
        value, jet = torch.where(down, next_value, value), torch.where(down, ahead, jet)
        damping = torch.where(
            down,
            torch.where(damping > 1e-3, 0.3 * damping, 0.0),
            torch.clamp(2.0 * damping, min=0.5),
        )
    return ends[0], ends[1], ends[2]
