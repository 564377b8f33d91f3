"""Figures of the public data of arXiv 2402.03902: layers trained by gradient descent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from symattn.model import AttentionModel

#: Where they come from.
SOURCE = "public data of arXiv 2402.03902"
DIMENSION = 1000
MODEL = AttentionModel(omega=0.3, lam=0.01)


class Published(NamedTuple):
    """Mean over training sets, whose number is not given, and their standard deviation."""

    mean: float
    deviation: float


def _figures(
    test_error: tuple[float, float],
    training_error: tuple[float, float],
    m: tuple[float, float],
    theta: tuple[float, float],
) -> Mapping[str, Published]:
    """In the units of this package, from those published: d eps_t, |m| and |theta|/sigma^2."""
    return {
        "m": Published(*m),
        "theta": Published(*(MODEL.rho * x for x in theta)),
        "train_loss": Published(*(x / DIMENSION for x in training_error)),
        "test_error": Published(*test_error),
    }


#: Branch and alpha to observable to its figure; m and theta are means of moduli.
PUBLISHED: Mapping[tuple[str, float], Mapping[str, Published]] = {
    ("positional", 1.005): _figures(
        (0.0032767, 0.00021953), (2.2001, 0.1373), (0.25210, 0.00671), (0.0186, 0.0158)
    ),
    ("semantic", 1.005): _figures(
        (0.0027170, 0.00009963), (2.3356, 0.1439), (0.0151, 0.0096), (0.40084, 0.03581)
    ),
    ("positional", 1.5025): _figures(
        (0.0033746, 0.00021624), (3.3110, 0.2270), (0.26006, 0.00736), (0.0284, 0.0213)
    ),
    ("semantic", 1.5025): _figures(
        (0.0019811, 0.00009783), (3.0976, 0.1101), (0.0102, 0.0068), (0.54267, 0.02730)
    ),
    ("positional", 2.0): _figures(
        (0.0034917, 0.00027616), (4.5848, 0.3434), (0.26184, 0.00708), (0.0325, 0.0231)
    ),
    ("semantic", 2.0): _figures(
        (0.0014427, 0.00007448), (3.6517, 0.1084), (0.0065, 0.0039), (0.63405, 0.02599)
    ),
}


def published(
    model: AttentionModel, dimension: int, branch: str, alpha: float
) -> Mapping[str, Published]:
    """The figures for this setting, none where it is not one of the published ones."""
    if model != MODEL or dimension != DIMENSION:
        return {}
    return PUBLISHED.get((branch, alpha), {})
