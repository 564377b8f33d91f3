"""The thresholds at Q = 0 against closed forms, limits, and a second method."""

import mpmath
import numpy as np
import pytest
from mpmath import mp, mpf

from symattn import ASYMMETRIC, AttentionModel, ComputationFailed, InvalidInput
from symattn.weak_learning import weak_threshold
from symattn.weak_learning._branch import find_start
from symattn.weak_learning._estimate import estimate
from tests.weak_learning import by_polar

COLUMNS = {"weak_positional": 1, "weak_semantic": 2, "weak_bulk": 3}
LOPSIDED = AttentionModel(lam=0.3, omega=0.5, mixing=((0.9, 0.1), (0.4, 0.6)), sigma=0.6)


def exact(model, name):
    return mpf(model.exact(name).numerator) / model.exact(name).denominator


@pytest.mark.parametrize(
    ("name", "digits"),
    [
        ("weak_positional", 25),
        ("weak_bulk", 25),
        pytest.param("weak_bulk", 50, marks=pytest.mark.slow),
    ],
)
def test_a_constant_target_gives_algebraic_equations(name, digits):
    """omega = 1 and delta = 0: K_uu = -sigma^2 tau/(1 - V sigma^2 tau) alone.

    1 = alpha V^2 K_uu^2 with the response's equation gives V = (lambda tau)^(-1/2); 1 = -2 alpha V
    K_uu/sigma^2 gives V = sigma^2 (1 + sigma^2/2)/lambda.
    """
    model = AttentionModel(omega=1.0, lam=0.1)
    with mp.workdps(80):
        sigma2, lam, tau = mpf(1) / 4, mpf(1) / 10, mpf(1) / 5
        V = sigma2 * (1 + sigma2 / 2) / lam
        expected = {
            "weak_bulk": (1 / (sigma2 * tau / mp.sqrt(lam * tau)) - 1) ** 2,
            "weak_positional": (1 - V * sigma2 * tau) / (2 * V * tau),
        }[name]
        found = weak_threshold(model, name, digits, certificate="estimated")
        assert abs(found.alpha - expected) <= found.error
        assert found.error <= mpf(10) ** -digits / 2 * expected


@pytest.mark.parametrize("digits", [12, pytest.param(30, marks=pytest.mark.slow)])
def test_a_constant_target_with_two_parts_is_the_root_of_its_equations(digits):
    model = AttentionModel(omega=1.0, lam=0.2, mixing=((0.9, 0.1), (0.4, 0.6)))
    found = weak_threshold(model, "weak_positional", digits)
    with mp.workdps(45):
        hessian = -mp.matrix([["0.5", "0.15"], ["0.15", "0"]]) / 4

        def equations(V, alpha):
            K = hessian * (mp.eye(2) + V * hessian) ** -1
            return (
                V * (mpf(1) / 5 + alpha / 4 * (K[0, 0] + K[1, 1])) - mpf(1) / 4,
                -8 * alpha * V * K[0, 0] - 1,
            )

        _, alpha = mpmath.findroot(equations, (found.at["zero"].overlaps.V, found.alpha))
        assert abs(alpha - found.alpha) <= found.error + mpf(10) ** -40


def test_a_target_without_semantic_part_has_no_weak_semantic():
    with pytest.raises(ComputationFailed, match="does not exist: Q = 0 ends at weak_bulk"):
        weak_threshold(AttentionModel(omega=1.0, lam=0.1), "weak_semantic")


