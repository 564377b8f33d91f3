"""Training transformers of the histogram task as one batch, against a loop over a DataLoader.

Both do the same steps of Adam on batches of 32 sequences. The plain way is one transformer after
the other, as a module of torch on batches of a shuffling DataLoader; it is timed on one of them, on
a tenth of the published number of sequences. The ratio of times for a run and an epoch is printed
and in `extra_info`.
"""

from __future__ import annotations

import time

import torch
from torch.utils.data import DataLoader, TensorDataset

from verify.histogram.task import HistogramTask
from verify.histogram.training import BATCH, BETAS, EPSILON, RATE, Plan, Training, random_start
from verify.histogram.transformer import HistogramTransformer

CPU = torch.device("cpu")
RUNS = 5
PLAN = Plan(task=HistogramTask(), restriction="semantic", seeds=tuple(range(RUNS)), sequences=5000)


def seconds_of_a_plain_epoch():
    """One epoch of one transformer."""
    data = PLAN.draw()
    model = HistogramTransformer(PLAN.task, PLAN.restriction)
    optimiser = torch.optim.Adam(model.parameters(), lr=RATE, betas=BETAS, eps=EPSILON)
    loss = torch.nn.CrossEntropyLoss()
    pairs = TensorDataset(data.train, PLAN.task.counts(data.train))
    loader = DataLoader(pairs, batch_size=BATCH, shuffle=True)
    begun = time.perf_counter()
    for sequences, counts in loader:
        optimiser.zero_grad()
        loss(model(sequences).flatten(0, 1), counts.flatten()).backward()
        optimiser.step()
    return time.perf_counter() - begun


def test_batch_against_data_loader(benchmark):
    training = Training(PLAN, random_start(PLAN, CPU))
    training.advance(1)
    plain = min(seconds_of_a_plain_epoch() for _ in range(3))

    benchmark.pedantic(
        lambda: training.advance(training.epoch + 1), rounds=3, iterations=1, warmup_rounds=1
    )
    batched = benchmark.stats.stats.min / RUNS
    benchmark.extra_info.update(plain=plain, batched=batched, ratio=plain / batched)
    print(
        f"\na run and epoch: plain {plain:.2f} s, of a batch of {RUNS} {batched:.3f} s, "
        f"ratio {plain / batched:.1f}"
    )
