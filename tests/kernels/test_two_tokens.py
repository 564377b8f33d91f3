"""The committed kernels, against the definition of the model and against their expressions."""

import ast
import math
import random
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import sympy as sp
from mpmath import mp, mpf

from symattn.kernels import two_tokens
from symattn.kernels.generated import mpmath_l2_r1_t1, numba_l2_r1_t1, numpy_l2_r1_t1
from tests.kernels import model_by_hand
from tests.kernels.mpmath_channel import energy_at, field_at, field_slopes

KERNELS = {kernel.name: kernel for kernel in two_tokens.kernels()}
EXPECTED_ARGUMENTS = {
    "target": "u_star v_star omega a11 a22",
    "student_jet": "u v",
    "loss_jet": (
        "s11 s11_u s11_v s11_uu s11_uv s11_vv s22 s22_u s22_v s22_uu s22_uv s22_vv t11 t22 sigma"
    ),
    "channel": "u v t11 t22 sigma",
    "inverse_prox": "u v l_u l_v l_uu l_uv l_vv V",
    "energy": "u v a b loss V",
    "hat_integrands": "g_u g_v a b a_mean b_mean s u_star v_star",
    "test_loss": "s11 s22 t11 t22 sigma",
    "field_law": "q m theta u_star v_star sigma",
    "density": "a b a_mean b_mean s",
    "scores": "a b a_mean b_mean s u_star v_star theta sigma",
    "slope_integrands": "e_g2 e_gm e_div e_gh score_q score_m score_theta s",
    "envelope": "g_u g_v loss V",
    "envelope_curvature": "l_uu l_uv l_vv V",
    "response": "l_u l_v l_uu l_uv l_vv V",
    "rest_integrands": "t11 t22 u_star v_star sigma V",
    "jump": "X_u X_v D_u D_v a b V",
    "ridge": "q_hat m_hat V_hat theta_hat lam sigma",
    "ridge_jacobian": "q_hat m_hat V_hat theta_hat lam sigma",
    "hats": "alpha e_g2 e_gm e_div e_gh theta sigma",
    "train_loss_extremal": ("alpha envelope q m V theta q_hat m_hat V_hat theta_hat lam sigma"),
    "train_loss_direct": "alpha loss_at_prox q lam sigma",
    "hats_jacobian": (
        "alpha V_hat e_g2_by_q e_g2_by_m e_g2_by_theta e_gm_by_q e_gm_by_m e_gm_by_theta e_gh_by_q "
        "e_gh_by_theta e_div_by_q response theta sigma"
    ),
    "train_loss_direct_gradient": (
        "alpha q_hat m_hat V_hat theta_hat e_g2_by_q e_g2_by_m e_g2_by_theta response V lam sigma"
    ),
}


def rational_point(kernel, seed):
    """Exact random arguments; decimals would round differently in each back end."""
    source = random.Random(f"{kernel.name} {seed}")
    point = {
        symbol.name: Fraction(source.randint(100 if symbol.is_positive else -1500, 1500), 1024)
        for symbol in kernel.arguments
    }
    if kernel.name == "field_law":
        point["q"] = abs(point["q"]) + math.ceil((point["theta"] / point["sigma"]) ** 2)
    return list(point.values())


def exact_values(kernel, point):
    """The kernel's expressions at a rational point, to 60 digits by sympy."""
    numbers = {
        symbol: sp.Rational(x.numerator, x.denominator)
        for symbol, x in zip(kernel.arguments, point, strict=True)
    }
    return [expression.xreplace(numbers).evalf(60) for expression in kernel.expressions()]


def as_list(values):
    return list(values) if isinstance(values, tuple) else [values]


def all_points(test):
    test = pytest.mark.parametrize("seed", range(3))(test)
    return pytest.mark.parametrize("name", KERNELS)(test)


def test_names_and_arguments_are_those_that_solvers_rely_on():
    found = {name: " ".join(x.name for x in kernel.arguments) for name, kernel in KERNELS.items()}
    assert found == EXPECTED_ARGUMENTS


@all_points
def test_mpmath_kernels_are_their_expressions_to_fifty_digits(name, seed):
    point = rational_point(KERNELS[name], seed)
    expected = exact_values(KERNELS[name], point)
    with mp.workdps(50):
        found = as_list(getattr(mpmath_l2_r1_t1, name)(*point))
        assert len(found) == len(expected)
        for got, wanted in zip(found, expected, strict=True):
            assert abs(got - mpf(str(wanted))) <= mpf(10) ** -47 * (1 + abs(got))


