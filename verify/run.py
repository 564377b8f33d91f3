"""A run of a suite, from its units of work to the judged result."""

from __future__ import annotations

import hashlib
import platform
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import symattn
import verify
from symattn import __version__
from symattn._progress import Progress
from symattn.errors import ComputationFailed
from verify.comparison import compare
from verify.device import Device
from verify.discussion import discussion
from verify.experiments import Experiment, Results
from verify.judgement import judge_findings
from verify.predictions import Finding, SuiteResult
from verify.store import Store
from verify.suites import SUITES
from verify.units import Chain, Json, Unit, in_order
from verify.workers import work

#: The probability with which a suite reports any failure if the theory is right, at most.
FAMILY_RATE = 1e-3

_PAGE_AND_COMMANDS = {"report", "cli"}

_PACKAGES = ("numpy", "scipy", "torch", "numba")


def run_suite(suite: str, device: Device, seed: int, out: Path, progress: Progress) -> SuiteResult:
    """Do the work of a suite that is not done yet, and judge the predictions.

    Finished units are kept in `out`, so that a run goes on where an earlier one ended.

    Raises
    ------
    InvalidInput
        When `out` holds measurements of another run.
    ComputationFailed
        When a unit of work fails.
    """
    experiments = SUITES[suite](out / "checkpoints")
    parameters = {"precision": str(device.precision).removeprefix("torch.")}
    header: dict[str, str | int] = {
        "suite": suite,
        "seed": seed,
        "device": device.name,
        **parameters,
        **versions(),
        "code": code_digest(),
    }
    started = _now()
    with Store.open(out, header) as store:
        _work(experiments, store, device, seed, progress)
        progress("judging the predictions")

        def results(unit: Unit) -> Json:
            return store.get(unit.key)["result"]

        found = [_finding(experiment, seed, results) for experiment in experiments]
        findings = judge_findings(found, FAMILY_RATE)
        units = [unit for piece in _pieces(experiments, seed) for unit in in_order(piece)]
        seconds = sum(store.get(unit.key)["seconds"] for unit in units)
    return SuiteResult(
        suite=suite,
        seed=seed,
        device=device.name,
        parameters=parameters,
        versions=versions(),
        started=started,
        finished=_now(),
        seconds=seconds,
        family_rate=FAMILY_RATE,
        findings=findings,
        discussion=discussion(findings),
    )


def compare_table(path: Path, progress: Progress) -> SuiteResult:
    """Judge somebody else's training results, which a CSV file has.

    Raises
    ------
    InvalidInput
        When the file is not as `verify.trained_table.read_trained` wants it.
    ComputationFailed
        When it cannot be read.
    """
    started, before = _now(), time.monotonic()
    findings = judge_findings([compare(path, progress)], FAMILY_RATE)
    return SuiteResult(
        suite=f"comparison with {path.name.encode('utf-8', 'replace').decode()}",
        seed=0,
        device="none: nothing was trained",
        parameters={},
        versions=versions(),
        started=started,
        finished=_now(),
        seconds=time.monotonic() - before,
        family_rate=FAMILY_RATE,
        findings=findings,
        discussion=discussion(findings),
    )


def code_digest() -> str:
    """A digest of the code that measurements depend on: all but the page and the command line."""
    digest = hashlib.sha256()
    for package in (symattn, verify):
        root = Path(next(iter(package.__path__)))
        for path in sorted(root.rglob("*.py")):
            if not _PAGE_AND_COMMANDS.intersection(path.relative_to(root).parts):
                digest.update(path.relative_to(root).as_posix().encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def versions() -> dict[str, str]:
    """The versions that results may depend on."""
    return {
        "symattn": __version__,
        "python": platform.python_version(),
        **{name: version(name) for name in _PACKAGES},
    }


def _finding(experiment: Experiment, seed: int, results: Results) -> Finding:
    """What an experiment says; where its measurements do not suffice, why they do not.

    The results of the others are not lost with it.
    """
    try:
        return experiment.finding(seed, results)
    except ComputationFailed as error:
        return Finding(title=experiment.name, failure=str(error))


def _pieces(experiments: Sequence[Experiment], seed: int) -> list[Unit | Chain]:
    """All units and chains, each once."""
    pieces = (piece for experiment in experiments for piece in experiment.units(seed))
    return list({tuple(unit.key for unit in in_order(p)): p for p in pieces}.values())


def _work(
    experiments: Sequence[Experiment], store: Store, device: Device, seed: int, progress: Progress
) -> None:
    left = []
    for piece in _pieces(experiments, seed):
        units = tuple(unit for unit in in_order(piece) if store.get(unit.key) is None)
        if units:
            left.append(Chain(units))
    # The longest first: one that starts last would be waited for.
    left.sort(key=lambda chain: -chain.cost)
    count, cost = sum(len(chain.units) for chain in left), sum(chain.cost for chain in left)
    done, before = 0.0, time.monotonic()
    if left:
        progress(f"{count} pieces of work")
    for number, finished in enumerate(work(left, device), start=1):
        unit, result, seconds = finished
        store.put(unit.key, {"seconds": seconds, "result": result})
        done += unit.cost
        minutes = max(0.0, (time.monotonic() - before) * (cost - done) / done / 60)
        progress(f"{number} of {count} done, about {minutes:.1f} min left: {unit.key[:-13]}")
