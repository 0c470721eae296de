"""The work that is measured: the paper's configs on random images of the real shapes, and a clock that alternates."""

from __future__ import annotations

import functools
import itertools
import resource
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch

from erlib.benchmarks import make
from erlib.benchmarks.images import ImageSet
from erlib.benchmarks.streams import Batch, Stream, Task
from erlib.config import RunConfig, paper_config
from erlib.methods import Method
from erlib.protocol import BENCHMARKS
from erlib.training import make_method

# Shape of an image, classes, training and test images; CUB has fewer of them than the real one, to fit in memory.
SHAPES = {
    "permuted_mnist": ((784,), 10, 60_000, 10_000),
    "split_cifar": ((32, 32, 3), 100, 50_000, 10_000),
    "split_cub": ((224, 224, 3), 200, 1_200, 200),
}
FILL = 100  # examples a write when a memory is made ready: quicker than mini-batches
Work = Callable[[], float]  # does a block of work, returns how many units (steps, thousands of images) it was


@functools.cache
def images(benchmark: str) -> ImageSet:
    """Noise around a random pattern for each class, as large as the real data set."""
    shape, classes, *counts = SHAPES[benchmark]
    random = torch.Generator().manual_seed(0)
    patterns = torch.randint(0, 128, (classes, *shape), dtype=torch.uint8, generator=random)
    tensors = []
    for count in counts:
        y = torch.arange(count) % classes
        x = torch.randint(0, 128, (count, *shape), dtype=torch.uint8, generator=random)
        for part in range(0, count, 1000):
            x[part : part + 1000] += patterns[y[part : part + 1000]]
        tensors += [x, y]
    return ImageSet(*tensors)


def use_random_images() -> None:
    """Let every run of this process train on random images."""
    torch.set_num_threads(1)
    make.load = lambda source, benchmark, data: images(benchmark)


def config(benchmark: str, method: str, **changes: Any) -> RunConfig:
    """The paper's settings; CUB from random weights, which "toy" stands for."""
    if benchmark == "split_cub":
        changes["source"] = "toy"
    return paper_config(benchmark, method, **changes)


def prepare(config: RunConfig, completed: int, *, current: bool = False) -> tuple[Method, Stream]:
    """A method that has `completed` tasks behind it: its memory holds them, or its Fisher is that of the last one.

    With `current`, the memory has also seen all of the next task.
    """
    stream = make.make_stream(config)
    method = make_method(config, stream, None, torch.device("cpu"))
    for task in stream.tasks[: completed + current]:
        if method.memory is not None:
            for x, y in task.train.batches(FILL):
                method.memory.write(x, y, task.id, torch.randn(len(y), method.net.fc.in_features))
        elif config.method == "ewc" and task.id == completed - 1:
            for x, y in itertools.islice(task.train.batches(config.batch_size), config.fisher_every):
                method.observe(x, y, task.id)
        if task.id < completed:
            method.end_task(task.id)
    return method, stream


def half(config: RunConfig) -> int:
    """Half of the stream's tasks: where a memory that grows with the tasks has its average size."""
    return BENCHMARKS[config.benchmark].ev_tasks // 2


def learning(method: Method, task: Task, steps: int) -> Work:
    """Blocks of erlib's own steps on one task, whose examples come round again when they are used up."""
    batches = endless(task, method.config.batch_size)

    def work() -> int:
        for x, y in itertools.islice(batches, steps):
            method.observe(x, y, task.id)
        return steps

    return work


def endless(task: Task, size: int) -> Iterator[Batch]:
    """The mini-batches of a task, for ever."""
    while True:
        yield from task.train.batches(size)


def clock(contenders: dict[str, Work], rounds: int) -> dict[str, list[float]]:
    """Seconds a unit of each contender, one for each round; all take their turn in every round, a first one apart."""
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for number in range(rounds + 1):
        for name, work in contenders.items():
            start = time.perf_counter()
            units = work()
            if number:
                seconds[name].append((time.perf_counter() - start) / units)
    return seconds


def alternate(contenders: dict[str, Work], blocks: int) -> dict[str, dict[str, float]]:
    """Seconds a unit of each, block about, and the ratio to the first: medians over the blocks."""
    seconds = clock(contenders, blocks)
    first = next(iter(seconds.values()))
    return {
        name: {
            "seconds": statistics.median(values),
            "ratio": statistics.median(mine / theirs for mine, theirs in zip(values, first)),
        }
        for name, values in seconds.items()
    }


def peak_megabytes() -> float:
    """The most memory that this process and any one child of it have held."""
    unit = 2**20 if sys.platform == "darwin" else 2**10
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return max(own, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) / unit