@all_points
def test_arb_kernels_hold_their_expressions(name, seed):
    flint = pytest.importorskip("flint", reason="python-flint is not installed")
    from symattn.kernels.generated import arb_l2_r1_t1

    point = rational_point(KERNELS[name], seed)
    expected = exact_values(KERNELS[name], point)
    before, flint.ctx.prec = flint.ctx.prec, 200
    try:
        balls = [flint.arb(flint.fmpq(x.numerator, x.denominator)) for x in point]
        found = as_list(getattr(arb_l2_r1_t1, name)(*balls))
        for ball, wanted in zip(found, expected, strict=True):
            assert abs(ball - flint.arb(str(wanted))) < flint.arb("1e-45") * (1 + abs(ball))
    finally:
        flint.ctx.prec = before


@all_points
def test_numba_kernels_are_their_expressions_to_double_precision(name, seed):
    point = rational_point(KERNELS[name], seed)
    expected = [float(value) for value in exact_values(KERNELS[name], point)]
    found = as_list(getattr(numba_l2_r1_t1, name)(*map(float, point)))
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("name", KERNELS)
def test_numpy_kernels_are_their_expressions_to_double_precision(name):
    kernel = KERNELS[name]
    points = [rational_point(kernel, seed) for seed in range(3)]
    expected = np.array([exact_values(kernel, point) for point in points], dtype=float)
    found = as_list(getattr(numpy_l2_r1_t1, name)(*np.array(points, dtype=float).T))
    for column, got in enumerate(found):
        assert got.shape == (3,)
        np.testing.assert_allclose(got, expected[:, column], rtol=1e-13, atol=1e-13)


def test_numpy_kernels_continue_into_the_complex_plane():
    # the derivative along the imaginary axis is i times that along the real one
    change = 1e-7
    jet = numpy_l2_r1_t1.student_jet(np.array([0.3 + 1j * change]), np.array([-0.8]))
    np.testing.assert_allclose(jet[0].imag / change, jet[1].real, rtol=1e-6)
    np.testing.assert_allclose(jet[6].imag / change, jet[7].real, rtol=1e-6)


@pytest.mark.parametrize("name", KERNELS)
def test_torch_kernels_are_their_expressions_to_double_precision(name):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    from symattn.kernels.generated import torch_l2_r1_t1

    kernel = KERNELS[name]
    points = [rational_point(kernel, seed) for seed in range(3)]
    expected = np.array([exact_values(kernel, point) for point in points], dtype=float)
    columns = torch.tensor(np.array(points, dtype=float)).unbind(dim=1)
    found = as_list(getattr(torch_l2_r1_t1, name)(*columns))
    for column, got in enumerate(found):
        assert got.shape == (3,)
        np.testing.assert_allclose(got.numpy(), expected[:, column], rtol=1e-13, atol=1e-13)


def test_torch_kernels_broadcast_and_pass_gradients():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    from symattn.kernels.generated import torch_l2_r1_t1

    u = torch.linspace(-1, 1, 5, dtype=torch.float64, requires_grad=True)
    v = torch.linspace(-2, 2, 3, dtype=torch.float64)[:, None]
    t11, t22, sigma = (torch.tensor(x, dtype=torch.float64) for x in (0.6, 0.5, 0.5))
    value, l_u, *_ = torch_l2_r1_t1.channel(u, v, t11, t22, sigma)
    assert value.shape == (3, 5)
    (slope,) = torch.autograd.grad(value.sum(), u)
    np.testing.assert_allclose(slope.numpy(), l_u.detach().sum(dim=0).numpy(), rtol=1e-12)


CHANNEL_POINTS = [
    ("0.3", "-0.7", "0.6", "0.5", "0.5"),
    ("-1.1", "0.4", "0.3", "0.8", "0.25"),
    ("0", "0", "0.2", "0.9", "1"),
    ("2.5", "3.5", "0.61", "0.38", "0.5"),
]


@pytest.mark.parametrize("point", CHANNEL_POINTS)
def test_channel_is_the_loss_of_the_definition_with_its_derivatives(point):
    with mp.workdps(50):
        u, v, t11, t22, sigma = map(mpf, point)
        target = model_by_hand.two_token_target(t11, t22)

        def loss(a, b):
            return model_by_hand.loss(model_by_hand.from_rotated(a, b), target, sigma)

        expected = model_by_hand.derivatives(loss, (u, v))
        found = mpmath_l2_r1_t1.channel(u, v, t11, t22, sigma)
        for got, wanted in zip(found, expected, strict=True):
            assert abs(got - wanted) < mpf(10) ** -40


