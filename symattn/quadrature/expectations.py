"""Every mean over the channel at given overlaps, to a stated resolution.

The means are over h* ~ N(0, rho I) and w given h*, of functions of the prox x* at w. A resolution
is made from one number, the relative accuracy that all its grids are chosen for; how accurate a
result is, is found by comparison with a finer resolution, not assumed from it.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from symattn._jit import compiled
from symattn._processes import processes
from symattn._typing import FloatArray
from symattn.errors import ComputationFailed
from symattn.kernels.generated.numba_l2_r1_t1 import student_jet
from symattn.model import AttentionModel
from symattn.overlaps import Overlaps
from symattn.quadrature import _columns as columns
from symattn.quadrature._channel import Grids, expectations_given_targets
from symattn.quadrature._target_rule import target_rule

_PITCH = 0.1
_LARGEST_TABLE = 600
#: V sigma^2 (1 - omega) up to which `target_step` is short enough, and from which the other is.
_GENTLE = 2.6
_STEEP = 5.0


@dataclass(frozen=True, slots=True)
class Resolution:
    """Grid parameters of one evaluation.

    Attributes
    ----------
    cut_off : float
        Radius, in standard deviations, of the disc of w and of the square of h* that are kept.
    spacing : float
        Spacing of the x grid, in units of s over the steepest slope of w(x).
    longest_step : float
        Of a panel along a jump curve.
    curve_nodes, segment_nodes : int
        Gauss-Legendre nodes of a panel, and across it.
    target_step, steep_step, steepest_step : float
        Trapezoidal steps in h*, in standard deviations (shorter when sigma > 0.5, as the poles of
        T move in): where the means depend weakly on h*, and in v* and u* where they do strongly.
    order : int
        Gauss-Legendre nodes in h* to go with `target_step`, see `target_rule`.
    """

    cut_off: float
    spacing: float
    longest_step: float
    curve_nodes: int
    segment_nodes: int
    target_step: float
    steep_step: float
    steepest_step: float
    order: int

    @classmethod
    def for_accuracy(cls, accuracy: float) -> Resolution:
        """The resolution meant for this relative accuracy of the means."""
        digits = -math.log10(accuracy)
        cut_off = math.sqrt(-2.0 * math.log(accuracy)) + 1.0
        return cls(
            cut_off=cut_off,
            spacing=0.9 * math.sqrt(2.0 * math.pi**2 / -math.log(accuracy)),
            longest_step=min(0.25, 1.2 / digits),
            curve_nodes=math.ceil(3.5 + 0.5 * digits),
            segment_nodes=math.ceil(8.0 + digits),
            target_step=9.5 / -math.log(accuracy),
            steep_step=4.2 / max(6.0, -1.1 * math.log(accuracy) - 10.5),
            steepest_step=4.2 / max(6.0, -1.1 * math.log(accuracy) - 6.5),
            order=math.ceil(1.0 + 2.2 * digits),
        )

    def target_grid(self, model: AttentionModel, V: float) -> tuple[float, float, int]:
        """Trapezoidal steps in v* and in u*, in standard deviations, and the order of Gauss rules.

        The energy is V times a function of T, so V sigma^2 (1 - omega) says how much h* matters;
        T changes with u* more than with v*.
        """
        sigma = model.require_solvable()
        steepness = (V * sigma**2 * (1.0 - model.omega) - _GENTLE) / (_STEEP - _GENTLE)
        share = min(max(steepness, 0.0), 1.0)
        unit = min(1.0, 0.5 / sigma)
        v_step = self.target_step * min(1.0, self.steep_step / self.target_step) ** share
        u_step = self.target_step * min(1.0, self.steepest_step / self.target_step) ** share
        order = math.ceil(self.order * self.target_step / u_step)
        return unit * v_step, unit * u_step, order


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """What speaks for an evaluation, beyond agreement with a finer one.

    All are means over h*, in units of probability unless said otherwise.

    Attributes
    ----------
    normalisation : float
        |E[1] - 1|: the regular part's quadrature and truncation. Blind to jumps.
    jump_normalisation : float
        E|int over the jumped region of det N dx|, 0 in exact arithmetic: the pieces' quadrature.
    fold : float
        E[number of saddles]: weight of det(I + V Hess loss) < 0. Below the tolerance, nothing
        jumps.
    uncovered : float
        Part of `fold` that no piece of the jump set covers: weight of jumps that were missed.
    overcount : float
        Mean |fold summed over the pieces - fold summed over the grid| relative to `fold`, a crude
        check: both sums have kinks.
    doubled : float
        Part of `fold` that two unconnected pieces of the jump set both cover.
    chord_gap : float
        Least of psi - chord over the jumped region, in units of psi: negative beyond rounding if
        a third minimum undercuts a pair.
    border : float
        Weight met at the rim of the x table: what may be cut off.
    """

    normalisation: float
    jump_normalisation: float
    fold: float
    uncovered: float
    overcount: float
    doubled: float
    chord_gap: float
    border: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectations:
    """Means over the channel at given overlaps.

    Attributes
    ----------
    means : array, shape (17,)
        In the order of the columns of `symattn.quadrature._columns`.
    jump_length : float
        E_{h*} int over the jump set of N(w | h*) |jump of x*| dS.
    smooth_response, smooth_response_error : float
        E|dg/dw|_F^2 without the jumps, and the mean difference of its sums over two halves of the
        x grid; NaN where something jumps, unless diagnosed.
    jump_probability : float
        Probability that the energy at w has more than one local minimum; NaN likewise.
    certificate : Certificate
    points : int
        Number of h* at which the inner integral was done.
    """

    means: FloatArray
    jump_length: float
    smooth_response: float
    smooth_response_error: float
    jump_probability: float
    certificate: Certificate
    points: int


def channel_expectations(
    model: AttentionModel,
    overlaps: Overlaps,
    resolution: Resolution,
    *,
    diagnose: bool = False,
) -> Expectations:
    """All means over the channel at `overlaps` (q > theta^2/rho, V > 0).

    With `diagnose`, also those that only describe the result (`smooth_response` and
    `jump_probability`).

    Raises
    ------
    ComputationFailed
        If the overlaps are not admissible or the needed grid is too large.
    """
    sigma = model.require_solvable()
    q, m, V, theta = overlaps
    if not (V > 0.0 and q - theta**2 / sigma**2 > 0.0 and math.isfinite(q + m + V + theta)):
        raise ComputationFailed(f"overlaps left the admissible domain: {overlaps}")
    parameters = (sigma, model.omega, model.mixing[0][0], model.mixing[1][1])
    half_width = resolution.cut_off + 0.5
    v_step, u_step, order = resolution.target_grid(model, V)
    points, weights = target_rule(
        parameters,
        V,
        half_width,
        math.ceil(half_width / v_step),
        math.ceil(half_width / u_step),
        order,
        exchange=parameters[2] == parameters[3],
        reflection=m == 0.0 or theta == 0.0,
    )
    s = math.sqrt(q - theta**2 / sigma**2)
    reach = math.sqrt(2.0) * abs(m) + abs(theta) / sigma * half_width
    half_size = math.ceil((reach + resolution.cut_off * s + 1.5) / _PITCH)
    workers = processes()
    while True:
        if half_size > _LARGEST_TABLE:
            raise ComputationFailed(
                f"the prox reaches too far at {overlaps}: x beyond {half_size * _PITCH:.0f}; "
                "try a smaller sigma or fewer digits"
            )
        grids = inner_grids(resolution, s, half_size)
        rows = np.zeros((len(weights), columns.COLUMNS))
        reports = np.zeros((len(weights), columns.REPORT_COLUMNS))

        def run(part: int, grids: Grids = grids) -> tuple[FloatArray, FloatArray]:
            mine = points[part::workers]
            rows = np.zeros((len(mine), columns.COLUMNS))
            reports = np.zeros((len(mine), columns.REPORT_COLUMNS))
            expectations_given_targets(
                np.ascontiguousarray(mine),
                parameters,
                (q, m, V, theta),
                grids,
                diagnose,
                rows,
                reports,
            )
            return rows, reports

        with ThreadPoolExecutor(workers) as pool:
            for part, (part_rows, part_reports) in enumerate(pool.map(run, range(workers))):
                rows[part::workers] = part_rows
                reports[part::workers] = part_reports
        border = float(weights @ reports[:, columns.BORDER])
        if border <= 1e-2 * math.exp(-0.5 * resolution.cut_off**2):
            break
        half_size = math.ceil(1.4 * half_size)

    means = weights @ rows
    if m == 0.0:
        means[list(columns.ODD_IN_M)] = 0.0
    if theta == 0.0:
        means[list(columns.ODD_IN_THETA)] = 0.0
    fold = float(weights @ reports[:, columns.FOLD])
    described = diagnose or fold == 0.0
    return Expectations(
        means=means,
        jump_length=float(weights @ reports[:, columns.JUMP_LENGTH]),
        smooth_response=float(weights @ reports[:, columns.SMOOTH_RESPONSE])
        if described
        else math.nan,
        smooth_response_error=float(weights @ np.abs(reports[:, columns.SMOOTH_IMBALANCE]))
        if described
        else math.nan,
        jump_probability=float(weights @ reports[:, columns.SEVERAL_MINIMA])
        if described
        else math.nan,
        certificate=Certificate(
            normalisation=abs(float(means[columns.NORM]) - 1.0),
            jump_normalisation=float(weights @ np.abs(reports[:, columns.JUMP_NORM])),
            fold=fold,
            uncovered=float(weights @ reports[:, columns.UNCOVERED]),
            overcount=float(weights @ reports[:, columns.FOLD_MISMATCH]) / fold if fold else 0.0,
            doubled=float(weights @ reports[:, columns.DOUBLED]),
            chord_gap=float(reports[:, columns.CHORD_GAP].min()),
            border=border,
        ),
        points=len(weights),
    )


def inner_grids(resolution: Resolution, s: float, half_size: int) -> Grids:
    """The grids of the integral over w, of standard deviation s, given any h*.

    The table of x reaches `half_size` nodes to every side.
    """
    return Grids(
        cut_off=resolution.cut_off,
        spacing=resolution.spacing,
        longest_step=resolution.longest_step * min(1.0, s / 0.15),
        table=_student_table(half_size),
        origin=-_PITCH * half_size,
        pitch=_PITCH,
        curve_rule=np.array(np.polynomial.legendre.leggauss(resolution.curve_nodes)),
        segment_rule=np.array(np.polynomial.legendre.leggauss(resolution.segment_nodes)),
    )


@compiled
def _student_table(half_size: int) -> FloatArray:
    """`student_jet` at the nodes -half_size .. half_size times the pitch, in u and v."""
    size = 2 * half_size + 1
    table = np.empty((size, size, 12))
    for i in range(size):
        for j in range(size):
            jet = student_jet(_PITCH * (i - half_size), _PITCH * (j - half_size))
            for k in range(12):
                table[i, j, k] = jet[k]
    return table
