"""The report as one page of HTML that needs nothing beside it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape

from symattn._numbers import with_error
from verify.predictions import Finding, Prediction, SuiteResult
from verify.report.style import STYLE
from verify.statistics import CURVED

_MARKS = {"holds": "✓ holds", "fails": "✗ fails", "shown": "&ndash; not tested"}

_COLUMNS = ("measured", "predicted", "deviation", "z", "verdict", "detectable")

_PROLOGUE = re.compile(r"^.*?(?=<svg)|<metadata>.*?</metadata>", re.DOTALL)
_SIZE = re.compile(r'(<svg[^>]*?) width="[^"]*"')
_HEIGHT = re.compile(r'(<svg[^>]*?) height="[^"]*"')
_IDLE_ZEROS = re.compile(r"(?<=e)([+-])0+")
_REFERENCE = re.compile(r'(\bid="|href="#|url\(#)')

_METHOD = (
    "A measured number is the limit of large dimension d, where there are several dimensions: the "
    "seeds' numbers are fitted by a + b/d, and by control variates of known mean, by least squares "
    "with weights d, and the number is a. Where there is one dimension it is the mean there. Its "
    "error is one standard error, from the scatter over the seeds by Student's t.",
    "The deviation is measured minus predicted, and z is it in standard deviations of a normal "
    "variable of the same p-value. A deviation counts as far as it goes beyond the error of the "
    "prediction.",
    "All tested predictions are one family for the method of Holm and Bonferroni, which holds "
    "whatever the dependence between them. The last column is the smallest deviation that would "
    "have failed: where it is large, that a prediction holds says little. What is not tested has "
    "no sharp prediction, and is shown for orientation.",
)


def page(result: SuiteResult, drawings: Mapping[str, str]) -> str:
    """The page; `drawings` has the SVG of every figure by name."""
    title = f"symattn verify: {result.suite}"
    parts = [
        f"<h1>{escape(title)}</h1>",
        f'<p class="faint">{escape(result.finished)}, seed {result.seed}, '
        f"{escape(result.device)}</p>",
        _summary(result),
    ]
    for number, finding in enumerate(result.findings, start=1):
        parts += _finding(number, finding, drawings)
    if result.discussion:
        parts += ["<h2>Discussion</h2>", *_paragraphs(result.discussion)]
    parts += _run(result)
    body = "\n".join(parts)
    return (
        '<!DOCTYPE html>\n<html lang="en-GB">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n"
        f"<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def summary_sentences(result: SuiteResult) -> tuple[str, str]:
    """How many predictions hold, and what that is worth."""
    judged = [p for p in result.predictions() if p.verdict in ("holds", "fails")]
    tests = [p for p in judged if p.tested]
    checks = [p for p in judged if not p.tested]
    verdict = " ".join(
        _how_many(kind, of)
        for kind, of in (("prediction", tests), ("statement on trained transformers", checks))
        if of
    )
    worth = ""
    if tests:
        worth = (
            f"If the theory is right in all of them, any prediction fails with a probability of at "
            f"most {result.family_rate:g}. "
        )
    if checks:
        worth += "A statement on trained transformers holds if every run satisfies it. "
    if shown := len(list(result.predictions("shown"))):
        are = "number is" if shown == 1 else "numbers are"
        worth += f"{shown} more {are} shown without a test."
    return verdict or "No prediction was tested.", worth.strip()


def _how_many(kind: str, judged: Sequence[Prediction]) -> str:
    failed = sum(prediction.verdict == "fails" for prediction in judged)
    noun, _, rest = kind.partition(" ")
    if len(judged) == 1:
        return f"The {kind} {'fails' if failed else 'holds'}."
    several = f"{noun}s {rest}".strip()
    if failed == 0:
        return f"All {len(judged)} {several} hold."
    return f"{failed} of {len(judged)} {several} {'fails' if failed == 1 else 'fail'}."


def _summary(result: SuiteResult) -> str:
    verdict, rate = summary_sentences(result)
    failed = list(result.predictions("fails"))
    kind = "holds" if any(result.predictions("holds")) else "shown"
    if failed or result.failures():
        kind = "fails"
    items = "".join(
        f'<li><a href="#{escape(p.name)}">{escape(p.statement)}</a></li>' for p in failed
    )
    listed = f"<p>What fails:</p><ul>{items}</ul>" if failed else ""
    without = "".join(f"<li>{escape(failure)}</li>" for failure in result.failures())
    listed += f"<p>Without a result:</p><ul>{without}</ul>" if without else ""
    return (
        f'<section class="summary {kind}" aria-label="Summary"><p>{escape(verdict)}</p>'
        f"{listed}<p>{escape(rate)}</p></section>"
    )


def _finding(number: int, finding: Finding, drawings: Mapping[str, str]) -> list[str]:
    parts = [f"<h2>{number}. {escape(finding.title)}</h2>", *_paragraphs(finding.text)]
    if finding.failure:
        parts.append(f'<p class="verdict fails">No result: {escape(finding.failure)}</p>')
    if finding.predictions:
        head = "".join(f'<th scope="col">{name}</th>' for name in ("prediction", *_COLUMNS))
        shared = _shared(finding.predictions)
        rows = "\n".join(_row(prediction, shared) for prediction in finding.predictions)
        caption = f"<caption>{_listed(shared)}</caption>\n" if shared else ""
        parts.append(
            f"<table>\n{caption}<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>"
        )
    for figure in finding.figures:
        caption = escape(figure.caption)
        parts.append(
            f"<figure>{_inline(drawings[figure.name], figure.name, caption)}"
            f"<figcaption>{caption}</figcaption></figure>"
        )
    return parts


def _shared(predictions: Sequence[Prediction]) -> dict[str, float | str]:
    """The parameters that all of them have in common."""
    first = predictions[0].parameters
    return {
        name: value
        for name, value in first.items()
        if all(p.parameters.get(name) == value for p in predictions)
    }


def _listed(parameters: Mapping[str, float | str]) -> str:
    return escape(", ".join(f"{name} = {value}" for name, value in parameters.items()))


def _row(prediction: Prediction, shared: Mapping[str, float | str]) -> str:
    own = {n: value for n, value in prediction.parameters.items() if n not in shared}
    notes = [text for text in (_listed(own), escape(prediction.note), _curved(prediction)) if text]
    statement = f"{escape(prediction.statement)} <em>{escape(prediction.symbol)}</em>"
    statement += "".join(f'<span class="note">{note}</span>' for note in notes)
    verdict = prediction.verdict or "shown"
    cells = (
        _measured(prediction),
        _predicted(prediction),
        _signed(prediction.deviation),
        "" if prediction.z is None else f"{prediction.z:+.1f}".replace("-", "&minus;"),
        f'<span class="verdict {verdict}">{_MARKS[verdict]}</span>',
        "" if prediction.smallest_seen is None else _short(prediction.smallest_seen),
    )
    columns = "".join(
        f'<td data-label="{name}"><span>{cell or "&ndash;"}</span></td>'
        for name, cell in zip(_COLUMNS, cells, strict=True)
    )
    return f'<tr id="{escape(prediction.name)}"><th scope="row">{statement}</th>{columns}</tr>'


def _curved(prediction: Prediction) -> str:
    p = prediction.measured.curvature_p if prediction.measured is not None else None
    return "" if p is None or p >= CURVED else f"the means are not linear in 1/d (p = {p:.1g})"


def _measured(prediction: Prediction) -> str:
    if prediction.measured is None:
        return ""
    return _number(prediction.measured.value, prediction.measured.error)


def _predicted(prediction: Prediction) -> str:
    if prediction.predicted is None:
        return ""
    if not prediction.exceeds:
        return _number(prediction.predicted, prediction.predicted_error)
    if prediction.predicted_error == 0:
        return f"more than {prediction.predicted:g}"
    return "more than " + _number(prediction.predicted, prediction.predicted_error)


def _number(value: float, error: float) -> str:
    shown, bound = with_error(value, error)
    mark = bound if bound == "exact" else f"± {_short(float(bound))}"
    return f'{shown} <span class="error">{mark}</span>'


def _short(value: float) -> str:
    """A number >= 0 to two figures, or to whole units; without an exponent where that is short."""
    if value == 0:
        return "0"
    if 9.95 <= value < 1e5:
        return f"{value:.0f}"
    return _IDLE_ZEROS.sub(r"\1", f"{value:#.2g}")


def _signed(value: float | None) -> str:
    if value is None:
        return ""
    return ("&minus;" if value < 0 else "+") + _short(abs(value))


def _run(result: SuiteResult) -> list[str]:
    facts = {
        "suite": result.suite,
        "seed": str(result.seed),
        "device": result.device,
        "started": result.started,
        "finished": result.finished,
        "work of all processes": _duration(result.seconds),
        **{name: str(value) for name, value in result.parameters.items()},
    }
    return [
        "<h2>How it was run</h2>",
        _facts(facts),
        "<h3>Versions</h3>",
        _facts(result.versions),
        "<h3>How numbers are judged</h3>",
        *_paragraphs(_METHOD),
    ]


def _facts(facts: Mapping[str, str]) -> str:
    items = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in facts.items()
    )
    return f"<dl>{items}</dl>"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def _paragraphs(texts: Iterable[str]) -> list[str]:
    return [f"<p>{escape(text)}</p>" for text in texts]


def _inline(svg: str, name: str, description: str) -> str:
    """An SVG file as an element of the page: it scales, and its ids are its own."""
    element = _PROLOGUE.sub("", svg)
    element = _HEIGHT.sub(r"\1", _SIZE.sub(r"\1", element, count=1), count=1)
    element = _REFERENCE.sub(rf"\g<1>{name}-", element)
    return element.replace("<svg", f'<svg role="img" aria-label="{description}"', 1).strip()
