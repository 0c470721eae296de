"""Examples whose pixels say who they are, so that what a memory physically holds can be compared with its labels."""

from __future__ import annotations

import importlib
import io
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import pytest
import torch
from torch import Tensor

WRITERS = {
    "reservoir": "erlib.memory.reservoir:Reservoir",
    "ring": "erlib.memory.ring:Ring",
    "kmeans": "erlib.memory.kmeans:KMeans",
    "mof": "erlib.memory.mof:MeanOfFeatures",
    "hybrid": "erlib.memory.hybrid:Hybrid",
    "full_ring": "erlib.memory.full_ring:FullRing",
}


class Example(NamedTuple):
    number: int  # place in the stream
    label: int
    task: int


class Step(NamedTuple):
    x: Tensor
    y: Tensor
    t: int
    features: Tensor
    examples: list[Example]
    last: bool  # of its task


class Kit:
    """A plan is a list of tasks, a task a list of batches, a batch a list of labels."""

    def memory(self, writer: str, size: int, classes: int = 1, *, seed: int = 0, replay_current=True, distances=None):
        module, name = WRITERS[writer].split(":")
        if distances is None and writer in ("kmeans", "mof"):
            distances = "current"
        return getattr(importlib.import_module(module), name)(
            size,
            classes,
            (4,),
            generator=torch.Generator().manual_seed(seed),
            replay_current=replay_current,
            distances=distances,
        )

    def steps(self, plan: list[list[list[int]]], seed: int = 0) -> Iterator[Step]:
        """The plan's mini-batches; features are whole numbers, so that halves of them are exact."""
        random = torch.Generator().manual_seed(seed)
        number = 0
        for t, batches in enumerate(plan):
            for b, labels in enumerate(batches):
                examples = [Example(number + i, label, t) for i, label in enumerate(labels)]
                number += len(labels)
                pixels = [[e.number // 256, e.number % 256, e.label, e.task] for e in examples]
                features = torch.randint(-100, 101, (len(labels), 5), generator=random).float()
                x = torch.tensor(pixels, dtype=torch.uint8)
                yield Step(x, torch.tensor(labels), t, features, examples, b == len(batches) - 1)

    def read(self, x: Tensor) -> list[Example]:
        """Who these images are."""
        return [Example(256 * high + low, label, task) for high, low, label, task in x.tolist()]

    def held(self, memory) -> list[Example]:
        """What lies in the memory's occupied slots; pixels, labels and tasks have to agree."""
        slots = [slot for slot, t in enumerate(memory.t.tolist()) if t >= 0]
        examples = self.read(memory.x[slots])
        assert [e.label for e in examples] == memory.y[slots].tolist()
        assert [e.task for e in examples] == memory.t[slots].tolist()
        assert len(set(examples)) == len(examples)
        return examples

    def check(self, memory, seen: list[Example]) -> None:
        """What holds for every writer at every moment."""
        held = self.held(memory)
        assert len(held) == len(memory) <= memory.size
        assert set(held) <= set(seen)
        counts = {key: n for key, n in memory.class_counts().items() if n}
        assert counts == Counter((e.task, e.label) for e in held)

    def through_a_file(self, state: dict) -> dict:
        buffer = io.BytesIO()
        torch.save(state, buffer)
        buffer.seek(0)
        return torch.load(buffer, weights_only=True)


@pytest.fixture(scope="session")
def kit() -> Kit:
    return Kit()


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