@pytest.mark.parametrize("point", CHANNEL_POINTS)
def test_fused_channel_is_loss_jet_of_student_jet(point):
    u, v, t11, t22, sigma = map(float, point)
    jet = numba_l2_r1_t1.student_jet(u, v)
    split = numba_l2_r1_t1.loss_jet(*jet, t11, t22, sigma)
    fused = numba_l2_r1_t1.channel(u, v, t11, t22, sigma)
    np.testing.assert_allclose(fused, split, rtol=1e-14, atol=1e-16)


def test_student_jet_is_the_attention_of_the_definition_with_its_derivatives():
    with mp.workdps(50):
        point = (mpf("0.45"), mpf("-1.3"))
        for row in (0, 1):

            def weight(u, v, row=row):
                return model_by_hand.attention(model_by_hand.from_rotated(u, v))[row, row]

            expected = model_by_hand.derivatives(weight, point)
            found = mpmath_l2_r1_t1.student_jet(*point)[6 * row :][:6]
            for got, wanted in zip(found, expected, strict=True):
                assert abs(got - wanted) < mpf(10) ** -40


def test_target_mixes_its_softmax_with_a_matrix():
    with mp.workdps(50):
        u, v, omega = mpf("0.8"), mpf("-0.2"), mpf("0.3")
        weights = model_by_hand.attention(model_by_hand.from_rotated(u, v))
        t11, t22 = mpmath_l2_r1_t1.target(u, v, omega, mpf("0.6"), mpf("0.2"))
        assert abs(t11 - (mpf("0.7") * weights[0, 0] + mpf("0.18"))) < mpf(10) ** -48
        assert abs(t22 - (mpf("0.7") * weights[1, 1] + mpf("0.06"))) < mpf(10) ** -48


@pytest.mark.parametrize("point", CHANNEL_POINTS)
def test_inverse_prox_makes_the_energy_stationary_and_has_its_determinant(point):
    with mp.workdps(50):
        u, v, t11, t22, sigma = map(mpf, point)
        V = mpf("14.5")
        field = field_at(t11, t22, sigma, V)
        a, b, det = field(u, v)
        energy = energy_at(a, b, t11, t22, sigma, V)
        assert abs(mp.diff(energy, (u, v), (1, 0))) < mpf(10) ** -38
        assert abs(mp.diff(energy, (u, v), (0, 1))) < mpf(10) ** -38
        columns = field_slopes(field, u, v)
        jacobian = columns[0][0] * columns[1][1] - columns[0][1] * columns[1][0]
        assert abs(det - jacobian) < mpf(10) ** -38


def test_energy_is_that_of_the_tokens():
    with mp.workdps(50):
        u, v, a, b, loss, V = (mpf(x) / 7 for x in (3, -2, 5, 1, 4, 9))
        x, w = model_by_hand.from_rotated(u, v), model_by_hand.from_rotated(a, b)
        expected = mp.fsum((x[i] - w[i]) ** 2 for i in (0, 1)) / (2 * V) + loss
        assert abs(mpmath_l2_r1_t1.energy(u, v, a, b, loss, V) - expected) < mpf(10) ** -48


def test_hat_integrands_are_products_summed_over_tokens():
    with mp.workdps(50):
        g_u, g_v, a, b, a_mean, b_mean, s, u, v = (mpf(x) / 7 for x in (3, 2, 5, 1, 4, 9, 2, -3, 6))
        g = model_by_hand.from_rotated(g_u, g_v)
        h = model_by_hand.from_rotated(u, v)
        moved = model_by_hand.from_rotated(a - a_mean, b - b_mean)
        expected = [
            g[0] ** 2 + g[1] ** 2,
            g[0] - g[1],
            (g[0] * moved[0] + g[1] * moved[1]) / s**2,
            g[0] * h[0] + g[1] * h[1],
        ]
        found = mpmath_l2_r1_t1.hat_integrands(g_u, g_v, a, b, a_mean, b_mean, s, u, v)
        for got, wanted in zip(found, expected, strict=True):
            assert abs(got - wanted) < mpf(10) ** -47


def test_test_loss_is_the_loss_at_given_weights():
    assert numba_l2_r1_t1.test_loss(0.9, 0.2, 0.6, 0.5, 0.5) == pytest.approx(
        0.25 * (0.3**2 + 0.3**2), rel=1e-14
    )


