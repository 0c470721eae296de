"""A small network in double precision, a stream of a few pixels, and gradients worked out example by example."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import Tensor

from erlib.benchmarks import make
from erlib.benchmarks import toy as toy_set
from erlib.benchmarks.streams import Examples, Stream, Task
from erlib.config import RunConfig, paper_config
from erlib.memory.reservoir import Reservoir
from erlib.memory.ring import Ring
from erlib.models import MLP
from erlib.registry import method_class

PIXELS, HIDDEN, TASKS, PER_TASK = 6, 5, 3, 2
Weights = list[np.ndarray]  # fc1, fc2, fc: weight and bias of each


class Kit:
    """Three tasks of two classes each; a head is two of six output units."""

    def config(self, method: str, **changes) -> RunConfig:
        return paper_config("split_cifar", method, source="toy", tasks=TASKS, **changes)

    def stream(self) -> Stream:
        labels = torch.arange(TASKS * PER_TASK)
        empty = Examples(torch.zeros(len(labels), PIXELS, dtype=torch.uint8), labels, labels)
        tasks = [Task(t, [2 * t, 2 * t + 1], empty, empty) for t in range(TASKS)]
        return Stream(tasks, lambda x: x.double() / 255, TASKS * PER_TASK, shared_head=False)

    def method(self, config: RunConfig, seed: int = 0):
        """The method of a config on the small network, whose weights are drawn from a seed."""
        net = MLP(TASKS * PER_TASK, PIXELS, HIDDEN).double()
        random = torch.Generator().manual_seed(seed)
        for p in net.parameters():
            p.data = torch.randn(p.shape, generator=random, dtype=torch.float64)
        options = {}
        if config.memory is not None:
            writer = {"ring": Ring, "reservoir": Reservoir}[config.memory]
            memory = writer(
                config.samples_per_class * TASKS * PER_TASK,
                TASKS * PER_TASK,
                (PIXELS,),
                generator=torch.Generator().manual_seed(seed + 1),
                replay_current=config.replay_current,
            )
            options = {"memory": memory, "read": torch.Generator().manual_seed(seed + 2)}
        return method_class(config.method)(net, self.stream(), config, **options)

    def batches(self, t: int, count: int, size: int = 4, seed: int = 0) -> Iterator[tuple[Tensor, Tensor, int]]:
        random = torch.Generator().manual_seed(100 * seed + t)
        for _ in range(count):
            x = torch.randint(0, 256, (size, PIXELS), generator=random, dtype=torch.uint8)
            yield x, torch.randint(2 * t, 2 * t + 2, (size,), generator=random), t

    def weights(self, method) -> Weights:
        return [p.detach().numpy().copy() for p in method.params]

    def next_replay(self, method):
        """What the method is about to read from its memory; the memory and its generator are left as they are."""
        twin = torch.Generator()
        twin.set_state(method.read.get_state())
        return method.memory.sample(method.config.replay_batch, twin)

    def gradient(self, weights: Weights, examples: list[tuple[np.ndarray, int, int]]) -> Weights:
        """Mean over examples (pixels, label, task) of the cross-entropy's gradient, each under its task's softmax."""
        w1, b1, w2, b2, w3, b3 = weights
        total = [np.zeros_like(w) for w in weights]
        for pixels, label, task in examples:
            x = pixels / 255
            a1 = w1 @ x + b1
            h1 = np.maximum(a1, 0)
            a2 = w2 @ h1 + b2
            h2 = np.maximum(a2, 0)
            logits = w3 @ h2 + b3
            head = [PER_TASK * task + i for i in range(PER_TASK)]
            exps = np.exp(logits[head] - logits[head].max())
            error = np.zeros_like(logits)
            error[head] = exps / exps.sum()
            error[label] -= 1
            back2 = (w3.T @ error) * (a2 > 0)
            back1 = (w2.T @ back2) * (a1 > 0)
            parts = (np.outer(back1, x), back1, np.outer(back2, h1), back2, np.outer(error, h2), error)
            for sum_, part in zip(total, parts):
                sum_ += part
        return [sum_ / len(examples) for sum_ in total]

    def examples(self, x: Tensor, y: Tensor, t: int | Tensor) -> list[tuple[np.ndarray, int, int]]:
        tasks = [t] * len(y) if isinstance(t, int) else t.tolist()
        return list(zip(x.numpy().astype(float), y.tolist(), tasks))

    def assert_close(self, method, expected: Weights) -> None:
        for mine, theirs in zip(self.weights(method), expected):
            np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-11)

    def step(self, weights: Weights, gradient: Weights, lr: float) -> Weights:
        return [w - lr * g for w, g in zip(weights, gradient)]

    def dot(self, a: Weights, b: Weights) -> float:
        return sum(float((x * y).sum()) for x, y in zip(a, b))


@pytest.fixture(scope="session")
def kit() -> Kit:
    return Kit()


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module", autouse=True)
def small_toy() -> Iterator[None]:
    """The toy images, fewer and smaller: made in a moment."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"SIDE": 16, "TRAIN": 12, "TEST": 4}.items():
            patch.setattr(toy_set, name, value)
        make.load.cache_clear()
        yield
    make.load.cache_clear()


@pytest.fixture
def spy(monkeypatch):
    """`spy(method)`: the batches whose gradient the method asks for, as (labels, tasks)."""

    def watch(method) -> list[SimpleNamespace]:
        seen = []
        loss = method.loss

        def noted(logits, y, t):
            seen.append(SimpleNamespace(y=y.tolist(), t=[t] * len(y) if isinstance(t, int) else t.tolist()))
            return loss(logits, y, t)

        monkeypatch.setattr(method, "loss", noted)
        return seen

    return watch
