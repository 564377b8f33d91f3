"""The rendered derivation: complete, displayable, and the same everywhere."""

import re

import pytest
import sympy as sp

import derivations
from symattn.symbolic import Size
from symattn.symbolic import symbols as y
from symattn.symbolic.document import REFERENCES, labels, resolved
from symattn.symbolic.formats import Latex, Markdown
from symattn.symbolic.latex import broken, formula, name

SIZES = [Size(), Size(3), Size(2, 2, 2)]


@pytest.fixture(scope="module", params=SIZES, ids=lambda size: size.tag)
def derivation(request):
    return derivations.derivation(request.param)


def test_every_step_is_shown_with_reason_and_check(derivation):
    text = derivation.to_markdown()
    form, numbers = Markdown(hosted=True), labels(derivation)
    for step in derivation:
        assert f" {step.title}" in text
        for said in (step.statement, step.reason, *step.assumptions, step.check.method):
            assert form.prose(resolved(said, numbers)) in text
    assert text.count("```math") == text.count("\\tag{") == len(list(derivation))


def test_equations_are_numbered_by_chapter_and_step(derivation):
    tags = re.findall(r"\\tag\{(\d+)\.(\d+)\}", derivation.to_markdown())
    expected = [
        (str(number), str(place))
        for number, chapter in enumerate(derivation.chapters, start=1)
        for place, _ in enumerate(chapter.steps, start=1)
    ]
    assert tags == expected


def test_references_to_equations_are_by_name_and_all_resolved(derivation):
    # A number that is written by hand would be wrong after a step more.
    for step in derivation:
        said = [step.statement, step.reason, *step.assumptions, step.check.method]
        assert not re.search(r"\(\d+\.\d+\)|[Cc]hapters? \d", " ".join(said))
    assert "@" not in derivation.to_markdown()
    with pytest.raises(KeyError, match="no_such_step"):
        resolved("as in (@no_such_step)", labels(derivation))


def test_every_reference_is_cited_and_every_citation_is_listed():
    cited = re.findall(r"\[(\d+(?:, \d+)*)\]", derivations.derivation(Size()).to_markdown())
    places = {int(place) for group in cited[: -len(REFERENCES)] for place in group.split(", ")}
    assert places == set(range(1, len(REFERENCES) + 1))


def test_mathematics_uses_only_what_code_hosts_display(derivation):
    text = derivation.to_markdown()
    # These hosts refuse \operatorname; a name of the code in a formula was forgotten.
    unwanted = re.compile(
        r"operatorname|_star|_hat|(?<![\\a-z])(theta|alpha|sigma|minor|tau|delta|nu|sheet|Gamma)\b"
        r"|\b(lam|label|descent|resolvent)\b"
    )
    for block in re.findall(r"```math\n(.*?)```", text, flags=re.DOTALL):
        assert not unwanted.search(block)
        assert block.count("{") == block.count("}")
        assert block.count("\\left") == block.count("\\right")
    assert text.count("$") % 2 == 0


def test_inline_mathematics_survives_the_markdown_of_code_hosts(derivation):
    # Between dollar signs alone they take the backslash off `\\,`; with backticks they do not.
    prose = re.sub(r"```math\n.*?```", "", derivation.to_markdown(), flags=re.DOTALL)
    outside = re.sub(r"\$`[^`$]+`\$", "", prose)
    assert "$" not in outside
    assert "\\" not in outside
    for row in re.findall(r"^\|.*\|$", prose, flags=re.MULTILINE):
        assert row.count("|") == 3


def test_a_notebook_gets_double_dollars(derivation):
    text = derivation._repr_markdown_()
    assert "```" not in text
    assert text.count("$$") == 2 * len(list(derivation))
    assert "$`" not in text


# Everything that the LaTeX document may use: article, amsmath and amssymb have it.
COMMANDS = set(
    re.findall(
        r"\w+",
        """
        documentclass usepackage setlength textwidth oddsidemargin textheight topmargin parindent
        parskip allowdisplaybreaks sloppy title date begin end maketitle section subsection item
        emph texttt textbf textbackslash textasciitilde textasciicircum textless textgreater
        textquotedbl text left right big Big bigl bigr Bigl Bigr quad qquad tag frac tfrac sqrt bar
        hat tilde dot mathbb mathbf mathcal mathrm boldsymbol alpha beta gamma delta epsilon
        varepsilon zeta eta theta kappa lambda mu nu xi pi rho varrho sigma varsigma tau phi varphi
        chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega ell star top dagger nabla
        partial cdot times otimes pm mp mapsto to iff infty int sum prod exp ln log lim det max min
        sup inf vert Vert lvert rvert mid in notin ne neq le leq ge geq ll gg sim approx equiv
        propto dots ldots cdots langle rangle
        """,
    )
)


