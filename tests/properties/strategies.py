"""What the property tests draw: models, overlaps and channels, with the edges of their domains."""

import math

from hypothesis import strategies as st

from symattn import ASYMMETRIC, STANDARD, AttentionModel
from symattn.overlaps import Overlaps

signs = st.sampled_from([1.0, -1.0])

alphas = st.one_of(st.sampled_from([0.05, 1.0, 5.0]), st.floats(0.05, 5.0))


def log_floats(low, high):
    """Floats whose logarithm is drawn evenly; both ends are drawn exactly, too."""
    return st.one_of(
        st.sampled_from([low, high]),
        st.floats(math.log(low), math.log(high)).map(lambda x: min(max(math.exp(x), low), high)),
    )


def by_diagonal(a11, a22):
    """The mixing matrix with this diagonal."""
    return ((a11, 1.0 - a11), (1.0 - a22, a22))


#: The named ones, any other, and those near the identity, near its exchange and near uniform.
mixings = st.one_of(
    st.sampled_from([STANDARD, ASYMMETRIC]),
    st.builds(by_diagonal, st.floats(0.0, 1.0), st.floats(0.0, 1.0)),
    st.builds(by_diagonal, st.floats(0.99, 1.0), st.floats(0.99, 1.0)),
    st.builds(by_diagonal, st.floats(0.0, 0.01), st.floats(0.0, 0.01)),
    st.builds(by_diagonal, st.floats(0.49, 0.51), st.floats(0.49, 0.51)),
)

omegas = st.one_of(st.sampled_from([0.0, 0.3, 1.0]), st.floats(0.0, 1.0))


@st.composite
def models(draw, sigma=(0.2, 1.0), lam=(1e-3, 10.0)):
    """Two tokens of rank one, sigma and lambda within these bounds."""
    return AttentionModel(
        sigma=draw(st.floats(*sigma)),
        lam=draw(log_floats(*lam)),
        omega=draw(omegas),
        mixing=draw(mixings),
    )


#: theta over its largest value sqrt(q rho): none, any, nearly all.
alignments = st.one_of(
    st.just(0.0),
    st.floats(-0.95, 0.95),
    st.builds(lambda sign, rest: sign * (1.0 - rest), signs, log_floats(1e-4, 0.05)),
)


@st.composite
def overlaps(draw, model, V=(0.01, 20.0)):
    """Admissible overlaps of the model, m = 0, theta = 0 and theta^2 close to q rho among them.

    V lies within these bounds, q between rho/100 and 2 rho.
    """
    q = model.rho * draw(log_floats(0.01, 2.0))
    m = draw(st.one_of(st.just(0.0), st.floats(-0.5, 0.5)))
    theta = draw(alignments) * math.sqrt(q * model.rho)
    return Overlaps(q, m, draw(log_floats(*V)), theta)


@st.composite
def models_and_overlaps(draw, V=(0.01, 20.0), **bounds):
    """A model, its bounds as in `models`, and admissible overlaps of it."""
    model = draw(models(**bounds))
    return model, draw(overlaps(model, V))


@st.composite
def channels(draw, V=(0.01, 20.0), sigma=(0.2, 1.0)):
    """(t11, t22, sigma, V): the channel at one target; weights 0, 1 and equal ones are drawn."""
    weights = st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0.0, 1.0))
    t11 = draw(weights)
    t22 = draw(st.one_of(st.just(t11), weights))
    return t11, t22, draw(st.floats(*sigma)), draw(log_floats(*V))


def fields(reach=2.0):
    """(a, b), the rotated components of a field, up to this far out in each."""
    coordinates = st.floats(-reach, reach)
    return st.tuples(coordinates, coordinates)
