"""The model: one attention layer with tied low-rank query and key, and its target."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from numbers import Integral, Real
from typing import Any, TypeAlias

from symattn._parsing import DECIMAL
from symattn.errors import InvalidInput

Mixing: TypeAlias = tuple[tuple[float, ...], ...]
"""A row-stochastic matrix A, by rows."""

Spectrum: TypeAlias = tuple[tuple[float, tuple[float, ...]], ...]
"""A joint spectral density of Sigma_1 .. Sigma_L: atoms (weight, (variance_1, .., variance_L))."""

STANDARD: Mixing = ((0.6, 0.4), (0.4, 0.6))
ASYMMETRIC: Mixing = ((0.3, 0.7), (0.8, 0.2))

#: Real parameters by the names that options, tables and axes have for them.
PARAMETERS = {"omega": "omega", "lambda": "lam", "sigma": "sigma"}

_DEFAULT_SIGMA = 0.5
_NAMED_MIXINGS = {"standard": STANDARD, "asymmetric": ASYMMETRIC}

# The symbolic work grows quickly with both; the bound is there to catch a slip of the keyboard.
_LARGEST_SIZE = 16

# Wider than any use, and narrow enough that sigma^6, the order of the smallest errors, is a double.
_LARGEST_SIGMA = 1e30

# A sum of L <= 16 doubles that are each rounded from exact shares misses 1 by less than 1e-14, one
# of shares written with 13 decimals by less than 1e-12; what misses by more is not a rounding.
_SUM_TOLERANCE = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionModel:
    """Student, target, data and penalty of the high-dimensional attention problem.

    The student is f_Q(x) = S[(x + p) Q / sqrt(d)] (x + p) with S[h] = softmax(h h^T) row by row,
    the target y = T[x Q* / sqrt(d)] x with T[h] = (1 - omega) softmax(h h^T) + omega A, and Q
    minimises sum_mu |y_mu - f_Q(x_mu)|_F^2 / (2 d) + (lambda / 2) |Q|_F^2. Without arguments it is
    the setting of the paper that introduced the model. Instances are immutable, hashable, and
    compare by value.

    Parameters
    ----------
    length : int
        L, the number of tokens, 2 to 16.
    student_rank, target_rank : int
        r and t, the number of columns of Q and of Q*, 1 to 16.
    sigma : float, optional
        Standard deviation of every entry of x, Sigma_l = sigma^2 I, from 1e-30 to 1e30. It is 0.5
        when neither `sigma` nor `spectrum` is given, and None when `spectrum` is.
    spectrum : sequence of (weight, variances), optional
        In place of `sigma`, for covariances Sigma_1 .. Sigma_L that commute and are not isotropic:
        the fraction `weight` of their common eigenvectors has the eigenvalues `variances`, one
        for each token. The weights are positive and sum to 1.
    lam : float
        lambda > 0, the strength of the ridge penalty.
    omega : float
        Share of the positional part in the target, from 0 (purely semantic) to 1.
    mixing : matrix
        A, the positional part of the target: L x L, entries >= 0, rows that sum to 1 (to within
        1e-12, which leaves room for rounded entries). The default has L = 2.

    Raises
    ------
    InvalidInput
        One line that names the parameter, its value and what is allowed.
    """

    length: int = 2
    student_rank: int = 1
    target_rank: int = 1
    sigma: float | None = None
    spectrum: Spectrum | None = None
    lam: float = 0.01
    omega: float = 0.3
    mixing: Mixing = STANDARD

    def __post_init__(self) -> None:
        length = _size("length", self.length, smallest=2)
        sigma, spectrum = _scales(self.sigma, self.spectrum, length)
        checked = {
            "length": length,
            "student_rank": _size("student_rank", self.student_rank, smallest=1),
            "target_rank": _size("target_rank", self.target_rank, smallest=1),
            "sigma": sigma,
            "spectrum": spectrum,
            "lam": _positive("lam", self.lam),
            "omega": _share("omega", self.omega),
            "mixing": _stochastic(self.mixing, length),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def __str__(self) -> str:
        if self.spectrum is None:
            scale = f"sigma = {self.sigma}"
        else:
            scale = f"{len(self.spectrum)}-atom spectrum"
        rows = ", ".join("[" + ", ".join(map(str, row)) + "]" for row in self.mixing)
        return (
            f"attention model: L = {self.length}, r = {self.student_rank}, t = {self.target_rank}, "
            f"{scale}, lambda = {self.lam}, omega = {self.omega}, A = [{rows}]"
        )

    @property
    def rho(self) -> float:
        """Q*^T Sigma Q* / d per component, the variance of the target's local field: sigma^2.

        Raises
        ------
        InvalidInput
            When the model has a spectrum: rho then differs from token to token.
        """
        if self.sigma is None:
            raise InvalidInput.of("sigma", None, "a number where one rho for all tokens is used")
        return self.sigma**2

    def require_solvable(self) -> float:
        """Check that the model is of the class whose equations are solved; return its sigma.

        That class is L = 2, r = t = 1, Sigma_l = sigma^2 I.

        Raises
        ------
        InvalidInput
            One line that names the first parameter outside that class.
        """
        if self.length != 2:
            raise InvalidInput.of("length", self.length, "2 to be solved")
        if self.student_rank != 1:
            raise InvalidInput.of("student_rank", self.student_rank, "1 to be solved")
        if self.target_rank != 1:
            raise InvalidInput.of("target_rank", self.target_rank, "1 to be solved")
        if self.sigma is None:
            raise InvalidInput.of("spectrum", self.spectrum, "absent (isotropic data) to be solved")
        return self.sigma

    def exact(self, name: str) -> Any:
        """The rational meaning of a real parameter, for work at arbitrary precision.

        A stored double stands for the shortest decimal that reads back as it: omega = 0.3 means
        3/10, not the binary fraction nearest to it.

        Parameters
        ----------
        name : str
            `sigma`, `spectrum`, `lam`, `omega` or `mixing`.

        Returns
        -------
        Fraction, or tuples of them in the shape of the parameter.

        Raises
        ------
        InvalidInput
            When there is no such real parameter, or the model does not have it.
        """
        if name not in ("sigma", "spectrum", "lam", "omega", "mixing"):
            raise InvalidInput.of("name", name, "sigma, spectrum, lam, omega or mixing")
        value = getattr(self, name)
        if value is None:
            raise InvalidInput(f"{name} is not set in this model ({self})", name)
        return shortest_decimal(value)

    def to_dict(self) -> dict[str, Any]:
        """The parameters by name, in types that JSON has; `from_dict` gives the same model back."""
        return {field.name: _as_lists(getattr(self, field.name)) for field in fields(self)}

    @classmethod
    def from_dict(cls, parameters: Mapping[str, Any]) -> AttentionModel:
        """The model with these parameters; those not named have their defaults.

        Raises
        ------
        InvalidInput
            For a name that is no parameter, or a value that is not allowed.
        """
        if not isinstance(parameters, Mapping):
            raise InvalidInput.of("parameters", parameters, "a mapping from names to values")
        known = [field.name for field in fields(cls)]
        for name in parameters:
            if name not in known:
                raise InvalidInput.of("parameter name", name, "one of " + ", ".join(known))
        return cls(**parameters)


def parse_mixing(text: str, length: int) -> Mixing:
    """The matrix A that a command line names.

    Parameters
    ----------
    text : str
        The length^2 entries by rows, decimal and separated by commas; for two tokens also
        `standard` ([[0.6, 0.4], [0.4, 0.6]]) or `asymmetric` ([[0.3, 0.7], [0.8, 0.2]]).
    length : int
        L, the number of tokens.

    Raises
    ------
    InvalidInput
        When the text is none of these, or the matrix is not row-stochastic.
    """
    length = _size("length", length, smallest=2)
    named = _NAMED_MIXINGS if length == 2 else {}
    if text in named:
        return named[text]
    entries = [entry.strip() for entry in text.split(",")]
    if len(entries) != length**2 or not all(DECIMAL.fullmatch(entry) for entry in entries):
        numbers_wanted = f"{length**2} decimal numbers by rows, separated by commas"
        raise InvalidInput.of("mixing", text, " or ".join([*named, numbers_wanted]))
    numbers = [float(entry) for entry in entries]
    return _stochastic([numbers[i : i + length] for i in range(0, length**2, length)], length)


def _scalar(value: Any) -> Any:
    """The Python number in a numpy scalar, or in an array of no dimension."""
    return value.item() if getattr(value, "ndim", None) == 0 else value


def is_whole(value: object) -> bool:
    """Whether `value` is a whole number by type."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def _size(name: str, value: object, smallest: int) -> int:
    number = _scalar(value)
    if not is_whole(number) or not smallest <= number <= _LARGEST_SIZE:
        raise InvalidInput.of(name, value, f"a whole number from {smallest} to {_LARGEST_SIZE}")
    return operator.index(number)


