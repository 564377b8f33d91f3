"""Training: starting points, and the descent of the risk from them, many runs at once."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from symattn.errors import InvalidInput
from verify.risk import Risk
from verify.samples import Samples

#: The largest gradient norm of what counts as a minimum.
TOLERANCE = 1e-6

_MEMORY = 10  # pairs of steps and changes of the gradient that stand for the Hessian
_MOST_TRIALS = 40  # of one line search
_DECREASE, _CURVATURE = 1e-4, 0.9  # the constants of Wolfe's conditions
_FIRST_STEP = 1.0  # its length, where sqrt(d) is that of Q*
# The rounding of the risk, relative to it, in units of the tokens' precision, and at least. Near a
# minimum the risk changes by less; there the slopes decide.
_ROUNDING, _LEAST_ROUNDING = 16, 1e-12


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trained:
    """Where training ended, for K runs on each of B training sets.

    Attributes
    ----------
    weights : Tensor, (B, K, r, d)
        Q, by columns.
    risk : Tensor, (B, K)
        The risk at Q; divided by d it is the training loss.
    gradient_norm : Tensor, (B, K)
        The Euclidean norm of its gradient by Q.
    evaluations : Tensor, (B, K)
        How often the risk and its gradient were computed.
    converged : Tensor, (B, K)
        Whether the gradient's norm is below the tolerance, 1e-6 unless another was asked for.
    """

    weights: Tensor
    risk: Tensor
    gradient_norm: Tensor
    evaluations: Tensor
    converged: Tensor


def semantic_start(samples: Samples) -> Tensor:
    """Q = Q*: (B, r, d). Columns of Q beyond those of Q* are 0."""
    batch, target_rank, d = samples.teacher.shape
    start = samples.teacher.new_zeros((batch, samples.model.student_rank, d))
    shared = min(target_rank, samples.model.student_rank)
    start[:, :shared] = samples.teacher[:, :shared]
    return start


def positional_start(samples: Samples, m: float = 0.25) -> Tensor:
    """Q along the encodings: (B, r, d), columns sqrt(d) m p_l, l = 1 .. r, and 0 beyond L.

    For L = 2 and r = 1 its overlaps are m, as given, and theta = m sigma^2 (p_1.Q*)/sqrt(d), which
    is of order d^(-1/2).
    """
    length, d = samples.encoding.shape
    rank = samples.model.student_rank
    start = samples.teacher.new_zeros((len(samples.seeds), rank, d))
    shared = min(length, rank)
    start[:, :shared] = math.sqrt(d) * m * samples.encoding[:shared]
    return start


def random_start(samples: Samples, size: float = 0.1, stream: int = 0) -> Tensor:
    """Q with independent normal entries of standard deviation `size`: (B, r, d).

    It depends on the seed of the training set and on `stream`, and on nothing else.
    """
    shape = (samples.model.student_rank, samples.dimension)
    device = samples.teacher.device
    drawn = []
    for seed in samples.seeds:
        state = np.random.SeedSequence([seed, stream]).generate_state(1, np.uint64)
        source = torch.Generator(device=device).manual_seed(int(state[0] >> np.uint64(1)))
        drawn.append(torch.randn(shape, generator=source, device=device, dtype=torch.float64))
    return size * torch.stack(drawn)


def gradient_descent(
    risk: Risk,
    start: Tensor,
    *,
    step: float = 0.15,
    steps: int = 5000,
    tolerance: float = TOLERANCE,
) -> Trained:
    """Q <- Q - step * gradient, `steps` times.

    start: (B, K, r, d). Those of the defaults are the published protocol of arXiv 2402.03902, which
    need not have converged: see `converged` of what is returned.
    """
    _check(risk, start, step=step, steps=steps)
    weights = start.clone()
    for _ in range(steps):
        weights -= step * risk.value_and_gradient(weights)[1]
    return _trained(risk, weights, steps + 1, tolerance)


def adam(
    risk: Risk,
    start: Tensor,
    *,
    step: float = 0.01,
    steps: int = 2500,
    tolerance: float = TOLERANCE,
) -> Trained:
    """Adam with its usual constants (0.9, 0.999, 1e-8), `steps` times. start: (B, K, r, d)."""
    _check(risk, start, step=step, steps=steps)
    weights = start.clone()
    optimiser = torch.optim.Adam([weights], lr=step)
    for _ in range(steps):
        weights.grad = risk.value_and_gradient(weights)[1]
        optimiser.step()
    return _trained(risk, weights.detach(), steps + 1, tolerance)


def minimise(
    risk: Risk, start: Tensor, *, tolerance: float = TOLERANCE, most_evaluations: int = 3000
) -> Trained:
    """A minimum of the risk by the limited-memory BFGS method, which every run follows by itself.

    Steps satisfy Wolfe's conditions, found by bisection; the first one has length 1, where Q* has
    length sqrt(d). A run ends at a gradient of norm `tolerance`, or where no step is found or
    `most_evaluations` are used up: then it is not `converged`.

    start: (B, K, r, d).
    """
    _check(risk, start, tolerance=tolerance, most_evaluations=most_evaluations)
    ends = _Ends(start)
    descents = _Descents(risk, start, tolerance)
    sets, runs = (torch.arange(size, device=start.device) for size in start.shape[:2])
    while descents.active.any() and descents.passes < most_evaluations:
        descents.advance()
        active = descents.active
        busy_sets, busy_runs = (torch.nonzero(active.any(dim=k))[:, 0] for k in (1, 0))
        if 2 * len(busy_sets) * len(busy_runs) <= active.numel():
            ends.take(descents, sets, runs)
            sets, runs = sets[busy_sets], runs[busy_runs]
            descents.keep(busy_sets, busy_runs)
    ends.take(descents, sets, runs)
    norm = _norm(ends.gradient)
    return Trained(
        weights=ends.weights,
        risk=ends.value,
        gradient_norm=norm,
        evaluations=ends.evaluations,
        converged=norm <= tolerance,
    )


_STATE = (
    "weights",
    "value",
    "gradient",
    "basis",
    "accepted",
    "evaluations",
    "active",
    "low",
    "high",
    "length",
    "slope",
    "trials",
    "direction",
)


class _Ends:
    """Where all runs are, while the descents of those that have not ended go on by themselves."""

    def __init__(self, start: Tensor) -> None:
        self.weights, self.gradient = torch.empty_like(start), torch.empty_like(start)
        self.value = start.new_empty(start.shape[:2])
        self.evaluations = torch.empty_like(self.value, dtype=torch.int64)

    def take(self, descents: _Descents, sets: Tensor, runs: Tensor) -> None:
        """Note down what is at these training sets and runs."""
        for name in ("weights", "gradient", "value", "evaluations"):
            getattr(self, name)[sets[:, None], runs] = getattr(descents, name)


class _Descents:
    """The state of all runs. A pass over the tokens serves one trial step of every run."""

    def __init__(self, risk: Risk, start: Tensor, tolerance: float) -> None:
        self.risk, self.tolerance = risk, tolerance
        precision = torch.finfo(risk.samples.tokens.dtype).eps
        self.rounding = max(_ROUNDING * precision, _LEAST_ROUNDING)
        self.weights = start.clone()
        self.value, self.gradient = risk.value_and_gradient(self.weights)
        batch, runs, rank, d = start.shape
        shape, device = (batch, runs), start.device
        # Steps, changes of the gradient, and the gradient, one row each.
        self.basis = start.new_zeros((batch, runs, 2 * _MEMORY + 1, rank * d))
        self.accepted = torch.zeros(shape, dtype=torch.int64, device=device)
        self.evaluations = torch.ones(shape, dtype=torch.int64, device=device)
        self.passes = 1
        self.active = _norm(self.gradient) > tolerance
        self.low, self.high = start.new_zeros(shape), start.new_zeros(shape)
        self.length, self.slope = start.new_zeros(shape), start.new_zeros(shape)
        self.trials = torch.zeros(shape, dtype=torch.int64, device=device)
        self.direction = torch.zeros_like(start)
        self._aim(self.active)

    def advance(self) -> None:
        """One trial step of every run that is not at its end."""
        trial = self.weights + self.length[..., None, None] * self.direction
        value, gradient = self.risk.value_and_gradient(trial)
        self.passes += 1
        self.evaluations += self.active
        self.trials += self.active
        slope = _dot(gradient, self.direction)
        decreased = value <= self.value + _DECREASE * self.length * self.slope
        level = (value <= self.value + self.rounding * self.value.abs()) & (
            slope <= (2 * _DECREASE - 1) * self.slope
        )
        too_far = ~(decreased | level)
        too_short = ~too_far & (slope < _CURVATURE * self.slope)
        done = self.active & ~too_far & ~too_short
        self.high = torch.where(too_far, self.length, self.high)
        self.low = torch.where(too_short, self.length, self.low)
        bracketed = torch.isfinite(self.high)
        next_length = torch.where(bracketed, (self.low + self.high) / 2, 2 * self.length)
        self.length = torch.where(done, self.length, next_length)
        self._accept(done, trial, value, gradient)
        self.active &= ~(done & (_norm(self.gradient) <= self.tolerance))
        self._aim(done & self.active)
        self._despair(self.active & ~done & (self.trials >= _MOST_TRIALS))

    def keep(self, sets: Tensor, runs: Tensor) -> None:
        """Go on with these training sets and runs alone."""
        self.risk = self.risk.part(sets, runs)
        for name in _STATE:
            setattr(self, name, getattr(self, name)[sets[:, None], runs])

    def _accept(self, done: Tensor, trial: Tensor, value: Tensor, gradient: Tensor) -> None:
        """Move the runs that are `done` with their line search, and remember their curvature."""
        step, change = trial - self.weights, gradient - self.gradient
        useful = done & (_dot(step, change) > 0)
        b, k = torch.nonzero(useful, as_tuple=True)
        place = self.accepted[b, k] % _MEMORY
        self.basis[b, k, place] = step[b, k].flatten(1)
        self.basis[b, k, place + _MEMORY] = change[b, k].flatten(1)
        self.accepted += useful
        self.weights = torch.where(done[..., None, None], trial, self.weights)
        self.gradient = torch.where(done[..., None, None], gradient, self.gradient)
        self.value = torch.where(done, value, self.value)

    def _aim(self, which: Tensor) -> None:
        """A new direction, and the first trial length along it, for the runs of `which`."""
        if not which.any():
            return
        direction = self._quasi_newton()
        slope = _dot(direction, self.gradient)
        first = self.accepted == 0
        length = torch.where(first, _FIRST_STEP / _norm(self.gradient).clamp(min=1e-300), 1.0)
        self.direction = torch.where(which[..., None, None], direction, self.direction)
        self.slope = torch.where(which, slope, self.slope)
        self.length = torch.where(which, length, self.length)
        self.low = torch.where(which, 0.0, self.low)
        self.high = torch.where(which, math.inf, self.high)
        self.trials = torch.where(which, 0, self.trials)

    def _quasi_newton(self) -> Tensor:
        """Minus the gradient times the inverse Hessian that the remembered pairs stand for.

        It is a combination of the rows of `basis`, and its coefficients follow from their products
        alone, so that the long vectors are passed over twice, not once a pair.
        """
        self.basis[:, :, -1] = self.gradient.flatten(2)
        products = self.basis @ self.basis.transpose(-2, -1)
        shares = products.new_zeros(products.shape[:-1])
        shares[..., -1] = -1.0
        ages = range(1, min(_MEMORY, int(self.accepted.max())) + 1)
        removed = {}
        for age in ages:
            step, change, curvature, known = self._pair(age, products)
            share = torch.where(known, _row(products, step, shares) / curvature, 0.0)
            shares.scatter_add_(-1, change.unsqueeze(-1), -share.unsqueeze(-1))
            removed[age] = share
        if removed:
            _, change, curvature, known = self._pair(1, products)
            squared = _entry(products, change, change)
            shares *= torch.where(known, curvature / squared, 1.0).unsqueeze(-1)
        for age in reversed(ages):
            step, change, curvature, known = self._pair(age, products)
            share = removed[age] - _row(products, change, shares) / curvature
            share = torch.where(known, share, 0.0)
            shares.scatter_add_(-1, step.unsqueeze(-1), share.unsqueeze(-1))
        return (shares.unsqueeze(-2) @ self.basis).squeeze(-2).reshape(self.weights.shape)

    def _pair(self, age: int, products: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Rows of a step and of its change, their product, and whether there is such a pair."""
        step = (self.accepted - age) % _MEMORY
        change, known = step + _MEMORY, self.accepted >= age
        return step, change, torch.where(known, _entry(products, step, change), 1.0), known

    def _despair(self, stuck: Tensor) -> None:
        """Where a line search found nothing: begin anew with the gradient, or end the run."""
        self.active &= ~(stuck & (self.accepted == 0))
        again = stuck & self.active
        self.accepted = torch.where(again, 0, self.accepted)
        self._aim(again)


