"""Rows of trained students are those of training every run by itself."""

from dataclasses import replace

import pytest
import torch

from symattn import ASYMMETRIC, AttentionModel
from symattn.errors import ComputationFailed
from verify import trained_sets
from verify.device import choose_device
from verify.generalization import generalization_error
from verify.layer import AttentionLayer, inputs_and_labels, layer_risk
from verify.linear_map import fit_linear_map
from verify.risk import Risk
from verify.samples import draw_samples
from verify.trained_sets import TrainedSets, start_weights, training_units
from verify.training import TOLERANCE, minimise, positional_start, random_start, semantic_start

_CPU = choose_device("cpu")
_D = 60
_UNIT = TrainedSets(
    experiment="x",
    model=AttentionModel(),
    dimension=_D,
    seeds=(3, 8),
    alphas=(1.5, 2.0),
    starts=("semantic", "positional", "random 2"),
    lams=(0.01, 0.015),
)


@pytest.fixture(scope="module")
def rows():
    return _UNIT.run(_CPU)


def _starts(samples):
    return {
        "semantic": semantic_start(samples),
        "positional": positional_start(samples),
        "random 2": random_start(samples, stream=2),
    }


def test_there_is_a_row_for_every_training_set_and_run(rows):
    names = ("seed", "alpha", "lam", "start")
    assert {tuple(row[name] for name in names) for row in rows} == {
        (seed, alpha, lam, start)
        for seed in _UNIT.seeds
        for alpha in _UNIT.alphas
        for lam in _UNIT.lams
        for start in _UNIT.starts
    }
    assert len(rows) == 24
    assert {row["dimension"] for row in rows} == {_D}


def test_rows_are_those_of_training_by_itself_on_the_first_samples(rows):
    """Each run alone, on alpha d samples drawn alone; numbers from the layer as it is defined."""
    rho = _UNIT.model.rho
    for row in rows:
        model = replace(_UNIT.model, lam=row["lam"])
        samples = draw_samples(model, _D, round(row["alpha"] * _D), [row["seed"]])
        start = _starts(samples)[row["start"]].unsqueeze(1)
        weights = minimise(Risk.of(samples, 1), start).weights
        Q, teacher = weights[0, 0, 0], samples.teacher[0, 0]
        x, y = inputs_and_labels(samples, 0)
        layer = AttentionLayer(Q.unsqueeze(1), samples.encoding)
        risk = layer_risk(layer, x, y, row["lam"])
        risk.backward()
        untrained = (y - x.mean(dim=1, keepdim=True)).square().sum() / (2 * _D)
        linear = fit_linear_map(samples, torch.tensor([samples.count])).test_error
        expected = {
            "q": rho * (Q @ Q) / _D,
            "m": Q @ samples.encoding[0] / _D**0.5,
            "theta": rho * (Q @ teacher) / _D,
            "train_loss": risk.detach() / _D,
            "test_error": generalization_error(samples, weights).value[0, 0],
            "linear_test_error": linear.value[0, 0],
            "zero_loss": untrained / _D,
            "teacher": teacher @ teacher / _D - 1,
        }
        found = {name: row[name] for name in expected}
        assert found == pytest.approx({n: float(v) for n, v in expected.items()}, abs=1e-9)
        assert row["gradient_norm"] <= TOLERANCE
        assert float(layer.Q.grad.norm()) < 2 * TOLERANCE


def test_starts_lead_to_states_of_their_own(rows):
    """So that mistaking one start, or one run, for another would be seen above."""
    for seed in _UNIT.seeds:
        [semantic, positional, random] = [
            row for row in rows if (row["seed"], row["alpha"], row["lam"]) == (seed, 2.0, 0.01)
        ]
        assert abs(semantic["theta"]) > 4 * abs(positional["theta"])
        assert abs(positional["m"]) > 4 * abs(semantic["m"])
        assert positional["m"] * random["m"] < 0


def test_rows_do_not_depend_on_how_many_training_sets_fit_into_memory(rows):
    one_by_one = _UNIT.run(replace(_CPU, budget=1))
    for alone, together in zip(one_by_one, rows, strict=True):
        assert alone.keys() == together.keys()
        for name, value in together.items():
            assert alone[name] == (value if name == "start" else pytest.approx(value, abs=1e-9))


