"""The kernels at arguments drawn from all of their domain, against expressions and definitions."""

import functools
from dataclasses import dataclass

import numpy as np
import pytest
import sympy as sp
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from mpmath import matrix, mp, mpf

from symattn.kernels import two_tokens
from symattn.kernels.generated import mpmath_l2_r1_t1, numba_l2_r1_t1, numpy_l2_r1_t1
from symattn.symbolic.functions import logistic
from tests.kernels import model_by_hand
from tests.kernels.mpmath_channel import energy_at, field_at, field_slopes
from tests.properties.strategies import log_floats

KERNELS = {kernel.name: kernel for kernel in two_tokens.kernels()}
#: exp underflows; what is below this is no error.
UNDERFLOW = mpf(10) ** -290

shares = st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0.0, 1.0))
#: Smaller ones are 0: the squares of some underflow.
numbers = st.floats(-30.0, 30.0).map(lambda x: x if abs(x) > 1e-9 else 0.0)
#: What an argument of this name may be; the others are any numbers.
ARGUMENTS = {
    **dict.fromkeys(("omega", "a11", "a22", "t11", "t22", "s11", "s22"), shares),
    "sigma": log_floats(0.05, 5.0),
    "V": log_floats(1e-3, 1e3),
    "s": log_floats(1e-3, 10.0),
    "lam": log_floats(1e-3, 10.0),
    "alpha": log_floats(0.05, 10.0),
    "V_hat": st.floats(0.0, 30.0),
}


@st.composite
def arguments(draw, kernel):
    """One value for each argument, by name."""
    point = {x.name: draw(ARGUMENTS.get(x.name, numbers)) for x in kernel.arguments}
    if kernel.name == "field_law":
        least = (point["theta"] / point["sigma"]) ** 2
        point["q"] = (1.0 + draw(log_floats(1e-6, 10.0))) * least + draw(log_floats(1e-6, 1.0))
    return point


@dataclass
class Rounded:
    """A number, and how far off it may be."""

    value: mpf
    error: mpf

    @property
    def largest(self):
        return abs(self.value) + self.error


@dataclass
class Arithmetic:
    """Operations that round to `unit` of their result, in the mpmath precision at hand.

    The logistic function is off by `floor` at most in addition.
    """

    unit: mpf
    floor: float = 0.0

    def total(self, terms):
        rounding = len(terms) * self.unit * mp.fsum(x.largest for x in terms)
        return Rounded(mp.fsum(x.value for x in terms), mp.fsum(x.error for x in terms) + rounding)

    def product(self, factors):
        value, largest = mp.fprod(x.value for x in factors), mp.fprod(x.largest for x in factors)
        return Rounded(value, largest * (1 + len(factors) * self.unit) - abs(value))

    def power(self, base, exponent):
        value = base.value**exponent
        nearest = abs(base.value) - base.error
        if exponent < 0 and nearest <= 0:
            return Rounded(value, mp.inf)
        nearest = max(nearest, mpf(0))
        spread = abs(base.largest**exponent - nearest**exponent)
        return Rounded(value, spread + (1 + abs(exponent)) * self.unit * abs(value))

    def exponential(self, z):
        value = mp.exp(z.value)
        return Rounded(value, value * (mp.expm1(z.error) + 2 * self.unit))

    def logistic(self, z):
        value = 1 / (1 + mp.exp(-z.value))
        spread = value * (1 - value) * mp.expm1(z.error)
        return Rounded(value, spread + 4 * self.unit * value + self.floor)

    def constant(self, number):
        value = +mp.pi if number is sp.pi else mpf(int(number.p)) / int(number.q)
        return Rounded(value, self.unit * abs(value))

    def evaluate(self, expression, known):
        """A sympy expression by the operations that it is made of."""
        if expression in known:
            return known[expression]
        if expression.is_number and not expression.args:
            return self.constant(expression)
        parts = [self.evaluate(part, known) for part in expression.args]
        if expression.is_Add:
            return self.total(parts)
        if expression.is_Mul:
            return self.product(parts)
        if expression.is_Pow:
            return self.power(parts[0], parts[1].value)
        return {sp.exp: self.exponential, logistic: self.logistic}[expression.func](*parts)

    def results(self, kernel, point):
        """The results of a kernel at these exact arguments."""
        known = {x: Rounded(mpf(point[x.name]), mpf(0)) for x in kernel.arguments}
        for name, value in (*kernel.steps, *kernel.results):
            known[name] = self.evaluate(value, known)
        return [known[name] for name, _ in kernel.results]


