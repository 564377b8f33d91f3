"""The page is one valid file with every number in it, and nothing of it is taken for markup."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from symattn.errors import ComputationFailed
from tests.verify.made_up import concentration, estimate, result
from verify.judgement import judge_findings
from verify.predictions import Finding, Prediction
from verify.report import write_report
from verify.report.page import summary_sentences

_EMPTY = {"meta", "br", "path", "use", "image", "rect"}


class Outline(HTMLParser):
    """Text and attributes of a page; every element must be closed in its turn."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.open, self.attributes, self.texts = [], [], []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.attributes += [(tag, *pair) for pair in attrs]
        if tag not in _EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.attributes += [(tag, *pair) for pair in attrs]

    def handle_endtag(self, tag):
        if tag not in _EMPTY:
            assert self.open.pop() == tag

    def handle_data(self, data):
        if not {"style", "svg"} & set(self.open):
            self.texts.append(" ".join(data.split()))

    @property
    def text(self):
        return " ".join(filter(None, self.texts))

    def values(self, name):
        return [value for _, attribute, value in self.attributes if attribute == name]


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    out = tmp_path_factory.mktemp("report")
    write_report(result(), out)
    return out


@pytest.fixture(scope="module")
def outline(out):
    return Outline((out / "report.html").read_text(encoding="utf-8"))


def test_all_files_are_there(out):
    names = {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()}
    figures = {
        f"figures/{name}.{kind}"
        for name in ("overlaps", "limits", "concentration")
        for kind in ("png", "svg")
    }
    assert names == {"report.html", "report.json"} | figures


def test_the_numbers_are_those_of_the_result(out):
    assert json.loads((out / "report.json").read_text()) == result().to_dict()


def test_the_same_result_is_the_same_files(out, tmp_path):
    for path in write_report(result(), tmp_path):
        assert path.read_bytes() == (out / path.relative_to(tmp_path)).read_bytes()


def test_the_page_needs_no_other_file(out, outline):
    page = (out / "report.html").read_text(encoding="utf-8")
    assert outline.values("src") == []
    links = outline.values("href") + outline.values("xlink:href")
    assert all(link.startswith("#") for link in links)
    assert all(link.startswith("#") for link in re.findall(r"url\(([^)]*)\)", page))
    assert "@import" not in page
    assert set(re.findall(r'https?://[^"<\s]*', page)) <= {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
    }


def test_ids_are_unique_and_every_link_has_its_target(outline):
    ids = outline.values("id")
    assert len(ids) == len(set(ids))
    references = outline.values("href") + outline.values("xlink:href")
    assert {reference[1:] for reference in references} <= set(ids)


def test_the_summary_comes_first_and_says_what_fails(outline):
    assert outline.text.index("1 of 5 predictions fails.") < outline.text.index("1. Minima")
    assert "probability of at most 0.01. 1 more number is shown without a test." in outline.text
    assert "#positional.m@alpha=1.5" in outline.values("href")


def test_every_prediction_is_shown_with_its_numbers(outline):
    for prediction in result().predictions():
        assert prediction.statement in outline.text
        assert prediction.note in outline.text
        assert prediction.name in outline.values("id")
    row = outline.text[outline.text.index("From the encoding, training ends", 400) :]
    row = row[: row.index("The semantic minimum is lower")]
    for shown in ("0.26031", "± 0.00042", "0.25470000", "± 1.1e-6", "+0.0056", "+7.0", "✗ fails"):
        assert shown in row


@pytest.mark.parametrize(("p", "told"), [(9e-3, True), (1.1e-2, False), (None, False)])
def test_means_that_are_not_linear_in_1_over_d_are_told_of(p, told, out):
    prediction = Prediction(
        name="x",
        statement="It is.",
        symbol="q",
        predicted=1.0,
        measured=replace(estimate(1.0, 0.1), curvature_p=p),
    )
    finding = Finding(title="x", text=(), predictions=(prediction,))
    findings = judge_findings([finding], 0.01)
    write_report(result(findings=findings, discussion=()), out / "curved")
    page = (out / "curved" / "report.html").read_text(encoding="utf-8")
    assert ("the means are not linear in 1/d (p = 0.009)" in page) == told
    assert ("not linear" in page) == told


