"""The attention weights as sympy functions that differentiate into themselves.

`logistic` and `softmax` stay unexpanded, so a derivative of any order is a polynomial in attention
weights: expressions stay small and common subexpressions are found by name.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import sympy as sp


class logistic(sp.Function):
    r"""logistic(z) = 1/(1 + exp(-z)); its derivative is logistic(z) (1 - logistic(z))."""

    nargs = 1

    @classmethod
    def eval(cls, z: sp.Expr) -> sp.Expr | None:
        return sp.Rational(1, 2) if z.is_zero else None

    def fdiff(self, argindex: int = 1) -> sp.Expr:
        return self * (1 - self)

    def _eval_is_extended_real(self) -> bool | None:
        return self.args[0].is_extended_real

    def _eval_rewrite_as_exp(self, z: sp.Expr, **_: Any) -> sp.Expr:
        return 1 / (1 + sp.exp(-z))

    def _eval_evalf(self, prec: int) -> sp.Expr:
        return self.rewrite(sp.exp)._eval_evalf(prec)

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        power = "" if exp is None else f"^{{{exp}}}"
        return rf"\varsigma{power}\left({printer._print(self.args[0])}\right)"


class softmax(sp.Function):
    r"""softmax(k, z_1, ..., z_L) = exp(z_k) / sum_j exp(z_j), with k counted from 1.

    The derivative with respect to z_j is softmax_k (delta_kj - softmax_j).
    """

    def fdiff(self, argindex: int = 2) -> sp.Expr:
        if argindex < 2:
            raise sp.ArgumentIndexError(self, argindex)
        index, *logits = self.args
        other = argindex - 1
        return self * (int(index == other) - softmax(other, *logits))

    def _eval_is_extended_real(self) -> bool | None:
        return sp.And(*[z.is_extended_real for z in self.args[1:]]) == sp.true

    def _eval_rewrite_as_exp(self, index: sp.Integer, *logits: sp.Expr, **_: Any) -> sp.Expr:
        chosen = logits[int(index) - 1]
        return 1 / sum(sp.exp(z - chosen) for z in logits)

    def _eval_evalf(self, prec: int) -> sp.Expr:
        return self.rewrite(sp.exp)._eval_evalf(prec)

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        power = "" if exp is None else f"^{{{exp}}}"
        index, *logits = self.args
        inner = ", ".join(printer._print(z) for z in logits)
        return rf"\mathrm{{softmax}}_{{{index}}}{power}\left({inner}\right)"


class mean(sp.Function):
    """The mean over the channel of its argument: notation, which `inside` takes off again."""

    nargs = 1

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        power = "" if exp is None else f"^{{{exp}}}"
        return rf"\mathbb{{E}}\left[{printer._print(self.args[0])}\right]{power}"


def expectation(polynomial: sp.Expr, random: Collection[sp.Symbol]) -> sp.Expr:
    """The mean of a polynomial in random symbols, in terms of means of its monomials."""
    terms = sp.Add.make_args(sp.expand(polynomial))
    parts = (term.as_independent(*random, as_Add=False) for term in terms)
    return sp.Add(*(known * (mean(x) if x != 1 else x) for known, x in parts))


def inside(expression: sp.Expr) -> sp.Expr:
    """An expression linear in means, as the integrand whose mean it is."""
    return expression.replace(mean, lambda integrand: integrand)
