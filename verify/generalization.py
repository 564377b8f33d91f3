"""The test error of given weights at finite d, without drawing sentences in d dimensions."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from verify.gaussian_rule import Mean, gaussian_mean
from verify.samples import Samples, softmax_attention, target_attention


def generalization_error(samples: Samples, weights: Tensor) -> Mean:
    """E|y - f_Q(x)|_F^2 / (2 d) over fresh x, given Q and the teacher.

    y - f_Q(x) = (T - S) x - S p. T and S depend on x only by its components along Q and Q*,
    k = r + t for each token, which are drawn. The other components are independent of these and
    of mean 0, so that their share, (sigma^2 (d - k) |T - S|_F^2 + |S p|^2 there)/(2 d), is exact.

    Parameters
    ----------
    samples : Samples
        The model, the teachers and the encoding; its inputs play no part.
    weights : Tensor, (B, K, r, d)
        Q of K runs on each training set.

    Returns
    -------
    Mean, of tensors (B, K)
    """
    model, d = samples.model, samples.dimension
    sigma, runs = math.sqrt(model.rho), weights.shape[1]
    encoding = samples.encoding.expand(*weights.shape[:2], -1, -1)
    teacher = samples.teacher.unsqueeze(1).expand(-1, runs, -1, -1)
    # The positions sum to 0: all but one of them span all.
    spanning = torch.cat([weights, teacher, encoding[:, :, :-1]], dim=2)
    basis = torch.linalg.qr(spanning.transpose(-2, -1)).Q
    student, teacher, positions = weights @ basis, teacher @ basis, encoding @ basis
    shift = torch.einsum("bklc,bkrc->bkrl", positions, student).unsqueeze(-1)
    k = model.student_rank + model.target_rank

    def errors(points: Tensor) -> Tensor:
        x = sigma * points
        fields = (torch.einsum("nlc,bkrc->bkrln", x, student[..., :k]) + shift) / math.sqrt(d)
        target_fields = torch.einsum("nlc,bktc->bktln", x, teacher[..., :k]) / math.sqrt(d)
        attention = softmax_attention(fields)
        gap = target_attention(model, target_fields) - attention
        along = -torch.einsum("bklmn,bkmc->bklcn", attention, positions)
        along[:, :, :, :k] += torch.einsum("bklmn,nmc->bklcn", gap, x)
        across = model.rho * (d - k) * gap.square().sum(dim=(2, 3))
        return (across + along.square().sum(dim=(2, 3))) / (2 * d)

    return gaussian_mean(errors, (model.length, k), weights.device)
