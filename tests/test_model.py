"""AttentionModel: what it accepts and refuses, and how it is written down and read back."""

import ast
import dataclasses
import json
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from symattn import ASYMMETRIC, STANDARD, AttentionModel, InvalidInput
from symattn.model import parse_mixing

shares = st.floats(0, 1)
positive = st.floats(min_value=0, exclude_min=True, allow_infinity=False)


@st.composite
def stochastic_rows(draw, length):
    """Rows of `length` doubles that sum to 1 up to rounding."""
    cuts = sorted(draw(st.lists(shares, min_size=length - 1, max_size=length - 1)))
    return tuple(np.diff([0.0, *cuts, 1.0]).tolist())


@st.composite
def models(draw):
    """Any valid model."""
    length = draw(st.integers(2, 4))
    if draw(st.booleans()):
        scale = {"sigma": draw(st.floats(1e-30, 1e30))}
    else:
        weights = draw(st.sampled_from([(1.0,), (0.25, 0.75), (1 / 3, 1 / 3, 1 / 3)]))
        variances = st.tuples(*[positive] * length)
        scale = {"spectrum": tuple((weight, draw(variances)) for weight in weights)}
    return AttentionModel(
        length=length,
        student_rank=draw(st.integers(1, 3)),
        target_rank=draw(st.integers(1, 3)),
        lam=draw(positive),
        omega=draw(shares),
        mixing=tuple(draw(stochastic_rows(length)) for _ in range(length)),
        **scale,
    )


def refusal(**parameters):
    with pytest.raises(InvalidInput) as caught:
        AttentionModel(**parameters)
    return str(caught.value)


def test_defaults_are_the_papers_setting():
    model = AttentionModel()
    assert (model.length, model.student_rank, model.target_rank) == (2, 1, 1)
    assert (model.sigma, model.lam, model.omega) == (0.5, 0.01, 0.3)
    assert model.mixing == ((0.6, 0.4), (0.4, 0.6))
    assert model.spectrum is None
    assert model.rho == 0.25


def test_the_second_published_mixing():
    assert ASYMMETRIC == ((0.3, 0.7), (0.8, 0.2))


def test_immutable_and_without_room_for_misspelt_attributes():
    model = AttentionModel()
    with pytest.raises(dataclasses.FrozenInstanceError):
        model.omega = 0.5
    with pytest.raises((AttributeError, TypeError)):
        object.__setattr__(model, "lambda_", 0.5)


@given(models())
def test_equal_models_hash_alike_whatever_types_they_were_given_in(model):
    parameters = {
        field.name: getattr(model, field.name) for field in dataclasses.fields(AttentionModel)
    }
    parameters["mixing"] = np.array(model.mixing)
    parameters["omega"] = np.float64(model.omega)
    parameters["lam"] = np.array(model.lam)
    parameters["length"] = np.int64(model.length)
    twin = AttentionModel(**parameters)
    assert twin == model
    assert hash(twin) == hash(model)
    assert repr(twin) == repr(model)
    assert type(twin.omega) is type(twin.mixing[0][0]) is type(twin.lam) is float
    assert type(twin.length) is int


@given(models())
def test_json_round_trip_is_exact(model):
    assert AttentionModel.from_dict(json.loads(json.dumps(model.to_dict()))) == model


@given(models())
def test_pickle_round_trip_between_processes_is_exact(model):
    assert pickle.loads(pickle.dumps(model)) == model


@given(models())
def test_exact_values_round_to_the_stored_doubles(model):
    assert float(model.exact("omega")) == model.omega
    assert float(model.exact("lam")) == model.lam
    rows = model.exact("mixing")
    assert tuple(tuple(map(float, row)) for row in rows) == model.mixing


def test_exact_is_the_decimal_that_was_written():
    model = AttentionModel(lam=1e-05)
    assert model.exact("omega") == Fraction(3, 10)
    assert model.exact("sigma") == Fraction(1, 2)
    assert model.exact("lam") == Fraction(1, 100_000)
    assert model.exact("mixing")[0] == (Fraction(3, 5), Fraction(2, 5))
    assert Fraction(0.3) != Fraction(3, 10)  # which is why `exact` does not use Fraction(float)


@pytest.mark.parametrize("name", ["length", "rho", "lambda", "__class__"])
def test_exact_refuses_what_is_no_real_parameter(name):
    with pytest.raises(InvalidInput, match="sigma, spectrum, lam, omega or mixing"):
        AttentionModel().exact(name)