def as_list(values):
    return list(values) if isinstance(values, tuple) else [values]


def in_torch(name, point):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    from symattn.kernels.generated import torch_l2_r1_t1

    tensors = [torch.tensor(x, dtype=torch.float64) for x in point]
    return [x.item() for x in as_list(getattr(torch_l2_r1_t1, name)(*tensors))]


def in_numpy(name, point):
    with np.errstate(all="ignore"):
        found = as_list(getattr(numpy_l2_r1_t1, name)(*(np.array([x]) for x in point)))
    return [float(x[0]) for x in found]


def in_numba(name, point):
    return as_list(getattr(numba_l2_r1_t1, name)(*point))


DOUBLES = Arithmetic(mpf(2) ** -53)
BACK_ENDS = {
    "numba": (in_numba, DOUBLES),
    # numpy's logistic function is good to 1e-16, where it is small, too
    "numpy": (in_numpy, Arithmetic(DOUBLES.unit, 4 * DOUBLES.unit)),
    "torch": (in_torch, DOUBLES),
}


def assert_within(found, expected):
    assert len(found) == len(expected)
    for got, wanted in zip(found, expected, strict=True):
        assert abs(mpf(got) - wanted.value) <= 4 * wanted.error + UNDERFLOW, (got, wanted.value)


@pytest.mark.parametrize("back_end", BACK_ENDS)
@pytest.mark.parametrize("name", KERNELS)
def test_kernels_of_doubles_are_their_expressions_within_rounding(name, back_end):
    values_at, arithmetic = BACK_ENDS[back_end]

    @settings(max_examples=10)
    @given(arguments(KERNELS[name]))
    def at_a_point(point):
        with mp.workdps(50):
            try:
                expected = arithmetic.results(KERNELS[name], point)
            except ZeroDivisionError:
                reject()
            assert_within(values_at(name, point.values()), expected)

    at_a_point()


@pytest.mark.parametrize("name", KERNELS)
def test_mpmath_kernels_are_their_expressions_to_all_digits(name):
    @settings(max_examples=10)
    @given(arguments(KERNELS[name]))
    def at_a_point(point):
        try:
            with mp.workdps(60):
                expected = Arithmetic(mpf(10) ** -39).results(KERNELS[name], point)
            with mp.workdps(40):
                found = as_list(getattr(mpmath_l2_r1_t1, name)(*map(mpf, point.values())))
        except ZeroDivisionError:
            reject()
        with mp.workdps(60):
            assert_within(found, expected)

    at_a_point()


def big(*values):
    return tuple(map(mpf, values))


def close(found, expected, digits):
    for got, wanted in zip(found, expected, strict=True):
        assert abs(got - wanted) <= mpf(10) ** -digits * (1 + abs(wanted)), (got, wanted)


def in_mpmath(digits):
    """Run a test in this many digits."""

    def decorate(test):
        @functools.wraps(test)
        def inside(*args, **kwargs):
            with mp.workdps(digits):
                return test(*args, **kwargs)

        return inside

    return decorate


coordinates = st.floats(-6.0, 6.0)
slopes_and_bends = st.floats(-5.0, 5.0)


@settings(max_examples=20)
@given(coordinates, coordinates, shares, shares, log_floats(0.05, 5.0))
@in_mpmath(50)
def test_channel_is_the_loss_of_the_definition_with_its_derivatives(u, v, t11, t22, sigma):
    u, v, t11, t22, sigma = big(u, v, t11, t22, sigma)
    target = model_by_hand.two_token_target(t11, t22)

    def loss(a, b):
        return model_by_hand.loss(model_by_hand.from_rotated(a, b), target, sigma)

    found = mpmath_l2_r1_t1.channel(u, v, t11, t22, sigma)
    close(found, model_by_hand.derivatives(loss, (u, v)), 35)


