"""Means over the channel by ball arithmetic against sums by hand in double precision."""

import pytest
from mpmath import mp, mpf

from symattn import AttentionModel
from symattn._progress import silent
from symattn.overlaps import Overlaps
from symattn.quadrature.expectations import Resolution, channel_expectations
from tests.reference.expectations import Parameters
from tests.smooth_channel import smooth_expectations

pytest.importorskip("flint", reason="python-flint is not installed")
from symattn.precision._evolve import channel_means
from symattn.precision._integrands import NAMES
from symattn.precision._job import Sums
from symattn.precision._plan import Plan

# moving and resting means of w, mixings with and without the exchange of tokens
CASES = [
    (AttentionModel(), Overlaps(0.012, 0.13, 2.5, 0.0)),
    (AttentionModel(), Overlaps(0.015, 0.0, 3.0, 0.045)),
    (AttentionModel(mixing=((0.3, 0.7), (0.8, 0.2))), Overlaps(0.015, 0.0, 2.0, 0.045)),
    (AttentionModel(omega=1.0, sigma=0.4), Overlaps(0.02, 0.1, 2.0, 0.0)),
    (AttentionModel(omega=0.0), Overlaps(0.01, 0.0, 2.0, 0.0)),
]


@pytest.mark.parametrize(("model", "overlaps"), CASES, ids=str)
def test_means_are_those_of_the_sum_by_hand(model, overlaps):
    with mp.workdps(30):
        found = channel_means(
            Plan.of(model, overlaps, 13.0),
            Overlaps(*map(mpf, overlaps)),
            13.0,
            silent,
            doing="",
            replicon=False,
        )
    (a11, _), (_, a22) = model.mixing
    expected = smooth_expectations(Parameters(*overlaps, model.sigma, model.omega, a11, a22))
    ours = {
        "one": found.norm,
        "M": found.envelope,
        "g2": found.g_squared,
        "gm": found.g_mean,
        "div": found.g_div,
        "gh": found.g_target,
        "loss": found.loss,
    }
    for name, value in ours.items():
        assert float(value) == pytest.approx(expected[name], rel=1e-11, abs=1e-14), name


@pytest.mark.parametrize(("model", "overlaps"), CASES[:3], ids=str)
def test_the_response_is_that_of_double_precision(model, overlaps):
    expected = channel_expectations(model, overlaps, Resolution.for_accuracy(1e-12))
    with mp.workdps(30):
        found = channel_means(
            Plan.of(model, overlaps, 13.0),
            Overlaps(*map(mpf, overlaps)),
            13.0,
            silent,
            doing="",
            replicon=True,
        )
    assert expected.certificate.fold == 0.0
    assert float(found.response) == pytest.approx(expected.smooth_response, rel=1e-10)


def test_the_rounding_bounds_that_of_every_mean(monkeypatch):
    model, overlaps = CASES[0]

    def means(shift):
        totals = dict.fromkeys((*NAMES, "g_star", "square_k"), 1 + shift)
        monkeypatch.setattr(
            "symattn.precision._evolve.compute", lambda *_: Sums(totals, rounding, 0.0, 1)
        )
        return channel_means(
            plan, Overlaps(*map(mpf, overlaps)), 13.0, silent, doing="", replicon=True
        )

    plan = Plan.of(model, overlaps, 13.0)
    with mp.workdps(30):
        rounding = mpf(10) ** -13
        before, after = means(0), means(rounding)
        for name in ("norm", "g_squared", "g_mean", "g_div", "envelope", "loss", "response"):
            change = abs(getattr(after, name) - getattr(before, name))
            assert change <= before.rounding * (1 + mpf(10) ** -12), name