def test_text_is_escaped(out, outline):
    assert "Names are escaped: <b>x & y</b>." in outline.text
    evil = '"><script>x</script>&'
    finding = Finding(
        title=evil,
        text=(evil,),
        predictions=(
            Prediction(
                name="x",
                statement=evil,
                symbol=evil,
                parameters={evil: evil},
                measured=estimate(1.0, 0.1),
                kind="shown",
                note=evil,
            ),
        ),
    )
    evils = {"device": evil, "suite": evil, "versions": {evil: evil}, "discussion": (evil,)}
    write_report(result(findings=judge_findings([finding], 0.01), **evils), out / "evil")
    page = (out / "evil" / "report.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert Outline(page).text.count(evil) >= 10


def test_it_can_be_read_without_seeing_colours_or_figures(out, outline):
    assert ("html", "lang", "en-GB") in outline.attributes
    drawn = [name for name in outline.values("role") if name == "img"]
    assert len(drawn) == 3
    captions = [figure.caption for finding in result().findings for figure in finding.figures]
    assert set(captions) <= set(outline.values("aria-label"))
    assert set(outline.values("scope")) == {"col", "row"}


@pytest.mark.parametrize(
    ("measured", "words"),
    [
        ([-0.5, -0.5], "All 2 predictions hold."),
        ([-0.5], "The prediction holds."),
        ([], "No prediction was tested."),
        ([3.0, 3.0, -0.5], "2 of 3 predictions fail."),
    ],
)
def test_the_verdict_in_words(measured, words, tmp_path):
    predictions = tuple(
        Prediction(
            name=f"p{i}",
            statement="It is.",
            symbol="x",
            predicted=-0.5,
            measured=estimate(value, 0.05),
        )
        for i, value in enumerate(measured)
    )
    finding = Finding(title="x", text=(), predictions=predictions)
    write_report(result(findings=judge_findings([finding], 0.01)), tmp_path)
    assert words in Outline((tmp_path / "report.html").read_text(encoding="utf-8")).text


def made_of(values, verdicts, shown=0):
    """A result with tests of these measured values, what is checked, and what is shown."""
    said = {"statement": "It is.", "symbol": "x"}
    tests = [
        Prediction(name=f"t{i}", predicted=-0.5, measured=estimate(value, 0.05), **said)
        for i, value in enumerate(values)
    ]
    checks = [
        Prediction(name=f"c{i}", predicted=0.5, kind="checked", verdict=verdict, **said)
        for i, verdict in enumerate(verdicts)
    ]
    others = [Prediction(name=f"s{i}", kind="shown", **said) for i in range(shown)]
    finding = Finding(title="x", text=(), predictions=(*checks, *tests, *others))
    return result(findings=judge_findings([finding], 0.01))


_RATE = "If the theory is right in all of them, any prediction fails with a probability of at most"
_EVERY = "A statement on trained transformers holds if every run satisfies it."


@pytest.mark.parametrize(
    ("values", "verdicts", "shown", "verdict", "worth"),
    [
        ([-0.5], [], 0, "The prediction holds.", f"{_RATE} 0.01."),
        ([3.0], [], 0, "The prediction fails.", f"{_RATE} 0.01."),
        ([], ["holds"], 0, "The statement on trained transformers holds.", _EVERY),
        ([], ["fails"], 0, "The statement on trained transformers fails.", _EVERY),
        (
            [],
            ["holds", "holds"],
            1,
            "All 2 statements on trained transformers hold.",
            f"{_EVERY} 1 more number is shown without a test.",
        ),
        (
            [],
            ["fails", "holds"],
            0,
            "1 of 2 statements on trained transformers fails.",
            _EVERY,
        ),
        (
            [-0.5, -0.5],
            ["fails", "fails", "holds"],
            2,
            "All 2 predictions hold. 2 of 3 statements on trained transformers fail.",
            f"{_RATE} 0.01. {_EVERY} 2 more numbers are shown without a test.",
        ),
        (
            [3.0, -0.5],
            ["holds"],
            0,
            "1 of 2 predictions fails. The statement on trained transformers holds.",
            f"{_RATE} 0.01. {_EVERY}",
        ),
        ([], [], 1, "No prediction was tested.", "1 more number is shown without a test."),
        ([], [], 0, "No prediction was tested.", ""),
    ],
)
def test_tests_and_statements_on_transformers_are_counted_apart(
    values, verdicts, shown, verdict, worth
):
    assert summary_sentences(made_of(values, verdicts, shown)) == (verdict, worth)


@pytest.mark.parametrize(
    ("verdicts", "kind"), [(["holds"], "holds"), (["holds", "fails"], "fails"), ([], "shown")]
)
def test_what_is_checked_is_on_the_page_like_a_test(verdicts, kind, tmp_path):
    made = made_of([], verdicts, shown=1)
    write_report(made, tmp_path)
    page = Outline((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert f"summary {kind}" in page.values("class")
    assert page.text.count("more than 0.5") == len(verdicts)
    links = [f"#c{i}" for i, verdict in enumerate(verdicts) if verdict == "fails"]
    assert page.values("href") == links
    marks = ("✓ holds", "✗ fails", "\N{EN DASH} not tested")
    often = [verdicts.count("holds"), verdicts.count("fails"), 1]
    assert [page.text.count(mark) for mark in marks] == often


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ComputationFailed, match="name a directory that can be written"):
        write_report(result(findings=(concentration(),)), tmp_path / "file")