def exact_ridge(q_hat, m_hat, V_hat, theta_hat, lam, sigma):
    """The ridge side in exact fractions."""
    D, rho = lam + sigma**2 * V_hat, sigma**2
    source = sigma**2 * q_hat + m_hat**2 + sigma**2 * rho * theta_hat**2
    return sigma**2 * source / D**2, m_hat / D, sigma**2 / D, sigma**2 * rho * theta_hat / D


def test_ridge_is_exact_at_fifty_digits():
    # Thirds and sevenths have no finite binary expansion: a constant turned into a double shows.
    point = [Fraction(*x) for x in ((1, 3), (2, 7), (5, 3), (-4, 7), (1, 99), (1, 3))]
    with mp.workdps(50):
        found = mpmath_l2_r1_t1.ridge(*point)
        for got, wanted in zip(found, exact_ridge(*point), strict=True):
            assert abs(got * wanted.denominator - wanted.numerator) <= mpf(10) ** -48 * abs(
                wanted.numerator
            )


@pytest.mark.parametrize("back_end", [numba_l2_r1_t1, mpmath_l2_r1_t1])
def test_ridge_jacobian_is_the_derivative_of_the_ridge_side(back_end):
    point = [Fraction(x, 8) for x in (3, -2, 12, 5, 1, 4)]
    step = Fraction(1, 10**12)
    jacobian = np.array(back_end.ridge_jacobian(*map(float, point)), dtype=float).reshape(4, 4)
    for column in range(4):
        up, down = list(point), list(point)
        up[column] += step
        down[column] -= step
        slopes = [
            float((high - low) / (2 * step))
            for high, low in zip(exact_ridge(*up), exact_ridge(*down), strict=True)
        ]
        np.testing.assert_allclose(jacobian[:, column], slopes, rtol=1e-12, atol=1e-14)


def test_hats_are_their_definitions():
    alpha, e_g2, e_gm, e_div, e_gh, theta, sigma = 1.5, 0.02, 0.1, -0.03, 0.04, 0.2, 0.5
    V_hat = -alpha * e_div
    expected = (alpha * e_g2, alpha * e_gm, V_hat, (alpha * e_gh + theta * V_hat) / sigma**2)
    found = numba_l2_r1_t1.hats(alpha, e_g2, e_gm, e_div, e_gh, theta, sigma)
    assert found == pytest.approx(expected, rel=1e-14)


def test_both_forms_of_the_training_loss_agree_where_the_ridge_side_holds():
    # For any hats, with E[M] = E[loss] + V q_hat/(2 alpha): the envelope at a prox.
    with mp.workdps(50):
        alpha, lam, sigma = mpf(3) / 2, mpf(1) / 100, mpf(1) / 2
        hats = [mpf(x) / 7 for x in (2, 1, 3, -2)]
        overlaps = mpmath_l2_r1_t1.ridge(*hats, lam, sigma)
        q, _, V, _ = overlaps
        loss = mpf(1) / 30
        envelope = loss + V * hats[0] / (2 * alpha)
        extremal = mpmath_l2_r1_t1.train_loss_extremal(
            alpha, envelope, *overlaps, *hats, lam, sigma
        )
        direct = mpmath_l2_r1_t1.train_loss_direct(alpha, loss, q, lam, sigma)
        assert abs(extremal - direct) < mpf(10) ** -48


def test_the_logistic_function_saturates_without_a_warning():
    values = [numba_l2_r1_t1.logistic(z) for z in (-1e4, -750.0, 0.0, 750.0, 1e4)]
    assert values == [0.0, 0.0, 0.5, 1.0, 1.0]
    far = numba_l2_r1_t1.channel(200.0, -300.0, 0.6, 0.6, 0.5)
    assert np.all(np.isfinite(far))


def test_inner_kernels_use_two_exponentials():
    module = ast.parse(Path(numba_l2_r1_t1.__file__).read_text())
    calls = {
        function.name: [ast.unparse(x.func) for x in ast.walk(function) if isinstance(x, ast.Call)]
        for function in module.body
        if isinstance(function, ast.FunctionDef)
    }
    for name in ("student_jet", "channel"):
        assert sorted(calls[name]) == ["logistic", "logistic", "njit"]
    assert sorted(calls["logistic"]) == ["math.exp", "njit"]


@pytest.mark.parametrize("name", ["logistic", *KERNELS])
def test_numba_kernels_are_compiled_exactly_and_without_the_interpreter_lock(name):
    options = getattr(numba_l2_r1_t1, name).targetoptions
    assert options["error_model"] == "numpy"
    assert options["nogil"]
    assert not options.get("fastmath", False)
