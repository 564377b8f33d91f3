"""Every suite comes to its end with planted numbers, and no two of its names are the same."""

import json
import zlib

import numpy as np
import pytest

from tests.verify.experiments.made_up_rows import along
from tests.verify.made_up import result
from verify.experiments.trajectory import MessagePassing, PredictedPath
from verify.judgement import judge_findings
from verify.ranks import Ranks
from verify.suites import SUITES
from verify.theory import TheoryAt, ThresholdOf, loss_of_zero
from verify.trained_responses import TrainedResponses
from verify.trained_sets import TrainedSets
from verify.zero_stiffness import ZeroStiffness

_POINT = {
    "q": 0.05,
    "m": 0.25,
    "V": 16.0,
    "theta": 0.1,
    "q_hat": 8e-5,
    "m_hat": 0.005,
    "V_hat": 0.04,
    "theta_hat": 0.034,
    "train_loss": 0.003,
    "test_error": 0.002,
    "replicon": 0.7,
    "envelope": 1e-3,
    "jump_flux": -0.004,
}
_POINT_WITH_ERRORS = {**_POINT, "stable": True, "errors": dict.fromkeys(_POINT, 1e-6)}
_OF_AXES = [f"{name}_{axis}" for name in ("q", "m", "theta") for axis in (1, 2)]


def _labels(unit):
    """What tells the rows of one training set apart."""
    match unit:
        case TrainedSets():
            return [
                {"alpha": a, "lam": lam, "start": s}
                for a in unit.alphas
                for lam in unit.lams
                for s in unit.starts
            ]
        case TrainedResponses():
            return [{"alpha": unit.alpha, "start": unit.start}]
        case ZeroStiffness():
            return [{"alpha": a} for a in unit.alphas]
        case Ranks():
            return [
                {"alpha": unit.alpha, "rank": rank, "start": s}
                for rank in (1, 2)
                for s in unit.starts
            ]
        case MessagePassing():
            return [{"alpha": unit.alpha, "iteration": t} for t in range(1, unit.iterations + 1)]
    raise AssertionError(unit)


def _measured(unit):
    """Numbers of the theory's size that scatter like d^(-1/2), by training set and run."""
    generator = np.random.default_rng(zlib.crc32(unit.key.encode()))
    zero, rows = loss_of_zero(unit.model), []
    for seed in unit.seeds:
        teacher, of_zero = generator.standard_normal() / unit.dimension**0.5, {}
        for labels in _labels(unit):
            scatter = generator.standard_normal() / unit.dimension**0.5
            zero_loss = of_zero.setdefault(labels["alpha"], labels["alpha"] * zero * (1 + scatter))
            noise = iter(1 + 0.1 * generator.standard_normal(40) / unit.dimension**0.5)
            numbers = {name: value * next(noise) for name, value in _POINT.items()}
            numbers.update({name: 0.02 * next(noise) for name in _OF_AXES})
            positional = labels.get("start", "").startswith("positional")
            cosines = (0.1, 0.7) if positional else (0.8, 0.1)
            sized = along(*cosines, numbers["q"], teacher)
            if "start" in labels:
                numbers.update({name: sized[name] * next(noise) for name in ("m", "theta")})
            rows.append(
                {
                    "seed": seed,
                    "dimension": unit.dimension,
                    "teacher": teacher,
                    "zero_loss": zero_loss,
                    "test_error_error": 1e-7,
                    "linear_test_error": 0.002 * next(noise),
                    "gradient_norm": 1e-7 * next(noise),
                    "regular": True,
                    "distance": 1e-3 * next(noise),
                    "stiffness": (1.0544 - labels["alpha"]) * next(noise),
                    **numbers,
                    **labels,
                }
            )
    return rows


def _result(unit):
    match unit:
        case TheoryAt():
            return {repr(alpha): _POINT_WITH_ERRORS for alpha in unit.alphas}
        case ThresholdOf():
            return {"alpha": 1.25, "error": 1e-6, "jump_share": 0.1}
        case PredictedPath():
            return [_POINT_WITH_ERRORS] * (unit.iterations + 1)
    return _measured(unit)


# `all` is `paper` and `scaling` together.
@pytest.mark.parametrize("suite", ["quick", "all"])
def test_a_suite_of_planted_numbers_comes_to_its_end(suite):
    """A result refuses names that are there twice, which a run would only see at its end."""
    known = {}

    def results(unit):
        if unit.key not in known:
            known[unit.key] = _result(unit)
        return known[unit.key]

    experiments = SUITES[suite]()
    findings = judge_findings([e.finding(3, results) for e in experiments], 1e-3)
    made = result(suite=suite, findings=findings)
    assert len(findings) == len(experiments)
    assert any(made.predictions("holds"))
    json.dumps(made.to_dict(), allow_nan=False)
    # Nothing is asked for that is not among the units, and nothing is done in vain.
    assert known.keys() == {unit.key for e in experiments for unit in e.units(3)}


def test_the_suites_are_those_of_the_command():
    assert list(SUITES) == ["quick", "paper", "scaling", "all"]
    names = {suite: [e.name for e in SUITES[suite]()] for suite in SUITES}
    assert names["all"] == names["paper"] + names["scaling"]


@pytest.mark.parametrize("suite", ["quick", "all"])
def test_one_key_is_one_piece_of_work(suite):
    """Units may be shared by experiments, but no two different ones have one key."""
    units = {}
    for experiment in SUITES[suite]():
        own = experiment.units(3)
        assert len({unit.key for unit in own}) == len(own)
        for unit in own:
            assert units.setdefault(unit.key, unit) == unit
    assert {unit.key for e in SUITES[suite]() for unit in e.units(3)} == units.keys()


def test_another_seed_is_other_work():
    def trained(seed):
        units = [u for e in SUITES["all"]() for u in e.units(seed) if hasattr(u, "seeds")]
        return {unit.key for unit in units}, {s for unit in units for s in unit.seeds}

    first, second = trained(3), trained(4)
    for one, other in zip(first, second, strict=True):
        assert not one & other