def _trained(risk: Risk, weights: Tensor, evaluations: int, tolerance: float) -> Trained:
    value, gradient = risk.value_and_gradient(weights)
    norm = _norm(gradient)
    return Trained(
        weights=weights,
        risk=value,
        gradient_norm=norm,
        evaluations=torch.full_like(value, evaluations, dtype=torch.int64),
        converged=norm <= tolerance,
    )


def _check(risk: Risk, start: Tensor, **numbers: float) -> None:
    s = risk.samples
    wanted = (len(s.seeds), len(risk.lam), s.model.student_rank, s.dimension)
    if tuple(start.shape) != wanted:
        allowed = f"weights of shape (B, K, r, d) = {wanted}"
        raise InvalidInput.of("start", tuple(start.shape), allowed)
    for name, value in numbers.items():
        if not (value > 0 and math.isfinite(value)):
            raise InvalidInput.of(name, value, "a finite number > 0")


def _dot(first: Tensor, second: Tensor) -> Tensor:
    return (first * second).sum(dim=(-2, -1))


def _norm(gradient: Tensor) -> Tensor:
    return _dot(gradient, gradient).sqrt()


def _row(products: Tensor, row: Tensor, shares: Tensor) -> Tensor:
    """The product of a row of the basis with the combination `shares` of them."""
    index = row[..., None, None].expand(*row.shape, 1, products.shape[-1])
    return (products.gather(-2, index).squeeze(-2) * shares).sum(dim=-1)


def _entry(products: Tensor, row: Tensor, column: Tensor) -> Tensor:
    index = row[..., None, None].expand(*row.shape, 1, products.shape[-1])
    return products.gather(-2, index).squeeze(-2).gather(-1, column.unsqueeze(-1)).squeeze(-1)
