"""alpha_c and alpha_l against published values and against solves on either side."""

import pytest

from symattn import (
    AttentionModel,
    ComputationFailed,
    InvalidInput,
    linear_baseline,
    solve,
    threshold,
)

# arXiv 2402.03902, public data: 1.2410 and 1.4506, from overlaps good to a few percent
PUBLISHED = {"alpha_c": 1.2410, "alpha_l": 1.4506}


def _difference(name, model, alpha):
    semantic = solve(model, alpha, branch="semantic", digits=7)["semantic"]
    if name == "alpha_l":
        return semantic.test_error - linear_baseline(model).test_error
    positional = solve(model, alpha, branch="positional", digits=7)["positional"]
    return semantic.train_loss - positional.train_loss


@pytest.mark.parametrize("name", ["alpha_c", "alpha_l"])
def test_the_difference_changes_sign_within_the_error(name):
    model = AttentionModel()
    found = threshold(model, name, digits=5)
    assert found.alpha == pytest.approx(PUBLISHED[name], rel=0.05)
    assert found.error <= 0.5e-5 * found.alpha
    assert found.digits >= 5
    assert _difference(name, model, found.alpha - 2 * found.error) > 0
    assert _difference(name, model, found.alpha + 2 * found.error) < 0


def test_no_crossing_is_said_with_its_reason():
    with pytest.raises(ComputationFailed, match="alpha_c was not found: no semantic branch"):
        threshold(AttentionModel(omega=1.0, lam=0.1), "alpha_c")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [({"name": "alpha_x"}, "name = 'alpha_x'"), ({"name": "alpha_c", "digits": 0}, "digits = 0")],
)
def test_bad_input_names_the_value(arguments, named):
    with pytest.raises(InvalidInput) as caught:
        threshold(AttentionModel(), **arguments)
    assert named in str(caught.value)
