"""Means over h* at Q = 0 from the definition, in polar coordinates: a second method for the tests.

Everything is in the tokens' coordinates, with softmax and matrices written out; the radius is
integrated by the double-exponential rule, the angle by the trapezoidal rule.
"""

from mpmath import mp, mpf


def _number(exact):
    return mpf(exact.numerator) / exact.denominator


def _softmax(row):
    weights = [mp.exp(x - max(row)) for x in row]
    return [x / sum(weights) for x in weights]


def curvature(model, h, V):
    """K = H (I + V H)^-1 with H = -sigma^2 Sym(T - 1/2), in the tokens' coordinates."""
    sigma, omega = _number(model.exact("sigma")), _number(model.exact("omega"))
    attention = [_softmax([x * y for y in h]) for x in h]
    target = [
        [(1 - omega) * s + omega * _number(a) for s, a in zip(weights, row, strict=True)]
        for weights, row in zip(attention, model.exact("mixing"), strict=True)
    ]
    half = mpf(1) / 2
    p, q = -(sigma**2) * (target[0][0] - half), -(sigma**2) * (target[1][1] - half)
    r = -(sigma**2) * ((target[0][1] + target[1][0]) / 2 - half)
    # K = H (I + V H)^-1 = (H + V det(H)) / det(I + V H)
    det_h = p * q - r * r
    det = (1 + V * p) * (1 + V * q) - (V * r) ** 2
    return (p + V * det_h) / det, r / det, (q + V * det_h) / det


def means(model, V, angles, step):
    """E Tr K, and the slopes of m', theta' and q' over alpha V, at the working precision."""
    sigma = _number(model.exact("sigma"))
    total = [mpf(0)] * 4
    k = int(mpf("4.7") / step)
    radii = []
    for i in range(-k, k + 1):
        t = i * step
        r = mp.exp(t - mp.exp(-t))
        weight = step * r**2 * (1 + mp.exp(-t)) * mp.exp(-(r**2) / 2)
        if weight > mpf(10) ** -(mp.dps + 2):
            radii.append((r, weight))
    for n in range(angles):
        angle = mp.pi * (n + mpf(1) / 2) / angles
        c, s = mp.cos(angle), mp.sin(angle)
        for r, weight in radii:
            z = (r * c, r * s)
            k11, k12, k22 = curvature(model, (sigma * z[0], sigma * z[1]), V)
            along_h = k11 * z[0] ** 2 + 2 * k12 * z[0] * z[1] + k22 * z[1] ** 2
            values = (
                k11 + k22,
                -(k11 + k22 - 2 * k12) / sigma**2,
                k11 + k22 - along_h,
                V * (k11**2 + 2 * k12**2 + k22**2),
            )
            total = [x + weight * y for x, y in zip(total, values, strict=True)]
    return [x / angles for x in total]