def test_exact_refuses_a_parameter_that_the_model_does_not_have():
    with pytest.raises(InvalidInput, match="spectrum is not set"):
        AttentionModel().exact("spectrum")


def test_the_spectrum_takes_the_place_of_sigma():
    model = AttentionModel(spectrum=[(0.25, [1, 2]), (0.75, np.array([0.5, 0.1]))])
    assert model.sigma is None
    assert model.spectrum == ((0.25, (1.0, 2.0)), (0.75, (0.5, 0.1)))
    assert "sigma" in refusal(sigma=0.5, spectrum=model.spectrum)
    with pytest.raises(InvalidInput, match="sigma = None"):
        _ = model.rho


def test_text_in_the_papers_notation():
    assert str(AttentionModel(mixing=ASYMMETRIC)) == (
        "attention model: L = 2, r = 1, t = 1, sigma = 0.5, lambda = 0.01, omega = 0.3, "
        "A = [[0.3, 0.7], [0.8, 0.2]]"
    )


@given(models())
def test_the_representation_is_the_call_that_makes_the_model(model):
    call = ast.parse(repr(model), mode="eval").body
    assert call.func.id == "AttentionModel"
    parameters = {argument.arg: ast.literal_eval(argument.value) for argument in call.keywords}
    assert AttentionModel(**parameters) == model


NOT_A_REAL = [True, "0.3", None, math.nan, math.inf, -math.inf, 1j, [0.3], 10**400, np.bool_(True)]


@pytest.mark.parametrize("value", [*NOT_A_REAL, 0, -0.01, -0.0, np.array([0.01])])
def test_lam_must_be_finite_and_positive(value):
    message = refusal(lam=value)
    assert message.startswith("lam = ")
    assert message.endswith("is not allowed: it must be a finite number > 0")
    assert "\n" not in message


@pytest.mark.parametrize("value", [*NOT_A_REAL, -1e-300, math.nextafter(1, 2), -0.1, 1.5])
def test_omega_must_be_a_share(value):
    message = refusal(omega=value)
    assert message.startswith("omega = ")
    assert "from 0 to 1" in message


def test_the_ends_of_the_range_of_omega_are_in_it():
    assert AttentionModel(omega=0).omega == 0
    assert AttentionModel(omega=1).omega == 1
    assert math.copysign(1, AttentionModel(omega=-0.0).omega) == 1


@pytest.mark.parametrize("value", [v for v in NOT_A_REAL if v is not None] + [0, -0.5, 1e-200])
def test_sigma_must_be_a_positive_scale(value):
    message = refusal(sigma=value)
    assert message.startswith("sigma = ")
    assert "from 1e-30 to 1e+30" in message


@pytest.mark.parametrize("name", ["length", "student_rank", "target_rank"])
@pytest.mark.parametrize("value", [0, -1, 17, 2.0, "2", True, None, math.nan])
def test_sizes_must_be_small_whole_numbers(name, value):
    message = refusal(**{name: value})
    assert message.startswith(f"{name} = ")
    assert "a whole number from" in message


def test_one_token_has_nothing_to_attend_to():
    assert "from 2 to 16" in refusal(length=1, mixing=[[1.0]])


@pytest.mark.parametrize(
    "value",
    [
        "standard",
        0.6,
        None,
        [],
        [0.5, 0.5],
        [[0.6, 0.4]],
        [[0.6, 0.4], [0.4]],
        [[0.6, 0.4], [0.4, 0.5]],
        [[1.2, -0.2], [0.4, 0.6]],
        [[math.nan, 0.4], [0.4, 0.6]],
        [[math.inf, -math.inf], [0.4, 0.6]],
        [[1e308, 1e308], [0.4, 0.6]],
        [["0.6", "0.4"], ["0.4", "0.6"]],
        [[True, False], [False, True]],
        [[0.6 + 2e-12, 0.4], [0.4, 0.6]],
        np.eye(3),
        np.array(0.6),
        {0: (0.6, 0.4), 1: (0.4, 0.6)},
    ],
)
def test_mixing_must_be_row_stochastic(value):
    message = refusal(mixing=value)
    assert message.startswith("mixing = ")
    assert "a 2 x 2 matrix with entries >= 0 and rows that sum to 1" in message
    assert "\n" not in message


