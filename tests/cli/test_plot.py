"""`symattn plot`: the files it writes, and what is refused."""

import json

import pytest

from symattn.cli import main
from tests.sweep import planted

BEGINNINGS = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF", "html": b"<!DOCTYPE html>"}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = tmp_path_factory.mktemp("sweep") / "sweep.db"
    planted.write_store(path)
    return str(path)


@pytest.mark.parametrize(
    ("kind", "ending", "words"),
    [
        ("overlaps", "png", []),
        ("loss", "svg", ["--at", "0.31"]),
        ("error", "pdf", ["--at", "1/5"]),
        ("phase-diagram", "svg", []),
        ("phase-diagram", "html", []),
    ],
)
def test_a_figure_is_written_and_named(kind, ending, words, store, tmp_path, capsys):
    path = tmp_path / "new" / f"figure.{ending}"
    assert main(["plot", store, "--kind", kind, "--out", str(path), *words]) == 0
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == (f"Written: {path}\n", "")
    assert path.read_bytes().startswith(BEGINNINGS[ending])
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_the_page_has_the_numbers_of_the_store(store, tmp_path, capsys):
    path = tmp_path / "page.html"
    words = ["plot", store, "--kind", "phase-diagram", "--out", str(path), "--json"]
    assert main(words) == 0
    assert json.loads(capsys.readouterr().out) == {"written": str(path)}
    text = path.read_text()
    begin = text.index('id="data">') + len('id="data">')
    contents = json.loads(text[begin : text.index("</script>", begin)])
    assert contents["x"]["values"] == list(planted.ALPHAS)
    shown, _ = contents["branches"]["semantic"]["theta"][0][-1]
    assert float(shown) == pytest.approx(0.1 * planted.ALPHAS[-1], rel=1e-6)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--kind", "losses"], ["--kind = 'losses'", "overlaps, loss, error, phase-diagram"]),
        (["--out", "figure.jpg"], ["--out = 'figure.jpg'", ".png or .svg or .pdf"]),
        (["--out", "figure.html"], ["--out = 'figure.html'", ".png or .svg or .pdf"]),
        (["--kind", "phase-diagram", "--out", "x.txt"], ["--out = 'x.txt'", ".html"]),
        (["--kind", "phase-diagram", "--at", "0.3"], ["--at does not go with", "phase-diagram"]),
        (["--out", "/dev/null/figure.png"], ["--out = '/dev/null'"]),
        (["--out", "fig\0ure.png"], ["--out"]),
        (["--at"], ["--at"]),
        (["--colour", "red"], ["--colour"]),
    ],
)
def test_bad_words_are_one_line_and_status_2_before_the_store_is_read(
    words, named, monkeypatch, capsys
):
    def read(path):
        raise AssertionError(path)

    monkeypatch.setattr("symattn.sweep.dataset.open_store", read)
    base = ["plot", "there.db", "--kind", "loss", "--out", "figure.png"]
    assert main([*base, *words]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1
    for text in named:
        assert text in captured.err


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--at", "0.51"], "--at = 0.51 is not allowed: it must be a number from 0 to 0.5"),
        (["--at", "-1"], "--at = -1.0"),
        (["--at", "nan"], "--at = nan"),
        (["--at", "1e999"], "--at = '1e999'"),
        (["--at", "middle"], "--at = 'middle'"),
    ],
)
def test_a_value_that_is_not_in_the_sweep_is_one_line_and_status_2(
    words, named, store, tmp_path, capsys
):
    base = ["plot", store, "--kind", "error", "--out", str(tmp_path / "figure.png")]
    assert main([*base, *words]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1
    assert named in captured.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["missing.db", "text.db", "."])
def test_what_is_no_store_is_one_line_and_status_2(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.db").write_text("alpha, omega\n")
    assert main(["plot", name, "--kind", "loss", "--out", "figure.png"]) == 2
    captured = capsys.readouterr()
    assert len(captured.err.splitlines()) == 1
    assert f"'{name}'" in captured.err
    assert not (tmp_path / "figure.png").exists()


@pytest.mark.parametrize("package", ["matplotlib", "xarray"])
def test_a_missing_package_is_one_line_that_names_the_extra(
    package, store, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(
        "symattn._packages.find_spec", lambda name: None if name == package else object()
    )
    base = ["plot", store, "--kind", "phase-diagram", "--out"]
    assert main([*base, str(tmp_path / "figure.svg")]) == 1
    assert capsys.readouterr().err == (
        f"symattn: {package} is missing; pip install 'symattn[sweep]' brings it\n"
    )
    # The page is drawn without matplotlib.
    assert main([*base, str(tmp_path / "page.html")]) == (1 if package == "xarray" else 0)


def test_a_file_that_cannot_be_written_is_one_line_and_status_1(
    store, tmp_path, monkeypatch, capsys
):
    def full(path, content):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("symattn._files.replace_file", full)
    path = tmp_path / "page.html"
    assert main(["plot", store, "--kind", "phase-diagram", "--out", str(path)]) == 1
    assert (
        capsys.readouterr().err == f"symattn: {path}: No space left on device; try another place\n"
    )


def test_help_has_the_kinds_and_examples(capsys):
    assert main(["plot", "--help"]) == 0
    out = capsys.readouterr().out
    for text in ("examples:", "--kind", "--out", "--at", "--json", "phase-diagram", "alpha_l"):
        assert text in out