@pytest.mark.parametrize("lam", [1e3, 1e6])
def test_a_strong_penalty_leaves_the_mean_curvature_of_the_loss(lam):
    """V -> 0, K -> H: alpha = lambda/(2 sigma^2 (1 + sigma^2/2) E tau) for the positional one."""
    model = AttentionModel(lam=lam, omega=0.6)

    z = np.linspace(-9, 9, 361)
    first, second = 0.5 * z[:, None], 0.5 * z[None, :]
    semantic = 1 / (1 + np.exp(first * (second - first)))
    semantic = semantic + 1 / (1 + np.exp(second * (first - second)))
    density = np.exp(-(z[:, None] ** 2 + z[None, :] ** 2) / 2)
    mean = np.sum(density * (0.4 * (semantic - 1) + 0.12)) / np.sum(density)
    found = weak_threshold(model, "weak_positional", 10)
    expected = lam / (2 * 0.25 * 1.125 * mean)
    assert found.alpha == pytest.approx(expected, rel=2 / lam + 1e-9)


def residuals(model, name, V, alpha, angles, step):
    """Of the response and of the instability, with means by the second method."""
    found = by_polar.means(model, V, angles, step)
    sigma2 = exact(model, "sigma") ** 2
    response = V * (exact(model, "lam") / sigma2 + alpha * found[0]) - 1
    return response, alpha * V * found[COLUMNS[name]] - 1


