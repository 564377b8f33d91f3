"""Matrices over n replicas that every permutation of the replicas keeps, for symbolic n."""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp

from symattn.symbolic import symbols as y
from symattn.symbolic.channel import determinant


@dataclass(frozen=True)
class ReplicaMatrix:
    """1_n (x) own + 1 1^T (x) shared: `shared` in every block, and `own` added on the diagonal.

    own, shared: r x r blocks, symmetric. On vectors that sum to zero over the replicas the matrix
    acts as `own`, on those that are the same in all of them as `total` = own + n shared.
    """

    own: sp.MatrixBase
    shared: sp.MatrixBase

    @property
    def total(self) -> sp.Matrix:
        """own + n shared."""
        return sp.Matrix(self.own + y.n * self.shared)

    def trace_with(self, other: ReplicaMatrix) -> sp.Expr:
        """Tr of the product with another matrix over the same replicas."""
        apart = (self.own * other.own).trace()
        return sp.expand((y.n - 1) * apart + (self.total * other.total).trace())

    def log_determinant(self) -> sp.Expr:
        """ln det = (n - 1) ln det own + ln det total."""
        return (y.n - 1) * sp.log(determinant(self.own)) + sp.log(determinant(self.total))

    def summed_inverse_with(self, block: sp.MatrixBase) -> sp.Expr:
        """Tr of the inverse times `block` in every place: n Tr total^-1 block."""
        total = self.total
        return y.n * (total.adjugate() * block).trace() / determinant(total)

    def trace_slope(self, other: ReplicaMatrix) -> sp.Expr:
        """d/dn of `trace_with` at n = 0."""
        own, shared = self.own, self.shared
        return sp.expand((own * other.own + own * other.shared + shared * other.own).trace())
