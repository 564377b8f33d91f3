"""The sums over x and h* by ball arithmetic, cut into parts for several processes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, arb_mat

from symattn._balls import ball, from_mpf, precision, to_mpf
from symattn.kernels.generated import arb_l2_r1_t1, numpy_l2_r1_t1
from symattn.precision._integrands import NAMES, Law, Student, student, target


@dataclass(frozen=True, slots=True)
class Node:
    """h* = sigma (i step_u, j step_v), standing for so many nodes of the whole plane."""

    i: int
    j: int
    multiplicity: int


@dataclass(frozen=True, slots=True)
class Job:
    """Sums over the nodes of x in a box and over h*.

    Attributes
    ----------
    exact : tuple of Fraction
        sigma, omega, A_11, A_22.
    V, shift, slope, variance : mpmath.mpf
        As in `Law`.
    replicon : bool
        Whether E|dg/dw|_F^2 is wanted, which nearly doubles the work.
    steps : tuple of float
        Of u and v in x, and of u* and v* in units of sigma; exact in binary.
    box : tuple of int
        First and last node in u, and in v.
    tiles : tuple of tuples of Node
        Nodes of h* that lie together.
    cut_off : float
        -ln of the weight, relative to the largest, below which nodes are left out.
    bits : int
        Working precision.
    """

    exact: tuple[Fraction, Fraction, Fraction, Fraction]
    V: Any
    shift: Any
    slope: Any
    variance: Any
    replicon: bool
    steps: tuple[float, float, float, float]
    box: tuple[int, int, int, int]
    tiles: tuple[tuple[Node, ...], ...]
    cut_off: float
    bits: int


@dataclass(slots=True)
class Sums:
    """What a part of a job adds up to.

    Attributes
    ----------
    totals : dict
        Means over h* and w of what `Student.columns` has, by the same names, of square_k for
        |K|_F^2 (0 unless wanted), and of g_star for g.h*; as mpmath's numbers.
    rounding : mpmath.mpf
        The largest radius among them.
    log_fold : float
        ln of the weight of det < 0.
    nodes : int
        Pairs of nodes of x and h* that were summed over.
    """

    totals: dict[str, Any]
    rounding: Any
    log_fold: float
    nodes: int

    def __add__(self, other: Sums) -> Sums:
        return Sums(
            {name: value + other.totals[name] for name, value in self.totals.items()},
            self.rounding + other.rounding,
            float(np.logaddexp(self.log_fold, other.log_fold)),
            self.nodes + other.nodes,
        )


def float_law(job: Job) -> Law:
    """The job's numbers as doubles."""
    return Law(*map(float, (*job.exact, job.V, job.shift, job.slope, job.variance)))


def run(job: Job, report: Callable[[float], None]) -> Sums:
    """Sum over all tiles of the job; `report` is told which share is done."""
    with precision(job.bits):
        part = _Part(job)
        for count, tile in enumerate(job.tiles):
            part.add(tile)
            report((count + 1) / len(job.tiles))
        return part.sums()


