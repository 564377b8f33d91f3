"""Planted results of units that train transformers: their numbers are known."""

import math

import numpy as np

from verify.histogram.segments import EXAMPLES


def planted(numbers):
    """The results of all segments.

    numbers(plan, seed, epoch): accuracy, index and the distance moved of one run.
    """

    def results(segment):
        rows = []
        for run, seed in enumerate(segment.plan.seeds):
            accuracy, index, moved = numbers(segment.plan, seed, segment.last)
            rows.append(
                {
                    "seed": seed,
                    "epoch": segment.last,
                    "train_loss": 0.1,
                    "test_loss": 0.2,
                    "test_accuracy": accuracy,
                    "moved": moved,
                    "moved_in_all": 2 * moved,
                    "mechanism": {"index": index, "index_error": 0.001},
                    "examples": pictures(seed, segment.last) if run == 0 else None,
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
