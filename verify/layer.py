"""The attention layer as one would write it in torch: the reference for what is faster."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from verify.samples import Samples, target_attention


class AttentionLayer(nn.Module):
    """f_Q(x) = softmax((x + p) Q Q^T (x + p)^T / d) (x + p), for sentences of L tokens.

    Parameters
    ----------
    weights : Tensor, (d, r)
        Where Q starts; it is copied.
    encoding : Tensor, (L, d)
        p, by rows.

    Attributes
    ----------
    Q : Parameter, (d, r)
    encoding : Tensor, (L, d)
    """

    encoding: Tensor

    def __init__(self, weights: Tensor, encoding: Tensor) -> None:
        super().__init__()
        self.Q = nn.Parameter(weights.detach().clone())
        self.register_buffer("encoding", encoding)

    def forward(self, x: Tensor) -> Tensor:
        """f_Q(x), of the shape (.., L, d) of x."""
        z = x + self.encoding
        h = z @ self.Q / math.sqrt(x.shape[-1])
        attention: Tensor = torch.softmax(h @ h.transpose(-2, -1), dim=-1)
        return attention @ z


def layer_risk(layer: AttentionLayer, x: Tensor, y: Tensor, lam: float) -> Tensor:
    """sum_mu |y_mu - f_Q(x_mu)|_F^2 / (2 d) + (lambda / 2) |Q|_F^2 for x and y of (n, L, d)."""
    misfit: Tensor = (y - layer(x)).square().sum() / (2 * x.shape[-1])
    return misfit + lam / 2 * layer.Q.square().sum()


def inputs_and_labels(samples: Samples, index: int) -> tuple[Tensor, Tensor]:
    """x and y = T[x Q*/sqrt(d)] x of the training set `index`, each of shape (n, L, d)."""
    x = (samples.tokens[index].double() - samples.encoding.unsqueeze(1)).transpose(0, 1)
    target = target_attention(samples.model, samples.target_fields[index])
    return x, target.permute(2, 0, 1) @ x
