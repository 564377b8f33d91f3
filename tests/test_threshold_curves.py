"""Thresholds along a parameter: continuation, the file, and what is refused."""

import pytest

from symattn import AttentionModel, InvalidInput, threshold, threshold_curve

MODEL = AttentionModel()
OMEGAS = (0.35, 0.4, 0.45)


@pytest.fixture(scope="module")
def followed(tmp_path_factory):
    path = tmp_path_factory.mktemp("curve") / "alpha_l.csv"
    return path, threshold_curve(MODEL, "alpha_l", over="omega", values=OMEGAS, digits=4, path=path)


def test_it_is_the_threshold_searched_for_at_the_value(followed):
    _, curve = followed
    for value, point in zip(OMEGAS, curve.points, strict=True):
        assert point.value == value
        assert point.error <= 0.5e-4 * point.alpha
        assert {"replicon", "jump_flux"} <= set(point.at["semantic"])
    found = threshold(AttentionModel(omega=OMEGAS[-1]), "alpha_l", digits=4)
    assert abs(point.alpha - found.alpha) <= point.error + found.error


def test_points_in_the_file_are_not_computed_again(followed, monkeypatch):
    path, curve = followed
    monkeypatch.setattr("symattn.threshold_curves._point", pytest.fail)
    again = threshold_curve(MODEL, "alpha_l", over="omega", values=OMEGAS, digits=4, path=path)
    assert again == curve


def test_an_interrupted_run_continues_where_it_stopped(followed, tmp_path):
    path, curve = followed
    first, header, one, *_ = path.read_text().splitlines(keepends=True)
    stopped = tmp_path / "stopped.csv"
    stopped.write_text(first + header + one)
    again = threshold_curve(MODEL, "alpha_l", over="omega", values=OMEGAS, digits=4, path=stopped)
    assert again.points[0] == curve.points[0]
    for point, other in zip(again.points, curve.points, strict=True):
        assert abs(point.alpha - other.alpha) <= point.error + other.error
    assert len(stopped.read_text().splitlines()) == len(path.read_text().splitlines())


@pytest.mark.slow
def test_far_beyond_the_last_two_values_the_way_is_shortened():
    curve = threshold_curve(MODEL, "alpha_l", over="omega", values=(0.1, 0.11, 0.4), digits=4)
    found = threshold(AttentionModel(omega=0.4), "alpha_l", digits=4)
    assert abs(curve.points[-1].alpha - found.alpha) <= curve.points[-1].error + found.error


def test_a_value_without_threshold_is_a_row_with_the_reason():
    curve = threshold_curve(MODEL, "weak_positional", over="lambda", values=(0.01, 0.1), digits=15)
    absent, found = curve.points
    assert absent.alpha is None
    assert absent.error is None
    assert "regular" in absent.reason
    expected = threshold(AttentionModel(lam=0.1), "weak_positional")
    assert abs(found.alpha - expected.alpha) <= found.error + expected.error
    assert "none: " in str(curve)
    assert curve.to_dict()["points"][0]["alpha"] is None


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"name": "alpha_x"}, "name = 'alpha_x'"),
        ({"over": "alpha"}, "over = 'alpha'"),
        ({"values": (0.1, 1.5)}, "omega = 1.5"),
        ({"digits": 16}, "digits = 16"),
    ],
)
def test_bad_input_names_the_value(change, named):
    request = {"name": "alpha_l", "over": "omega", "values": (0.1, 0.2), **change}
    with pytest.raises(InvalidInput) as caught:
        threshold_curve(MODEL, **request)
    assert named in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"omega,alpha\n0.1,2\n", b"\xff\x00", None])
def test_a_file_of_something_else_is_refused_and_left_alone(content, followed, tmp_path):
    path = tmp_path / "other.csv"
    # without content: the file of another number of digits
    path.write_bytes(followed[0].read_bytes() if content is None else content)
    before = path.read_bytes()
    with pytest.raises(InvalidInput, match="a new file or one of the same curve"):
        threshold_curve(MODEL, "alpha_l", over="omega", values=OMEGAS, digits=5, path=path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("cut", [2, 40, -3])
def test_a_file_with_a_torn_row_is_refused(cut, followed, tmp_path):
    path = tmp_path / "torn.csv"
    *lines, last = followed[0].read_text().splitlines(keepends=True)
    path.write_text("".join(lines) + last[:cut])
    with pytest.raises(InvalidInput, match="a new file or one of the same curve"):
        threshold_curve(MODEL, "alpha_l", over="omega", values=OMEGAS, digits=4, path=path)
