"""Accuracy and loss of a method on test examples, with one wait for the device at the end."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch.nn.functional import cross_entropy

from erlib.benchmarks.streams import Batch, Stream
from erlib.methods import Method


@torch.no_grad()
def accuracy_row(method: Method, stream: Stream, seen: int) -> list[float | None]:
    """Accuracy on the test set of each of the first `seen` tasks; None for the others."""
    net = method.net.for_evaluation()
    correct = [torch.zeros((), dtype=torch.int64, device=method.device) for _ in range(seen)]
    for task in stream.tasks[:seen]:
        for x, y in task.test.batches(net.eval_batch):
            guess = method.masked(net(method.normalise(x)), task.id).argmax(1)
            correct[task.id] += (guess == y.to(method.device)).sum()
    hits = torch.stack(correct).tolist() if correct else []
    row: list[float | None] = [n / len(task.test) for n, task in zip(hits, stream.tasks)]
    return row + [None] * (len(stream.tasks) - seen)


@torch.no_grad()
def measure(method: Method, batches: Iterable[Batch], t: int) -> dict[str, float]:
    """Accuracy and mean cross-entropy on some examples of task `t`."""
    net = method.net.for_evaluation()
    count, sums = 0, []
    for x, y in batches:
        logits, labels = method.masked(net(method.normalise(x)), t), y.to(method.device)
        hits = (logits.argmax(1) == labels).sum()
        sums.append(torch.stack((hits.float(), cross_entropy(logits, labels, reduction="sum"))))
        count += len(y)
    hits, losses = torch.stack(sums).cpu().double().sum(0).tolist()
    return {"accuracy": hits / count, "loss": losses / count}
