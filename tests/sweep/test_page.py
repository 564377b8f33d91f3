"""The page has the numbers of the data set, needs nothing from elsewhere, and escapes its texts."""

import json
import math
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from symattn import InvalidInput
from symattn._numbers import with_error
from symattn.sweep.page import page
from symattn.sweep.page_map import LEFT, SIDE, TOP, marked_up, plain, ticks
from tests.sweep import planted

BRANCHES = ("semantic", "positional")
NUMBERS = ("q", "m", "V", "theta", "train_loss", "test_error")
MAPS = ("train_loss", "test_error")
# Elements that HTML does not close.
VOID = ("meta", "br", "hr", "img", "input", "link")


class Parsed(HTMLParser):
    """Elements with their attributes and the map they are in; the text of elements with an id."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.texts, self.open = [], {}, []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        within = [a["id"] for t, a in self.open if t == "svg" and "id" in a]
        self.elements.append((tag, attributes, within[-1] if within else None))
        if tag not in VOID:
            self.open.append((tag, attributes))

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        self.handle_endtag(tag)

    def handle_endtag(self, tag):
        opened, _ = self.open.pop()
        assert opened == tag

    def handle_data(self, text):
        for _, attributes in self.open:
            if "id" in attributes:
                self.texts[attributes["id"]] = self.texts.get(attributes["id"], "") + text

    def of(self, tag, **wanted):
        return [
            attributes
            for name, attributes, _ in self.elements
            if name == tag and all(attributes.get(k) == v for k, v in wanted.items())
        ]


@pytest.fixture(scope="module")
def text():
    return page(planted.dataset())


@pytest.fixture(scope="module")
def parsed(text):
    return Parsed(text)


@pytest.fixture(scope="module")
def contents(parsed):
    return json.loads(parsed.texts["data"])


def test_every_element_is_closed_and_ids_are_there_once(parsed):
    assert parsed.open == []
    ids = [attributes["id"] for _, attributes, _ in parsed.elements if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_axes_are_numbers(contents):
    assert (contents["x"]["name"], contents["y"]["name"]) == ("alpha", "omega")
    assert contents["x"]["values"] == list(planted.ALPHAS)
    assert contents["y"]["values"] == list(planted.OMEGAS)
    assert contents["x"]["texts"][1] == "0.7"


def test_every_number_is_there_with_its_error_and_null_where_there_is_none(contents):
    for branch in BRANCHES:
        for row, omega in enumerate(planted.OMEGAS):
            for column, alpha in enumerate(planted.ALPHAS):
                status = planted.status(branch, alpha, omega)
                table = {k: v[row][column] for k, v in contents["branches"][branch].items()}
                assert table["status"] == [status, ""]
                if status != "found":
                    assert {table[name] for name in (*NUMBERS, "stability")} == {None}
                    continue
                values = planted.numbers(branch, alpha, omega)
                for name in NUMBERS:
                    shown, error = table[name]
                    if values[name] == 0:
                        assert (shown, error) == ("0", "exact")
                        continue
                    assert error.startswith("± ")
                    bound = float(error.removeprefix("± "))
                    assert abs(float(shown) - values[name]) <= bound <= 1.6e-6 * abs(values[name])
                growth = planted.growth(branch, alpha, omega)
                assert table["stability"][0] == ("unstable" if growth > 1 else "stable")
                assert table["stability"][1] == f"growth {growth:.3g}"


def test_the_baseline_is_there(contents):
    for row, omega in enumerate(planted.OMEGAS):
        for text in contents["linear_test_error"][row]:
            assert float(text) == pytest.approx(planted.linear_test_error(omega), rel=1e-9)


def test_the_verdict_names_the_branch_with_the_lower_training_loss(contents):
    seen = set()
    for row, omega in enumerate(planted.OMEGAS):
        for column, alpha in enumerate(planted.ALPHAS):
            found = [b for b in BRANCHES if planted.status(b, alpha, omega) == "found"]
            if len(found) == 2:
                lower = "positional" if alpha < planted.alpha_c(omega) else "semantic"
                wanted = f"Lower training loss: {lower}"
            elif found:
                wanted = f"Only the {found[0]} branch is found here"
            else:
                wanted = "Neither branch is found here"
            assert contents["verdicts"][contents["verdict"][row][column]] == wanted
            seen.add(wanted)
    assert len(seen) == 5


def test_losses_closer_than_their_errors_are_equal():
    data = planted.dataset(found=lambda *_: True)
    data["train_loss"][:] = 1.0
    data["train_loss_error"][:] = 1e-6
    data["train_loss"][0, 0, :3] += np.array([1.9e-6, 2.1e-6, -2.1e-6])
    contents = json.loads(Parsed(page(data)).texts["data"])
    equal, lower = "Training losses equal within their errors", "Lower training loss:"
    assert [contents["verdicts"][k] for k in contents["verdict"][0][:4]] == [
        equal, f"{lower} positional", f"{lower} semantic", equal
    ]  # fmt: skip


def in_map(parsed, name, tag):
    return [a for element, a, within in parsed.elements if within == name and element == tag]


def squares(path):
    """Column and row of each cell of a path."""
    columns, rows = len(planted.ALPHAS), len(planted.OMEGAS)
    corners = np.array(re.findall(r"M([\d.]+),([\d.]+)h", path), dtype=float)
    across, down = np.round((corners - [LEFT, TOP]) / SIDE * [columns, rows]).astype(int).T
    return list(zip(across.tolist(), (rows - 1 - down).tolist(), strict=True))


@pytest.mark.parametrize(
    ("name", "slope", "threshold", "needed"),
    [
        ("train_loss", -0.0013, planted.alpha_c, BRANCHES),
        ("test_error", -0.0006, planted.alpha_l, BRANCHES[:1]),
    ],
)
def test_every_cell_has_the_colour_of_its_sign_or_the_hatch_of_its_lack(
    name, slope, threshold, needed, parsed
):
    filled, hatched = {}, {}
    for path in in_map(parsed, name, "path"):
        if path.get("fill", "").startswith("#"):
            color = tuple(int(path["fill"][k : k + 2], 16) for k in (1, 3, 5))
            filled |= dict.fromkeys(squares(path["d"]), color)
        elif path.get("fill", "").startswith("url("):
            hatched.setdefault(path["fill"][5 + len(name) + 1 : -1], []).extend(squares(path["d"]))
    wanted = {branch: [] for branch in (*needed, "unknown")}
    for row, omega in enumerate(planted.OMEGAS):
        for column, alpha in enumerate(planted.ALPHAS):
            statuses = {branch: planted.status(branch, alpha, omega) for branch in needed}
            if set(statuses.values()) != {"found"}:
                assert (column, row) not in filled
                for branch, status in statuses.items():
                    if status == "absent":
                        wanted[branch].append((column, row))
                if "failed" in statuses.values():
                    wanted["unknown"].append((column, row))
                continue
            red, _, blue = filled[column, row]
            value = slope * (alpha - threshold(omega))
            if abs(value) > 1e-4:
                assert (red > blue) == (value > 0)
    assert {why: sorted(cells) for why, cells in hatched.items()} == {
        why: sorted(cells) for why, cells in wanted.items()
    }


@pytest.mark.parametrize("name", MAPS)
def test_curves_lie_where_the_closed_forms_have_them(name, parsed):
    drawn = {
        path["class"].removeprefix("curve "): path
        for path in in_map(parsed, name, "path")
        if path.get("class", "").startswith("curve ")
    }
    assert set(drawn) == set(planted.CURVES)
    assert len({path.get("stroke-dasharray") for path in drawn.values()}) == 4
    step_x, step_y = SIDE / len(planted.ALPHAS), SIDE / len(planted.OMEGAS)
    for curve, path in drawn.items():
        x, y = np.array(re.findall(r"([\d.]+),([\d.]+)", path["d"]), dtype=float).T
        alpha = planted.ALPHAS[0] + 0.2 * ((x - LEFT) / step_x - 0.5)
        omega = planted.OMEGAS[0] + 0.1 * ((TOP + SIDE - y) / step_y - 0.5)
        # The drawing has two decimals.
        assert alpha == pytest.approx(planted.CURVES[curve](omega), abs=2e-4)


def test_the_legend_has_what_the_maps_have(text):
    legend = text[text.index('<ul class="legend">') : text.index("</ul>")]
    assert re.findall(r"<span>(.*?)</span>", legend) == [
        "<i>&alpha;<sub>c</sub></i>: equal training losses",
        "<i>&alpha;<sub>l</sub></i>: test error equals that of the linear map",
        "spinodal of the semantic branch",
        "spinodal of the positional branch",
        "no semantic branch",
        "no positional branch",
        "not computed to the accuracy",
    ]


def test_nothing_comes_from_elsewhere(text, parsed):
    assert "http" not in text
    assert "@import" not in text
    assert not re.search(r"url\((?!#)", text)
    for tag, attributes, _ in parsed.elements:
        assert tag not in ("link", "img", "iframe", "base", "object")
        assert not {"src", "srcset", "href", "xlink:href"} & set(attributes)
        assert not any(name.startswith("on") for name in attributes)


def test_maps_can_be_reached_and_are_named(parsed):
    for name in MAPS:
        [drawing] = parsed.of("svg", id=name)
        assert (drawing["tabindex"], drawing["role"]) == ("0", "application")
        assert "over alpha and omega" in drawing["aria-label"]
        assert drawing["aria-describedby"] in parsed.texts
    assert [a["aria-label"] for a in parsed.of("select")] == ["alpha", "omega"]
    [heard] = parsed.of("p", id="heard")
    assert heard["aria-live"] == "polite"
    for tag, attributes, _ in parsed.elements:
        if tag == "svg" and attributes.get("class") == "sample":
            assert attributes["aria-hidden"] == "true"


def test_the_table_has_a_cell_for_every_number_of_both_branches(parsed, contents):
    cells = {(a["data-branch"], a["data-row"]) for a in parsed.of("td") if "data-row" in a}
    assert cells == {(b, row) for b in BRANCHES for row in (*NUMBERS, "stability", "status")}
    assert all(set(contents["branches"][b]) == {row for _, row in cells} for b in BRANCHES)


def test_the_script_finds_all_that_it_asks_for(text, parsed, contents):
    script = text[text.index('"use strict"') :]
    ids = {attributes.get("id") for _, attributes, _ in parsed.elements}
    asked = set(re.findall(r'byId\("(\w+)"\)', script))
    assert len(asked) > 3
    assert asked <= ids
    assert set(re.findall(r"\bdata\.(\w+)", script)) == set(contents)
    assert set(re.findall(r"\bdrawing\.(\w+)", script)) == set(contents["drawing"])


def test_the_parameters_that_are_fixed_are_told(text):
    assert "<i>&sigma;</i> = 0.5, <i>&lambda;</i> = 0.01, <i>A</i> = [[0.6, 0.4]" in text
    assert "<i>&omega;</i> = 0.3" not in text
    assert "relative errors of at most 1e-5" in text


def test_texts_of_the_data_set_are_escaped():
    hostile = "</script><img src=x onerror=alert(1)>&amp;"
    data = planted.dataset()
    data["q"].attrs["long_name"] = hostile
    data["status"] = data["status"].astype("<U60")
    data["status"][0, 0, 0] = hostile
    text = page(data)
    assert "<img" not in text
    parsed = Parsed(text)
    assert len(parsed.of("script")) == 2
    assert json.loads(parsed.texts["data"])["branches"]["semantic"]["status"][0][0] == [hostile, ""]
    assert "&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;&amp;amp;" in text


def test_other_parameters_and_uneven_values_are_drawn():
    lambdas = (0.01, 0.02, 0.05, 0.2)
    grid = planted.grid(("sigma", (0.5, 0.7, 0.9)), ("lambda", lambdas))
    text = page(planted.dataset(grid, lambda *_: True))
    assert "Phase diagram over <i>&sigma;</i> and <i>&lambda;</i>" in text
    assert "<i>&alpha;</i> = 1.5" in text
    # Values that are not evenly spaced are their own ticks, in the middles of equal cells.
    height = SIDE / 4
    for row, value in enumerate(lambdas):
        middle = TOP + SIDE - (row + 0.5) * height
        assert f'y="{middle:.2f}" dy="0.35em">{value:g}</text>' in text


def test_a_sweep_without_any_point_has_a_page():
    contents = json.loads(Parsed(page(planted.dataset(found=lambda *_: False))).texts["data"])
    assert {k for row in contents["verdict"] for k in row} == {
        contents["verdicts"].index("Neither branch is found here")
    }


def test_what_is_no_sweep_is_refused():
    with pytest.raises(InvalidInput, match="open_store"):
        page(planted.dataset().drop_attrs())


@given(low=st.floats(-1e3, 1e3), width=st.floats(1e-6, 1e6), shift=st.sampled_from([0.0, 1e-3]))
def test_ticks_are_few_round_numbers_in_the_range(low, width, shift):
    high = low + width + shift
    found = ticks(low, high)
    assert 3 <= len(found) <= 7
    assert low - 1e-8 * width <= found[0] < found[-1] <= high + 1e-8 * (high - low)
    step = found[1] - found[0]
    mantissa = step / 10.0 ** math.floor(math.log10(step) + 1e-6)
    assert min(abs(mantissa - round_one) for round_one in (1, 2, 5)) < 1e-3
    assert np.diff(found) == pytest.approx(np.full(len(found) - 1, step), rel=1e-3)


def test_formulas_become_markup_and_text():
    assert marked_up(r"a < b: $\alpha_c$ & $q$") == (
        "a &lt; b: <i>&alpha;<sub>c</sub></i> &amp; <i>q</i>"
    )
    assert plain(r"ridge <b> $\lambda$") == "ridge <b> λ"


def test_numbers_are_shown_as_in_the_tables(contents):
    point = "positional", planted.ALPHAS[0], planted.OMEGAS[0]
    value, error = planted.numbers(*point)["V"], planted.errors(*point)["V"]
    shown, bound = with_error(value, error)
    assert contents["branches"]["positional"]["V"][0][0] == [shown, f"± {bound}"]
