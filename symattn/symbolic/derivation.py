"""A derivation as data: steps with their formulas, reasons, assumptions and machine checks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import sympy as sp

from symattn.symbolic.checks import Outcome
from symattn.symbolic.formats import Format, Latex, Markdown
from symattn.symbolic.size import Size


@dataclass(frozen=True)
class Equation:
    """left = right. left is LaTeX, since it often names what is being defined; right is sympy."""

    left: str
    right: sp.Expr


@dataclass(frozen=True)
class Check:
    """A machine check of a step's formulas.

    method: what is compared with what, in words.
    test: from the right-hand sides to the outcome. It gets them as an argument so that wrong ones
        can be put to it, and computes what it compares with on its own.
    """

    method: str
    test: Callable[[Sequence[sp.Expr]], Outcome]


@dataclass(frozen=True)
class Step:
    """One step of the derivation.

    key: a short name, unique in its derivation.
    title: a heading.
    statement: what is said, in words with LaTeX between dollar signs.
    equations: what is claimed.
    reason: why it follows.
    assumptions: what it needs beyond the steps before it.
    check: the machine check.
    postulate: True where the justification is physics, not mathematics; the check is then one of
        a consequence.
    """

    key: str
    title: str
    statement: str
    equations: tuple[Equation, ...]
    reason: str
    check: Check
    assumptions: tuple[str, ...] = ()
    postulate: bool = False

    @property
    def formulas(self) -> tuple[sp.Expr, ...]:
        """The right-hand sides."""
        return tuple(equation.right for equation in self.equations)

    def verify(self) -> Outcome:
        """Run the check on the step's own formulas."""
        return self.check.test(self.formulas)

    def with_formulas(self, formulas: Sequence[sp.Expr]) -> Step:
        """The same step claiming other right-hand sides."""
        equations = tuple(
            replace(equation, right=right)
            for equation, right in zip(self.equations, formulas, strict=True)
        )
        return replace(self, equations=equations)


@dataclass(frozen=True)
class Chapter:
    """Steps that belong together: what one script of the derivation contributes."""

    title: str
    introduction: str
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Derivation:
    """The chain of steps from the model to the equations that are solved.

    Iterating gives the steps in order; `derivation[key]` is one of them. In a notebook it shows as
    a rendered document.
    """

    size: Size
    chapters: tuple[Chapter, ...]

    def __iter__(self) -> Iterator[Step]:
        return (step for chapter in self.chapters for step in chapter.steps)

    def __getitem__(self, key: str) -> Step:
        for step in self:
            if step.key == key:
                return step
        raise KeyError(key)

    def verify(self) -> dict[str, Outcome]:
        """Run every check; the outcomes by step."""
        return {step.key: step.verify() for step in self}

    def to_markdown(self) -> str:
        """The derivation as Markdown for code hosts, the same bytes every time."""
        return self._written(Markdown(hosted=True))

    def to_latex(self) -> str:
        """The derivation as a LaTeX document, the same bytes every time."""
        return self._written(Latex())

    def _repr_markdown_(self) -> str:
        return self._written(Markdown(hosted=False))

    def _written(self, form: Format) -> str:
        from symattn.symbolic.document import written

        return written(self, form)