@settings(max_examples=20)
@given(coordinates, coordinates)
@in_mpmath(50)
def test_student_jet_is_the_attention_of_the_definition_with_its_derivatives(u, v):
    def weight(row):
        return lambda a, b: model_by_hand.attention(model_by_hand.from_rotated(a, b))[row, row]

    found = mpmath_l2_r1_t1.student_jet(*big(u, v))
    expected = [model_by_hand.derivatives(weight(row), big(u, v)) for row in (0, 1)]
    close(found, [*expected[0], *expected[1]], 35)


@settings(max_examples=20)
@given(coordinates, coordinates, shares, shares, shares)
@in_mpmath(50)
def test_target_is_that_of_the_definition(u, v, omega, a11, a22):
    u, v, omega, a11, a22 = big(u, v, omega, a11, a22)
    weights = model_by_hand.attention(model_by_hand.from_rotated(u, v))
    mixed = (1 - omega) * weights + omega * model_by_hand.two_token_target(a11, a22)
    close(mpmath_l2_r1_t1.target(u, v, omega, a11, a22), [mixed[0, 0], mixed[1, 1]], 45)


@settings(max_examples=20)
@given(coordinates, coordinates, shares, shares, log_floats(0.05, 2.0), log_floats(1e-3, 1e2))
@in_mpmath(50)
def test_at_its_field_a_point_is_critical_and_det_is_the_volume_that_the_field_sweeps(
    u, v, t11, t22, sigma, V
):
    u, v, t11, t22, sigma, V = big(u, v, t11, t22, sigma, V)
    field = field_at(t11, t22, sigma, V)
    a, b, det = field(u, v)
    energy = energy_at(a, b, t11, t22, sigma, V)
    close([mp.diff(energy, (u, v), order) for order in ((1, 0), (0, 1))], [0, 0], 32)
    (a_u, b_u), (a_v, b_v) = field_slopes(field, u, v)
    close([det], [a_u * b_v - a_v * b_u], 32)


@settings(max_examples=30)
@given(*(slopes_and_bends,) * 5, log_floats(1e-3, 1e2))
@in_mpmath(50)
def test_curvature_and_response_are_those_of_the_matrix(l_u, l_v, l_uu, l_uv, l_vv, V):
    l_u, l_v, l_uu, l_uv, l_vv, V = big(l_u, l_v, l_uu, l_uv, l_vv, V)
    H = matrix([[l_uu, l_uv], [l_uv, l_vv]])
    det = mp.det(mp.eye(2) + V * H)
    if abs(det) < 1e-6:
        return
    K = H * (mp.eye(2) + V * H) ** -1
    g = matrix([l_u, l_v])
    square = mp.fsum(x**2 for x in K)
    found = mpmath_l2_r1_t1.envelope_curvature(l_uu, l_uv, l_vv, V)
    close(found, [det, K[0, 0] + K[1, 1], square], 30)
    response = det * (g.T * K * g)[0]
    close([mpmath_l2_r1_t1.response(l_u, l_v, l_uu, l_uv, l_vv, V)], [response], 30)


@settings(max_examples=20)
@given(arguments(KERNELS["field_law"]), coordinates, coordinates)
@in_mpmath(60)
def test_scores_are_the_slopes_of_the_logarithm_of_the_normal_density(point, a, b):
    (a, b), (q, m, theta, u_star, v_star, sigma) = big(a, b), big(*point.values())

    def log_density(q, m, theta):
        variance = q - theta**2 / sigma**2
        y_a = a - mp.sqrt(2) * m - theta / sigma**2 * u_star
        y_b = b - theta / sigma**2 * v_star
        return -mp.log(2 * mp.pi * variance) - (y_a**2 + y_b**2) / (2 * variance)

    law = mpmath_l2_r1_t1.field_law(q, m, theta, u_star, v_star, sigma)
    close([mp.log(mpmath_l2_r1_t1.density(a, b, *law))], [log_density(q, m, theta)], 40)
    found = mpmath_l2_r1_t1.scores(a, b, *law, u_star, v_star, theta, sigma)
    orders = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
    close(found, [mp.diff(log_density, (q, m, theta), order) for order in orders], 30)


