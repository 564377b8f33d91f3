"""`symattn verify`: bad input, statuses, streams, and interruptions."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from symattn.cli import main

pytest.importorskip("torch", reason="torch is not installed")

from tests.verify.made_up import result
from verify.predictions import Finding, Prediction

ROOT = Path(__file__).parents[2]


def _holding():
    """A made-up result with the failing prediction left out."""
    made = result()
    findings = tuple(
        replace(f, predictions=tuple(p for p in f.predictions if p.verdict != "fails"))
        for f in made.findings
    )
    return replace(made, findings=findings, discussion=())


@pytest.fixture
def out(tmp_path):
    return str(tmp_path / "out")


@pytest.fixture
def no_work(monkeypatch):
    """Bad input is found before anything is done."""

    def done(*_):
        raise AssertionError

    monkeypatch.setattr("verify.run.run_suite", done)


def _one_line(capsys):
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1
    assert "Traceback" not in captured.err
    return captured.err


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (
            ["--suite", "slow"],
            ["--suite = 'slow'", "quick, paper, scaling, histogram, histogram-short, all"],
        ),
        (["--suite", ""], ["--suite = ''"]),
        (["--device", "tpu"], ["--device = 'tpu'", "auto, cpu or cuda"]),
        (["--precision", "half"], ["--precision = 'half'", "double or single"]),
        (["--seed", "one"], ["--seed = 'one'", "whole number from 0 to 4294967295"]),
        (["--seed", "1.5"], ["--seed = '1.5'"]),
        (["--seed", "-1"], ["--seed = -1"]),
        (["--seed", "4294967296"], ["--seed = 4294967296"]),
        (["--seed", "9" * 30], ["--seed = '999"]),
        (["--compare", "mine.csv", "--suite", "quick"], ["--compare", "--suite"]),
        (["--compare", "mine.csv", "--seed", "1"], ["--compare", "--seed"]),
        (["--compare", "mine.csv", "--device", "cpu"], ["--compare", "--device"]),
        (["--omega", "0.1"], ["--omega"]),
        (["quick"], ["quick"]),
    ],
)
def test_bad_input_is_one_line_and_status_2(words, wanted, out, no_work, capsys):
    assert main(["verify", "--out", out, *words]) == 2
    line = _one_line(capsys)
    for text in wanted:
        assert text in line
    assert not Path(out).exists()


def test_the_output_must_be_named(no_work, capsys):
    assert main(["verify"]) == 2
    assert "--out" in _one_line(capsys)


def test_an_output_that_is_a_file_is_refused(tmp_path, no_work, capsys):
    path = tmp_path / "file"
    path.write_text("mine")
    assert main(["verify", "--out", str(path)]) == 2
    assert "--out = " in _one_line(capsys)
    assert path.read_text() == "mine"


def test_a_gpu_that_is_not_there_is_refused(out, no_work, monkeypatch, capsys):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert main(["verify", "--out", out, "--device", "cuda"]) == 2
    line = _one_line(capsys)
    assert "--device = 'cuda'" in line
    assert "finds no GPU" in line


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "is not there, or is no file"),
        ("", "is empty; its first line must name the columns"),
        ("alpha,start,q,q_error\n1,semantic,1,1\n", "the column 'dimension' is missing"),
        ("alpha,start,dimension,q\n1,semantic,10,1\n", "'q' needs q_error"),
        ("alpha,start,dimension,q,q_error\n1,semantic,10,nan,1\n", "line 2, column q: 'nan'"),
    ],
)
def test_a_table_that_is_not_as_it_must_be_is_one_line(content, words, out, tmp_path, capsys):
    path = tmp_path / "mine.csv"
    if content is not None:
        path.write_text(content)
    assert main(["verify", "--out", out, "--compare", str(path)]) == 2
    line = _one_line(capsys)
    assert "mine.csv" in line
    assert words in line


@pytest.mark.parametrize("missing", ["torch", "matplotlib", "safetensors"])
def test_a_missing_package_is_named_with_the_extra(missing, out, no_work, monkeypatch, capsys):
    def found(name):
        return None if name == missing else importlib.util.find_spec(name)

    monkeypatch.setattr("symattn._packages.find_spec", found)
    assert main(["verify", "--out", out]) == 1
    line = _one_line(capsys)
    assert f"{missing} is missing" in line
    assert "symattn[verify]" in line


def test_help_has_the_suites_and_examples(capsys):
    assert main(["verify", "--help"]) == 0
    shown = capsys.readouterr().out
    suites = ("quick", "paper", "scaling", "histogram", "histogram-short")
    for text in ("examples:", "--compare", *suites, "exit status 3", "--json"):
        assert text in shown


def test_status_0_when_all_hold_and_3_when_one_fails(out, monkeypatch, capsys):
    asked = []

    def run_suite(suite, device, seed, directory, progress):
        precision = str(device.precision).removeprefix("torch.")
        asked.append((suite, device.kind, precision, seed, str(directory)))
        return _holding() if suite == "paper" else result()

    monkeypatch.setattr("verify.run.run_suite", run_suite)
    words = ["--suite", "paper", "--device", "cpu", "--precision", "single", "--seed", "7"]
    assert main(["verify", *words, "--out", out]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert "All 4 predictions hold." in captured.out
    for name in ("report.html", "report.json"):
        assert str(Path(out) / name) in captured.out
        assert (Path(out) / name).stat().st_size > 0
    assert main(["verify", "--device", "cpu", "--out", out]) == 3
    captured = capsys.readouterr()
    assert captured.err == "symattn: 1 prediction fails: positional.m@alpha=1.5\n"
    [line] = [line for line in captured.out.splitlines() if "positional.m@alpha=1.5" in line]
    assert line.split()[1] == "0.26031"
    assert line.endswith("fails")
    assert "1 of 5 predictions fails." in captured.out
    assert asked == [
        ("paper", "cpu", "float32", 7, out),
        ("quick", "cpu", "float64", 0, out),
    ]


def test_a_statement_on_transformers_is_shown_with_its_bound(out, monkeypatch, capsys):
    """And one that fails has the status of a prediction that does."""
    said = {"symbol": "accuracy", "kind": "checked", "predicted": 0.75}
    checks = tuple(
        Prediction(name=f"histogram.{verdict}", statement="It is.", verdict=verdict, **said)
        for verdict in ("holds", "fails")
    )
    finding = Finding(title="Transformers", predictions=checks)
    made = replace(_holding(), findings=(finding,))
    monkeypatch.setattr("verify.run.run_suite", lambda *_: made)
    assert main(["verify", "--out", out]) == 3
    captured = capsys.readouterr()
    assert captured.err == "symattn: 1 prediction fails: histogram.fails\n"
    for verdict in ("holds", "fails"):
        [line] = [x for x in captured.out.splitlines() if x.startswith(f"  histogram.{verdict}")]
        assert line.split() == [f"histogram.{verdict}", "more", "than", "0.75", verdict]
    assert "1 of 2 statements on trained transformers fails." in captured.out
    monkeypatch.setattr(
        "verify.run.run_suite",
        lambda *_: replace(made, findings=(replace(finding, predictions=checks[:1]),)),
    )
    assert main(["verify", "--out", out]) == 0


def test_a_finding_without_a_result_is_shown_and_status_1(out, monkeypatch, capsys):
    without = Finding(title="Concentration", failure="the scatter gives no slope")
    made = _holding()
    made = replace(made, findings=(*made.findings, without))
    monkeypatch.setattr("verify.run.run_suite", lambda *_: made)
    assert main(["verify", "--out", out]) == 1
    captured = capsys.readouterr()
    assert captured.err == "symattn: Concentration: the scatter gives no slope\n"
    assert "no result: the scatter gives no slope" in captured.out
    # What the others found is there all the same.
    assert json.loads((Path(out) / "report.json").read_text())["summary"]["holds"] > 0
    page = (Path(out) / "report.html").read_text()
    assert page.count("the scatter gives no slope") == 2


def test_json_is_one_object_and_that_of_the_file(out, monkeypatch, capsys):
    monkeypatch.setattr("verify.run.run_suite", lambda *_: result())
    assert main(["verify", "--device", "cpu", "--json", "--out", out]) == 3
    captured = capsys.readouterr()
    found = json.loads(captured.out)
    assert found == json.loads((Path(out) / "report.json").read_text())
    assert found["summary"] == {"holds": 4, "fails": 1, "shown": 1}
    assert len(captured.err.splitlines()) == 1


def test_the_results_of_others_are_judged(out, tmp_path, capsys):
    path = tmp_path / "mine.csv"
    path.write_text(
        "lambda,alpha,start,dimension,train_loss,train_loss_error\n"
        "0.1,8,semantic,500,1,1e-4\n"
        "0.1,8,semantic,1000,1,1e-4\n"
    )
    assert main(["verify", "--out", out, "--compare", str(path), "--json"]) == 3
    captured = capsys.readouterr()
    assert json.loads(captured.out)["summary"]["fails"] == 1
    assert "semantic.train_loss@line=2" in captured.err


_DRIVER = """
import sys
from pathlib import Path
from tests.verify.tiny_suite import Tiny
from verify import suites, workers
notes = Path(sys.argv[2])
tiny = Tiny(name="tiny", mean=3.0, predicted=3.0, notes=notes, count=6, seconds=0.3)
suites.SUITES["quick"] = lambda _: [tiny]
workers.processes = lambda: int(sys.argv[3])
from symattn.cli import main
sys.exit(main(["verify", "--device", "cpu", "--json", "--verbose", "--out", sys.argv[1]]))
"""


@pytest.mark.skipif(not Path("/proc").exists(), reason="processes are looked for in /proc")
@pytest.mark.slow
@pytest.mark.parametrize("processes", [1, 2])
def test_an_interrupted_run_is_gone_on_with(processes, out, tmp_path):
    notes = tmp_path / "notes"

    def started():
        return subprocess.Popen(
            [sys.executable, "-c", _DRIVER, out, str(notes), str(processes)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            start_new_session=True,
        )

    with started() as process:
        try:
            while "2 of 6 done" not in process.stderr.readline():
                assert process.poll() is None
            workers = _children(process.pid)
            assert len(workers) == processes
            os.killpg(process.pid, signal.SIGINT)
            printed, errors = process.communicate(timeout=30)
        finally:
            process.kill()
    assert process.returncode == 130
    assert printed == ""
    assert errors.splitlines()[-1] == "symattn: interrupted"
    assert "Traceback" not in errors
    _wait_for_their_end(workers)
    kept = (Path(out) / "measurements.jsonl").read_text().splitlines()[1:]
    assert 2 <= len(kept) < 6
    with started() as process:
        try:
            printed, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, json.loads(printed)["summary"]["holds"]) == (0, 1)
    assert f"{6 - len(kept)} of {6 - len(kept)} done" in errors
    # What was kept was not done again; what was in the works may have been.
    done = notes.read_text().splitlines()
    assert len(set(done)) == 6
    keys = [json.loads(line)["key"] for line in kept]
    assert all(done.count(key) == 1 for key in keys)


def _children(parent):
    """The processes that it has started."""
    children = Path(f"/proc/{parent}/task/{parent}/children")
    return [int(word) for word in children.read_text().split()]


def _wait_for_their_end(processes):
    deadline = time.monotonic() + 10
    while any(Path(f"/proc/{process}").exists() for process in processes):
        assert time.monotonic() < deadline, f"of the processes {processes} some are left"
        time.sleep(0.05)
