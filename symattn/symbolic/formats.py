"""How a document is written: Markdown for code hosts and notebooks, and LaTeX.

Prose comes with mathematics between dollar signs, code between backticks and emphasis between
asterisks; a paragraph whose lines start with a dash is a list.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Protocol

from symattn.symbolic.latex import broken, visible_width

# About how many characters of a formula fit on a line of a page.
_LINE = 90

_SPANS = re.compile(r"(`[^`]*`|\$[^$]*\$|\*\*?[^*]+\*\*?)")


class Format(Protocol):
    """The parts that a document is put together from, joined by blank lines."""

    def document(self, title: str, parts: Sequence[str]) -> str: ...

    def chapter(self, title: str, number: str) -> str: ...

    def step(self, title: str, number: str) -> str: ...

    def section(self, title: str) -> str: ...

    def prose(self, text: str) -> str: ...

    def table(self, head: tuple[str, str], rows: Sequence[tuple[str, str]]) -> str: ...

    def equations(self, pairs: Sequence[tuple[str, str]], label: str) -> str: ...

    def items(self, lines: Sequence[str]) -> str: ...


class Markdown:
    """Markdown. hosted: for code hosts; otherwise for a notebook.

    Code hosts take the backslash off before punctuation, as in `\\,`, inside dollar signs, but not
    inside dollar signs with backticks, nor in fenced blocks. Notebooks only know dollar signs.
    """

    def __init__(self, *, hosted: bool) -> None:
        self._hosted = hosted

    def document(self, title: str, parts: Sequence[str]) -> str:
        return "\n\n".join([f"# {title}", *parts]) + "\n"

    def chapter(self, title: str, number: str) -> str:
        return self.section(f"{number}. {title}")

    def step(self, title: str, number: str) -> str:
        return f"### {number} {self.prose(title)}"

    def section(self, title: str) -> str:
        return f"## {self.prose(title)}"

    def prose(self, text: str) -> str:
        return _by_span(text, math=self._inline)

    def table(self, head: tuple[str, str], rows: Sequence[tuple[str, str]]) -> str:
        lines = [" | ".join(map(self._cell, row)) for row in (head, *rows)]
        lines.insert(1, "---|---")
        return "\n".join(f"| {line} |" if line != "---|---" else f"|{line}|" for line in lines)

    def equations(self, pairs: Sequence[tuple[str, str]], label: str) -> str:
        body = f"\\begin{{aligned}}\n{_aligned(pairs)}\n\\end{{aligned}} \\tag{{{label}}}"
        return f"```math\n{body}\n```" if self._hosted else f"$$\n{body}\n$$"

    def items(self, lines: Sequence[str]) -> str:
        return "\n".join(f"- {self.prose(line)}" for line in lines)

    def _inline(self, formula: str) -> str:
        return f"$`{formula}`$" if self._hosted else f"${formula}$"

    def _cell(self, text: str) -> str:
        """A bar would end the cell, even inside mathematics."""
        return self.prose(text.replace(r"\|", r"\Vert ").replace("|", r"\vert "))


class Latex:
    """LaTeX that needs nothing but article, amsmath and amssymb."""

    _ESCAPED = str.maketrans(
        {
            **{character: f"\\{character}" for character in "&%#_{}"},
            "\\": r"\textbackslash{}",
            "~": r"\textasciitilde{}",
            "^": r"\textasciicircum{}",
            "$": r"\$",
            "<": r"\textless{}",
            ">": r"\textgreater{}",
            '"': r"\textquotedbl{}",
        }
    )

    _HEAD = r"""\documentclass[a4paper]{article}
\usepackage[T1]{fontenc}
\usepackage{amsmath,amssymb}
\setlength{\textwidth}{17cm}
\setlength{\oddsidemargin}{-0.5cm}
\setlength{\textheight}{24cm}
\setlength{\topmargin}{-1.5cm}
\setlength{\parindent}{0pt}
\setlength{\parskip}{0.6em}
\allowdisplaybreaks
\sloppy"""

    def document(self, title: str, parts: Sequence[str]) -> str:
        title = rf"\title{{{self.prose(title)}}}"
        begin = "\\date{}\n\\begin{document}\n\\maketitle"
        return "\n\n".join([self._HEAD, f"{title}\n{begin}", *parts, r"\end{document}"]) + "\n"

    def chapter(self, title: str, number: str) -> str:
        return rf"\section*{{{number}. {self.prose(title)}}}"

    def step(self, title: str, number: str) -> str:
        return rf"\subsection*{{{number} {self.prose(title)}}}"

    def section(self, title: str) -> str:
        return rf"\section*{{{self.prose(title)}}}"

    def prose(self, text: str) -> str:
        """Paragraphs; those of lines with dashes become lists."""
        return "\n\n".join(map(self._paragraph, text.split("\n\n")))

    def table(self, head: tuple[str, str], rows: Sequence[tuple[str, str]]) -> str:
        """A list of the rows, which may go over a page; head is not shown."""
        lines = [rf"\item[{{{self.prose(left)}}}] {self.prose(right)}" for left, right in rows]
        return "\n".join([r"\begin{description}", *lines, r"\end{description}"])

    def equations(self, pairs: Sequence[tuple[str, str]], label: str) -> str:
        # amsmath takes no blank line inside, and no line break after the last line.
        return f"\\begin{{align*}}\n{_aligned(pairs)} \\tag{{{label}}}\n\\end{{align*}}"

    def items(self, lines: Sequence[str]) -> str:
        items = [rf"\item {self.prose(line)}" for line in lines]
        return "\n".join([r"\begin{itemize}", *items, r"\end{itemize}"])

    def _paragraph(self, text: str) -> str:
        if text.startswith("- "):
            return self.items([item.removeprefix("- ") for item in re.split(r"\n(?=- )", text)])
        return _by_span(
            text,
            plain=lambda part: part.translate(self._ESCAPED),
            code=lambda part: rf"\texttt{{{part.translate(self._ESCAPED)}}}",
            emphasis=lambda part: rf"\emph{{{self._paragraph(part)}}}",
            strong=lambda part: rf"\textbf{{{self._paragraph(part)}}}",
            math=lambda part: f"${part}$",
        )


def _by_span(
    text: str,
    *,
    plain: Callable[[str], str] = lambda part: part,
    code: Callable[[str], str] = lambda part: f"`{part}`",
    emphasis: Callable[[str], str] = lambda part: f"*{part}*",
    strong: Callable[[str], str] = lambda part: f"**{part}**",
    math: Callable[[str], str],
) -> str:
    """Prose with each kind of span turned into something else."""
    result = []
    for part in _SPANS.split(text):
        if part.startswith("`"):
            result.append(code(part[1:-1]))
        elif part.startswith("$"):
            result.append(math(part[1:-1]))
        elif part.startswith("**") and part.endswith("**"):
            result.append(strong(part[2:-2]))
        elif part.startswith("*") and len(part) > 1:
            result.append(emphasis(part[1:-1]))
        else:
            result.append(plain(part))
    return "".join(result)


def _aligned(pairs: Sequence[tuple[str, str]]) -> str:
    """Lines left = right, aligned at the sign; long right-hand sides go over several lines."""
    lines = []
    for left, right in pairs:
        room = max(_LINE - visible_width(left), _LINE // 2)
        first, *others = broken(right, room)
        # A bracket here would be taken for an option.
        guarded = f"{{}}{left}" if left.startswith("[") else left
        lines += [f"{guarded} &= {first}", *(rf"&\quad {{}} {other}" for other in others)]
    return " \\\\\n".join(lines)
