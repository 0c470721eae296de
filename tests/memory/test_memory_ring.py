"""The ring buffer (Alg. 3) against one deque for each (task, class)."""

from __future__ import annotations

from collections import defaultdict, deque

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

LABELS, TASKS = 3, 3
BATCH = st.lists(st.integers(0, LABELS - 1), min_size=1, max_size=12)
PLAN = st.lists(st.lists(BATCH, min_size=1, max_size=4), min_size=1, max_size=TASKS)


@settings(max_examples=50, deadline=None, derandomize=True, database=None)
@given(PLAN, st.integers(LABELS * TASKS, 40))
def test_each_class_keeps_exactly_its_last_examples(kit, plan, size):
    memory = kit.memory("ring", size, LABELS * TASKS)
    quota = size // (LABELS * TASKS)
    queues = defaultdict(lambda: deque(maxlen=quota))
    for step in kit.steps(plan):
        memory.write(step.x, step.y, step.t)
        for example in step.examples:
            queues[step.t, example.label].append(example)
        assert set(kit.held(memory)) == {example for queue in queues.values() for example in queue}
        assert memory.class_counts() == {key: len(queue) for key, queue in queues.items()}


def test_a_full_ring_is_balanced_and_uses_all_of_its_memory(kit):
    memory = kit.memory("ring", 12, 6)
    for step in kit.steps([[[0] * 9, [1, 1, 2, 2]], [[2, 2, 1, 1, 0, 0]]]):
        memory.write(step.x, step.y, step.t)
    assert set(memory.class_counts().values()) == {2}
    assert len(memory) == 12


def test_an_older_task_does_not_change_any_more(kit):
    memory = kit.memory("ring", 4, 4, replay_current=False)
    for step in kit.steps([[[0, 1]], [[0, 1]] * 5]):
        memory.write(step.x, step.y, step.t)
        if step.last:
            memory.end_task(step.t)
    assert {e.number for e in kit.held(memory) if e.task == 0} == {0, 1}


@pytest.mark.parametrize("replay_current", [False, True])
def test_only_completed_tasks_are_replayed_unless_told_otherwise(kit, replay_current):
    memory = kit.memory("ring", 8, 4, replay_current=replay_current)
    tasks = []
    for step in kit.steps([[[0, 1], [1, 0]], [[0, 1], [1, 0]]]):
        tasks.append(sorted(set(memory.sample(100, torch.Generator())[2].tolist())))
        memory.write(step.x, step.y, step.t)
        if step.last:
            memory.end_task(step.t)
    tasks.append(sorted(set(memory.sample(100, torch.Generator())[2].tolist())))
    assert tasks == ([[], [0], [0], [0, 1], [0, 1]] if replay_current else [[], [], [0], [0], [0, 1]])
