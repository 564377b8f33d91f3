"""Zero temperature: scalings in beta, and Laplace's method from the channel to the envelope."""

from __future__ import annotations

from dataclasses import replace

import sympy as sp
from mpmath import mp, mpf

from symattn.symbolic import channel, free_energy, laplace, quadratic
from symattn.symbolic import symbols as y
from symattn.symbolic.checks import (
    Case,
    Values,
    agree,
    at_random,
    curvatures,
    gaussian_mean,
    sample,
    slopes,
)
from symattn.symbolic.coordinates import Coordinates, coordinates
from symattn.symbolic.derivation import Chapter, Check, Equation, Step
from symattn.symbolic.latex import formula
from symattn.symbolic.points import ChannelPoint, linear_channel, named_overlaps
from symattn.symbolic.size import Size


def chapter(size: Size) -> Chapter:
    c = coordinates(size)
    steps = [_scaling(c), _solved(), _expansion()]
    if size.is_rotated:
        steps.append(_fluctuations(c))
    return Chapter(
        "Zero temperature",
        r"As $\beta \to \infty$ the Gibbs measure becomes the trained student. Each quantity takes "
        "the power of $\\beta$ that keeps it finite, and the integral over a replica's field is "
        "dominated by its best value.",
        tuple(steps),
    )


def _scaling(c: Coordinates) -> Step:
    p = c.order_parameters
    plain, scaled = free_energy.unscaled(p), free_energy.scaled(p)
    powers = {}
    for names, values in (
        (plain.overlaps.V, scaled.overlaps.V),
        *zip(plain.conjugates.matrices, scaled.conjugates.matrices, strict=True),
    ):
        for entry, value in zip(names, values, strict=True):
            (symbol,) = entry.free_symbols
            powers[symbol] = value / entry.coeff(symbol)

    def case(seed: int) -> Case:
        problem, values = linear_channel(c, seed)
        values.update(sample((y.beta,), seed + 1))
        alpha, lam, beta = values[y.alpha], values[y.lam], values[y.beta]
        for role, numbers in zip((p.overlaps, p.hats), problem.saddle(alpha, lam), strict=True):
            values.update(named_overlaps(role, numbers))
        hot = replace(problem, stiffness=beta * problem.stiffness)
        found = {}
        for role, numbers in zip(
            (plain.overlaps, plain.conjugates), hot.saddle(alpha, beta * lam), strict=True
        ):
            found.update(named_overlaps(role, numbers))
        return values, [found[symbol] for symbol in powers]

    return Step(
        key="scaling",
        title="Scalings",
        statement=r"As $\beta \to \infty$ the overlaps $q$, $m_l$ and $\theta$ stay finite, and "
        "with these definitions so do $V$ and the hats:",
        equations=tuple(Equation(formula(symbol), value) for symbol, value in powers.items()),
        reason=r"The fluctuations $\chi$ of $Q$ about the minimum shrink like $1/\beta$; the "
        r"others follow from the precision $\beta D = \beta\lambda + \sigma^2\tilde\chi$, in which "
        "penalty and data must keep their proportion.",
        assumptions=(
            r"The limits $\beta \to \infty$ and $d \to \infty$ may be exchanged, and $V$ is "
            "finite: few directions of $Q$ are flat about the minimum, as the rotations of "
            "(@symmetries) are.",
        ),
        check=Check(
            r"ridge regression, where $\beta$ multiplies stiffness and penalty: the saddle point "
            r"at $\beta$ against that of the training loss, both from the Marchenko-Pastur law, to "
            r"40 digits. The powers are exact there at any $\beta$.",
            lambda formulas: agree(formulas, case),
        ),
        postulate=True,
    )


def _solved() -> Step:
    at_beta = -quadratic.log_partition(y.w, y.V / y.beta) / y.beta
    values = [sp.expand_mul(at_beta), free_energy.limit(at_beta)]

    def reference(point: Values) -> list[mpf]:
        k, w, width = point[y.stiffness], point[y.w], point[y.V]
        beta = point[y.beta]
        spread = mp.sqrt(width / beta)
        average = gaussian_mean(lambda z: mp.exp(-beta * k * (w + spread * z) ** 2 / 2))
        x = mp.findroot(lambda x: k * x + (x - w) / width, w)
        return [-mp.log(average) / beta, k * x**2 / 2 + (x - w) ** 2 / (2 * width)]

    return Step(
        key="solved_channel",
        title="The limit in a solved case",
        statement=r"For the loss $\gamma x^2/2$ of one component at the field $w$, at any $\beta$ "
        "and in the limit:",
        equations=(
            Equation(r"-\tfrac1\beta\ln\mathcal{Z}(w)", values[0]),
            Equation(r"\lim_{\beta\to\infty} -\tfrac1\beta\ln\mathcal{Z}(w)", values[1]),
        ),
        reason=r"(@decoupling) with $\chi = V/\beta$. The limit is $\min_x\,[(x-w)^2/(2V) + "
        r"\gamma x^2/2]$.",
        check=Check(
            "the trapezoidal rule at a finite $\\beta$; the minimum by a root of the slope. To 40 "
            "digits.",
            lambda formulas: agree(
                formulas, at_random((y.beta, y.stiffness, y.w, y.V), reference), points=2
            ),
        ),
    )


