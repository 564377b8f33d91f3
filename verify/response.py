"""The response of a trained layer of rank one: the Hessian of its risk, and what it says of V.

In the theory V = sigma^2 Tr(Hessian^-1)/d, a number that state evolution predicts. Here the Hessian
is that of a finite layer.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from symattn.errors import ComputationFailed, InvalidInput
from verify.risk import Risk
from verify.samples import softmax_attention


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """What the spectrum of the Hessian at a minimum says of the order parameters.

    Attributes
    ----------
    V : float
        sigma^2 Tr(Hessian^-1)/d.
    V_hat : float
        (sigma^2/V - lambda)/sigma^2.
    replicon : float
        V^2/(sigma^4 Tr(Hessian^-2)/d), 1 - alpha V^2 E|dg/dw|^2 in the theory. Above 0 at every
        minimum; near 0 where the spectrum reaches down to 0.
    """

    V: float
    V_hat: float
    replicon: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Hessian:
    """Second derivatives of the risk at some Q.

    Attributes
    ----------
    matrix : Tensor, (d, d)
    eigenvalues : Tensor, (d,)
        Ascending.
    rho, lam : float
        sigma^2 and lambda of the risk.
    """

    matrix: Tensor
    eigenvalues: Tensor
    rho: float
    lam: float

    def response(self) -> Response:
        """V, its conjugate and the replicon.

        Raises
        ------
        ComputationFailed
            Unless all eigenvalues are positive.
        """
        least = float(self.eigenvalues[0])
        if least <= 0:
            raise ComputationFailed(
                f"response: the Hessian has the eigenvalue {least:.3g}, so this is no minimum of "
                "the risk; try training to a smaller gradient, or from another start"
            )
        V = self.rho * float((1 / self.eigenvalues).mean())
        square = self.rho**2 * float((1 / self.eigenvalues**2).mean())
        return Response(V=V, V_hat=1 / V - self.lam / self.rho, replicon=V**2 / square)

    def stiffness_along(self, direction: Tensor) -> float:
        """1/(e^T Hessian^-1 e) for the unit vector e along `direction`, of shape (d,).

        The curvature of the risk along e after the other directions have followed. Where Q = 0
        becomes unstable towards e, it passes through 0.
        """
        e = direction / torch.linalg.vector_norm(direction)
        return 1 / float(e @ torch.linalg.solve(self.matrix, e))


def risk_hessian(risk: Risk, weights: Tensor, *, seed: int, run: int) -> Hessian:
    """The Hessian by Q of one run on one training set; takes O(L n d^2 + d^3).

    Parameters
    ----------
    risk : Risk
    weights : Tensor, (B, K, 1, d)
        Q of all runs, of which one is looked at.
    seed, run : int
        Its place among the B training sets and the K runs.

    Raises
    ------
    InvalidInput
        When r > 1: rotations of the columns of Q leave the risk as it is, and the Hessian is
        singular.
    """
    s = risk.samples
    if weights.shape[2] != 1:
        raise InvalidInput.of("student_rank", weights.shape[2], "1 for a response to be measured")
    count = int(risk.counts[run])
    tokens = s.tokens[seed, :, :count].double()
    fields = risk.fields(weights)[seed, run, 0, :, :count]
    curvatures = field_hessians(
        fields, s.gram[seed, :, :, :count], s.correlation[seed, :, :, :count]
    )
    d, lam = s.dimension, float(risk.lam[run])
    matrix = lam * torch.eye(d, dtype=torch.float64, device=tokens.device)
    for token, row in zip(tokens, curvatures, strict=True):
        matrix += token.T @ (row.unsqueeze(-1) * tokens).sum(dim=0) / d
    return Hessian(
        matrix=matrix, eigenvalues=torch.linalg.eigvalsh(matrix), rho=s.model.rho, lam=lam
    )


def field_hessians(fields: Tensor, gram: Tensor, correlation: Tensor) -> Tensor:
    """Second derivatives of every sample's loss |y - f|_F^2/(2 d) by its L local fields.

    With A = softmax(h h^T), B the derivative of the loss by the logits and g_l = sum_m (B_lm +
    B_ml) h_m its gradient, this is the derivative of g along each of the L fields.

    Parameters
    ----------
    fields : Tensor, (L, n)
    gram, correlation : Tensor, (L, L, n)
        (x + p)(x + p)^T/d and y (x + p)^T/d.

    Returns
    -------
    Tensor, (L, L, n)
    """
    attention = softmax_attention(fields.unsqueeze(0))
    slope = torch.einsum("lcn,cmn->lmn", attention, gram) - correlation
    centred = slope - (attention * slope).sum(dim=1, keepdim=True)
    by_logits = attention * centred
    # From here on the first axis is the field by which is derived.
    unit = torch.eye(len(fields), dtype=fields.dtype, device=fields.device)
    logits = torch.einsum("kl,mn->klmn", unit, fields)
    logits = logits + logits.transpose(1, 2)
    moved = attention * (logits - (attention * logits).sum(dim=2, keepdim=True))
    moved_slope = torch.einsum("klcn,cmn->klmn", moved, gram)
    moved_mean = (moved * slope + attention * moved_slope).sum(dim=2, keepdim=True)
    moved_by_logits = moved * centred + attention * (moved_slope - moved_mean)
    both = moved_by_logits + moved_by_logits.transpose(1, 2)
    return by_logits + by_logits.transpose(0, 1) + torch.einsum("klmn,mn->kln", both, fields)
