"""The system of equations whose solutions are a branch."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from symattn._search import UNKNOWNS, overlap_scale
from symattn._typing import FloatArray
from symattn.errors import ComputationFailed, InvalidInput
from symattn.model import AttentionModel
from symattn.overlaps import Overlaps
from symattn.quadrature import _columns as columns
from symattn.quadrature.expectations import Resolution
from symattn.quadrature.generalization_error import MeanTestLoss, mean_test_loss
from symattn.state_evolution import Step, evolve

#: By how much a difference, of grids or of changes of a parameter, is taken larger: kinks in h*
#: make convergence algebraic.
SAFETY = 2.0
_MOST_NEWTON = 7
#: Relative change of a parameter of the channel by which its derivative is taken.
_CHANGE = 1e-3
#: Relative to rho: at smaller q the evaluation takes minutes.
_LEAST_Q = 1e-6
#: A weight e of jumps that are missed or doubled changes the means by a few e.
_JUMP_WEIGHT = 5.0


def unknowns_of(name: str) -> list[int]:
    """Which of (q, m, V, theta) are unknown on a branch."""
    return [0, 1, 2, 3] if name == "mixed" else UNKNOWNS[name]


NAME_OF = {
    frozenset(unknowns_of(name)): name for name in ("semantic", "positional", "uninformed", "mixed")
}


@dataclass(frozen=True, slots=True)
class At:
    """State evolution at a point of the space in which a curve lies.

    Attributes
    ----------
    y : array, shape (n + 1,)
        The unknown overlaps and the coordinate of the parameter.
    step : Step
    residual : array, shape (n,)
        overlaps - image, the unknown ones.
    matrix : array, shape (n, n + 1)
        Its derivative by y.
    accuracy : float
        What the grids were chosen for.
    """

    y: FloatArray
    step: Step
    residual: FloatArray
    matrix: FloatArray
    accuracy: float

    @property
    def noise(self) -> float:
        """Relative error of the means that no comparison of grids shows."""
        certificate = self.step.expectations.certificate
        missed = _JUMP_WEIGHT * (abs(certificate.uncovered) + abs(certificate.doubled))
        return max(4e-16, certificate.normalisation) + missed


@dataclass(frozen=True, slots=True)
class Curve:
    """A branch as a curve, to be evaluated on grids of some accuracy.

    The coordinate of alpha, lambda and sigma is their logarithm, that of omega is omega.

    Attributes
    ----------
    model, alpha, over, name
        As in `symattn.continuation.Branch`.
    accuracy : float
        Relative accuracy of the means that the grids are chosen for.
    """

    model: AttentionModel
    alpha: float
    over: str
    name: str
    accuracy: float

    @property
    def unknowns(self) -> list[int]:
        return unknowns_of(self.name)

    def coordinate(self, parameter: float) -> float:
        return parameter if self.over == "omega" else math.log(parameter)

    def parameter(self, y: FloatArray) -> float:
        return float(y[-1]) if self.over == "omega" else math.exp(y[-1])

    def unit(self, y: FloatArray) -> float:
        """Derivative of the parameter by its coordinate."""
        return 1.0 if self.over == "omega" else self.parameter(y)

    def pack(self, overlaps: Overlaps, parameter: float) -> FloatArray:
        return np.array([*(overlaps[k] for k in self.unknowns), self.coordinate(parameter)])

    def overlaps(self, y: FloatArray) -> Overlaps:
        values = np.zeros(4)
        values[self.unknowns] = y[:-1]
        return Overlaps(*map(float, values))

    def scale(self, y: FloatArray) -> FloatArray:
        """Units of y's components along the curve, which do not vanish where Q = 0 is near."""
        sigma = self.model.require_solvable()
        least = np.array([1e-2 * sigma**2, 0.1 * sigma, 0.0, 0.1 * sigma])
        own = overlap_scale(self.overlaps(y))
        return np.array([*np.maximum(own, least)[self.unknowns], 1.0])

    def inwards(self, coordinate: float, change: float) -> float:
        """A change of the coordinate, turned round where it would leave the domain of omega."""
        return -change if self.over == "omega" and coordinate + change > 1.0 else change

    def setting(self, parameter: float) -> tuple[AttentionModel, float]:
        """Model and sample complexity at a value of the parameter."""
        if self.over == "alpha":
            return self.model, parameter
        if self.over == "lambda":
            return replace(self.model, lam=parameter), self.alpha
        if self.over == "omega":
            return replace(self.model, omega=parameter), self.alpha
        return replace(self.model, sigma=parameter), self.alpha

    def finer(self, factor: float) -> Curve:
        """The same curve on grids for `factor` times the accuracy."""
        return replace(self, accuracy=factor * self.accuracy)

    def at(self, y: FloatArray) -> At:
        """Evaluate the system.

        Raises
        ------
        ComputationFailed, InvalidInput
            If overlaps or parameter are not admissible.
        """
        resolution = Resolution.for_accuracy(self.accuracy)
        parameter = self.parameter(y)
        model, alpha = self.setting(parameter)
        if y[0] < _LEAST_Q * model.rho:
            raise ComputationFailed("q is too small for the grids; it goes to 0")
        step = evolve(model, alpha, self.overlaps(y), resolution)
        rows = self.unknowns
        by_overlaps = (np.eye(4) - step.jacobian)[np.ix_(rows, rows)]
        by_parameter = -self.unit(y) * self._image_slope(step, parameter, resolution)[rows]
        return At(
            y=y,
            step=step,
            residual=step.residual[rows],
            matrix=np.column_stack([by_overlaps, by_parameter]),
            accuracy=self.accuracy,
        )

    def _image_slope(self, step: Step, parameter: float, resolution: Resolution) -> FloatArray:
        """Derivative of the image by the parameter at fixed overlaps.

        omega and sigma change the channel; there it is a difference, which sets the direction of
        the way to a solution and no solution.
        """
        if self.over == "alpha":
            return step.image_by_alpha
        if self.over == "lambda":
            return step.image_by_lambda
        there, change = self._changed(step, parameter, resolution)
        return np.subtract(there.image, step.image) / change

    def _changed(
        self, step: Step, parameter: float, resolution: Resolution, factor: float = 1.0
    ) -> tuple[Step, float]:
        """State evolution at the same overlaps and a slightly changed parameter, and the change."""
        change = factor * (_CHANGE * parameter if self.over == "sigma" else _CHANGE)
        change = self.inwards(parameter, change)
        model, alpha = self.setting(parameter + change)
        return evolve(model, alpha, step.overlaps, resolution), change

    def train_loss_slope(self, at: At, factor: float = 1.0) -> float:
        """Derivative of eps_t by the parameter along the branch.

        d eps_t/d alpha = E[M] and d eps_t/d lambda = q/(2 sigma^2). In omega and sigma it is the
        difference at fixed overlaps, since eps_t is stationary in them and in the hats; `factor` is
        how much larger than usual the change is by which it is taken.
        """
        if self.over == "alpha":
            return float(at.step.expectations.means[columns.ENVELOPE])
        if self.over == "lambda":
            return at.step.overlaps.q / (2.0 * self.model.rho)
        resolution = Resolution.for_accuracy(at.accuracy)
        there, change = self._changed(at.step, self.parameter(at.y), resolution, factor)
        return (there.train_loss - at.step.train_loss) / change

    def test_error(self, at: At) -> MeanTestLoss:
        """eps_g on grids of the curve's accuracy, its error at these overlaps, and its gradient."""
        model, _ = self.setting(self.parameter(at.y))
        return mean_test_loss(model, at.step.overlaps, self.accuracy)

    def tangent(self, at: At, along: FloatArray) -> FloatArray:
        """The tangent, of length 1 in units of `scale`, on the side of `along`."""
        scale = self.scale(at.y)
        _, _, rows = np.linalg.svd(at.matrix * scale)
        unit = rows[-1]
        return np.asarray(scale * unit * (1.0 if unit @ (along / scale) >= 0.0 else -1.0))

    def correct(self, guess: FloatArray, across: FloatArray) -> At | None:
        """Newton from a guess to the curve, in the plane through it across a direction.

        None if it does not converge. The correction that is left is below a thousandth of the
        accuracy, in units of `scale`: where a branch leaves another, the parameter is worse than
        the overlaps by one over the overlap that is small.
        """
        y = guess
        if not y[0] > 0.0:  # q
            return None
        scale = self.scale(guess)
        row = across / scale**2
        for _ in range(_MOST_NEWTON):
            try:
                at = self.at(y)
                system = np.vstack([at.matrix, row])
                change = -np.linalg.solve(system, [*at.residual, row @ (y - guess)])
            except (ComputationFailed, InvalidInput, np.linalg.LinAlgError):
                return None
            size = np.max(np.abs(change / scale))
            if not size < 0.7:
                return None
            if size < 1e-3 * self.accuracy:
                return at
            y = y + change
        return None

    def correct_at(self, guess: FloatArray, parameter: float) -> At | None:
        """The solution near a guess at this value of the parameter; None if it is not reached."""
        start = guess.copy()
        start[-1] = self.coordinate(parameter)
        return self.correct(start, self.along_parameter)

    @property
    def along_parameter(self) -> FloatArray:
        """The direction of the rising parameter."""
        direction = np.zeros(len(self.unknowns) + 1)
        direction[-1] = 1.0
        return direction


def own_overlaps(curve: Curve) -> list[int]:
    """The overlaps, m or theta, that do not vanish on a branch."""
    return sorted({1, 3} & {*curve.unknowns})


def vanished(curve: Curve, y: FloatArray, share: float) -> bool:
    """Whether one of the branch's own overlaps is below this share of its scale."""
    scale = curve.scale(y)
    places = [curve.unknowns.index(k) for k in own_overlaps(curve)]
    return any(abs(y[place]) < share * scale[place] for place in places)
