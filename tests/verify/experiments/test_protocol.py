"""The protocol beside minima and published figures, training set by training set."""

import json
import math

import numpy as np
import pytest

from symattn.model import AttentionModel
from tests.verify.experiments.made_up_rows import named, results
from verify.device import choose_device
from verify.experiments.protocol import Protocol
from verify.experiments.published import PUBLISHED, published

EXPERIMENT = Protocol(
    name="protocol", model=AttentionModel(), alphas=(1.5025, 1.8), dimension=1000, count=6
)


def numbers(seed):
    """m, theta, losses of a training set: independent of the code under test."""
    return 0.1 * np.random.default_rng(seed).standard_normal(4) + 0.5


def made_up(seed, dimension, alpha, start, method, known):
    values = numbers(seed)
    # Q of half of the training sets has the other sign.
    m, theta = values[:2] * (-1 if seed % 2 else 1)
    if method == "gradient descent":
        m, theta = -1.01 * m, -1.02 * theta
        values = values * (1.03 + 0.01 * (seed % 5))
    return {
        "m": m,
        "theta": theta,
        "train_loss": values[2],
        "test_error": values[3],
        "gradient_norm": 1e-4 if method == "gradient descent" else 1e-7,
    }


def seeds():
    return sorted(s for u in EXPERIMENT.units(5) if u.method == "minimise" for s in u.seeds)


def test_both_methods_have_the_same_training_sets():
    descended = [s for u in EXPERIMENT.units(5) if u.method == "gradient descent" for s in u.seeds]
    assert sorted(descended) == seeds()
    assert len(set(descended)) == 6


def test_means_and_differences():
    def backwards(unit):
        rows = results(made_up)(unit)
        return rows[::-1] if unit.method == "minimise" else rows

    found = named(EXPERIMENT.finding(5, backwards))
    values = np.array([numbers(seed) for seed in seeds()])
    mean = found["protocol.semantic.m@alpha=1.8"].measured
    assert mean.value == pytest.approx(1.01 * np.abs(values[:, 0]).mean())
    assert mean.error == pytest.approx(1.01 * np.abs(values[:, 0]).std(ddof=1) / math.sqrt(6))
    theta = found["protocol.positional.theta.less-minimum@alpha=1.8"]
    assert theta.measured.value == pytest.approx(0.02 * np.abs(values[:, 1]).mean())
    assert float(theta.note.split()[-1]) == pytest.approx(np.abs(values[:, 1]).mean(), rel=1e-4)
    shift = values[:, 2] * (0.03 + 0.01 * np.array([seed % 5 for seed in seeds()]))
    loss = found["protocol.semantic.train_loss.less-minimum@alpha=1.8"].measured
    assert loss.value == pytest.approx(shift.mean())
    assert loss.error == pytest.approx(shift.std(ddof=1) / math.sqrt(6))
    assert {prediction.kind for prediction in found.values()} == {"shown"}


def test_published_figures_stand_beside_with_their_distance():
    found = named(EXPERIMENT.finding(5, results(made_up)))
    values = 1.02 * np.abs([numbers(seed)[1] for seed in seeds()])
    # |theta|/sigma^2 = .54267 +- .02730 in the public data
    mean, deviation = 0.54267 * 0.25, 0.02730 * 0.25
    distance = (values.mean() - mean) / math.hypot(values.std(ddof=1), deviation)
    note = found["protocol.semantic.theta@alpha=1.5025"].note
    assert f"published: {mean:.5g}, standard deviation {deviation:.2g} " in note
    assert note.endswith(f"difference {distance:+.2f} of both together")
    assert found["protocol.semantic.theta@alpha=1.8"].note == ""
    assert "2402.03902" in note
    # The published test error at alpha = 2.0 is .0014427 +- .00007448.
    figure = PUBLISHED["semantic", 2.0]["test_error"]
    assert figure == pytest.approx((0.0014427, 7.448e-5))


def test_test_errors_stand_beside_those_published_with_their_deviations():
    found = named(EXPERIMENT.finding(5, results(made_up)))
    for branch, mean, deviation in (
        ("semantic", 0.0019811, 9.783e-5),
        ("positional", 0.0033746, 2.1624e-4),
    ):
        note = found[f"protocol.{branch}.test_error@alpha=1.5025"].note
        assert f"published: {mean:.5g}, standard deviation {deviation:.2g} " in note


def test_published_figures_are_of_one_setting():
    model = AttentionModel()
    assert published(model, 1000, "semantic", 2.0)["train_loss"].mean == pytest.approx(0.0036517)
    assert published(model, 500, "semantic", 2.0) == {}
    assert published(AttentionModel(lam=0.1), 1000, "semantic", 2.0) == {}
    assert published(model, 1000, "semantic", 1.9) == {}
    # The training error rises with alpha, the semantic test error falls.
    for branch, sign in (("semantic", -1), ("positional", 1)):
        rows = [PUBLISHED[branch, alpha] for alpha in (1.005, 1.5025, 2.0)]
        losses = [row["train_loss"].mean for row in rows]
        errors = [sign * row["test_error"].mean for row in rows]
        assert losses == sorted(losses)
        assert errors == sorted(errors)


def test_trained_students_give_a_finding():
    experiment = Protocol(
        name="tiny", model=AttentionModel(), alphas=(1.0, 2.0), dimension=30, count=3
    )
    device = choose_device("cpu")
    trained = {u.key: json.loads(json.dumps(u.run(device))) for u in experiment.units(1)}
    finding = experiment.finding(1, lambda u: trained[u.key])
    assert len(finding.predictions) == 2 * 2 * 4 * 2
    assert all(prediction.measured is not None for prediction in finding.predictions)
