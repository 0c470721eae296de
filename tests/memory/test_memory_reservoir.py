"""Reservoir sampling (Alg. 2) against a plain loop, and against the probability it is made for."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

BATCHES = st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=12), min_size=1, max_size=12)


def slow_reservoir(batches, size, draws):
    """Alg. 2, example by example; `draws` gives one number in [0, 1) for each example of a batch."""
    memory, n = [], 0
    for batch in batches:
        for j, (example, u) in enumerate(zip(batch, draws(len(batch)))):
            if len(memory) < size:
                memory.append(example)
            else:
                i = int(u * (n + j + 1))  # randint over all seen, the new one included
                if i < size:
                    memory[i] = example
        n += len(batch)
    return memory


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(BATCHES, st.integers(1, 25), st.integers(0, 1000))
def test_the_contents_are_those_of_the_algorithm(kit, batches, size, seed):
    memory = kit.memory("reservoir", size, seed=seed)
    steps = list(kit.steps([batches]))
    for step in steps:
        memory.write(step.x, step.y, step.t)
    twin = torch.Generator().manual_seed(seed)

    def draws(count):  # a batch's numbers are drawn together and used from the last
        return torch.rand(count, generator=twin, dtype=torch.float64).tolist()[::-1]

    expected = slow_reservoir([step.examples for step in steps], size, draws)
    assert kit.held(memory) == expected  # slot by slot


@pytest.mark.parametrize(("size", "stream", "batch"), [(2, 6, 3), (1, 7, 7), (5, 20, 10), (3, 12, 1)])
def test_every_place_of_the_stream_is_kept_with_probability_size_over_n(kit, size, stream, batch):
    trials = 1500
    kept = [0] * stream
    steps = list(kit.steps([[[0] * batch] * (stream // batch) + ([[0] * (stream % batch)] if stream % batch else [])]))
    random = torch.Generator().manual_seed(7)
    for _ in range(trials):
        memory = kit.memory("reservoir", size)
        memory.generator = random
        for step in steps:
            memory.write(step.x, step.y, step.t)
        for example in kit.held(memory):
            kept[example.number] += 1
    p = size / stream
    sigma = (trials * p * (1 - p)) ** 0.5
    assert max(abs(n - trials * p) for n in kept) < 4.2 * sigma, kept


def test_it_replays_the_task_being_learned(kit):
    memory = kit.memory("reservoir", 4)
    for step in kit.steps([[[0, 1]]]):
        memory.write(step.x, step.y, step.t)
    assert len(memory.sample(10, torch.Generator())[1]) == 2


def test_reading_does_not_move_writing(kit):
    memories = [kit.memory("reservoir", 3, seed=4) for _ in range(2)]
    read = torch.Generator().manual_seed(0)
    for step in kit.steps([[[0, 1, 2, 3, 4]] * 20]):
        for memory in memories:
            memory.write(step.x, step.y, step.t)
        memories[0].sample(2, read)
    assert kit.held(memories[0]) == kit.held(memories[1])
