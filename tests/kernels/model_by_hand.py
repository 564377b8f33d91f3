"""The model in mpmath, written for these tests alone: no sympy, nothing from the package."""

from mpmath import matrix, mp


def softmax_rows(products):
    """exp over row sums of exp."""
    rows = []
    for i in range(products.rows):
        powers = [mp.exp(products[i, j]) for j in range(products.cols)]
        rows.append([power / mp.fsum(powers) for power in powers])
    return matrix(rows)


def attention(fields):
    """softmax(x x^T) for fields with one row a token."""
    return softmax_rows(fields * fields.T)


def loss(fields, target, sigma):
    """(sigma^2/2) |T - S|_F^2."""
    mismatch = target - attention(fields)
    return sigma**2 / 2 * mp.fsum(x**2 for x in mismatch)


def from_rotated(u, v):
    """Fields of two tokens with (x_1 - x_2)/sqrt 2 = u and (x_1 + x_2)/sqrt 2 = v."""
    return matrix([[(u + v) / mp.sqrt(2)], [(v - u) / mp.sqrt(2)]])


def two_token_target(t11, t22):
    """Rows that sum to 1."""
    return matrix([[t11, 1 - t11], [1 - t22, t22]])


def derivatives(function, point):
    """Value, gradient and upper triangle of the Hessian, by differences."""
    size = len(point)
    units = [tuple(int(i == j) for j in range(size)) for i in range(size)]
    pairs = [(a, b) for i, a in enumerate(units) for b in units[i:]]
    first = [mp.diff(function, point, unit) for unit in units]
    second = [
        mp.diff(function, point, tuple(x + y for x, y in zip(a, b, strict=True))) for a, b in pairs
    ]
    return [function(*point), *first, *second]
