"""Every suite comes to its end with planted numbers, and no two of its names are the same."""

import json
import zlib
from pathlib import Path

import numpy as np
import pytest

from tests.verify.experiments.made_up_rows import along
from tests.verify.made_up import result
from verify.discussion import discussion
from verify.experiments.trajectory import MessagePassing, PredictedPath
from verify.histogram.segments import EXAMPLES, Segment
from verify.judgement import judge_findings
from verify.ranks import Ranks
from verify.suites import SUITES
from verify.theory import TheoryAt, ThresholdOf, loss_of_zero
from verify.trained_responses import TrainedResponses
from verify.trained_sets import TrainedSets
from verify.units import in_order
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


def _trained(segment):
    """Transformers that learn, and keep their mechanism."""
    generator = np.random.default_rng(zlib.crc32(segment.key.encode()))
    kind = (segment.plan.lifted or segment.plan).restriction
    sign = {"positional": -1.0, "semantic": 1.0, "none": 0.3}[kind]
    length = segment.plan.task.length
    return [
        {
            "seed": seed,
            "epoch": segment.last,
            "train_loss": 0.01 + 0.001 * generator.standard_normal(),
            "test_loss": 0.01 + 0.001 * generator.standard_normal(),
            "test_accuracy": 0.99 + 0.001 * generator.standard_normal(),
            "moved": 10 + 0.1 * generator.standard_normal(),
            "from_random": 20.0,
            "gradient_norm": 0.01 + 0.001 * generator.standard_normal(),
            "mechanism": {
                "index": sign * (0.95 + 0.01 * generator.standard_normal()),
                "rest": 0.01 + 0.001 * generator.standard_normal(),
            },
            "examples": generator.dirichlet(np.ones(length), (len(EXAMPLES), length)).tolist()
            if run == 0
            else None,
        }
        for run, seed in enumerate(segment.plan.seeds)
    ]


def _result(unit):
    match unit:
        case Segment():
            return _trained(unit)
        case TheoryAt():
            return {repr(alpha): _POINT_WITH_ERRORS for alpha in unit.alphas}
        case ThresholdOf():
            return {"alpha": 1.25, "error": 1e-6, "jump_share": 0.1}
        case PredictedPath():
            return [_POINT_WITH_ERRORS] * (unit.iterations + 1)
    return _measured(unit)


def _units(experiments, seed):
    """Of all experiments, in chains or not."""
    return [u for e in experiments for piece in e.units(seed) for u in in_order(piece)]


# `all` is `paper`, `scaling` and `histogram` together.
_APART = ["quick", "histogram-short", "all"]


@pytest.mark.parametrize("suite", _APART)
def test_a_suite_of_planted_numbers_comes_to_its_end(suite):
    """A result refuses names that are there twice, which a run would only see at its end."""
    known = {}

    def results(unit):
        if unit.key not in known:
            known[unit.key] = _result(unit)
        return known[unit.key]

    experiments = SUITES[suite](Path("kept"))
    findings = judge_findings([e.finding(3, results) for e in experiments], 1e-3)
    made = result(suite=suite, findings=findings)
    assert len(findings) == len(experiments)
    assert any(made.predictions("holds"))
    # What is said of transformers is no test of the theory, and a suite of them alone has none.
    tested = any(prediction.tested for prediction in made.predictions())
    assert tested == (suite != "histogram-short") == bool(discussion(findings))
    json.dumps(made.to_dict(), allow_nan=False)
    # Nothing is asked for that is not among the units, and nothing is done in vain.
    assert known.keys() == {unit.key for unit in _units(experiments, 3)}


def test_the_suites_are_those_of_the_command():
    assert list(SUITES) == ["quick", "paper", "scaling", "histogram", "histogram-short", "all"]
    names = {suite: [e.name for e in SUITES[suite](Path("kept"))] for suite in SUITES}
    assert names["all"] == names["paper"] + names["scaling"] + names["histogram"]
    # The short one has the experiments of the other.
    assert names["histogram-short"] == names["histogram"]


@pytest.mark.parametrize("suite", _APART)
def test_one_key_is_one_piece_of_work(suite):
    """Units may be shared by experiments, but no two different ones have one key."""
    units, experiments = {}, SUITES[suite](Path("kept"))
    for experiment in experiments:
        own = _units([experiment], 3)
        assert len({unit.key for unit in own}) == len(own)
        for unit in own:
            assert units.setdefault(unit.key, unit) == unit
    assert {unit.key for unit in _units(SUITES[suite](Path("kept")), 3)} == units.keys()


@pytest.mark.parametrize("suite", ["histogram", "histogram-short"])
def test_files_are_kept_where_the_suite_is_told_to(suite):
    """And keys do not tell where that is."""
    here, there = (_units(SUITES[suite](Path(place)), 3) for place in ("here", "there"))
    assert {unit.kept for unit in here} == {Path("here")}
    assert {unit.kept for unit in there} == {Path("there")}
    assert [unit.key for unit in here] == [unit.key for unit in there]


@pytest.mark.parametrize("suite", ["histogram", "histogram-short"])
def test_there_are_sequences_enough_for_every_training_set(suite):
    plans = {unit.plan for unit in _units(SUITES[suite](Path("kept")), 3)}
    for plan in plans:
        assert plan.train_count is None or 0 < plan.train_count <= len(plan.draw().train)


def test_another_seed_is_other_work():
    def trained(seed):
        units = _units(SUITES["all"](Path("kept")), seed)
        segments = [unit for unit in units if isinstance(unit, Segment)]
        others = [unit for unit in units if hasattr(unit, "seeds")]
        assert segments
        assert others
        keys = {unit.key for unit in (*segments, *others)}
        plans = [segment.plan for segment in segments]
        seeds = {s for work in (*plans, *others) for s in work.seeds}
        return keys, seeds, {plan.sequences_seed for plan in plans}

    first, second = trained(3), trained(4)
    for one, other in zip(first, second, strict=True):
        assert not one & other
