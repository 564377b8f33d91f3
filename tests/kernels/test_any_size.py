"""Kernels generated for other sizes, against the definition of the model."""

import importlib.util
import random
import sys

import numpy as np
import pytest
from mpmath import matrix, mp, mpf

from symattn.kernels.generate import kernels, sources
from symattn.symbolic import Size
from tests.kernels import model_by_hand

SIZES = [Size(3), Size(2, 2, 2), pytest.param(Size(2, 2, 1), marks=pytest.mark.slow)]


def load(path):
    """Import a module from a file, so that numba can find its source."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module", params=SIZES, ids=lambda size: size.tag)
def generated(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param.tag)
    for name, text in sources(request.param).items():
        (folder / name).write_text(text)
    return request.param, folder


@pytest.fixture(scope="module")
def size(generated):
    return generated[0]


@pytest.fixture(scope="module")
def mp_kernels(generated):
    size, folder = generated
    return load(folder / f"mpmath_{size.tag}.py")


def numbers(count, seed):
    source = random.Random(seed)
    return [mpf(source.randint(-900, 900)) / 997 for _ in range(count)]


def rows(values, width):
    return matrix([values[i : i + width] for i in range(0, len(values), width)])


def flat(values):
    return [values[i, j] for i in range(values.rows) for j in range(values.cols)]


def upper(values):
    return [values[i, j] for i in range(values.rows) for j in range(i, values.cols)]


def symmetric(values, order):
    result = matrix(order, order)
    places = [(i, j) for i in range(order) for j in range(i, order)]
    for (i, j), value in zip(places, values, strict=True):
        result[i, j] = result[j, i] = value
    return result


def close(found, expected):
    assert len(found) == len(expected)
    for got, wanted in zip(found, expected, strict=True):
        assert abs(got - wanted) < mpf(10) ** -38 * (1 + abs(wanted))


@pytest.fixture
def channel_point(size):
    with mp.workdps(50):
        x = numbers(size.length * size.student_rank, seed=1)
        target = numbers(size.length**2, seed=2)
        yield x, target, mpf("0.7")


def test_channel_is_the_loss_of_the_definition_with_its_derivatives(
    size, mp_kernels, channel_point
):
    x, target, sigma = channel_point

    def loss(*fields):
        return model_by_hand.loss(
            rows(list(fields), size.student_rank), rows(target, size.length), sigma
        )

    expected = model_by_hand.derivatives(loss, tuple(x))
    close(mp_kernels.channel(*x, *target, sigma), expected)


def test_student_and_target_are_those_of_the_definition(size, mp_kernels):
    with mp.workdps(50):
        x = numbers(size.length * size.student_rank, seed=3)
        h = numbers(size.length * size.target_rank, seed=4)
        mixing, omega = numbers(size.length**2, seed=5), mpf("0.3")
        student = model_by_hand.attention(rows(x, size.student_rank))
        semantic = model_by_hand.attention(rows(h, size.target_rank))
        target = (1 - omega) * semantic + omega * rows(mixing, size.length)
        close(mp_kernels.student(*x), flat(student))
        close(mp_kernels.target(*h, omega, *mixing), flat(target))


def test_inverse_prox_makes_the_energy_stationary_and_has_its_determinant(
    size, mp_kernels, channel_point
):
    x, target, sigma = channel_point
    r, count = size.student_rank, len(x)
    V = [mpf(7) / 3] if r == 1 else [mpf(7) / 3, mpf(1) / 2, mpf(5) / 4]
    jet = mp_kernels.channel(*x, *target, sigma)
    *w, det = mp_kernels.inverse_prox(*x, *jet[1:], *V)
    wanted_target = rows(target, size.length)

    def energy(*fields):
        loss = model_by_hand.loss(rows(list(fields), r), wanted_target, sigma)
        return mp_kernels.energy(*fields, *w, loss, *V)

    _, *derivatives = model_by_hand.derivatives(energy, tuple(x))
    close(derivatives[:count], [mpf(0)] * count)
    hessian = symmetric(derivatives[count:], count)
    close([det], [mp.det(hessian) * mp.det(symmetric(V, r)) ** size.length])


def test_energy_is_the_quadratic_form_by_token(size, mp_kernels):
    with mp.workdps(50):
        r = size.student_rank
        x, w = (numbers(size.length * r, seed) for seed in (6, 7))
        V = [mpf(7) / 3] if r == 1 else [mpf(7) / 3, mpf(1) / 2, mpf(5) / 4]
        precision = symmetric(V, r) ** -1
        moved = rows(x, r) - rows(w, r)
        expected = (
            mp.fsum((moved[k, :] * precision * moved[k, :].T)[0] for k in range(size.length)) / 2
        )
        close([mp_kernels.energy(*x, *w, mpf(3), *V)], [expected + 3])


def test_hat_integrands_are_sums_over_tokens(size, mp_kernels):
    with mp.workdps(50):
        r, t = size.student_rank, size.target_rank
        g, w, w_mean = (numbers(size.length * r, seed) for seed in (8, 9, 10))
        h = numbers(size.length * t, seed=11)
        cov = [mpf(2) / 3] if r == 1 else [mpf(2) / 3, mpf(1) / 5, mpf(3) / 4]
        deviation = (rows(w, r) - rows(w_mean, r)) * symmetric(cov, r) ** -1
        div = rows(g, r).T * deviation
        expected = [
            *upper(rows(g, r).T * rows(g, r)),
            *upper((div + div.T) / 2),
            *flat(rows(g, r).T * rows(h, t)),
        ]
        close(mp_kernels.hat_integrands(*g, *w, *w_mean, *cov, *h), expected)


def overlap_point(size):
    """Random hats and Gram matrix, as flat arguments and as matrices."""
    L, r, t = size.length, size.student_rank, size.target_rank
    pairs = r * (r + 1) // 2
    q_hat, V_hat = numbers(pairs, seed=12), numbers(pairs, seed=13)
    m_hat, theta_hat = numbers(L * r, seed=14), numbers(r * t, seed=15)
    gram = numbers(L * (L + 1) // 2, seed=16)
    matrices = (
        symmetric(q_hat, r),
        rows(m_hat, r),
        symmetric(V_hat, r),
        rows(theta_hat, t),
        symmetric(gram, L),
    )
    return [*q_hat, *m_hat, *V_hat, *theta_hat], gram, matrices


def test_ridge_is_the_matrix_equation(size, mp_kernels):
    with mp.workdps(50):
        flat_hats, gram, (q_hat, m_hat, V_hat, theta_hat, G) = overlap_point(size)
        lam, sigma = mpf(2) / 3, mpf(4) / 5
        D = lam * mp.eye(size.student_rank) + sigma**2 * V_hat
        B = sigma**2 * q_hat + m_hat.T * G * m_hat + sigma**4 * theta_hat * theta_hat.T
        expected = [
            *upper(sigma**2 * D**-1 * B * D**-1),
            *flat(G * m_hat * D**-1),
            *upper(sigma**2 * D**-1),
            *flat(sigma**4 * D**-1 * theta_hat),
        ]
        close(mp_kernels.ridge(*flat_hats, *gram, lam, sigma), expected)


def test_hats_are_the_matrix_equation(size, mp_kernels):
    with mp.workdps(50):
        L, r, t = size.length, size.student_rank, size.target_rank
        pairs = r * (r + 1) // 2
        gg, div = numbers(pairs, seed=17), numbers(pairs, seed=18)
        g, gh, theta = numbers(L * r, seed=19), numbers(r * t, seed=20), numbers(r * t, seed=21)
        alpha, sigma = mpf(3) / 2, mpf(4) / 5
        V_hat = -alpha * symmetric(div, r)
        expected = [
            *(alpha * value for value in gg),
            *(alpha * value for value in g),
            *upper(V_hat),
            *flat((alpha * rows(gh, t) + V_hat * rows(theta, t)) / sigma**2),
        ]
        close(mp_kernels.hats(alpha, *gg, *g, *div, *gh, *theta, sigma), expected)


def test_both_forms_of_the_training_loss_agree_where_the_ridge_side_holds(size, mp_kernels):
    with mp.workdps(50):
        r = size.student_rank
        pairs = r * (r + 1) // 2
        hats, gram, (q_hat, *_) = overlap_point(size)
        alpha, lam, sigma, loss = mpf(3) / 2, mpf(2) / 3, mpf(4) / 5, mpf(1) / 30
        overlaps = mp_kernels.ridge(*hats, *gram, lam, sigma)
        q = overlaps[:pairs]
        V = symmetric(overlaps[pairs + size.length * r :][:pairs], r)
        product = q_hat * V
        envelope = loss + mp.fsum(product[i, i] for i in range(r)) / (2 * alpha)
        extremal = mp_kernels.train_loss_extremal(
            alpha, envelope, *overlaps, *hats, *gram, lam, sigma
        )
        close([extremal], [mp_kernels.train_loss_direct(alpha, loss, *q, lam, sigma)])


def double_point(kernel):
    source = random.Random(kernel.name)
    return [source.randint(100 if x.is_positive else -900, 900) / 1024 for x in kernel.arguments]


def values(result):
    return list(result) if isinstance(result, tuple) else [result]


# Compiling all of them takes numba long; these are the inner ones.
@pytest.mark.parametrize("name", ["student", "target", "channel", "inverse_prox", "energy"])
def test_numba_agrees_with_mpmath(generated, mp_kernels, name):
    size, folder = generated
    (kernel,) = (kernel for kernel in kernels(size) if kernel.name == name)
    compiled = load(folder / f"numba_{size.tag}.py")
    point = double_point(kernel)
    found = values(getattr(compiled, name)(*point))
    with mp.workdps(50):
        expected = [float(value) for value in values(getattr(mp_kernels, name)(*point))]
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13)


def test_torch_agrees_with_mpmath(generated, mp_kernels):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    size, folder = generated
    module = load(folder / f"torch_{size.tag}.py")
    for kernel in kernels(size):
        point = double_point(kernel)
        columns = [torch.tensor([x, x], dtype=torch.float64) for x in point]
        found = values(getattr(module, kernel.name)(*columns))
        with mp.workdps(50):
            expected = values(getattr(mp_kernels, kernel.name)(*point))
        for got, wanted in zip(found, expected, strict=True):
            assert got.shape == (2,)
            np.testing.assert_allclose(got.numpy(), float(wanted), rtol=1e-12, atol=1e-12)


def test_the_softmax_of_three_tokens_does_not_overflow(tmp_path):
    size = Size(3)
    path = tmp_path / "numba_far.py"
    path.write_text(sources(size)[f"numba_{size.tag}.py"])
    far = load(path).student(40.0, -50.0, 60.0)
    assert np.all(np.isfinite(far))
    np.testing.assert_allclose(np.reshape(far, (3, 3)).sum(axis=1), 1.0, rtol=1e-14)
