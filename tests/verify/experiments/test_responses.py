"""Planted responses are found, and judged where replica symmetry is nearly exact."""

import pytest

from symattn import AttentionModel
from tests.verify.planted import planted_results, planted_row, scattered
from verify.experiments.responses import Responses

_TRUTH = {
    "V": 16.0,
    "V_hat": 0.022,
    "replicon": 0.72,
    "q_hat": 8e-5,
    "theta_hat": 0.034,
    "m_hat": 0.005,
    "envelope": 1.2e-3,
}
_MODEL = AttentionModel()


def _experiment(branch="semantic"):
    return Responses(name="x", model=_MODEL, branch=branch, alpha=1.5, sizes={250: 40, 500: 20})


def _point(jump_flux, stable=True):
    errors = dict.fromkeys((*_TRUTH, "jump_flux"), 1e-09)
    return {**_TRUTH, "jump_flux": jump_flux, "errors": errors, "stable": stable}


def _rows(unit, gone=()):
    """The runs of the training sets `gone` have left their state."""
    rows = []
    for seed in unit.seeds:
        state = "semantic" if seed in gone else unit.start
        row = planted_row(_MODEL, unit.dimension, seed, unit.alpha, state=state, start=unit.start)
        number = scattered(_MODEL, row, 1, 0.01)
        rows.append({**row, **{name: truth * number for name, truth in _TRUTH.items()}})
    return rows


def _finding(branch, point, rows=_rows):
    results = planted_results(theory={"1.5": point}, rows=rows)
    return _experiment(branch).finding(5, results)


@pytest.mark.parametrize(("branch", "own"), [("semantic", "theta_hat"), ("positional", "m_hat")])
def test_planted_numbers_are_found(branch, own):
    finding = _finding(branch, _point(-2e-5))
    found = {p.name: p for p in finding.predictions}
    names = ["V", "V_hat", "replicon", "q_hat", "envelope", own]
    assert list(found) == [f"x.{branch}.{name}@alpha=1.5" for name in names]
    for name, prediction in zip(names, finding.predictions, strict=True):
        truth, measured = _TRUTH[name], prediction.measured
        assert prediction.kind == "two-sided"
        assert prediction.predicted == truth
        assert measured.error < 1e-3 * truth
        assert abs(measured.value - truth) < 4 * measured.error
        assert measured.bias == pytest.approx(3 * truth, abs=4 * measured.bias_error)


def test_nothing_is_judged_where_jumps_are_not_rare():
    """Then the smooth part of V_hat is shown beside the Hessian's, and the text says why."""
    finding = _finding("positional", _point(-0.004))
    assert {p.kind for p in finding.predictions} == {"shown"}
    assert all("18 % of V_hat" in p.note for p in finding.predictions[:-1])
    assert finding.predictions[-1].predicted == pytest.approx(0.026)
    assert "many such minima" in finding.text[1]


def test_nothing_is_judged_where_the_theory_is_unstable():
    finding = _finding("positional", _point(-2e-5, stable=False))
    assert {p.kind for p in finding.predictions} == {"shown"}
    assert all("unstable" in p.note for p in finding.predictions)
    assert finding.predictions[0].predicted == _TRUTH["V"]


def test_runs_that_left_the_state_are_counted_and_change_nothing():
    gone = {unit.seeds[0] for unit in _experiment("positional").units(5) if hasattr(unit, "seeds")}
    strayed, without = (
        _finding("positional", _point(-2e-5), rows)
        for rows in (
            lambda unit: _rows(unit, gone),
            lambda unit: [row for row in _rows(unit) if row["seed"] not in gone],
        )
    )
    assert [p.measured for p in strayed.predictions] == [p.measured for p in without.predictions]
    assert f" {len(gone)} runs left the state and do not count." in strayed.text[0]
    assert "left the state" not in without.text[0]


def test_nothing_is_judged_without_a_fixed_point():
    finding = _finding("semantic", {"absent": "no semantic fixed point"})
    assert {(p.kind, p.predicted) for p in finding.predictions} == {("shown", None)}


def test_units_are_all_different():
    units = _experiment().units(3)
    assert len({unit.key for unit in units}) == len(units)
