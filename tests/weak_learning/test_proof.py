"""What the proofs rest on, and that estimates lie inside them."""

import random

import pytest
from mpmath import mp, mpc, mpf

from symattn import AttentionModel, ComputationFailed
from symattn.kernels.generated.mpmath_l2_r1_t1 import rest_integrands, target
from symattn.weak_learning import weak_threshold
from symattn.weak_learning._bounds import integrand_bounds, least_determinant

flint = pytest.importorskip("flint", reason="python-flint is not installed")
from symattn._balls import precision  # noqa: E402
from symattn.weak_learning import _proof  # noqa: E402

LAW = (mpf("0.3"), mpf("0.9"), mpf("0.4"))


def strips(seed):
    """A random sigma, V and complex z in one of the two strips."""
    source = random.Random(seed)
    sigma, nu = mpf(source.uniform(0.2, 2)), mpf(source.uniform(0, 1.05))
    c = mp.pi / (2 * sigma**2)
    x, y = (source.gauss(0, 1.5) for _ in range(2))
    if seed % 2:
        return sigma, nu / sigma**2, mpc(x, c / (2 * abs(x) + abs(y) + 1e-9)), mpf(y)
    return sigma, nu / sigma**2, mpf(x), mpc(y, c / (abs(x) + 1e-9))


@pytest.mark.parametrize("seed", range(200))
def test_integrands_in_the_strips_are_within_their_bounds(seed):
    sigma, V, z_u, z_v = strips(seed)
    least = least_determinant(V * sigma**2, *LAW)
    assert least > 0
    u, v = sigma * z_u, sigma * z_v
    weights = target(u, v, mpf(0), mpf(0), mpf(0))
    for weight in weights:
        assert abs(weight - mpf(1) / 2) < 0.5 + 1e-9
    det, *values = rest_integrands(*target(u, v, *LAW), u, v, sigma, V)
    assert mp.re(det) > least - 1e-12
    room = 1 + abs(z_u) ** 2 + abs(z_v) ** 2
    for value, bound in zip(values, integrand_bounds(V, sigma, *LAW, least), strict=True):
        assert abs(value) <= bound * room * (1 + 1e-9)


@pytest.mark.parametrize("sigma", [0.2, 0.5, 1.1])
def test_enclosures_at_few_digits_hold_those_at_many(sigma):
    model = AttentionModel(sigma=sigma, lam=1.0, mixing=((0.9, 0.1), (0.4, 0.6)))
    with precision(128):
        problem = _proof.Problem.of(model, 1)
        V = flint.arb(1) / 2 / problem.sigma / problem.sigma
        rough = _proof._means(problem, V, 1)
        fine = _proof._means(problem, V, 9)
        for wide, narrow in zip(rough, fine, strict=True):
            assert wide.contains(narrow)
            assert narrow.rad() < 1e-3 * wide.rad()


@pytest.mark.parametrize("name", ["weak_positional", "weak_semantic", "weak_bulk"])
def test_estimates_agree_with_proofs(name):
    model = AttentionModel(lam=0.25, omega=0.4)
    proved = weak_threshold(model, name, 17, certificate="proved")
    assert proved.certificate == "proved"
    estimated = weak_threshold(model, name, 22, certificate="estimated")
    assert abs(proved.alpha - estimated.alpha) <= proved.error + estimated.error
    assert proved.error <= mpf(10) ** -17 / 2 * proved.alpha


def test_a_wrong_root_is_not_proved():
    model = AttentionModel(lam=0.1)
    with pytest.raises(_proof.NotProved):
        _proof.prove(model, 1, mpf("2.9"), True, 6, lambda _: None)


def test_a_prox_that_jumps_is_not_proved_regular():
    with precision(96):
        problem = _proof.Problem.of(AttentionModel(), 1)
        _proof._prove_regular(problem, flint.arb("5.2"))
        with pytest.raises(_proof.NotProved):
            _proof._prove_regular(problem, flint.arb("5.3"))


def test_a_proof_that_fails_is_said_when_it_was_asked_for():
    # det(I + V H) is positive up to V = 5.26316, which is too near to the threshold's 5.26294
    with pytest.raises(ComputationFailed, match=r"estimated but not proved: .*try fewer digits"):
        weak_threshold(AttentionModel(lam=0.07), "weak_bulk", certificate="proved")
