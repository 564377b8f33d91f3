"""The rendered derivation: complete, displayable, and the same everywhere."""

import re

import pytest

import derivations
from symattn.symbolic import Size
from symattn.symbolic import symbols as y
from symattn.symbolic.latex import formula, name

SIZES = [Size(), Size(3), Size(2, 2, 2)]


@pytest.fixture(scope="module", params=SIZES, ids=lambda size: size.tag)
def derivation(request):
    return derivations.derivation(request.param)


def test_every_step_is_shown_with_reason_and_check(derivation):
    text = derivation.to_markdown()
    for step in derivation:
        assert f" {step.title}" in text
        assert step.reason in text
        assert step.check.method in text
    assert text.count("```math") == text.count("\\tag{") == len(list(derivation))


def test_equations_are_numbered_by_chapter_and_step(derivation):
    tags = re.findall(r"\\tag\{(\d+)\.(\d+)\}", derivation.to_markdown())
    expected = [
        (str(number), str(place))
        for number, chapter in enumerate(derivation.chapters, start=1)
        for place, _ in enumerate(chapter.steps, start=1)
    ]
    assert tags == expected


def test_mathematics_uses_only_what_code_hosts_display(derivation):
    text = derivation.to_markdown()
    # These hosts refuse \operatorname; a name of the code in a formula was forgotten.
    unwanted = re.compile(
        r"operatorname|_star|_hat|(?<![\\a-z])(theta|alpha|sigma|minor)|\blam\b|resolvent"
    )
    for block in re.findall(r"```math\n(.*?)```", text, flags=re.DOTALL):
        assert not unwanted.search(block)
        assert block.count("{") == block.count("}")
        assert block.count("\\left") == block.count("\\right")
    assert text.count("$") % 2 == 0


def test_a_notebook_gets_double_dollars(derivation):
    text = derivation._repr_markdown_()
    assert "```" not in text
    assert text.count("$$") == 2 * len(list(derivation))


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
