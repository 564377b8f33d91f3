"""LaTeX for the symbols and formulas of the theory."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import sympy as sp
from sympy.printing.latex import LatexPrinter

NAMES: Mapping[str, str] = {
    "alpha": r"\alpha",
    "sigma": r"\sigma",
    "lam": r"\lambda",
    "omega": r"\omega",
    "beta": r"\beta",
    "log_channel": r"\mathbb{E}[\ln\mathcal{Z}]",
    "log_hessian": r"\mathbb{E}[\ln\det(I+V\,\mathrm{Hess}\,\ell)]",
    "curvature2": r"\mathbb{E}|K|_F^2",
    "loss_1": r"\ell'",
    "loss_2": r"\ell''",
    "loss_3": r"\ell^{(3)}",
    "loss_4": r"\ell^{(4)}",
    "u_star": r"u^\star",
    "v_star": r"v^\star",
    "a_mean": r"\bar a",
    "b_mean": r"\bar b",
    "loss": r"\ell",
    "envelope": r"\mathbb{E}[M]",
    "det": r"\Delta",
    "tau": r"\tau",
    "delta": r"\delta",
    "H_uu": "H_{uu}",
    "H_uv": "H_{uv}",
    "K_uu": "K_{uu}",
    "K_uv": "K_{uv}",
    "K_vv": "K_{vv}",
    "sheet": r"a_\pm",
    "label": "y",
    "k": r"\gamma",
    "D_u": "Y_u",
    "D_v": "Y_v",
    "nu": r"\nu",
    "response": r"\mathcal{R}",
    "jump_g2": r"[\,|g|^2\,]",
    "jump_x": r"|[x]|",
    "jump_response": "j",
    "loss_at_prox": r"\mathbb{E}[\ell(x^\star)]",
    "e_g2": r"\mathbb{E}|g|^2",
    "e_gm": r"\mathbb{E}[g_1-g_2]",
    "e_div": r"\mathbb{E}[\mathrm{div}_w\, g]",
    "e_gh": r"\mathbb{E}[g\cdot h^\star]",
    "e_dh": r"\mathbb{E}[\mathrm{div}_{h^\star} g]",
    "resolvent": r"D^{-1}",
    "source": "B",
}

BASES: Mapping[str, str] = {
    "theta": r"\theta",
    "chi": r"\chi",
    "q_tilde": r"\tilde q",
    "m_tilde": r"\tilde m",
    "chi_tilde": r"\tilde\chi",
    "theta_tilde": r"\tilde\theta",
    "q_hat": r"\hat q",
    "m_hat": r"\hat m",
    "V_hat": r"\hat V",
    "theta_hat": r"\hat\theta",
    "w_mean": r"\bar w",
    "h": r"h^\star",
    "gram": "G",
    "cov": "C",
    "l": r"\ell",
    "d": "P",
    "s": "S",
    "t": "T",
    "a": "A",
    "z": "z",
    "r": "R",
    "minor": r"\Delta",
    "kappa": r"\kappa",
    "score": r"\ln N",
    "slope": "S'",
    "bend": "S''",
    "source": "B",
    "resolvent": r"(D^{-1})",
    "e_gg": r"\mathbb{E}[g g^\top]",
    "e_g": r"\mathbb{E}[g]",
    "e_div": r"\mathbb{E}[\partial g/\partial w]",
    "e_gh": r"\mathbb{E}[g h^{\star\top}]",
    "e_dh": r"\mathbb{E}[\partial g/\partial h^\star]",
    "descent": r"\Xi",
    "Gamma": r"\Gamma",
    "Pi": r"\Pi",
}


def name(symbol: sp.Symbol) -> str:
    """LaTeX of a symbol, from its name: its base, its derivative and its indices."""
    text = symbol.name
    if text in NAMES:
        return NAMES[text]
    if text in BASES and text not in ("a", "s", "t", "d", "l", "r"):
        return BASES[text]
    slope = re.fullmatch(r"(.+)_by_(.+)|(score)_(.+)", text)
    if slope:
        of, by = (x for x in slope.groups() if x)
        return rf"\frac{{\partial {name(sp.Symbol(of))}}}{{\partial {name(sp.Symbol(by))}}}"
    derivative = re.fullmatch(r"([a-z]+)(\d*)_([uv]+)", text)
    if derivative and derivative[1] in ("l", "kappa"):
        return rf"{BASES[derivative[1]]}_{{{derivative[3]}}}"
    if derivative and derivative[2]:
        return rf"{BASES[derivative[1]]}_{{{derivative[2]},{derivative[3]}}}"
    second = re.fullmatch(r"dd_(\d)_(\d)(\d)", text)
    if second:
        return rf"P^{{({second[1]})}}_{{{second[2]}{second[3]}}}"
    indexed = re.fullmatch(r"([A-Za-z_]+?)_?(\d+)(?:_(\d+))?", text)
    if indexed:
        base = BASES.get(indexed[1], indexed[1])
        indices = indexed[2] if indexed[3] is None else f"{indexed[2]},{indexed[3]}"
        return f"{base}_{{{indices}}}"
    return text


def formula(expression: sp.Expr) -> str:
    """LaTeX of an expression."""
    expression = sp.sympify(expression)
    scalar = sp.Symbol("D", positive=True)
    shown = expression.xreplace({sp.Symbol("resolvent", real=True): 1 / scalar})
    names = {symbol: name(symbol) for symbol in shown.free_symbols}
    return _Printer({"symbol_names": names, "ln_notation": True}).doprint(shown)


# Breaks before a sign; brackets, and braces, inside of which TeX cannot break.
_TOKENS = re.compile(r"(\\left.|\\right.|(?<!\\)[{}]|(?<= )[+-] )")
_MARKUP = re.compile(r"\\(?:left|right|frac|hat|bar|star|mathbb|mathrm)|[{}^_ ]|(\\[A-Za-z]+)")


def broken(text: str, width: int) -> list[str]:
    """LaTeX of a formula in lines of about so many characters, broken before + and -.

    Where a sum in brackets is too long for a line, its brackets get a fixed size instead of
    `\\left` and `\\right`, which TeX keeps together.
    """
    pieces = _terms(text)
    while any(visible_width(piece) > width for piece in pieces):
        longest = max((x for x in pieces if r"\left" in x), key=visible_width, default="")
        opened = _opened(longest) if visible_width(longest) > width else longest
        if opened == longest:
            break
        text = text.replace(longest, opened, 1)
        pieces = _terms(text)
    lines = [pieces[0]]
    for piece in pieces[1:]:
        if visible_width(lines[-1] + piece) > width:
            lines.append(piece)
        else:
            lines[-1] += piece
    return [line.strip() for line in lines]


def _terms(text: str) -> list[str]:
    """The text cut before every sign that is in no bracket."""
    pieces, depth = [""], 0
    for token in _TOKENS.split(text):
        if token == "{" or token.startswith(r"\left"):
            depth += 1
        elif token == "}" or token.startswith(r"\right"):
            depth -= 1
        elif token in ("+ ", "- ") and depth == 0 and pieces[-1].strip():
            pieces.append("")
        pieces[-1] += token
    return pieces


def _opened(text: str) -> str:
    """The text with the longest of its outermost brackets in a fixed size."""
    depth, start, brackets = 0, 0, []
    tokens = _TOKENS.split(text)
    for place, token in enumerate(tokens):
        if token == "{" or token.startswith(r"\left"):
            start = place if depth == 0 else start
            depth += 1
        elif token == "}" or token.startswith(r"\right"):
            depth -= 1
            if depth == 0 and tokens[start].startswith(r"\left"):
                brackets.append((visible_width("".join(tokens[start:place])), start, place))
    if not brackets:
        return text
    _, start, end = max(brackets)
    tokens[start] = tokens[start].replace(r"\left", r"\Bigl")
    tokens[end] = tokens[end].replace(r"\right", r"\Bigr")
    return "".join(tokens)


def visible_width(text: str) -> int:
    """About how many characters wide a formula is."""
    return len(_MARKUP.sub(lambda found: "x" if found[1] else "", text))


class _Printer(LatexPrinter):
    """sympy's LaTeX, with the terms of a sum that carry a minus sign last."""

    def _as_ordered_terms(self, expr: sp.Expr, order: Any = None) -> list[sp.Expr]:
        terms = super()._as_ordered_terms(expr, order=order)
        return sorted(terms, key=lambda term: term.could_extract_minus_sign())
