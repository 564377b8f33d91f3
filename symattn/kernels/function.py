"""A kernel before it is printed: arguments, named steps, results, and their lowering to statements.

Lowering shares common subexpressions across all results and orders the statements; printing in a
back end's language is left to `symattn.kernels.printers`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sympy as sp


@dataclass(frozen=True)
class Kernel:
    """One generated function.

    name: its name in every back end.
    arguments: scalars, in order.
    steps: named intermediate values, each an expression in arguments and earlier steps.
    results: returned values, named, each an expression in arguments, steps and earlier results; a
        single one is returned bare, several as a tuple.
    doc: the docstring, with the equation.
    """

    name: str
    arguments: tuple[sp.Symbol, ...]
    steps: tuple[tuple[sp.Symbol, sp.Expr], ...]
    results: tuple[tuple[sp.Symbol, sp.Expr], ...]
    doc: str

    def expressions(self) -> list[sp.Expr]:
        """The results in terms of the arguments alone."""
        known: dict[sp.Symbol, sp.Expr] = {}
        for name, value in (*self.steps, *self.results):
            known[name] = value.xreplace(known)
        return [known[name] for name, _ in self.results]


Statement = tuple[sp.Symbol, sp.Expr]


@dataclass(frozen=True)
class Lowered:
    """A kernel as statements in an order that can run, and the values it returns."""

    kernel: Kernel
    statements: tuple[Statement, ...]
    results: tuple[sp.Expr, ...]


def lower(kernel: Kernel) -> Lowered:
    """Share common subexpressions, and order the statements.

    Shared values are named c0, c1, ... and stand just before their first use.
    """
    named = [*kernel.steps, *kernel.results]
    shared, reduced = sp.cse(
        [value for _, value in named],
        symbols=(sp.Symbol(f"c{i}") for i in range(10**6)),
        order="canonical",
    )
    # Naming -x or 2 x would hide more than it shares.
    bare: dict[sp.Symbol, sp.Expr] = {}
    for name, value in shared:
        if _is_multiple_of_symbol(value):
            bare[name] = value.xreplace(bare)
    # A shared value that has a name of its own already goes by that name.
    known = dict(shared)
    own: dict[sp.Symbol, sp.Symbol] = {}
    for (name, _), value in zip(named, reduced, strict=True):
        if value in known and value not in bare:
            own.setdefault(value, name)
    bare = {name: value.xreplace(own) for name, value in bare.items()}
    renaming = {**bare, **own}
    definitions = {
        own.get(name, name): value.xreplace(renaming) for name, value in shared if name not in bare
    }
    reduced = [value.xreplace(renaming) for value in reduced]
    definitions.update(
        {name: value for (name, _), value in zip(named, reduced, strict=True) if name != value}
    )
    order: list[Statement] = []
    done: set[sp.Symbol] = set(kernel.arguments)

    def emit(name: sp.Symbol) -> None:
        if name in done:
            return
        done.add(name)
        for symbol in sorted(definitions[name].free_symbols, key=lambda x: _place(x, kernel)):
            emit(symbol)
        order.append((name, definitions[name]))

    for name, _ in kernel.steps:
        emit(name)
    if len(kernel.results) == 1:
        (result,) = reduced[len(kernel.steps) :]
        for symbol in sorted(result.free_symbols, key=lambda x: _place(x, kernel)):
            emit(symbol)
        return _renamed(kernel, order, [result])
    for name, _ in kernel.results:
        emit(name)
    return _renamed(kernel, order, [name for name, _ in kernel.results])


def _is_multiple_of_symbol(value: sp.Expr) -> bool:
    coefficient, factor = value.as_coeff_Mul()
    return bool(coefficient.is_Rational and factor.is_Symbol)


def _place(symbol: sp.Symbol, kernel: Kernel) -> tuple[int, int, str]:
    names = [name for name, _ in kernel.steps]
    if symbol in names:
        return (0, names.index(symbol), "")
    return (1, len(symbol.name), symbol.name)


def _renamed(
    kernel: Kernel, statements: Sequence[Statement], results: Sequence[sp.Expr]
) -> Lowered:
    """Number the shared values in the order in which they appear."""
    shared = [name for name, _ in statements if name.name[0] == "c" and name.name[1:].isdigit()]
    fresh = {old: sp.Symbol(f"c{i}") for i, old in enumerate(shared)}
    return Lowered(
        kernel,
        tuple((fresh.get(name, name), value.xreplace(fresh)) for name, value in statements),
        tuple(value.xreplace(fresh) for value in results),
    )
