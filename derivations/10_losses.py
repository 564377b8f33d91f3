"""Training loss at the saddle point, test loss, and how the training loss depends on the model."""

from __future__ import annotations

from mpmath import matrix, mp, mpf

from symattn.symbolic import baseline, channel, definition, losses
from symattn.symbolic import symbols as y
from symattn.symbolic.checks import (
    Case,
    CaseOfLaw,
    Values,
    agree,
    agree_in_mean,
    at_random,
    filled,
    flat,
    sample,
    signs,
)
from symattn.symbolic.coordinates import Coordinates, coordinates
from symattn.symbolic.derivation import Chapter, Check, Equation, Step
from symattn.symbolic.latex import formula
from symattn.symbolic.points import at_saddle
from symattn.symbolic.size import Size

# Weights of a law with three outcomes, and what to add to the seed for each.
_OUTCOMES = ((mpf(1) / 4, 100), (mpf(1) / 4, 200), (mpf(1) / 2, 300))


def chapter(size: Size) -> Chapter:
    c = coordinates(size)
    return Chapter(
        "Losses",
        "The training loss has two forms that agree at the saddle point only, so their difference "
        "is a measure of how well it is solved.",
        (_direct(c), _identities(c), _test_loss(c), _linear(c)),
    )


def _direct(c: Coordinates) -> Step:
    def case(seed: int) -> Case:
        problem, values = at_saddle(c, seed)
        return values, [problem.train_loss(values[y.alpha], values[y.lam])]

    return Step(
        key="direct",
        title="The training loss at the saddle point",
        statement="With the hats and overlaps put in, the extremal form becomes the mean loss of "
        "the samples plus the penalty:",
        equations=(Equation(r"\epsilon_t", losses.train_loss_direct(c.order_parameters)),),
        reason=r"$\mathbb{E}[M] = \mathbb{E}[\ell(x^\star)] + \mathrm{Tr}\,V\hat q/(2\alpha)$, and "
        r"$\mathrm{Tr}\,\hat q V + \sum_l m_l\cdot\hat m_l + \mathrm{Tr}\,\theta\hat\theta^\top = "
        r"\mathrm{Tr}\,D^{-1}B = \mathrm{Tr}\,D q/\sigma^2$.",
        assumptions=("Overlaps and hats at a fixed point.",),
        check=Check(
            "the training loss of ridge regression from the Marchenko-Pastur law, for a quadratic "
            "loss at its saddle point, to 40 digits.",
            lambda formulas: agree(formulas, case),
        ),
    )


def _identities(c: Coordinates) -> Step:
    q = c.order_parameters.overlaps.q

    def case(seed: int) -> Case:
        problem, values = at_saddle(c, seed)
        point = (values[y.alpha], values[y.lam])
        return values, [mp.diff(problem.train_loss, point, order) for order in ((1, 0), (0, 1))]

    return Step(
        key="identities",
        title="Slopes of the training loss",
        statement="Along a branch of solutions:",
        equations=(
            Equation(r"\frac{\mathrm{d}\epsilon_t}{\mathrm{d}\alpha}", y.envelope),
            Equation(
                r"\frac{\mathrm{d}\epsilon_t}{\mathrm{d}\lambda}", q.trace() / (2 * y.sigma**2)
            ),
        ),
        reason="The extremal form is stationary in all overlaps and hats, so only its explicit "
        r"dependence counts; $\mathrm{Tr}\,D^{-1}BD^{-1} = \mathrm{Tr}\,q/\sigma^2$.",
        assumptions=("The branch is smooth there.",),
        check=Check(
            "differences in $\\alpha$ and $\\lambda$ of the Marchenko-Pastur training loss against "
            "the mean envelope and $q$ of the saddle point, to 40 digits.",
            lambda formulas: agree(formulas, case),
        ),
    )


def _test_loss(c: Coordinates) -> Step:
    if c.size.is_rotated:
        value = channel.of_two_mismatches(losses.test_loss, c.mismatch[0, 0], c.mismatch[1, 1])
    else:
        value = losses.test_loss(c.mismatch)

    def over_signs(values: Values) -> list[mpf]:
        return [definition.mean_square(filled(c.mismatch, values), values[y.sigma]) / 2]

    symbols = (*y.entries(c.weights), *y.entries(c.target), y.sigma)
    return Step(
        key="test_loss",
        title="Test loss",
        statement=r"The test error $\epsilon_g$ is the mean of this over $(h^\star, w)$, with the "
        "student's weights at $w$ instead of the prox:",
        equations=(Equation(r"\tfrac12\mathrm{Tr}\,(T-S)\,\rho_\Sigma\,(T-S)^\top", value),),
        reason="A new sample's field is $w$.",
        check=Check(
            r"mean of $|(T-S)\,z|^2/2$ over tokens $z$ of variance $\sigma^2$, as a sum over "
            "signs, to 40 digits.",
            lambda formulas: agree(formulas, at_random(symbols, over_signs)),
        ),
    )


def _linear(c: Coordinates) -> Step:
    best, error = baseline.linear_positional(c.target)
    length = c.size.length
    free = y.entries(c.target)

    def case(seed: int) -> CaseOfLaw:
        values = sample([y.sigma], seed)
        law = [(weight, sample(free, seed + place)) for weight, place in _OUTCOMES]
        targets = [(weight, filled(c.target, outcome)) for weight, outcome in law]
        # Regression of T x on x, whose components have the variance of independent signs.
        tokens = [values[y.sigma] * matrix(vector) for vector in signs(length)]
        outcomes = [(weight / len(tokens), T * x, x) for weight, T in targets for x in tokens]
        across, along = mp.zeros(length, length), mp.zeros(length, length)
        for weight, output, x in outcomes:
            across += weight * output * x.T
            along += weight * x * x.T
        W = across * along**-1
        residuals = [(weight, output - W * x) for weight, output, x in outcomes]
        least = mp.fsum(weight * (left.T * left)[0] / 2 for weight, left in residuals)
        return values, law, [*flat(W), least]

    return Step(
        key="linear",
        title="The linear positional baseline",
        statement=r"The best map of the form $f_W(z) = W z$, with one $L \times L$ matrix $W$ for "
        r"all inputs, and its test error $\frac12\mathbb{E}\,\mathrm{Tr}\,(T-W)\,\rho_\Sigma"
        r"\,(T-W)^\top$:",
        equations=(
            *(
                Equation(formula(name), value)
                for name, value in zip(y.square("W", length), best, strict=True)
            ),
            Equation(r"\epsilon_g^{\mathrm{linear}}", error),
        ),
        reason=r"The error is quadratic in $W$ with the slope $\sigma^2(W - \mathbb{E}[T])$. What "
        "is left is the variance of $T$.",
        check=Check(
            "least-squares regression of $T z$ on $z$ where $T$ has a law with three outcomes and "
            "$z$ is a vector of signs: its coefficients and the mean square of its residual, to 40 "
            "digits.",
            lambda formulas: agree_in_mean(formulas, case),
        ),
    )