@pytest.mark.parametrize("method", ["gradient descent", "adam"])
def test_other_methods_come_to_the_same_minimum(method):
    """At lambda = 0.1, where 5000 steps of 0.15 come to it; Q and -Q are the same."""
    unit = replace(
        _UNIT, model=AttentionModel(lam=0.1), seeds=(3,), alphas=(2.0,), lams=(0.1,), dimension=20
    )
    for found, expected in zip(replace(unit, method=method).run(_CPU), unit.run(_CPU), strict=True):
        for name in ("q", "m", "theta", "train_loss", "test_error"):
            assert abs(found[name]) == pytest.approx(abs(expected[name]), rel=1e-3)
        assert found["gradient_norm"] != expected["gradient_norm"]


def test_numbered_starts_have_noise_of_known_size_about_the_plain_ones():
    d = 20000
    samples = draw_samples(AttentionModel(), d, 1, [1, 2])
    for kind in ("semantic", "positional"):
        plain = start_weights(samples, kind)
        first, second = (start_weights(samples, f"{kind} {k}") - plain for k in (1, 2))
        for noise in (*first, *second):
            # of standard deviation 0.4; its mean square has the relative error sqrt(2/d)
            assert float(noise.square().mean()) == pytest.approx(0.16, rel=5 * (2 / d) ** 0.5)
            assert abs(float(noise.mean())) < 5 * 0.4 / d**0.5
        for one, other in ((first, second), (first[0], first[1])):
            cosine = torch.nn.functional.cosine_similarity(one.flatten(), other.flatten(), dim=0)
            assert abs(float(cosine)) < 5 / d**0.5
    random = start_weights(samples, "random")
    assert float(random.square().mean()) == pytest.approx(0.01, rel=0.1)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("experiment", "y"),
        ("model", AttentionModel(mixing=ASYMMETRIC)),
        ("dimension", 61),
        ("seeds", (3, 9)),
        ("alphas", (1.5, 2.1)),
        ("starts", ("semantic", "positional", "random 3")),
        ("lams", (0.01, 0.016)),
        ("method", "adam"),
    ],
)
def test_the_key_differs_where_anything_differs(name, value):
    assert replace(_UNIT, **{name: value}).key != _UNIT.key
    assert replace(_UNIT, **{name: getattr(_UNIT, name)}).key == _UNIT.key


def test_what_did_not_come_to_a_minimum_is_named(monkeypatch):
    def stopped_early(risk, start):
        trained = minimise(risk, start)
        converged, norm = trained.converged.clone(), trained.gradient_norm.clone()
        converged[1, 4], norm[1, 4] = False, 0.5
        return replace(trained, converged=converged, gradient_norm=norm)

    monkeypatch.setitem(trained_sets._METHODS, "minimise", stopped_early)
    unit = replace(_UNIT, alphas=(2.0,))
    with pytest.raises(
        ComputationFailed, match=r"^x: training set 8 at d = 60, run 4, .* norm 0\.5 .*try another"
    ):
        unit.run(_CPU)


def test_too_few_evaluations_are_no_minimum(monkeypatch):
    monkeypatch.setitem(
        trained_sets._METHODS, "minimise", lambda r, s: minimise(r, s, most_evaluations=3)
    )
    with pytest.raises(ComputationFailed, match=r"training set 3 .* after 3 evaluations"):
        _UNIT.run(_CPU)


def test_units_have_the_training_sets_asked_for():
    model = AttentionModel(lam=0.2)

    def seeds(seed=1, name="x"):
        units = training_units(
            name, model, seed, {30: 50, 2000: 7}, alphas=[1.5], starts=["semantic"]
        )
        assert {unit.lams for unit in units} == {(0.2,)}
        assert len({unit.key for unit in units}) == len(units)
        return {d: [s for u in units if u.dimension == d for s in u.seeds] for d in (30, 2000)}

    known = seeds()
    assert {d: len(found) for d, found in known.items()} == {30: 50, 2000: 7}
    assert seeds() == known
    everything = [*known[30], *known[2000]]
    for other in (seeds(seed=2), seeds(name="y")):
        everything += [*other[30], *other[2000]]
    assert len(set(everything)) == len(everything) == 3 * 57
