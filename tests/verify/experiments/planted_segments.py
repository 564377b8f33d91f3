"""Planted results of units that train transformers: their numbers are known."""

import math

import numpy as np

from verify.histogram.segments import EXAMPLES

_USUAL = {
    "train_loss": 0.1,
    "test_loss": 0.2,
    "moved": 1.0,
    "from_random": 2.0,
    "gradient_norm": 0.5,
    "rest": 0.05,
}


def planted(numbers, shown=True):
    """The results of all segments.

    numbers(plan, seed, epoch): those of one run by name, of its row or of its mechanism, where they
    are not as usual.
    """

    def results(segment):
        rows = []
        for run, seed in enumerate(segment.plan.seeds):
            own = {**_USUAL, **numbers(segment.plan, seed, segment.last)}
            mechanism = {name: own.pop(name) for name in ("index", "rest")}
            mechanism["index_error"] = None if mechanism["index"] is None else 0.001
            examples = pictures(seed, segment.last) if run == 0 and shown else None
            rows.append(
                {
                    "seed": seed,
                    "epoch": segment.last,
                    **own,
                    "mechanism": mechanism,
                    "examples": examples,
                }
            )
        return rows

    return results


def pictures(seed, epoch):
    """Matrices for all examples that tell whose they are."""
    random = np.random.default_rng([seed % 2**32, epoch])
    length = len(EXAMPLES[0])
    return random.random((len(EXAMPLES), length, length)).tolist()


def normal(*entropy):
    """A standard normal number for whole numbers."""
    return float(np.random.default_rng([*entropy]).standard_normal())


def standard_error(values):
    return np.std(values, ddof=1) / math.sqrt(len(values))


def drawn_means(container):
    """What a container of points with error bars has: x, y and half the bars' lengths."""
    line, _, [bars] = container
    halves = [float(np.ptp(segment[:, 1])) / 2 for segment in bars.get_segments()]
    return list(line.get_xdata()), list(line.get_ydata()), halves
