"""What is kept of trained minima, against autograd."""

import pytest
import torch

from symattn import AttentionModel
from verify.device import choose_device
from verify.risk import Risk
from verify.samples import draw_samples
from verify.trained_responses import TrainedResponses, response_units
from verify.training import minimise, positional_start, semantic_start

_MODEL, _D, _SEEDS, _ALPHA = AttentionModel(lam=0.1, sigma=0.6), 30, (3, 8), 4.0


def _unit(start, seeds=_SEEDS):
    return TrainedResponses(
        experiment="x", model=_MODEL, dimension=_D, seeds=seeds, alpha=_ALPHA, start=start
    )


@pytest.mark.parametrize("start", ["semantic", "positional"])
def test_rows_are_derivatives_of_the_risk(start):
    """Of the risk by Q for V, of the losses by the fields for the hats."""
    samples = draw_samples(_MODEL, _D, round(_ALPHA * _D), _SEEDS)
    begin = {"semantic": semantic_start, "positional": positional_start}[start](samples)
    Q = minimise(Risk.of(samples, 1), begin.unsqueeze(1)).weights[:, 0, 0]
    rows = _unit(start).run(choose_device("cpu"))
    assert [row["seed"] for row in rows] == list(_SEEDS)
    for b, row in enumerate(rows):
        risk = Risk.of(draw_samples(_MODEL, _D, round(_ALPHA * _D), [_SEEDS[b]]), 1)

        def value(Q, risk=risk):
            return risk.value_and_gradient(Q.reshape(1, 1, 1, _D))[0].sum()

        inverse = torch.linalg.inv(torch.autograd.functional.hessian(value, Q[b]))
        rho, target = _MODEL.rho, risk.samples.target_fields[0, 0]
        V = rho * float(inverse.trace()) / _D
        V_hat = 1 / V - _MODEL.lam / rho
        fields = risk.fields(Q[b].reshape(1, 1, 1, _D)).requires_grad_()
        total = risk.losses(fields)[0].sum()
        force = -torch.autograd.grad(total, fields)[0][0, 0, 0]
        losses = float(total.detach())
        theta = rho * float(Q[b] @ risk.samples.teacher[0, 0]) / _D
        along = float((force * target).sum()) / _D
        expected = {
            "V": V,
            "V_hat": V_hat,
            "replicon": V**2 * _D / (rho**2 * float((inverse @ inverse).trace())),
            "q_hat": float((force**2).sum()) / _D,
            "m_hat": float((force[0] - force[1]).sum()) / _D,
            "theta_hat": (along + theta * V_hat) / rho,
            "envelope": (losses + V * float((force**2).sum()) / 2) / (_ALPHA * _D),
        }
        assert {name: row[name] for name in expected} == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_a_training_set_is_the_same_in_any_company():
    together = _unit("positional").run(choose_device("cpu"))[1]
    [alone] = _unit("positional", seeds=_SEEDS[1:]).run(choose_device("cpu"))
    assert together.pop("start") == alone.pop("start") == "positional"
    assert together == pytest.approx(alone, rel=1e-6)


def test_units_are_all_different():
    units = [
        unit
        for start in ("semantic", "positional")
        for unit in response_units("x", _MODEL, 1, {30: 20, 60: 5}, alpha=2.0, start=start)
    ]
    assert sum(len(unit.seeds) for unit in units) == 50
    assert len({unit.key for unit in units}) == len(units)