class _Part:
    """The running sums, and what depends on x alone where it has been needed so far.

    Over h* is summed first, at each node of x: the weight times the density, times the basis
    polynomials of the target, and those times u* and v* where the mean of w moves with h*.
    """

    def __init__(self, job: Job) -> None:
        self._job = job
        numbers = (from_mpf(x) for x in (job.V, job.shift, job.slope, job.variance))
        self._law = Law(*map(ball, job.exact), *numbers)
        self._students: dict[int, Student] = {}
        first_u, last_u, first_v, last_v = job.box
        self._columns = last_v - first_v + 1
        u = job.steps[0] * np.arange(first_u, last_u + 1)
        v = job.steps[1] * np.arange(first_v, last_v + 1)
        plane_u, plane_v = (axis.ravel() for axis in np.meshgrid(u, v, indexing="ij"))
        rough = student(numpy_l2_r1_t1, plane_u, plane_v, float_law(job))
        self._rough_exponent, self._rough_det = np.array(rough.exponent), np.array(rough.det)
        self._inner: dict[int, list[Any]] = {}
        self._square_k = arb(0)
        self._log_fold = -np.inf
        self._nodes = 0

    def sums(self) -> Sums:
        job = self._job
        u, v, u_star, v_star = map(arb, job.steps)
        two_pi = 2 * arb.pi()
        measure = u * v * u_star * v_star / (two_pi * two_pi * self._law.variance)
        totals = {name: arb(0) for name in (*NAMES, "g_star")}
        for place, inner in self._inner.items():
            columns = self._students[place].columns
            for name in NAMES:
                totals[name] += _dot(inner, columns[name])
            count = len(columns["norm"])
            totals["g_star"] += _dot(inner[count:], columns["g_u"])
            totals["g_star"] += _dot(inner[2 * count :], columns["g_v"])
        # det |K|^2 = (det Tr K)^2/det - 2 det K det
        totals["square_k"] = self._square_k
        if job.replicon:
            totals["square_k"] -= 2 * totals["curvature"]
        balls = {name: measure * total for name, total in totals.items()}
        return Sums(
            {name: to_mpf(total) for name, total in balls.items()},
            max(to_mpf(total.rad()) for total in balls.values()),
            float(self._log_fold + np.log(float(measure))),
            self._nodes,
        )

    def add(self, tile: tuple[Node, ...]) -> None:
        job, law = self._job, self._law
        chosen = self._chosen(tile)
        if not chosen:
            return
        self._nodes += len(tile) * len(chosen)
        places = [
            (arb(node.i) * arb(job.steps[2]), arb(node.j) * arb(job.steps[3])) for node in tile
        ]
        weights = [
            node.multiplicity * (-(u * u + v * v) / 2).exp()
            for node, (u, v) in zip(tile, places, strict=True)
        ]
        fields = [(law.sigma * u, law.sigma * v) for u, v in places]
        targets = [target(arb_l2_r1_t1, u, v, law) for u, v in fields]
        students = [self._student(place) for place in chosen]
        exponents = arb_mat([at.exponent for at in targets]) * _across(students, "exponent")
        densities = [value.exp() for value in exponents.entries()]
        polynomials = [
            [weight * value for value in at.fourth]
            for weight, at in zip(weights, targets, strict=True)
        ]
        if law.slope != 0:
            for row, (u_star, v_star) in zip(polynomials, fields, strict=True):
                plain = list(row)
                row += [u_star * value for value in plain]
                row += [v_star * value for value in plain]
        width = len(chosen)
        found = arb_mat([list(row) for row in zip(*polynomials, strict=True)]) * arb_mat(
            len(tile), width, densities
        )
        values = found.entries()
        for column, place in enumerate(chosen):
            new = values[column::width]
            old = self._inner.get(place)
            self._inner[place] = (
                [x + y for x, y in zip(old, new, strict=True)] if old is not None else new
            )
        if job.replicon:
            self._add_square_k(weights, targets, students, densities)

    def _add_square_k(
        self, weights: list[Any], targets: list[Any], students: list[Student], densities: list[Any]
    ) -> None:
        second = arb_mat([at.second for at in targets])
        traces = (second * _across(students, "trace")).entries()
        dets = (second * _across(students, "det")).entries()
        squares = [
            density * trace * trace / det
            for density, trace, det in zip(densities, traces, dets, strict=True)
        ]
        width = len(students)
        for row, weight in enumerate(weights):
            self._square_k += weight * sum(squares[row * width : (row + 1) * width], arb(0))

    def _chosen(self, tile: tuple[Node, ...]) -> list[int]:
        """The nodes of x that have weight with any h* of the tile; counts that of det < 0 too."""
        job, law = self._job, float_law(self._job)
        z_u = job.steps[2] * np.array([node.i for node in tile])
        z_v = job.steps[3] * np.array([node.j for node in tile])
        at = target(numpy_l2_r1_t1, law.sigma * z_u, law.sigma * z_v, law)
        multiplicity = np.array([node.multiplicity for node in tile])
        outer = np.log(multiplicity) - 0.5 * (z_u**2 + z_v**2)
        log_weight = np.array(at.exponent).T @ self._rough_exponent + outer[:, None]
        det = np.array(at.second).T @ self._rough_det
        folded = det < 0.0
        if folded.any():
            logs = log_weight[folded] + np.log(-det[folded])
            self._log_fold = np.logaddexp(self._log_fold, np.logaddexp.reduce(logs))
        return np.flatnonzero(log_weight.max(axis=0) > -job.cut_off).tolist()

    def _student(self, place: int) -> Student:
        found = self._students.get(place)
        if found is None:
            row, column = divmod(place, self._columns)
            u = arb(self._job.box[0] + row) * arb(self._job.steps[0])
            v = arb(self._job.box[2] + column) * arb(self._job.steps[1])
            found = student(arb_l2_r1_t1, u, v, self._law)
            self._students[place] = found
        return found


def _dot(left: list[Any], right: list[Any]) -> Any:
    """Of as many as both have."""
    return sum((x * y for x, y in zip(left, right, strict=False)), arb(0))


def _across(students: list[Student], name: str) -> Any:
    """A matrix with one column a node of x."""
    return arb_mat([list(row) for row in zip(*(getattr(x, name) for x in students), strict=True)])
