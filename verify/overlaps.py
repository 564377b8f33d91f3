"""The overlaps of trained weights with themselves, the positions and the teacher."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from symattn.errors import InvalidInput
from verify.samples import Samples


class ScalarOverlaps(NamedTuple):
    """q, m and theta at L = 2, r = t = 1, each of shape (B, K).

    q = sigma^2 |Q|^2/d, m = p_1.Q/sqrt(d) = -p_2.Q/sqrt(d), theta = sigma^2 Q.Q*/d, with their
    signs: the risk does not change with that of Q, and only |m| and |theta| are comparable with
    the theory.
    """

    q: Tensor
    m: Tensor
    theta: Tensor


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MeasuredOverlaps:
    """Overlaps of K runs on each of B training sets.

    Attributes
    ----------
    q : Tensor, (B, K, r, r)
        sigma^2 Q^T Q/d.
    m : Tensor, (B, K, L, r)
        p_l.Q/sqrt(d).
    theta : Tensor, (B, K, r, t)
        sigma^2 Q^T Q*/d.
    """

    q: Tensor
    m: Tensor
    theta: Tensor

    def scalars(self) -> ScalarOverlaps:
        """The overlaps as numbers.

        Raises
        ------
        InvalidInput
            Unless L = 2 and r = t = 1.
        """
        length, rank = self.m.shape[2:]
        if length != 2:
            raise InvalidInput.of("length", length, "2 for overlaps that are numbers")
        if rank != 1:
            raise InvalidInput.of("student_rank", rank, "1 for overlaps that are numbers")
        if self.theta.shape[3] != 1:
            raise InvalidInput.of(
                "target_rank", self.theta.shape[3], "1 for overlaps that are numbers"
            )
        return ScalarOverlaps(q=self.q[..., 0, 0], m=self.m[..., 0, 0], theta=self.theta[..., 0, 0])


def measured_overlaps(samples: Samples, weights: Tensor) -> MeasuredOverlaps:
    """The overlaps of Q of shape (B, K, r, d), columns of Q by rows."""
    d, rho = samples.dimension, samples.model.rho
    return MeasuredOverlaps(
        q=torch.einsum("bkrd,bksd->bkrs", weights, weights) * (rho / d),
        m=torch.einsum("ld,bkrd->bklr", samples.encoding, weights) / math.sqrt(d),
        theta=torch.einsum("bkrd,btd->bkrt", weights, samples.teacher) * (rho / d),
    )