def test_rows_of_rounded_entries_are_accepted():
    thirds = [[1 / 3] * 3] * 3
    assert AttentionModel(length=3, mixing=thirds).mixing[0] == (1 / 3, 1 / 3, 1 / 3)
    assert sum([0.1] * 10) != 1  # ten tenths as doubles, added one by one
    assert AttentionModel(length=10, mixing=[[0.1] * 10] * 10).length == 10
    assert AttentionModel(mixing=[[0.6 + 5e-13, 0.4], [0.4, 0.6]]).mixing[0][1] == 0.4


def test_the_default_mixing_is_for_two_tokens():
    assert "a 3 x 3 matrix" in refusal(length=3)


@pytest.mark.parametrize(
    "value",
    [
        3,
        "ab",
        [],
        [0.5, 0.5],
        [(1, 2)],
        [(1, (1, 2, 3))],
        [(1, (1, 0))],
        [(1, (1, math.nan))],
        [(1, (1, 2), 3)],
        [(0.5, (1, 2))],
        [(1.5, (1, 2)), (-0.5, (1, 2))],
        [("1", (1, 2))],
    ],
)
def test_a_spectrum_is_atoms_with_positive_weights_that_sum_to_one(value):
    message = refusal(spectrum=value)
    assert message.startswith("spectrum = ")
    assert "atoms" in message


def test_long_values_are_shortened_to_keep_the_message_on_one_line():
    message = refusal(mixing=np.zeros((40, 40)))
    assert "\n" not in message
    assert len(message) < 200


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"length": 3, "mixing": np.full((3, 3), 1 / 3)}, "length = 3"),
        ({"student_rank": 2}, "student_rank = 2"),
        ({"target_rank": 2}, "target_rank = 2"),
        ({"spectrum": [(1, (0.25, 0.5))]}, "spectrum = "),
    ],
)
def test_models_without_a_solver_are_refused_by_name(parameters, named):
    with pytest.raises(InvalidInput) as caught:
        AttentionModel(**parameters).require_solvable()
    assert str(caught.value).startswith(named)


def test_the_solvable_class_returns_its_scale():
    assert AttentionModel(sigma=0.7).require_solvable() == 0.7


def test_from_dict_refuses_unknown_names_and_fills_in_defaults():
    assert AttentionModel.from_dict({"omega": 0.1}) == AttentionModel(omega=0.1)
    with pytest.raises(InvalidInput, match=r"'lambda' is not allowed: .* lam,"):
        AttentionModel.from_dict({"lambda": 0.1})
    with pytest.raises(InvalidInput, match="a mapping"):
        AttentionModel.from_dict([("omega", 0.1)])


def test_refusals_are_value_errors_and_name_their_parameter():
    with pytest.raises(ValueError, match=r"^lam = -1 is not allowed") as caught:
        AttentionModel(lam=-1)
    assert caught.value.parameter == "lam"
    assert caught.value.exit_code == 2


def test_parse_mixing_by_name():
    assert parse_mixing("standard", 2) == STANDARD
    assert parse_mixing("asymmetric", 2) == ASYMMETRIC


def test_parse_mixing_by_entries():
    assert parse_mixing("1, 0, .25,75e-2", 2) == ((1.0, 0.0), (0.25, 0.75))
    assert parse_mixing("0,0,1,0,1,0,1,0,0", 3) == ((0, 0, 1), (0, 1, 0), (1, 0, 0))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Standard",
        "0.6,0.4,0.4",
        "0.6,0.4,0.4,0.6,",
        "0.6;0.4;0.4;0.6",
        "nan,0.4,0.4,0.6",
        "0_6,0.4,0.4,0.6",
        "3/5,0.4,0.4,0.6",
        "0.6,0.5,0.4,0.6",
        "1e999,0,0,1",
        "__import__('os'),0,0,1",
    ],
)
def test_parse_mixing_refuses_everything_else(text):
    with pytest.raises(InvalidInput, match=r"^mixing = ") as caught:
        parse_mixing(text, 2)
    assert "\n" not in str(caught.value)


def test_named_mixings_are_for_two_tokens():
    with pytest.raises(InvalidInput, match=r"'standard' .* 9 decimal numbers"):
        parse_mixing("standard", 3)


@given(models())
def test_parse_mixing_reads_what_was_printed(model):
    text = ",".join(repr(entry) for row in model.mixing for entry in row)
    assert parse_mixing(text, model.length) == model.mixing
