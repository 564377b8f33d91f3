"""From words to a model and a directory, and from parameters back to the words typed."""

import argparse
from pathlib import Path

import pytest

from symattn import ASYMMETRIC, AttentionModel, InvalidInput
from symattn._parsing import number, whole_number
from symattn.cli._options import (
    add_common,
    as_typed,
    model_of,
    output_directory,
    output_file,
    span,
)
from symattn.cli._parser import Parser, join_negative_values


def model_from(*words):
    parser = Parser(prog="test")
    add_common(parser)
    return model_of(parser.parse_args(words))


def test_without_options_the_model_is_the_papers():
    assert model_from() == AttentionModel()


def test_every_option_reaches_its_parameter():
    model = model_from(
        "--omega", "0.1", "--sigma", "2", "--lambda", "1e-1", "--mixing", "asymmetric"
    )
    assert model == AttentionModel(omega=0.1, sigma=2.0, lam=0.1, mixing=ASYMMETRIC)


def test_the_rank_is_that_of_student_and_target():
    model = model_from("--rank", "2")
    assert (model.student_rank, model.target_rank) == (2, 2)


def test_a_matrix_is_given_by_rows():
    assert model_from("--mixing", "0.25,0.75,1,0").mixing == ((0.25, 0.75), (1.0, 0.0))


def test_three_tokens_are_mixed_evenly_unless_said_otherwise():
    third = 1 / 3
    assert model_from("--length", "3").mixing == ((third,) * 3,) * 3
    identity = "1,0,0,0,1,0,0,0,1"
    assert model_from("--length", "3", "--mixing", identity).mixing[2] == (0.0, 0.0, 1.0)


@pytest.mark.parametrize("length", ["1", "0", "-3", "17", "9999", "1" * 5000, "2.0", "two", ""])
def test_a_length_that_is_not_allowed_is_named(length):
    with pytest.raises(InvalidInput, match="from 2 to 16") as caught:
        model_from(f"--length={length}")
    assert caught.value.parameter == "length"


def test_what_is_no_number_stays_text_for_the_validator():
    assert number("1e-3") == 1e-3
    assert number("11/7") == 11 / 7
    assert number("-1/4") == -0.25
    assert number("lots") == "lots"
    assert number("1/0") == "1/0"
    assert number("1/2/3") == "1/2/3"
    assert whole_number("12") == 12
    assert whole_number("12.0") == "12.0"
    assert whole_number("12345") == "12345"


def test_a_negative_value_is_not_taken_for_an_option():
    words = ["solve", "--alpha", "-1e-3", "--lambda", "-inf", "--json", "--mixing", "-.5,1.5,0,1"]
    assert join_negative_values(words) == [
        "solve",
        "--alpha=-1e-3",
        "--lambda=-inf",
        "--json",
        "--mixing=-.5,1.5,0,1",
    ]
    assert join_negative_values(["-1", "--alpha=2", "-3", "--json", "-h"]) == [
        "-1",
        "--alpha=2",
        "-3",
        "--json",
        "-h",
    ]


@pytest.mark.parametrize(
    ("parameter", "option"),
    [("lam", "--lambda"), ("student_rank", "--rank"), ("omega", "--omega"), ("alpha", "--alpha")],
)
def test_a_parameter_is_named_as_it_is_typed(parameter, option):
    error = InvalidInput.of(parameter, -1.0, "positive")
    assert as_typed(error) == f"{option} = -1.0 is not allowed: it must be positive"


def test_other_messages_stay_as_they_are():
    assert as_typed(InvalidInput("nothing was given")) == "nothing was given"
    assert as_typed(InvalidInput("the omega given is odd", "omega")) == "the omega given is odd"


def test_a_directory_to_write_to_need_not_exist(tmp_path):
    wanted = tmp_path / "a" / "b"
    assert output_directory(str(wanted)) == wanted
    assert wanted.is_dir()
    assert list(wanted.iterdir()) == []


@pytest.mark.parametrize("name", ["", "in_the_way", "in_the_way/below", "x" * 300, "a\0b"])
def test_where_nothing_can_be_written_is_named(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("in_the_way").write_text("")
    with pytest.raises(InvalidInput, match="must be a directory that can be written") as caught:
        output_directory(name)
    assert caught.value.parameter == "out"


def test_a_directory_without_permission_is_named(tmp_path, monkeypatch):
    # The permission bits themselves would not stop a test that runs as root.
    def refuse(dir):
        raise PermissionError(dir)

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    with pytest.raises(InvalidInput, match="can be written"):
        output_directory(str(tmp_path))


def test_a_file_is_named_in_a_directory_that_is_made(tmp_path):
    wanted = tmp_path / "new" / "points.csv"
    assert output_file(str(wanted), (".csv", ".json")) == wanted
    assert wanted.parent.is_dir()
    assert not wanted.exists()


@pytest.mark.parametrize("name", ["", "points", "points.txt", "a\0.csv", "."])
def test_a_file_of_another_kind_is_refused(name):
    with pytest.raises(InvalidInput, match=r"ending in \.csv or \.json") as caught:
        output_file(name, (".csv", ".json"))
    assert caught.value.parameter == "out"


def test_a_range_is_a_name_and_two_ends():
    assert span("alpha=0.5:3") == ("alpha", 0.5, 3.0)
    assert span("omega=1/3:x") == ("omega", 1 / 3, "x")
    for text in ("alpha", "alpha=1", "alpha=1:2:3", "1:2"):
        with pytest.raises(InvalidInput, match="NAME=A:B"):
            span(text)


def test_the_parser_takes_no_abbreviations():
    parser = Parser(prog="test")
    add_common(parser)
    with pytest.raises(InvalidInput, match="--lam"):
        parser.parse_args(["--lam", "0.1"])
    assert isinstance(parser.parse_args([]), argparse.Namespace)
