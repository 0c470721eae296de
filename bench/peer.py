"""Avalanche's side: the same network, tensors, batch sizes and memory size under its own strategies.

Its data sets are tensors, which is the fast way to use it (its own PermutedMNIST transforms image by image). The
optimiser and the network's layout are what its users have: torch.optim.SGD as it is, no channels_last.
"""

from __future__ import annotations

import warnings

import torch
from avalanche.benchmarks import benchmark_from_datasets, with_task_labels
from avalanche.benchmarks.utils import _make_taskaware_tensor_classification_dataset as as_dataset
from avalanche.evaluation.metrics import accuracy_metrics
from avalanche.models import MultiTaskModule
from avalanche.training.plugins import AGEMPlugin, EvaluationPlugin, EWCPlugin, ReplayPlugin
from avalanche.training.supervised import MER, Naive
from torch import Tensor, nn
from work import Work, make_method

from erlib.benchmarks.make import make_stream
from erlib.benchmarks.streams import Examples, Stream
from erlib.config import RunConfig

warnings.filterwarnings("ignore")


class Masked(MultiTaskModule):
    """A network whose outputs outside an example's own head are minus infinity."""

    def __init__(self, net: nn.Module, heads: Tensor) -> None:
        super().__init__()
        self.net, self.outside = net, ~heads

    def adaptation(self, experience: object) -> None:
        """Nothing grows: all heads are there from the start."""

    def forward(self, x: Tensor, task_labels: Tensor) -> Tensor:
        return self.net(x).masked_fill(self.outside[task_labels], -torch.inf)


def dataset(examples: Examples, stream: Stream, t: int, rows: slice = slice(None)):
    """Some examples of a task as an Avalanche data set of normalised float tensors."""
    x, y = examples.rows(rows)
    return as_dataset(stream.normalise(x).contiguous(), y, task_labels=t)


def strategy(config: RunConfig, stream: Stream):
    """Avalanche's strategy for a config, with its accuracy metric and no logger."""
    net = make_method(config, stream, None, torch.device("cpu")).net.to(memory_format=torch.contiguous_format)
    plugins = {
        "er": lambda: ReplayPlugin(config.memory_size, config.batch_size, config.replay_batch),
        "agem": lambda: AGEMPlugin(config.memory_size // config.tasks, config.replay_batch),
        "ewc": lambda: EWCPlugin(config.ewc_lambda, mode="online", decay_factor=0.1),
    }
    options = {
        "model": net if stream.shared_head else Masked(net, stream.heads()),
        "optimizer": torch.optim.SGD(net.parameters(), config.lr),
        "criterion": nn.CrossEntropyLoss(),
        "train_mb_size": config.batch_size,
        "eval_mb_size": net.eval_batch,
        "evaluator": EvaluationPlugin(accuracy_metrics(experience=True)),
    }
    if config.method == "mer":  # its recipe: a single-example step for each of the 10 + 10 examples
        return MER(**options, mem_size=config.memory_size, batch_size_mem=config.replay_batch, n_inner_steps=1)
    return Naive(**options, plugins=[plugins[config.method]()] if config.method in plugins else [])


def learning(config: RunConfig, stream: Stream, steps: int, blocks: int) -> Work:
    """Blocks of Avalanche's steps, each an experience of a task of its own; the first ones fill the memory."""
    count = steps * config.batch_size
    tasks = [dataset(task.train, stream, task.id, slice(0, count)) for task in stream.tasks[: blocks + 2]]
    experiences = iter(with_task_labels(benchmark_from_datasets(train=tasks)).train_stream)
    learner = strategy(config, stream)
    learner.train(next(experiences))

    def work() -> int:
        learner.train(next(experiences))
        return steps

    return work


def evaluating(config: RunConfig, stream: Stream, seen: int) -> Work:
    """Avalanche's evaluation of the first tasks."""
    tests = [dataset(task.test, stream, task.id) for task in stream.tasks[:seen]]
    experiences = list(with_task_labels(benchmark_from_datasets(test=tests)).test_stream)
    learner = strategy(config, stream)

    def work() -> float:
        learner.eval(experiences)
        return sum(len(test) for test in tests) / 1000

    return work


def run(config: RunConfig) -> None:
    """A whole run: learn each task once, evaluate all tasks seen after each."""
    stream = make_stream(config)
    learner = strategy(config, stream)
    train = [dataset(task.train, stream, task.id) for task in stream.tasks]
    test = [dataset(task.test, stream, task.id) for task in stream.tasks]
    benchmark = with_task_labels(benchmark_from_datasets(train=train, test=test))
    tests = list(benchmark.test_stream)
    for t, experience in enumerate(benchmark.train_stream):
        learner.train(experience)
        learner.eval(tests[: t + 1])