def _real(value: object) -> float:
    """`value` as a float, NaN when it is not a real number that a double can hold."""
    number = _scalar(value)
    if isinstance(number, bool) or not isinstance(number, Real):
        return math.nan
    try:
        # Adding zero leaves one zero, so that equal models also print alike.
        return float(number) + 0.0
    except OverflowError:
        return math.nan


def _positive(name: str, value: object) -> float:
    number = _real(value)
    if not 0 < number < math.inf:
        raise InvalidInput.of(name, value, "a finite number > 0")
    return number


def _share(name: str, value: object) -> float:
    number = _real(value)
    if not 0 <= number <= 1:
        raise InvalidInput.of(name, value, "a number from 0 to 1")
    return number


def _items(value: object) -> list[Any]:
    """The items of a sequence or array; none when `value` is not one, or is a text."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        return []
    try:
        return list(value)
    except TypeError:  # numpy's arrays of no dimension call themselves iterable
        return []


def _scales(
    sigma: object, spectrum: object, length: int
) -> tuple[float, None] | tuple[None, Spectrum]:
    if spectrum is None:
        number = _real(_DEFAULT_SIGMA if sigma is None else sigma)
        if not 1 / _LARGEST_SIGMA <= number <= _LARGEST_SIGMA:
            allowed = f"a number from {1 / _LARGEST_SIGMA:g} to {_LARGEST_SIGMA:g}"
            raise InvalidInput.of("sigma", sigma, allowed)
        return number, None
    if sigma is not None:
        raise InvalidInput.of("sigma", sigma, "absent when a spectrum is given")
    return None, _atoms(spectrum, length)


def _atoms(spectrum: object, length: int) -> Spectrum:
    atoms: list[tuple[float, tuple[float, ...]]] = []
    for atom in _items(spectrum):
        parts = _items(atom)
        variances = tuple(map(_real, _items(parts[1]))) if len(parts) == 2 else ()
        weight = _real(parts[0]) if parts else math.nan
        positive = 0 < weight <= 1 and all(0 < variance < math.inf for variance in variances)
        if len(variances) != length or not positive:
            raise InvalidInput.of(
                "spectrum",
                spectrum,
                f"atoms (weight, ({length} variances)) with 0 < weight <= 1 and variances > 0",
            )
        atoms.append((weight, variances))
    if not _sums_to_one(weight for weight, _ in atoms):
        raise InvalidInput.of("spectrum", spectrum, "atoms whose weights sum to 1")
    return tuple(atoms)


def _stochastic(mixing: object, length: int) -> Mixing:
    rows = tuple(tuple(map(_real, _items(row))) for row in _items(mixing))
    square = len(rows) == length and all(len(row) == length for row in rows)
    shares = all(0 <= number <= 1 for row in rows for number in row)
    if not (square and shares and all(map(_sums_to_one, rows))):
        raise InvalidInput.of(
            "mixing",
            mixing,
            f"a {length} x {length} matrix with entries >= 0 and rows that sum to 1",
        )
    return rows


def _sums_to_one(numbers: Iterable[float]) -> bool:
    return abs(math.fsum(numbers) - 1) <= _SUM_TOLERANCE


def shortest_decimal(value: Any) -> Any:
    """The fraction that a double stands for: the shortest decimal that reads back as it.

    Tuples give tuples of them.
    """
    if isinstance(value, tuple):
        return tuple(map(shortest_decimal, value))
    return Fraction(repr(value))


def _as_lists(value: Any) -> Any:
    return list(map(_as_lists, value)) if isinstance(value, tuple) else value
