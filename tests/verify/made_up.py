"""A suite's result with made-up numbers: some predictions hold, some fail, some are only shown."""

import numpy as np

from verify.judgement import judge_findings
from verify.predictions import Figure, Finding, Prediction, SuiteResult
from verify.report.figures import (
    Curve,
    Limit,
    Panel,
    Points,
    concentration_figure,
    limits_figure,
    panels_figure,
)
from verify.statistics import Estimate, extrapolate

DIMENSIONS = np.repeat([250.0, 500.0, 1000.0], 8)
SETTING = {"alpha": 1.5, "omega": 0.3, "lambda": 0.01, "sigma": 0.5}


def simulated(truth, bias, noise, seed):
    """Measurements at `DIMENSIONS`."""
    normal = np.random.default_rng(seed).standard_normal(DIMENSIONS.size)
    return truth + bias / DIMENSIONS + noise * normal / np.sqrt(DIMENSIONS)


def estimate(value, error, freedom=22):
    return Estimate(value=value, error=error, freedom=freedom, count=24)


def training():
    theta = simulated(0.13455, -2.4, 0.06, 1)
    loss = simulated(0.0030537, 0.006, 0.001, 2)
    fits = {"theta": extrapolate(theta, DIMENSIONS), "loss": extrapolate(loss, DIMENSIONS)}
    alphas = np.linspace(0.5, 2.5, 40)
    curves = [
        Curve(branch="semantic", x=alphas[6:], y=0.06 * np.sqrt(alphas[6:])),
        Curve(branch="positional", x=alphas, y=0.04 * np.sqrt(alphas)),
    ]
    points = [
        Points(branch="semantic", x=[1.0, 1.5, 2.0], y=[0.061, 0.0735, 0.085], error=[0.002] * 3),
        Points(branch="positional", x=[1.0, 1.5, 2.0], y=[0.041, 0.048, 0.055], error=[0.003] * 3),
    ]
    return Finding(
        title="Minima of the risk at alpha = 1.5",
        text=(
            "Layers are trained from the teacher and from the positional encoding to a gradient "
            "norm of 1e-6, and their overlaps are extrapolated in the dimension.",
            "Names are escaped: <b>x & y</b>.",
        ),
        predictions=(
            Prediction(
                name="semantic.theta@alpha=1.5",
                statement="From the teacher, training ends at the semantic fixed point's theta.",
                symbol="theta",
                parameters=SETTING,
                predicted=0.134551,
                predicted_error=2e-8,
                measured=fits["theta"],
            ),
            Prediction(
                name="semantic.train_loss@alpha=1.5",
                statement="The training loss there is that of the semantic fixed point.",
                symbol="train_loss",
                parameters=SETTING,
                predicted=0.0030537,
                predicted_error=1e-9,
                measured=fits["loss"],
            ),
            Prediction(
                name="positional.m@alpha=1.5",
                statement="From the encoding, training ends at the positional fixed point's m.",
                symbol="m",
                parameters=SETTING,
                predicted=0.25470,
                predicted_error=1e-6,
                measured=estimate(0.26031, 4.1e-4),
                note="Replica symmetry is broken here: jumps carry 12 % of V_hat.",
            ),
            Prediction(
                name="losses@alpha=1.5",
                statement="The semantic minimum is lower than the positional one.",
                symbol="loss difference",
                parameters=SETTING,
                predicted=0.0,
                measured=estimate(3.1e-4, 2.2e-5),
                kind="one-sided",
            ),
            Prediction(
                name="evaluations",
                statement="Evaluations of the risk until the gradient norm is 1e-6.",
                symbol="count",
                measured=estimate(51.0, 1.3),
                kind="shown",
            ),
        ),
        figures=(
            Figure(
                name="overlaps",
                caption="q of trained layers (points) and of the theory (lines) against alpha.",
                drawing=panels_figure(
                    [
                        Panel(label="$q$", curves=curves, points=points),
                        Panel(
                            label="test error",
                            curves=curves[:1],
                            points=points[:1],
                            line=(0.05, "best linear map"),
                        ),
                    ],
                    r"sample complexity $\alpha = n/d$",
                    r"$\lambda$ = 0.01",
                ),
            ),
            Figure(
                name="limits",
                caption="Every seed's theta and training loss, and their limits.",
                drawing=limits_figure(
                    [
                        Limit(
                            label=r"$\theta$",
                            branch="semantic",
                            dimensions=DIMENSIONS,
                            values=theta,
                            estimate=fits["theta"],
                            predicted=0.134551,
                        ),
                        Limit(
                            label="training loss",
                            branch="positional",
                            dimensions=DIMENSIONS,
                            values=loss,
                            estimate=fits["loss"],
                            predicted=0.0030537,
                        ),
                    ]
                ),
            ),
        ),
    )


def concentration():
    d = np.array([125.0, 250.0, 500.0, 1000.0])
    return Finding(
        title="Concentration",
        text=("Overlaps scatter over the seeds, and less in larger dimension.",),
        predictions=(
            Prediction(
                name="exponent",
                statement="Their standard deviation falls like d to the power -1/2.",
                symbol="slope",
                predicted=-0.5,
                measured=estimate(-0.46, 0.05, freedom=float("inf")),
            ),
        ),
        figures=(
            Figure(
                name="concentration",
                caption="Standard deviations over seeds against d, and lines of slope -1/2.",
                drawing=concentration_figure(
                    d,
                    {"q": 0.17 / d**0.5, "theta": 0.25 / d**0.52, "training loss": 0.004 / d**0.47},
                    -0.5,
                ),
            ),
        ),
    )


def result(**changes):
    given = {
        "suite": "quick",
        "seed": 7,
        "device": "cpu",
        "parameters": {"dimensions": "250, 500, 1000", "seeds of each": 8},
        "versions": {"symattn": "0.1", "torch": "2.13"},
        "started": "2025-01-01 10:00:00 UTC",
        "finished": "2025-01-01 10:03:05 UTC",
        "seconds": 185.2,
        "family_rate": 0.01,
        "findings": judge_findings([training(), concentration()], 0.01),
        "discussion": ("What fails is where replica symmetry is broken.",),
    }
    return SuiteResult(**{**given, **changes})
