"""What an experiment says: predictions of the theory beside measurements, in words and figures."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from symattn._frozen import FrozenMapping
from symattn.errors import InvalidInput
from verify.statistics import Estimate

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

Kind: TypeAlias = Literal["two-sided", "one-sided", "checked", "shown"]
Verdict: TypeAlias = Literal["holds", "fails", "shown"]
Parameters: TypeAlias = Mapping[str, float | str]

_SLUG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.,@=+-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """One number of the theory and its measurement.

    Attributes
    ----------
    name : str
        Such as `semantic.theta@alpha=1.5`, the only one of that name in a suite.
    statement : str
        What is predicted, a sentence.
    symbol : str
        Of the number.
    parameters : mapping
        Model and sample complexity that it holds for.
    predicted : float or None
        The theory's value, None where it has none.
    predicted_error : float
        Bound of its error.
    measured : Estimate or None
        None where nothing could be measured or compared; `note` says why.
    kind : str
        `two-sided`: the number is as predicted. `one-sided`: it is larger than that. `checked`: it
        is larger than that in every run, which says nothing about the theory; whoever makes it
        gives the verdict. `shown`: it is no test of the theory, and is not judged.
    note : str
        What a reader must know to judge it, such as an approximation.
    jump_share : float or None
        The part of V_hat that jumps of the prox make in the theory, by modulus: 0 where replica
        symmetry can be exact, None where it is not known.
    verdict : str or None
        None before it is judged (`verify.judgement`), which also sets what follows, but for what is
        `checked`.
    p, z : float or None
        p-value, and the deviation in units of a normal's standard deviation. For `one-sided`, p is
        that of the value being larger, and z positive where it is.
    smallest_seen : float or None
        The smallest deviation that would have been found: what holds within a wide interval says
        little.
    """

    name: str
    statement: str
    symbol: str
    parameters: Parameters = field(default_factory=lambda: FrozenMapping({}))
    predicted: float | None = None
    predicted_error: float = 0.0
    measured: Estimate | None = None
    kind: Kind = "two-sided"
    note: str = ""
    jump_share: float | None = None
    verdict: Verdict | None = None
    p: float | None = None
    z: float | None = None
    smallest_seen: float | None = None

    def __post_init__(self) -> None:
        _require_slug(self.name)
        numbers = [self.predicted, self.predicted_error]
        if self.measured is not None:
            numbers += [self.measured.value, self.measured.error]
        if not all(number is None or math.isfinite(number) for number in numbers):
            raise InvalidInput.of(f"prediction {self.name}", numbers, "finite numbers")
        if self.tested and not self.comparable:
            raise InvalidInput.of(
                f"kind of {self.name}", self.kind, "shown where value or measurement is missing"
            )

    @property
    def tested(self) -> bool:
        """Whether it is a statistical test of the theory."""
        return self.kind in ("one-sided", "two-sided")

    @property
    def exceeds(self) -> bool:
        """Whether `predicted` is a bound, and the number is said to be larger."""
        return self.kind in ("one-sided", "checked")

    @property
    def comparable(self) -> bool:
        """Whether there are both a predicted and a measured number."""
        return self.predicted is not None and self.measured is not None

    @property
    def deviation(self) -> float | None:
        """Measured minus predicted."""
        if self.predicted is None or self.measured is None:
            return None
        return self.measured.value - self.predicted

    def to_dict(self) -> dict[str, Any]:
        """The prediction as JSON has it."""
        return {
            "name": self.name,
            "statement": self.statement,
            "symbol": self.symbol,
            "parameters": dict(self.parameters),
            "kind": self.kind,
            "predicted": self.predicted,
            "predicted_error": self.predicted_error,
            "measured": None if self.measured is None else self.measured.to_dict(),
            "deviation": self.deviation,
            "p": self.p,
            "z": self.z,
            "smallest_seen": self.smallest_seen,
            "verdict": self.verdict,
            "note": self.note,
            "jump_share": self.jump_share,
        }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Figure:
    """A figure of the report.

    Attributes
    ----------
    name : str
        Of its files.
    caption : str
        What it shows and what to see in it; also what is read out in its place.
    drawing : matplotlib Figure
    """

    name: str
    caption: str
    drawing: Drawing

    def __post_init__(self) -> None:
        _require_slug(self.name)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Finding:
    """The result of one experiment.

    Attributes
    ----------
    title : str
    text : tuple of str
        Paragraphs.
    predictions : tuple of Prediction
    figures : tuple of Figure
    failure : str
        Why measurements lead to no result, if so.
    """

    title: str
    text: tuple[str, ...] = ()
    predictions: tuple[Prediction, ...] = ()
    figures: tuple[Figure, ...] = ()
    failure: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The finding as JSON has it; figures by name and caption."""
        return {
            "title": self.title,
            "text": list(self.text),
            "predictions": [prediction.to_dict() for prediction in self.predictions],
            "figures": [{"name": f.name, "caption": f.caption} for f in self.figures],
            "failure": self.failure or None,
        }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SuiteResult:
    """What a run of a suite of experiments found, judged.

    Attributes
    ----------
    suite : str
        Its name.
    seed : int
        That every random number of the run came from.
    device : str
        That trained.
    parameters : mapping
        Of the run: sizes, tolerances.
    versions : mapping
        Package to version.
    started, finished : str
        Date and time.
    seconds : float
        Of work, that of all processes and of interrupted runs together.
    family_rate : float
        Probability with which a true theory fails in any prediction of the suite, at most.
    findings : tuple of Finding
    discussion : tuple of str
        Paragraphs.
    """

    suite: str
    seed: int
    device: str
    parameters: Parameters
    versions: Mapping[str, str]
    started: str
    finished: str
    seconds: float
    family_rate: float
    findings: tuple[Finding, ...]
    discussion: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        names = [f"prediction {p.name}" for p in self.predictions()]
        names += [f"figure {figure.name}" for f in self.findings for figure in f.figures]
        for name, count in Counter(names).items():
            if count > 1:
                raise InvalidInput.of("findings", name, "the only one of its name")

    def predictions(self, verdict: Verdict | None = None) -> Iterator[Prediction]:
        """All predictions, or those of one verdict, in the order of the findings."""
        for finding in self.findings:
            for prediction in finding.predictions:
                if verdict is None or prediction.verdict == verdict:
                    yield prediction

    def failures(self) -> list[str]:
        """Why the findings that have no result have none."""
        return [f"{found.title}: {found.failure}" for found in self.findings if found.failure]

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON has it."""
        counts = Counter(p.verdict for p in self.predictions())
        return {
            "suite": self.suite,
            "seed": self.seed,
            "device": self.device,
            "parameters": dict(self.parameters),
            "versions": dict(self.versions),
            "started": self.started,
            "finished": self.finished,
            "seconds": self.seconds,
            "family_rate": self.family_rate,
            "summary": {verdict: counts[verdict] for verdict in ("holds", "fails", "shown")},
            "findings": [finding.to_dict() for finding in self.findings],
            "discussion": list(self.discussion),
        }


def _require_slug(name: str) -> None:
    if not _SLUG.fullmatch(name):
        raise InvalidInput.of("name", name, "letters, digits and _ . , @ = + - (not at the start)")
