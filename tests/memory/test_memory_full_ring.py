"""The full-memory ring (orange in Fig. 2) against queues that shrink as classes arrive."""

from __future__ import annotations

from collections import deque

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from erlib.errors import ErlibError

BATCH = st.lists(st.integers(0, 2), min_size=1, max_size=9)
PLAN = st.lists(st.lists(BATCH, min_size=1, max_size=4), min_size=1, max_size=3)


def slow_full_ring(steps, size):
    """After each batch, what the memory holds: a queue for each class seen, each of floor(size / K) places."""
    queues = {}
    for step in steps:
        for example in step.examples:
            queues.setdefault((example.task, example.label), deque())
            queues[example.task, example.label].append(example)
            share = size // len(queues)
            for queue in queues.values():
                while len(queue) > share:
                    queue.popleft()
        yield {key: list(queue) for key, queue in queues.items()}


@settings(max_examples=50, deadline=None, derandomize=True, database=None)
@given(PLAN, st.integers(9, 30))
def test_each_class_keeps_the_last_of_its_share(kit, plan, size):
    memory = kit.memory("full_ring", size, 9)
    steps = list(kit.steps(plan))
    for step, expected in zip(steps, slow_full_ring(steps, size)):
        memory.write(step.x, step.y, step.t)
        assert memory.class_counts() == {key: len(queue) for key, queue in expected.items()}
        assert sorted(kit.held(memory)) == sorted(e for queue in expected.values() for e in queue)


def test_a_slot_freed_within_a_batch_is_empty_afterwards(kit):
    memory = kit.memory("full_ring", 4, 2)
    for step in kit.steps([[[0, 0, 0, 0, 1]]]):  # class 1 takes two slots away from class 0 and fills one
        memory.write(step.x, step.y, step.t)
    assert len(memory) == 3
    assert len(memory.of_task(0)[1]) == 3
    assert {e.number for e in kit.held(memory)} == {2, 3, 4}


def test_the_whole_memory_is_used_from_the_start(kit):
    memory = kit.memory("full_ring", 12, 6)
    sizes = []
    for step in kit.steps([[[0] * 20, [1] * 20, [2] * 20], [[0] * 20]]):
        memory.write(step.x, step.y, step.t)
        sizes.append(sorted(memory.class_counts().values()))
    assert sizes == [[12], [6, 6], [4, 4, 4], [3, 3, 3, 3]]


def test_a_class_without_room_is_refused(kit):
    memory = kit.memory("full_ring", 2, 3)
    fits, too_much = kit.steps([[[0, 1], [2]]])
    memory.write(fits.x, fits.y, fits.t)
    with pytest.raises(ErlibError, match="no room for class 2 of task 0"):
        memory.write(too_much.x, too_much.y, too_much.t)