def test_latex_uses_only_what_plain_packages_have(derivation):
    text = derivation.to_latex()
    assert set(re.findall(r"\\([A-Za-z]+)", text)) <= COMMANDS
    assert re.findall(r"\\usepackage(?:\[.*\])?\{(.*)\}", text) == ["fontenc", "amsmath,amssymb"]
    # What T1 fonts have.
    assert text.encode("latin-1")


def test_latex_is_balanced(derivation):
    text = derivation.to_latex()
    stack = []
    for kind, environment in re.findall(r"\\(begin|end)\{(.*?)\}", text):
        if kind == "begin":
            stack.append(environment)
        else:
            assert stack.pop() == environment
    assert stack == []
    prose = re.sub(r"\\begin\{align\*\}\n(.*?)\\end\{align\*\}", "", text, flags=re.DOTALL)
    assert len(re.findall(r"(?<!\\)\$", prose)) % 2 == 0
    assert "`" not in prose
    blocks = re.findall(r"\\begin\{align\*\}\n(.*?)\n\\end\{align\*\}", text, flags=re.DOTALL)
    assert len(blocks) == len(list(derivation))
    for block in blocks:
        assert "\n\n" not in block
        for line in block.split(" \\\\\n"):
            # TeX keeps what is between these together, so they may not be pulled apart.
            assert line.count("&") == 1
            assert line.count("{") == line.count("}")
            assert line.count("\\left") == line.count("\\right")
            assert not line.startswith("[")
        assert block.count("\\Bigl") == block.count("\\Bigr")


def test_latex_has_every_step(derivation):
    text = derivation.to_latex()
    for step in derivation:
        assert f"{step.title}" in text
        assert Latex().prose(resolved(step.check.method, labels(derivation))) in text


@pytest.mark.parametrize(
    ("prose", "markdown", "latex"),
    [
        ("a $x\\,y$ b", "a $`x\\,y`$ b", "a $x\\,y$ b"),
        ("`a_b` & 5 %", "`a_b` & 5 %", r"\texttt{a\_b} \& 5 \%"),
        ("*Why:* so", "*Why:* so", r"\emph{Why:} so"),
        ("**all** of it", "**all** of it", r"\textbf{all} of it"),
        (
            "- one\n- $x$",
            "- one\n- $`x`$",
            "\\begin{itemize}\n\\item one\n\\item $x$\n\\end{itemize}",
        ),
    ],
)
def test_prose_in_either_format(prose, markdown, latex):
    assert Markdown(hosted=True).prose(prose) == markdown
    assert Latex().prose(prose) == latex


def test_a_bar_in_a_table_is_no_cell():
    table = Markdown(hosted=True).table(("a", "b"), [("$|x|$", r"$\|y\|$")])
    assert table.splitlines()[-1] == r"| $`\vert x\vert `$ | $`\Vert y\Vert `$ |"


def test_long_formulas_are_broken_before_signs():
    terms = [sp.Symbol(f"x_{k}") * (sp.Symbol("y") - k) for k in range(1, 9)]
    whole = formula(sp.Add(*terms))
    assert broken(whole, width=200) == [whole]
    lines = broken(whole, width=30)
    assert len(lines) > 2
    assert " ".join(lines) == whole
    assert all(line[:2] in ("+ ", "- ") for line in lines[1:])


def test_brackets_that_are_broken_have_a_fixed_size():
    whole = formula(sp.Symbol("z") * sp.Add(*(sp.Symbol(f"x_{k}") for k in range(1, 20))))
    lines = broken(whole, width=30)
    assert lines[0].startswith(r"z \Bigl(x_{1} + ")
    assert lines[-1].endswith(r"\Bigr)")
    assert len(lines) > 1


@pytest.mark.parametrize(
    ("symbol", "latex"),
    [
        (y.rectangular("theta", 2, 2)[0, 1], r"\theta_{12}"),
        (y.fields("x", 3, 1)[1], "x_{2}"),
        (y.fields("m_hat", 2, 2)[1, 0], r"\hat m_{21}"),
        (y.square("s", 3)[0, 2], "S_{13}"),
        (y.symmetric("gram", 3)[1, 2], "G_{23}"),
        (y.l_uv, r"\ell_{uv}"),
        (y.s11, "S_{11}"),
        (y.alpha, r"\alpha"),
        (y.u_star, r"u^\star"),
        (y.s, "s"),
    ],
)
def test_names_of_symbols(symbol, latex):
    assert name(symbol) == latex


def test_terms_with_a_minus_sign_come_last():
    assert formula(y.t11 - y.s11) == "T_{11} - S_{11}"
