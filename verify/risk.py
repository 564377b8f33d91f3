"""The training risk of many students at once, from the local fields and Gram matrices alone."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from verify.samples import Samples, softmax_attention


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Risk:
    """sum_mu |y_mu - f_Q(x_mu)|_F^2 / (2 d) + (lambda / 2) |Q|_F^2 for K runs on each training set.

    Runs on one training set may differ in lambda and in the number of samples used, and share the
    passes over the tokens: a pass costs little more for ten runs than for one.

    Attributes
    ----------
    samples : Samples
        Of B seeds.
    lam : Tensor, (K,)
        lambda of each run.
    counts : Tensor, (K,)
        The number of samples, from the first on, that each run is trained on.
    """

    samples: Samples
    lam: Tensor
    counts: Tensor

    @classmethod
    def of(cls, samples: Samples, runs: int) -> Risk:
        """The risk of `runs` students with the model's lambda and all samples."""
        device = samples.teacher.device
        return cls(
            samples=samples,
            lam=torch.full((runs,), samples.model.lam, dtype=torch.float64, device=device),
            counts=torch.full((runs,), samples.count, dtype=torch.int64, device=device),
        )

    def part(self, sets: Tensor, runs: Tensor) -> Risk:
        """The risk of these runs on these training sets, both by index."""
        samples = self.samples
        if len(sets) < len(samples.seeds):
            samples = samples.of_sets(sets)
        return Risk(samples=samples, lam=self.lam[runs], counts=self.counts[runs])

    def fields(self, weights: Tensor) -> Tensor:
        """h = (x + p) Q / sqrt(d): (B, K, r, L, n) for Q of shape (B, K, r, d)."""
        s = self.samples
        batch, runs, rank, d = weights.shape
        rows = s.tokens.reshape(batch, -1, d)
        columns = weights.reshape(batch, runs * rank, d).to(s.tokens.dtype).transpose(1, 2)
        product = (rows @ columns).transpose(1, 2).double() / math.sqrt(d)
        return product.reshape(batch, runs, rank, s.model.length, s.count)

    def pull_back(self, gradients: Tensor) -> Tensor:
        """sum (x + p)^T g / sqrt(d) over samples and tokens: (B, K, r, d) for g like `fields`."""
        s = self.samples
        batch, runs, rank = gradients.shape[:3]
        rows = s.tokens.reshape(batch, -1, s.dimension)
        columns = gradients.reshape(batch, runs * rank, -1).to(s.tokens.dtype)
        product = (columns @ rows).double() / math.sqrt(s.dimension)
        return product.reshape(batch, runs, rank, s.dimension)

    def losses(self, fields: Tensor) -> tuple[Tensor, Tensor]:
        """Every sample's loss |y - f|_F^2 / (2 d), and its gradient by the local fields.

        Samples that a run is not trained on count 0.

        Returns
        -------
        losses : Tensor, (B, K, n)
        gradients : Tensor, (B, K, r, L, n)
        """
        s = self.samples
        used = torch.arange(s.count, device=fields.device) < self.counts.unsqueeze(1)
        attention = softmax_attention(fields)
        slope = -s.correlation.unsqueeze(1)  # by the attention matrix
        for token in range(s.model.length):
            slope = slope + attention[:, :, :, token, None] * s.gram[:, None, None, token]
        twice = s.power.unsqueeze(1) + (attention * (slope - s.correlation.unsqueeze(1))).sum(
            (2, 3)
        )
        losses = torch.where(used, twice / 2, 0.0)
        centred = slope - (attention * slope).sum(dim=-2, keepdim=True)
        by_logits = torch.where(used[:, None, None], attention * centred, 0.0)
        both = (by_logits + by_logits.transpose(-3, -2)).unsqueeze(2)
        gradients = torch.zeros_like(fields)
        for token in range(s.model.length):
            gradients += both[..., token, :] * fields[..., token, None, :]
        return losses, gradients

    def value_and_gradient(self, weights: Tensor) -> tuple[Tensor, Tensor]:
        """The risk (B, K) and its gradient by Q (B, K, r, d), for Q of that shape."""
        losses, gradients = self.losses(self.fields(weights))
        lam = self.lam[:, None, None]
        value = losses.sum(dim=-1) + self.lam / 2 * (weights**2).sum(dim=(2, 3))
        return value, self.pull_back(gradients) + lam * weights
