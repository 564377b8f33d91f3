"""What was measured is there again after any end of the process, and never that of another run."""

import json
import math
import os
import signal
import subprocess
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symattn.errors import ComputationFailed, InvalidInput
from verify.store import Store

HEADER = {"suite": "quick", "seed": 1, "device": "cpu", "package": "0.1"}


def written(out):
    return out / "measurements.jsonl"


def filled(out):
    with Store.open(out, HEADER) as store:
        store.put("a", [0.1, 1e-300, -0.0])
        store.put("b", {"q": 2.0 / 3.0})
    return written(out).read_bytes()


def test_what_was_put_is_there_again(tmp_path):
    out = tmp_path / "new" / "place"
    filled(out)
    with Store.open(out, HEADER) as store:
        assert store.get("a") == [0.1, 1e-300, -0.0]
        assert math.copysign(1, store.get("a")[2]) == -1
        assert store.get("b") == {"q": 2.0 / 3.0}
        assert store.get("c") is None


@given(value=st.floats(allow_nan=False, allow_infinity=False))
def test_floats_come_back_as_they_were(value, tmp_path_factory):
    out = tmp_path_factory.mktemp("store")
    with Store.open(out, HEADER) as store:
        store.put("x", value)
        assert store.get("x") == value
    with Store.open(out, HEADER) as store:
        assert store.get("x") == value


def test_wherever_the_last_line_was_torn_the_rest_is_kept(tmp_path):
    content = filled(tmp_path)
    lines = content.splitlines(keepends=True)
    for length in range(len(content)):
        written(tmp_path).write_bytes(content[:length])
        complete = content[:length].count(b"\n")
        with Store.open(tmp_path, HEADER) as store:
            assert (store.get("a") is not None) == (complete >= 2)
            assert (store.get("b") is not None) == (complete >= 3)
            store.put("c", 1)
        found = written(tmp_path).read_bytes().splitlines(keepends=True)
        assert found[:-1] == lines[: max(1, complete)]
        assert json.loads(found[-1]).items() >= {"key": "c", "value": 1}.items()


@pytest.mark.parametrize(
    ("name", "value"), [("seed", 2), ("suite", "paper"), ("device", "cuda"), ("package", "0.2")]
)
def test_a_file_of_another_run_is_refused_and_left_as_it_is(name, value, tmp_path):
    before = filled(tmp_path)
    words = f"{name} = {HEADER[name]!r}, not {value!r}; name another directory with --out"
    with pytest.raises(InvalidInput, match=words) as caught:
        Store.open(tmp_path, {**HEADER, name: value})
    assert "\n" not in str(caught.value)
    assert written(tmp_path).read_bytes() == before


def test_a_header_with_less_in_it_is_another_run(tmp_path):
    filled(tmp_path)
    with pytest.raises(InvalidInput, match="device = 'cpu', not None"):
        Store.open(tmp_path, {k: v for k, v in HEADER.items() if k != "device"})


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"alpha,start\n1.5,semantic\n", 1),
        (b"alpha,start", 1),
        (b"\xff\xfe\x00\n", 1),
        (b"[1, 2]\n", 1),
        (b"{}\n", 1),
        (b"[" * 100_000 + b"\n", 1),
        (b"\n", 1),
    ],
)
def test_another_file_is_refused_and_left_as_it_is(content, line, tmp_path):
    written(tmp_path).write_bytes(content)
    with pytest.raises(InvalidInput, match=f"line {line}, is not a measurement"):
        Store.open(tmp_path, HEADER)
    assert written(tmp_path).read_bytes() == content


def test_a_number_that_was_changed_is_refused(tmp_path):
    content = filled(tmp_path)
    written(tmp_path).write_bytes(content.replace(b"[0.1,", b"[0.2,"))
    with pytest.raises(InvalidInput, match="line 2, was changed since it was written"):
        Store.open(tmp_path, HEADER)


def test_what_is_no_file_is_refused_at_once(tmp_path):
    os.mkfifo(written(tmp_path))
    with pytest.raises(InvalidInput, match="line 1, is not a measurement"):
        Store.open(tmp_path, HEADER)


@pytest.mark.parametrize("line", [b"rubbish\n", b"{}\n", b'{"key": 3, "value": 1}\n', b"3\n"])
def test_a_damaged_line_is_named(line, tmp_path):
    content = filled(tmp_path).splitlines(keepends=True)
    content.insert(2, line)
    written(tmp_path).write_bytes(b"".join(content))
    with pytest.raises(InvalidInput, match="line 3, is not a measurement"):
        Store.open(tmp_path, HEADER)
    assert written(tmp_path).read_bytes() == b"".join(content)


def test_a_second_process_is_refused_until_the_first_has_ended(tmp_path):
    script = (
        "import sys, time\nfrom pathlib import Path\nfrom verify.store import Store\n"
        f"store = Store.open(Path(sys.argv[1]), {HEADER!r})\n"
        "store.put('a', 1)\nprint('open', flush=True)\ntime.sleep(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as process:
        assert process.stdout.readline() == b"open\n"
        with pytest.raises(InvalidInput, match="in use by another process"):
            Store.open(tmp_path, HEADER)
        process.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 5
    while process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    with Store.open(tmp_path, HEADER) as store:
        assert store.get("a") == 1


def test_a_number_that_is_not_finite_is_not_kept(tmp_path):
    with Store.open(tmp_path, HEADER) as store:
        with pytest.raises(ComputationFailed, match="seed 3: a number that is not finite"):
            store.put("seed 3", {"q": math.nan})
        assert store.get("seed 3") is None
    assert len(written(tmp_path).read_bytes().splitlines()) == 1


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ComputationFailed, match=r"measurements\.jsonl: .*; name a directory"):
        Store.open(tmp_path / "file", HEADER)


def test_every_line_is_json(tmp_path):
    header, *entries = map(json.loads, filled(tmp_path).splitlines())
    assert header == {"format": "symattn measurements", "version": 2, **HEADER}
    assert [entry["key"] for entry in entries] == ["a", "b"]
