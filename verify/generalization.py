"""The test error of given weights at finite d, without drawing sentences in d dimensions."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from verify.gaussian_points import REPLICATES, Mean, gaussian_points, mean_of_replicates
from verify.samples import Samples, softmax_attention, target_attention


def generalization_error(samples: Samples, weights: Tensor) -> Mean:
    """E|y - f_Q(x)|_F^2 / (2 d) over fresh x, given Q and the teacher.

    y - f_Q(x) = (T - S) x - S p. T and S depend on x only by its components along Q, Q* and p,
    k = r + t + L - 1 for each token, which are drawn. The other components are independent of
    these, and their share, sigma^2 (d - k)/(2 d) |T - S|_F^2, is exact.

    Parameters
    ----------
    samples : Samples
        The model, the teachers and the encoding; its inputs play no part.
    weights : Tensor, (B, K, r, d)
        Q of K runs on each training set.

    Returns
    -------
    Mean, of tensors (B, K)
        The same points serve all weights, so differences between weights are more accurate than
        the standard errors say.
    """
    model, d = samples.model, samples.dimension
    sigma, runs = math.sqrt(model.rho), weights.shape[1]
    encoding = samples.encoding.expand(*weights.shape[:2], -1, -1)
    teacher = samples.teacher.unsqueeze(1).expand(-1, runs, -1, -1)
    # The positions sum to 0: all but one of them span all.
    spanning = torch.cat([weights, teacher, encoding[:, :, :-1]], dim=2)
    basis = torch.linalg.qr(spanning.transpose(-2, -1)).Q
    student, teacher, positions = weights @ basis, teacher @ basis, encoding @ basis
    k = basis.shape[-1]
    estimates = []
    for replicate in range(REPLICATES):
        x = sigma * gaussian_points(replicate, (model.length, k), weights.device)
        fields = torch.einsum("nlc,bkrc->bkrln", x, student)
        fields += torch.einsum("bklc,bkrc->bkrl", positions, student).unsqueeze(-1)
        target_fields = torch.einsum("nlc,bktc->bktln", x, teacher)
        attention = softmax_attention(fields / math.sqrt(d))
        gap = target_attention(model, target_fields / math.sqrt(d)) - attention
        along = torch.einsum("bklmn,nmc->bklcn", gap, x)
        along -= torch.einsum("bklmn,bkmc->bklcn", attention, positions)
        across = model.rho * (d - k) * gap.square().sum(dim=(2, 3))
        errors = (across + along.square().sum(dim=(2, 3))) / (2 * d)
        estimates.append(errors.mean(dim=-1))
    return mean_of_replicates(estimates)