@pytest.mark.parametrize(
    ("name", "model"),
    [
        *((name, AttentionModel(lam=0.2)) for name in COLUMNS),
        ("weak_positional", LOPSIDED),
        pytest.param("weak_semantic", LOPSIDED, marks=pytest.mark.slow),
        pytest.param("weak_bulk", LOPSIDED, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_both_equations_hold_with_means_by_another_method(model, name):
    found = weak_threshold(model, name, 10)
    with mp.workdps(18):
        V = mpf(found.at["zero"].overlaps.V)
        for residual in residuals(model, name, V, mpf(found.alpha), 36, mpf("0.09")):
            assert abs(residual) < 1e-8


@pytest.mark.parametrize(
    ("digits", "angles", "step"),
    [(18, 60, "0.06"), pytest.param(30, 140, "0.03", marks=pytest.mark.slow)],
)
def test_two_methods_agree_to_many_digits(digits, angles, step):
    model, name = AttentionModel(lam=0.1), "weak_semantic"
    start = find_start(model, name)
    with mp.workdps(digits + 10):
        found = estimate(model, name, COLUMNS[name], start, digits + 2, lambda _: None)
        for residual in residuals(model, name, found.V, found.alpha, angles, mpf(step)):
            assert abs(residual) < mpf(10) ** -digits


def test_the_bulk_threshold_is_the_fold_of_the_response():
    """alpha as a function of V, (sigma^2 - lambda V)/(sigma^2 V E Tr K), is largest there."""
    model = AttentionModel(lam=0.2, omega=0.5)
    found = weak_threshold(model, "weak_bulk", 12)
    V = mpf(found.at["zero"].overlaps.V)

    def alpha(at):
        trace = by_polar.means(model, at, 40, mpf("0.08"))[0]
        return (1 - exact(model, "lam") * 4 * at) / (at * trace)

    with mp.workdps(24):
        there, below, above = (alpha(V * (1 + x * mpf("1e-4"))) for x in (0, -1, 1))
        assert abs(there - found.alpha) < 1e-9
        assert 0 < there - below < 1e-6 * there
        assert abs((there - below) / (there - above) - 1) < 1e-2
    assert found.at["zero"].replicon == 0


@pytest.mark.parametrize(
    ("name", "lam", "omega", "sigma"),
    [
        ("weak_positional", 0.07, 0.3, 0.5),
        ("weak_positional", 0.08, 0.3, 0.5),
        ("weak_positional", 0.6, 0.1, 0.7),
        ("weak_semantic", 0.08, 0.3, 0.5),
        ("weak_bulk", 0.2, 0.3, 0.5),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in (
                ("weak_semantic", 0.07, 0.3, 0.5),
                ("weak_semantic", 0.6, 0.1, 0.7),
                ("weak_bulk", 0.07, 0.3, 0.5),
                ("weak_bulk", 0.08, 0.3, 0.5),
                ("weak_bulk", 0.6, 0.1, 0.7),
            )
        ),
    ],
)
def test_the_error_holds_against_twice_the_digits(name, lam, omega, sigma):
    model = AttentionModel(lam=lam, omega=omega, sigma=sigma)
    fine = weak_threshold(model, name, 21, certificate="estimated")
    for digits in (3, 9, 15):
        found = weak_threshold(model, name, digits, certificate="estimated")
        assert abs(found.alpha - fine.alpha) <= found.error + fine.error
        # as floats, so not beyond 15 digits
        assert found.error <= 0.5 * 10.0**-digits * found.alpha
        assert found.digits >= digits
        assert found.certificate == "estimated"


def test_the_branch_ends_in_the_order_of_the_paper_and_has_replicons():
    model = AttentionModel(lam=0.1)
    found = [weak_threshold(model, name, 6, certificate="estimated") for name in COLUMNS]
    positional, semantic, bulk = (threshold.alpha for threshold in found)
    assert 1.0 < positional < 1.1 < semantic < bulk
    replicons = [threshold.at["zero"].replicon for threshold in found]
    assert 1 > replicons[0] > replicons[1] > replicons[2] == 0


def test_a_response_that_falls_has_no_fold():
    model = AttentionModel(omega=0.9, lam=0.1, mixing=ASYMMETRIC)
    for name in COLUMNS:
        with pytest.raises(ComputationFailed, match="at every sample complexity"):
            weak_threshold(model, name)


NOT_THERE = {
    "the paper's penalty": (AttentionModel(), "is nowhere a regular fixed point"),
    "a weak penalty": (AttentionModel(lam=0.05), r"beyond alpha = 0\.1743.*lies lower than x = 0"),
    "nothing to learn": (
        AttentionModel(omega=1.0, mixing=((0.5, 0.5), (0.5, 0.5))),
        "at every sample complexity",
    ),
    "large sigma": (AttentionModel(sigma=100.0, lam=1e9), "try a smaller sigma"),
}


@pytest.mark.parametrize("case", NOT_THERE)
def test_what_does_not_exist_is_said_with_its_reason(case):
    model, reason = NOT_THERE[case]
    with pytest.raises(ComputationFailed, match=reason):
        weak_threshold(model, "weak_positional")


def test_digits_out_of_reach_say_how_many_are_not():
    with pytest.raises(ComputationFailed, match=r"1000 digits need .* try 1\d\d digits"):
        weak_threshold(AttentionModel(lam=0.1), "weak_bulk", 1000)


def test_a_proof_needs_python_flint(monkeypatch):
    monkeypatch.setattr("symattn.weak_learning.find_spec", lambda name: None)
    with pytest.raises(ComputationFailed, match=r"symattn\[proofs\]"):
        weak_threshold(AttentionModel(lam=0.1), "weak_bulk", certificate="proved")
    found = weak_threshold(AttentionModel(lam=0.1), "weak_bulk", 6)
    assert found.certificate == "estimated"


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"name": "alpha_c"}, "name = 'alpha_c'"),
        ({"name": "weak_bulk", "digits": 0}, "digits = 0"),
        ({"name": "weak_bulk", "digits": 1001}, "1 to 1000"),
        ({"name": "weak_bulk", "certificate": "sure"}, "certificate = 'sure'"),
    ],
)
def test_bad_input_names_the_value(arguments, named):
    with pytest.raises(InvalidInput) as caught:
        weak_threshold(AttentionModel(), **arguments)
    assert named in str(caught.value)


@pytest.mark.slow
def test_fifty_digits_begin_with_fewer():
    model = AttentionModel(lam=0.1)
    found = weak_threshold(model, "weak_positional", 50, certificate="estimated")
    with mp.workdps(60):
        for digits in (15, 20, 35):
            fewer = weak_threshold(model, "weak_positional", digits, certificate="estimated")
            assert abs(fewer.alpha - found.alpha) <= fewer.error + found.error
