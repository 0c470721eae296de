"""The order in which examples are seen: task by task, or all tasks pooled and shuffled. Each example once."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from erlib.benchmarks.streams import Stream, Task
from erlib.config import RunConfig
from erlib.randomness import generator


@dataclass(frozen=True)
class TaskPass:
    """All mini-batches of one task."""

    task: Task
    size: int

    @property
    def steps(self) -> int:
        """How many mini-batches there are."""
        return -(-len(self.task.train) // self.size)

    def batches(self) -> Iterator[tuple[Tensor, Tensor, int]]:
        """Images, labels, task."""
        for x, y in self.task.train.batches(self.size):
            yield x, y, self.task.id


@dataclass(frozen=True)
class PooledPass:
    """A share of the mini-batches of all tasks together."""

    tasks: list[Task]
    order: Tensor  # [examples, 2]: task, row
    size: int

    @property
    def steps(self) -> int:
        """How many mini-batches there are."""
        return -(-len(self.order) // self.size)

    def batches(self) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """Images, labels, each example's task."""
        for chosen in self.order.split(self.size):
            chosen = chosen[chosen[:, 0].argsort(stable=True)]  # else processors differ in the order
            parts = []
            for t in chosen[:, 0].unique().tolist():
                parts.append(self.tasks[t].train.rows(chosen[chosen[:, 0] == t, 1]))
            yield torch.cat([x for x, _ in parts]), torch.cat([y for _, y in parts]), chosen[:, 0]


def one_by_one(stream: Stream, config: RunConfig) -> list[TaskPass]:
    """One pass for each task, in the stream's order."""
    return [TaskPass(task, config.batch_size) for task in stream.tasks]


def pooled(stream: Stream, config: RunConfig) -> list[PooledPass]:
    """All examples of all tasks shuffled, cut into as many passes as there are tasks."""
    pairs = [torch.stack((torch.full((n,), t), torch.arange(n)), 1) for t, n in enumerate(_sizes(stream))]
    order = torch.cat(pairs)
    order = order[torch.randperm(len(order), generator=generator(config.seed, "pool"))]
    size, count = config.batch_size, len(stream.tasks)
    steps = -(-len(order) // size)
    bounds = [i * steps // count * size for i in range(count + 1)]
    return [PooledPass(stream.tasks, order[start:end], size) for start, end in itertools.pairwise(bounds)]


def _sizes(stream: Stream) -> list[int]:
    return [len(task.train) for task in stream.tasks]