@settings(max_examples=20)
@given(arguments(KERNELS["rest_integrands"]))
@in_mpmath(60)
def test_slopes_in_V_at_rest_are_slopes_of_what_stands_before_them(point):
    *rest, V = big(*point.values())

    def integrand(place):
        return lambda V: mpmath_l2_r1_t1.rest_integrands(*rest, V)[place]

    det, *found = mpmath_l2_r1_t1.rest_integrands(*rest, V)
    if abs(det) < 1e-3:
        return
    close(found[4:], [mp.diff(integrand(place), V) for place in range(1, 5)], 25)


hats = st.tuples(st.floats(0.0, 5.0), coordinates, st.floats(0.0, 30.0), coordinates)


def ridge_by_hand(q_hat, m_hat, V_hat, theta_hat, lam, sigma):
    D, rho = lam + sigma**2 * V_hat, sigma**2
    source = sigma**2 * q_hat + m_hat**2 + sigma**2 * rho * theta_hat**2
    return sigma**2 * source / D**2, m_hat / D, sigma**2 / D, sigma**2 * rho * theta_hat / D


def gradient(function, point):
    """By differences, in every argument."""
    size = len(point)
    return [mp.diff(function, point, [int(i == j) for j in range(size)]) for i in range(size)]


@settings(max_examples=15)
@given(hats, log_floats(1e-3, 10.0), log_floats(0.2, 1.0))
@in_mpmath(50)
def test_ridge_is_its_formula_and_its_jacobian_the_differences_of_that(hats, lam, sigma):
    hats, (lam, sigma) = big(*hats), big(lam, sigma)
    found = mpmath_l2_r1_t1.ridge(*hats, lam, sigma)
    close(found, ridge_by_hand(*hats, lam, sigma), 40)
    expected = [
        slope
        for row in range(4)
        for slope in gradient(lambda *x, row=row: ridge_by_hand(*x, lam, sigma)[row], hats)
    ]
    close(mpmath_l2_r1_t1.ridge_jacobian(*hats, lam, sigma), expected, 30)


@settings(max_examples=15)
@given(hats, log_floats(0.05, 10.0), log_floats(1e-3, 10.0), log_floats(0.2, 1.0), shares)
@in_mpmath(50)
def test_the_extremal_training_loss_is_stationary_in_the_hats_where_the_ridge_side_holds(
    hats, alpha, lam, sigma, envelope
):
    hats, (alpha, lam, sigma, envelope) = big(*hats), big(alpha, lam, sigma, envelope)
    overlaps = ridge_by_hand(*hats, lam, sigma)

    def loss(*hats_or_overlaps):
        return mpmath_l2_r1_t1.train_loss_extremal(alpha, envelope, *hats_or_overlaps, lam, sigma)

    close(gradient(lambda *x: loss(*overlaps, *x), hats), [0, 0, 0, 0], 30)
    # with the hats' definitions, q_hat = -2 alpha dE[M]/dV and so on, in the overlaps as well
    q_hat, m_hat, V_hat, theta_hat = hats
    by_overlap = gradient(lambda *x: loss(*x, *hats), overlaps)
    close(by_overlap, [-V_hat / 2, m_hat, q_hat / 2, theta_hat], 35)


@settings(max_examples=30)
@given(*(coordinates,) * 6, log_floats(1e-2, 1e2))
@in_mpmath(40)
def test_a_jump_is_the_difference_of_its_two_sides(x_u, x_v, y_u, y_v, a, b, V):
    x, y, w = matrix(big(x_u, x_v)), matrix(big(y_u, y_v)), matrix(big(a, b))
    V = mpf(V)
    length = mp.norm(x - y)
    if length < 1e-3:
        return
    squares = [mp.norm(side - w) ** 2 / V**2 for side in (x, y)]
    middle, half = (x + y) / 2, (x - y) / 2
    found = mpmath_l2_r1_t1.jump(*middle, *half, *w, V)
    close(found, [length, -V * (squares[0] - squares[1]) ** 2 / (4 * length)], 25)


def test_the_bound_of_rounding_errors_is_a_few_roundings_where_nothing_cancels():
    with mp.workdps(50):
        values = (0.7, -0.4, 0.6, 0.5, 0.5)
        point = {x.name: y for x, y in zip(KERNELS["channel"].arguments, values, strict=True)}
        for x in DOUBLES.results(KERNELS["channel"], point):
            assert 1e-18 < x.error < 1e-14
