"""What the theory says, as units: fixed points, thresholds, and the loss of Q = 0."""

import json
import math

import pytest

from symattn import ASYMMETRIC, AttentionModel, solve
from symattn.errors import NotFound
from verify.device import choose_device
from verify.layer import inputs_and_labels
from verify.samples import draw_samples
from verify.theory import (
    NOTABLE_JUMPS,
    TheoryAt,
    ThresholdOf,
    judged,
    jump_share,
    loss_of_zero,
    trust,
    trust_of_share,
)

_CPU = choose_device("cpu")
_SMOOTH = AttentionModel(lam=0.1)
_OTHER = AttentionModel(omega=0.6, sigma=0.8, mixing=ASYMMETRIC, lam=0.1)


@pytest.mark.parametrize("model", [AttentionModel(omega=1.0), AttentionModel(omega=1.0, sigma=2.0)])
def test_loss_of_zero_in_closed_form(model):
    """At omega = 1, T = A: (rho/2) |A - J|^2, of entries 0.1 for the standard mixing."""
    assert loss_of_zero(model) == pytest.approx(model.sigma**2 / 2 * 4 * 0.01, rel=1e-9)


@pytest.mark.parametrize("model", [_SMOOTH, _OTHER])
def test_loss_of_zero_is_the_mean_over_samples(model):
    """At finite d the mean differs by O(1/d), less than the error here."""
    d, n = 400, 4000
    x, y = inputs_and_labels(draw_samples(model, d, n, [1]), 0)
    losses = (y - x.mean(dim=1, keepdim=True)).square().sum(dim=(1, 2)) / (2 * d)
    # Half of the error of one teacher, whose length is off by sqrt(2/d)
    error = math.hypot(float(losses.std()) / n**0.5, 0.5 * loss_of_zero(model) * (2 / d) ** 0.5)
    assert error < 0.05 * loss_of_zero(model)
    assert abs(float(losses.mean()) - loss_of_zero(model)) < 4 * error


def test_the_loss_of_zero_is_that_of_the_zero_fixed_point():
    """Where Q = 0 is a minimum, the training loss is alpha times its mean loss."""
    point = solve(_SMOOTH, 0.8, branch="zero", digits=8)["zero"]
    assert point.train_loss_direct == pytest.approx(0.8 * loss_of_zero(_SMOOTH), rel=1e-6)


def test_a_branch_is_given_where_it_is_and_absent_with_the_reason_elsewhere():
    """The positional branch begins at weak_positional = 1.0544."""
    unit = TheoryAt(model=_SMOOTH, alphas=(1.5, 1.2, 0.7), branch="positional")
    found = json.loads(json.dumps(unit.run(_CPU), allow_nan=False))
    assert list(found) == ["1.5", "1.2", "0.7"]
    assert found["0.7"].keys() == {"absent"}
    assert "positional" in found["0.7"]["absent"]
    for alpha in (1.5, 1.2):
        truth = solve(_SMOOTH, alpha, branch="positional", digits=8)["positional"]
        point = found[repr(alpha)]
        for name in ("q", "m", "train_loss", "test_error"):
            assert abs(point[name] - truth.numbers[name]) <= point["errors"][name] + 1e-8
            assert point["errors"][name] <= 1e-4 * abs(point[name])
        # A negligible weight of jumps
        assert trust(point) == ""


def test_a_threshold_has_its_error():
    found = ThresholdOf(model=_SMOOTH, name="weak_positional").run(_CPU)
    assert abs(found["alpha"] - 1.05442388664543) <= found["error"] < 1e-4
    assert found["jump_share"] < NOTABLE_JUMPS


def test_a_threshold_that_is_not_there_has_the_reason(monkeypatch):
    def searched_in_vain(*_, **__):
        raise NotFound("the branches do not cross")

    monkeypatch.setattr("verify.theory.threshold", searched_in_vain)
    found = ThresholdOf(model=AttentionModel(), name="alpha_c").run(_CPU)
    assert found == {"absent": "the branches do not cross"}


def test_keys_differ_where_anything_differs():
    units = [
        TheoryAt(model=_SMOOTH, alphas=(1.5,), branch="positional"),
        TheoryAt(model=_OTHER, alphas=(1.5,), branch="positional"),
        TheoryAt(model=_SMOOTH, alphas=(1.5, 1.2), branch="positional"),
        TheoryAt(model=_SMOOTH, alphas=(1.5,), branch="semantic"),
        ThresholdOf(model=_SMOOTH, name="alpha_c"),
        ThresholdOf(model=_SMOOTH, name="alpha_l"),
        ThresholdOf(model=_OTHER, name="alpha_c"),
    ]
    assert len({unit.key for unit in units}) == len(units)


def test_what_is_absent_or_unstable_is_not_tested():
    point = {"jump_flux": -0.004, "V_hat": 0.04, "stable": True}
    kind, note = judged(point, "semantic")
    assert (kind, note) == ("two-sided", trust(point))
    assert judged({**point, "jump_flux": 0.0}, "semantic") == ("two-sided", "")
    kind, note = judged({**point, "stable": False}, "semantic")
    assert kind == "shown"
    assert "unstable in the theory" in note
    kind, note = judged({"absent": "searched in vain"}, "semantic")
    assert (kind, note) == ("shown", "no semantic fixed point is found here")


def test_jumps_are_told_of_by_their_share():
    assert jump_share({"jump_flux": -0.004, "V_hat": 0.04}) == pytest.approx(0.1)
    assert jump_share({"absent": "none"}) == 0.0
    assert "10 % of V_hat" in trust({"jump_flux": -0.004, "V_hat": 0.04})
    assert trust_of_share(0.9 * NOTABLE_JUMPS) == ""
    assert "not exact" in trust_of_share(1.1 * NOTABLE_JUMPS)
