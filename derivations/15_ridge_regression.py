"""The chain once more, for a loss where the answer is known: ridge regression."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import sympy as sp
from mpmath import matrix, mp, mpf

from symattn.symbolic import definition, ridge_regression
from symattn.symbolic import symbols as y
from symattn.symbolic.checks import (
    Case,
    Outcome,
    Values,
    agree,
    gaussian_nodes,
    sample,
)
from symattn.symbolic.coordinates import Coordinates, coordinates
from symattn.symbolic.derivation import Chapter, Check, Equation, Step
from symattn.symbolic.latex import formula
from symattn.symbolic.size import Size


def chapter(size: Size) -> Chapter:
    c = coordinates(size)
    steps = (_channel, _means, _response, _overlaps, _errors)
    solvable = size.student_rank == size.target_rank == 1
    return Chapter(
        "Ridge regression",
        r"With the loss $\frac12(y_l - x_l)^2$ for each token, labels $y_l = h^\star_l + \nu\xi_l$ "
        "with normal noise and no positional encodings, the student is ridge regression, whose "
        "asymptotics are known from random matrices alone [9]. The same chain must give them: "
        "(@extremal), (@hats) and (@ridge), with these means over the channel.",
        tuple(step(c) for step in steps) if solvable else (),
    )


def _channel(c: Coordinates) -> Step:
    V = y.V
    w, label = ridge_regression.w, ridge_regression.label

    def case(seed: int) -> Case:
        values = sample((w, label, V), seed)

        def minimum(field: mpf) -> tuple[mpf, mpf]:
            """Place and value of the minimum of a parabola, from three values of it."""

            def energy(x: mpf) -> mpf:
                distance2 = (x - field) ** 2 / values[V]
                return (distance2 + (values[label] - x) ** 2) / 2

            left, centre, right = (energy(mpf(k)) for k in (-1, 0, 1))
            slope, bend = (right - left) / 2, right - 2 * centre + left
            return -slope / bend, centre - slope**2 / (2 * bend)

        place, value = minimum(values[w])
        return values, [place, -mp.diff(lambda field: minimum(field)[1], values[w]), value]

    return Step(
        key="regression_channel",
        title="Prox and envelope",
        statement="For one token:",
        equations=(
            Equation(r"x^\star", ridge_regression.prox()),
            Equation("g", ridge_regression.force()),
            Equation("M", ridge_regression.envelope()),
        ),
        reason="The energy is a parabola in $x$.",
        check=Check(
            "the minimum of the parabola through three values of the energy, and minus the "
            "difference of that in $w$, to 40 digits.",
            lambda formulas: agree(formulas, case),
        ),
    )


def _means(c: Coordinates) -> Step:
    p = c.order_parameters
    found = ridge_regression.channel_means(c)
    V = y.V
    q, theta = p.overlaps.q[0], p.overlaps.theta[0]

    def case(seed: int) -> Case:
        values = sample((q, theta, V, y.sigma, ridge_regression.noise), seed)
        values[q] = values[q] ** 2 + values[theta] ** 2 / values[y.sigma] ** 2
        joint = definition.joint_covariance(
            *(matrix([[x]]) for x in (values[y.sigma] ** 2, values[theta], values[q]))
        )
        root = mp.cholesky(joint)
        total = mp.zeros(4, 1)
        stretch = 1 + values[V]
        for weight, nodes in gaussian_nodes(3):
            h, w = root * matrix(nodes[:2])
            residual = h + values[ridge_regression.noise] * nodes[2] - w
            g = residual / stretch
            # By parts: E[g (w - E[w|h])] is the conditional variance times E[dg/dw].
            noise = nodes[1] / root[1, 1]
            total += weight * matrix([g**2, g * noise, g * h, residual**2 / (2 * stretch)])
        return values, list(c.size.length * total)

    return Step(
        key="regression_means",
        title="Means over the channel",
        statement="Summed over the tokens:",
        equations=tuple(Equation(formula(name), value) for name, value in found.items()),
        reason="Means of squares of Gaussian variables.",
        check=Check(
            r"Gauss-Hermite nodes for $(h^\star, w, \xi)$ with their joint covariance, which are "
            "exact here, and Stein's form of the divergence, to 40 digits.",
            lambda formulas: agree(formulas, case),
        ),
    )


def _response(c: Coordinates) -> Step:
    def case(seed: int) -> Case:
        values = sample((y.alpha, y.sigma, y.lam), seed)
        spectrum = _Spectrum(c, values)
        return values, [values[y.sigma] ** 2 * spectrum.mean(lambda x: 1 / (values[y.lam] + x))]

    return Step(
        key="regression_response",
        title="The response of ridge regression",
        statement=r"$D = \lambda + \sigma^2\hat V$ and $V = \sigma^2/D$ make a quadratic equation; "
        "its positive root:",
        equations=(Equation("V", ridge_regression.response(c)),),
        reason="The means in (@hats), and these in (@ridge).",
        check=Check(
            r"$\sigma^2\int\varrho(x)\,\mathrm{d}x/(\lambda + x)$ with the Marchenko-Pastur "
            r"density $\varrho$ of the eigenvalues of $X^\top X$, integrated to 40 digits.",
            lambda formulas: agree(formulas, case),
        ),
    )


def _overlaps(c: Coordinates) -> Step:
    found = ridge_regression.overlaps(c)
    law = _MarchenkoPastur(c)
    # The estimate is R X^T (X q* + noise) with R = (lambda + X^T X)^-1.
    along_target = 1 - law.lam * law.first
    square = 1 - 2 * law.lam * law.first + law.lam**2 * law.second
    from_noise = law.first - law.lam * law.second
    expected = [
        y.sigma**2 * along_target,
        y.sigma**2 * (square + ridge_regression.noise**2 * from_noise),
    ]
    return Step(
        key="regression_overlaps",
        title="The overlaps of ridge regression",
        statement=r"With $\lambda$ eliminated by the equation for $V$:",
        equations=tuple(Equation(formula(name), value) for name, value in found.items()),
        reason="The other equations of the chain are linear, given $V$.",
        check=Check(
            r"identically equal to $\sigma^2(1-\lambda\eta_1)$ and $\sigma^2(1 - 2\lambda\eta_1 + "
            r"\lambda^2\eta_2 + \nu^2(\eta_1 - \lambda\eta_2))$, with the traces of resolvents "
            r"$\eta_k = \mathrm{Tr}\,(\lambda + X^\top X)^{-k}/d$ from the quadratic equation of "
            "the Marchenko-Pastur law and its derivative.",
            lambda formulas: _identical(formulas, expected, law),
        ),
    )


def _errors(c: Coordinates) -> Step:
    law = _MarchenkoPastur(c)
    noise, length = ridge_regression.noise, c.size.length
    # min |y - X Q|^2 + lambda |Q|^2 = lambda y^T (lambda + X X^T)^-1 y
    residual = law.lam * (1 - law.lam * law.first) + noise**2 * (law.rows - 1 + law.lam * law.first)
    deviation = law.lam**2 * law.second + noise**2 * (law.first - law.lam * law.second)
    expected = [residual / 2, length * (y.sigma**2 * deviation + noise**2) / 2]
    return Step(
        key="regression_errors",
        title="Training loss and test error of ridge regression",
        statement="The extremal form at the saddle point, and the mean loss of a new sample:",
        equations=(
            Equation(r"\epsilon_t", ridge_regression.train_loss(c)),
            Equation(r"\epsilon_g", ridge_regression.test_loss(c)),
        ),
        reason="All overlaps and hats put in.",
        check=Check(
            r"identically equal to $\frac12[\lambda(1-\lambda\eta_1) + \nu^2(\alpha L - 1 + \lambda"
            r"\eta_1)]$ and $\frac L2[\sigma^2(\lambda^2\eta_2 + \nu^2(\eta_1 - \lambda\eta_2)) + "
            r"\nu^2]$, with the traces of (@regression_overlaps).",
            lambda formulas: _identical(formulas, expected, law),
        ),
    )


class _MarchenkoPastur:
    """Traces of the resolvent of X^T X, X with alpha L d rows of d entries of variance sigma^2/d.

    first: eta_1 = Tr (lambda + X^T X)^-1/d, a symbol. lam: lambda in terms of it.
    second: eta_2, the same with the power -2, which is -d eta_1/d lambda.

    Leaving one row of X out gives 1/eta = lambda + rows sigma^2/(1 + sigma^2 eta), the quadratic
    equation below.
    """

    def __init__(self, c: Coordinates) -> None:
        self.rows = y.alpha * c.size.length
        self.first = sp.Symbol("eta", positive=True)
        lam, square = sp.Symbol("lambda", positive=True), y.sigma**2
        quadratic = lam * square * self.first**2 + (lam + (self.rows - 1) * square) * self.first - 1
        (self.lam,) = sp.solve(quadratic, lam)
        self.second = -1 / self.lam.diff(self.first)


def _identical(
    formulas: Sequence[sp.Expr], expected: Sequence[sp.Expr], law: _MarchenkoPastur
) -> Outcome:
    """Whether formulas in V are identically what is expected, with V = sigma^2 eta_1."""
    V = y.V
    differences = [
        sp.cancel(sp.together(value.xreplace({V: y.sigma**2 * law.first}) - known))
        for value, known in zip(formulas, expected, strict=True)
    ]
    passed = all(difference == 0 for difference in differences)
    return Outcome(passed, f"differences: {', '.join(map(str, differences))}")


class _Spectrum:
    """The limiting eigenvalues of X^T X: the Marchenko-Pastur density and its atom at 0."""

    def __init__(self, c: Coordinates, values: Values) -> None:
        self._rows = values[y.alpha] * c.size.length
        self._scale = values[y.sigma] ** 2

    def mean(self, function: Callable[[mpf], mpf]) -> mpf:
        """The mean of a function of an eigenvalue."""
        width = 2 * mp.sqrt(self._rows)

        def integrand(angle: mpf) -> mpf:
            # The eigenvalue runs through the density's support, whose ends are square roots of it.
            x = self._scale * (1 + self._rows + width * mp.cos(angle))
            return (width * mp.sin(angle)) ** 2 * self._scale / (2 * mp.pi * x) * function(x)

        atom = max(mpf(0), 1 - self._rows) * function(mpf(0))
        return atom + mp.quad(integrand, mp.linspace(0, mp.pi, 5))