def _expansion() -> Step:
    values = laplace.expansion(y.V)

    def case(seed: int) -> Case:
        x, target, response = sp.symbols("x target response", positive=True)
        point = sample((x, target, response), seed)
        place, wanted, width = point[x], point[target], point[response] / 5
        # Differences between two large beta give the corrections; they need three times the digits.
        with mp.workdps(_EXPANSION_DIGITS):

            def loss(x: mpf) -> mpf:
                return (wanted - 1 / (1 + mp.exp(-(x**2)))) ** 2 / 2

            series = mp.taylor(loss, place, 4)
            derivatives = [mp.factorial(i) * series[i] for i in range(1, 5)]
            field = place + width * derivatives[0]

            def energy(x: mpf) -> mpf:
                return (x - field) ** 2 / (2 * width) + loss(x)

            minimum = energy(place)

            def scaled_correction(beta: mpf) -> mpf:
                """beta (-ln Z/beta - M)."""
                unit = 1 / mp.sqrt(beta)
                # sqrt(V) is the normalisation of the Gaussian weight of the noise.
                average = gaussian_mean(
                    lambda t: mp.exp(t**2 / 2 - beta * (energy(place + unit * t) - minimum))
                )
                return -mp.log(average / mp.sqrt(width))

            beta = mpf(10) ** 45
            first, nearer = scaled_correction(beta), scaled_correction(2 * beta)
            second = 2 * beta * (first - nearer)
        named = {
            y.V: width,
            y.loss: loss(place),
            **dict(zip(y.loss_slopes, derivatives, strict=True)),
        }
        return named, [minimum, first, second]

    return Step(
        key="laplace",
        title="Laplace's method",
        statement=r"$-\frac1\beta\ln\mathcal{Z}(w) = M + c_1/\beta + c_2/\beta^2 + \dots$, with "
        r"the loss and its derivatives at the prox $x^\star$, the minimiser of $(x-w)^2/(2V) + "
        r"\ell(x)$. For one component:",
        equations=tuple(
            Equation(name, value) for name, value in zip(("M", "c_1", "c_2"), values, strict=True)
        ),
        reason=r"$\mathcal{Z}(w) = \int\mathrm{d}x\,\sqrt{\beta/(2\pi V)}\,e^{-\beta[(x-w)^2/(2V) "
        r"+ \ell(x)]}$. About the minimum $x = x^\star + \xi/\sqrt\beta$; a Gaussian integral with "
        r"the curvature $1/V + \ell''$, and the next orders as its moments. So "
        r"$-\frac1\beta\ln\mathcal{Z} \to M$, the Moreau envelope; in several components $c_1 = "
        r"\frac12\ln\det(I + V\,\mathrm{Hess}\,\ell)$.",
        assumptions=("The global minimum of the energy is unique at this $w$.",),
        check=Check(
            "an attention loss with a target, at $\\beta = 10^{45}$ and twice that, by the "
            "trapezoidal rule to 160 digits: the limit and both corrections agree to 40.",
            lambda formulas: agree(formulas, case, points=2),
        ),
    )


def _fluctuations(c: Coordinates) -> Step:
    V = c.order_parameters.overlaps.V
    value = laplace.fluctuations(c.hessian, V)

    def case(seed: int) -> Case:
        with mp.workdps(_EXPANSION_DIGITS):
            point = ChannelPoint(c, seed)
            # A small response, so that the energy has one minimum.
            width = point.values[V[0]] / 20
            gradient, hessian = slopes(point.loss, point.x), curvatures(point.loss, point.x)
            values = {V[0]: width, **dict(zip(channel.upper(c.hessian), hessian, strict=True))}
            field = [x + width * slope for x, slope in zip(point.x, gradient, strict=True)]
            t11, t22 = point.target[0, 0], point.target[1, 1]

            def energy(u: mpf, v: mpf) -> mpf:
                s11, s22 = (1 / (1 + mp.exp(-u * (u + side))) for side in (v, -v))
                loss = point.sigma**2 * ((t11 - s11) ** 2 + (t22 - s22) ** 2)
                return loss + ((u - field[0]) ** 2 + (v - field[1]) ** 2) / (2 * width)

            # The trapezoidal rule, in units of the width of the Gaussian weight.
            beta, step = mpf(10) ** 45, mpf(1) / 4
            line = [step * i for i in range(-60, 61)]
            unit, minimum = mp.sqrt(width / beta), energy(*point.x)
            u, v = point.x
            total = mp.fsum(
                mp.exp(-beta * (energy(u + unit * i, v + unit * j) - minimum))
                for i in line
                for j in line
            )
            return values, [-mp.log(step**2 * total / (2 * mp.pi))]

    return Step(
        key="fluctuations",
        title="The correction for all components",
        statement="For the attention loss of a sample:",
        equations=(Equation("c_1", value),),
        reason=r"A Gaussian integral about the prox: $c_1 = \frac12\ln\det(I + "
        r"V\,\mathrm{Hess}\,\ell)$.",
        assumptions=("The global minimum of the energy is unique at this $w$.",),
        check=Check(
            r"the integral over both components at $\beta = 10^{45}$ by the trapezoidal rule, for "
            "a random target, to 40 digits.",
            lambda formulas: agree(formulas, case, points=1),
        ),
    )


_EXPANSION_DIGITS = 160
