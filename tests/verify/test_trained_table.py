"""Tables of others are read as they are meant, or refused by file, line and column."""

import math

import pytest

from symattn.errors import ComputationFailed, InvalidInput
from symattn.model import AttentionModel
from verify.trained_table import read_trained


def table(tmp_path, content):
    path = tmp_path / "t.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_a_small_table(tmp_path):
    rows = read_trained(
        table(
            tmp_path,
            "\ufeffalpha, start, dimension, theta, theta_error, q, q_std, seeds\r\n"
            "1.5,semantic,1000,-0.1321,0.002,0.092,0.008,16\r\n"
            "\r\n"
            "2,positional,500,,,4.5e-2,0.01,4\r\n",
        )
    )
    first, second = rows
    assert (first.line, second.line) == (2, 4)
    assert (first.alpha, first.start, first.dimension) == (1.5, "semantic", 1000)
    assert first.model == second.model == AttentionModel()
    theta, q = first.measured["theta"], first.measured["q"]
    assert (theta.value, theta.error, theta.freedom) == (-0.1321, 0.002, 15)
    assert (q.value, q.error, q.freedom, q.count) == (0.092, 0.002, 15, 16)
    assert second.measured.keys() == {"q"}
    assert second.measured["q"].error == 0.005


def test_the_model_of_a_row_and_errors_without_seeds(tmp_path):
    [row] = read_trained(
        table(
            tmp_path,
            "alpha,start,dimension,omega,lambda,sigma,a11,a12,a21,a22,test_error,test_error_error\n"
            "1,semantic,100,0.1,0.2,,0.3,0.7,0.8,0.2,0.003,1e-4\n",
        )
    )
    assert row.model == AttentionModel(omega=0.1, lam=0.2, mixing=((0.3, 0.7), (0.8, 0.2)))
    assert math.isinf(row.measured["test_error"].freedom)


HEAD = "alpha,start,dimension,q,q_error\n"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "is empty"),
        ("\n", "is empty"),
        (HEAD, "no rows"),
        ("alpha,start,q,q_error\n1,semantic,1,1\n", "line 1: the column 'dimension' is missing"),
        ("alpha,start,dimension\n", "none of q, m, theta"),
        ("alpha,start,dimension,q\n", "'q' needs q_error, or q_std and seeds"),
        ("alpha,start,dimension,q,q_std\n", "'seeds' is missing, which q_std needs"),
        ("alpha,start,dimension,q,q_error,commit\n", "'commit' is not known"),
        ("alpha,start,dimension,q,q_error,q\n", "'q' is there more than once"),
        ("alpha,start,dimension,q,q_error,a11\n", "'a12' is missing"),
        (HEAD + "1,semantic,100,1\n", "line 2: there are 4 cells for 5 columns"),
        (HEAD + "1,semantic,100,1,1,1\n", "line 2: there are 6 cells for 5 columns"),
        (HEAD + "1,random,100,1,1\n", "line 2, column start: 'random' must be semantic or"),
        (
            HEAD + "x,semantic,100,1,1\n",
            "line 2, column alpha: 'x' must be a number from 1e-60 to 1e+60",
        ),
        (HEAD + "0,semantic,100,1,1\n", "column alpha: '0' must be a number from 1e-60"),
        (HEAD + "1,semantic,100,1,1\n1,semantic,100,nan,1\n", "line 3, column q: 'nan' must be"),
        (
            HEAD + "1,semantic,100,inf,1\n",
            "column q: 'inf' must be 0, or plus or minus a number from",
        ),
        (HEAD + "1,semantic,100,1,0\n", "column q_error: '0' must be a number from 1e-60"),
        (
            HEAD + "1,semantic,100,1e-70,1\n",
            "column q: '1e-70' must be 0, or plus or minus a number",
        ),
        (HEAD + "1_5,semantic,100,1,1\n", "column alpha: '1_5' must be a number from"),
        (HEAD + "1,semantic,100,1,\n", "line 2: q has no error"),
        (HEAD + "1,semantic,1.5,1,1\n", "column dimension: '1.5' must be a whole number >= 2"),
        (HEAD + "1,semantic,²,1,1\n", "column dimension: '²' must be a whole number"),
        (HEAD + "1,semantic," + "9" * 5000 + ",1,1\n", "column dimension: '999"),
        (HEAD + '1,"semantic,100,1,1\n', "line 2: unexpected end of data"),
        (HEAD + "1,semantic," + "1" * 200_000 + ",1,1\n", "line 2: field larger than"),
        (HEAD.encode() + b"1,\xff,100,1,1\n", "line 2: it must be UTF-8"),
        ("alpha,start,dimension,q,q_std,seeds\n1,semantic,9,1,1,\n", "seeds: '' must be a whole"),
        ("alpha,start,dimension,q,q_std,seeds\n1,semantic,9,1,1,1\n", "seeds: '1' must be a whole"),
        ("omega," + HEAD + "2,1,semantic,9,1,1\n", "line 2: omega = 2.0 is not allowed"),
        ("a11,a12,a21,a22," + HEAD + ".5,,.5,.5,1,semantic,9,1,1\n", "column a12: '' must be"),
        ("a11,a12,a21,a22," + HEAD + ".5,.6,.5,.5,1,semantic,9,1,1\n", "line 2: mixing"),
    ],
)
def test_what_is_wrong_is_named_in_one_line(content, words, tmp_path):
    path = table(tmp_path, content)
    with pytest.raises(InvalidInput) as caught:
        read_trained(path)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert words in message
    assert "\n" not in message
    assert len(message) < len(str(path)) + 400


def test_what_is_no_table_is_refused_without_reading_it(tmp_path):
    large = tmp_path / "large.csv"
    with large.open("wb") as file:
        file.truncate(2**33)
    with pytest.raises(InvalidInput, match="has 8589934592 bytes"):
        read_trained(large)
    for path in (tmp_path, tmp_path / "missing.csv"):
        with pytest.raises(InvalidInput, match="no file"):
            read_trained(path)


def test_a_table_that_cannot_be_read_is_named(tmp_path, monkeypatch):
    path = table(tmp_path, HEAD)

    def refuse(self):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.read_bytes", refuse)
    with pytest.raises(ComputationFailed, match=r"t\.csv cannot be read: Permission denied"):
        read_trained(path)
