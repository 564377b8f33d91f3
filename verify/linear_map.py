"""The linear positional map x -> W x that fits a training set best."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from verify.gaussian_rule import Mean, gaussian_mean
from verify.samples import Samples, target_attention


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FittedMap:
    """Least squares on the first samples of each training set.

    Attributes
    ----------
    W : Tensor, (B, K, L, L)
        Minimises sum_mu |y_mu - W x_mu|_F^2 / (2 d); nothing is penalised.
    train_loss : Tensor, (B, K)
        That minimum, divided by d.
    test_error : Mean, of tensors (B, K)
        E|y - W x|_F^2 / (2 d) over fresh x, given the teacher.
    """

    W: Tensor
    train_loss: Tensor
    test_error: Mean


def fit_linear_map(samples: Samples, counts: Tensor) -> FittedMap:
    """Fit W to the first `counts` samples, for each of K counts, on each of B training sets."""
    used = torch.arange(samples.count, device=counts.device) < counts.unsqueeze(1)
    weight = used.double()
    target = target_attention(samples.model, samples.target_fields)
    cross = torch.einsum("blmn,bmcn,kn->bklc", target, samples.inputs, weight)
    gram = torch.einsum("blcn,kn->bklc", samples.inputs, weight)
    power = torch.einsum("bn,kn->bk", samples.power, weight)
    W: Tensor = torch.linalg.solve(gram, cross, left=False)
    train_loss = (power - (W * cross).sum(dim=(2, 3))) / (2 * samples.dimension)
    return FittedMap(W=W, train_loss=train_loss, test_error=_test_error(samples, W))


def _test_error(samples: Samples, W: Tensor) -> Mean:
    """(1/2) E Tr (T - W) C (T - W)^T with C the mean of x x^T/d given h*.

    C = h* (Q*^T Q*)^-1 h*^T + sigma^2 (1 - t/d) I: what lies along the teacher is known from h*.
    """
    model, d = samples.model, samples.dimension
    rank = samples.teacher.shape[1]
    across = model.rho * (1 - rank / d) * torch.eye(model.length, device=W.device).double()
    scale = torch.linalg.cholesky(samples.teacher @ samples.teacher.transpose(1, 2))

    def errors(points: Tensor) -> Tensor:
        x = math.sqrt(model.rho) * points
        target_fields = torch.einsum("nlc,btc->btln", x, scale) / math.sqrt(d)
        gap = target_attention(model, target_fields).unsqueeze(1) - W.unsqueeze(-1)
        covariance = torch.einsum("nlc,nmc->lmn", x, x) / d + across.unsqueeze(-1)
        return torch.einsum("bklmn,mcn,bklcn->bkn", gap, covariance, gap) / 2

    return gaussian_mean(errors, (model.length, rank), W.device)
