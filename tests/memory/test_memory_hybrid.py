"""The hybrid writer (section 4, Fig. 2): when it switches, what it keeps, and how it goes on."""

from __future__ import annotations

from collections import Counter

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

BATCH = st.lists(st.integers(0, 2), min_size=1, max_size=10)
PLAN = st.lists(st.lists(BATCH, min_size=1, max_size=6), min_size=2, max_size=5)


class SlowHybrid:
    """The text of section 4 with DESIGN's choices, over lists. Which examples the switch keeps is told from outside."""

    def __init__(self, size, seed):
        self.size, self.random = size, torch.Generator().manual_seed(seed)
        self.memory, self.seen, self.classes, self.completed = [], 0, [], set()
        self.steps, self.event = 0, None

    def write(self, examples, t):
        """Returns the number that each class has to keep, if this write makes it switch."""
        self.steps += 1
        draws = torch.rand(len(examples), generator=self.random, dtype=torch.float64).tolist()[::-1]
        for example in examples:
            if (t, example.label) not in self.classes:
                self.classes.append((t, example.label))
        for example, u in zip(examples, draws):
            self.balanced(example) if self.event else self.reservoir(example, u)
        if not self.event and any(self.count(key) <= 1 for key in self.classes if key[0] in self.completed):
            self.event = {"name": "switch", "task": t, "step": self.steps}
            share = max(1, self.size // len(self.classes))
            return {key: min(self.count(key), share) for key in self.classes}
        return None

    def reservoir(self, example, u):
        self.seen += 1
        if len(self.memory) < self.size:
            self.memory.append(example)
        elif (i := int(u * self.seen)) < self.size:
            self.memory[i] = example

    def balanced(self, example):
        if len(self.memory) == self.size:
            own = (example.task, example.label)
            most = max(self.count(key) for key in self.classes)
            victim = own if self.count(own) == most else next(key for key in self.classes if self.count(key) == most)
            self.memory.remove(min(e for e in self.memory if (e.task, e.label) == victim))  # the oldest
        self.memory.append(example)

    def count(self, key):
        return sum((e.task, e.label) == key for e in self.memory)


@settings(max_examples=80, deadline=None, derandomize=True, database=None)
@given(PLAN, st.integers(1, 20), st.integers(0, 100))
def test_it_follows_the_slow_reference(kit, plan, size, seed):
    memory, slow = kit.memory("hybrid", size, seed=seed), SlowHybrid(size, seed)
    for step in kit.steps(plan):
        memory.write(step.x, step.y, step.t)
        keep = slow.write(step.examples, step.t)
        held = kit.held(memory)
        if keep is not None:
            assert set(held) <= set(slow.memory)
            assert Counter((e.task, e.label) for e in held) == Counter(keep)
            slow.memory = held
        assert sorted(held) == sorted(slow.memory)
        assert memory.events == ([slow.event] if slow.event else [])
        assert len(memory) <= size
        assert set(memory.class_counts()) == set(slow.classes)
        if step.last:
            memory.end_task(step.t)
            slow.completed.add(step.t)


def test_the_plans_above_do_switch(kit):
    """A guard: without switches the reference test would say nothing of them."""
    plan = [[[0, 1, 2] * 3] * 3] * 5
    memory = kit.memory("hybrid", 12)
    for step in kit.steps(plan):
        memory.write(step.x, step.y, step.t)
        if step.last:
            memory.end_task(step.t)
    assert [event["name"] for event in memory.events] == ["switch"]
    assert min(memory.class_counts().values()) == 0  # 15 classes, 12 slots
    assert max(memory.class_counts().values()) == 1


def test_a_class_of_the_current_task_alone_never_makes_it_switch(kit):
    memory = kit.memory("hybrid", 4)
    for step in kit.steps([[[0, 1, 2, 3, 4, 5, 6, 7]] * 20]):
        memory.write(step.x, step.y, step.t)
    assert not memory.events


@pytest.mark.parametrize(("second", "switches"), [(1, True), (2, False)])
def test_it_switches_at_one_example_left_and_not_at_two(kit, second, switches):
    memory = kit.memory("hybrid", 100)
    for step in kit.steps([[[0] * 5 + [1] * second], [[0, 1]]]):
        memory.write(step.x, step.y, step.t)
        if step.last:
            memory.end_task(step.t)
    assert memory.events == ([{"name": "switch", "task": 1, "step": 2}] if switches else [])


def test_after_the_switch_new_examples_take_free_slots_then_those_of_the_largest_class(kit):
    memory, counts = kit.memory("hybrid", 12), []
    for step in kit.steps([[[0] * 7 + [1]], [[2] * 3, [3] * 9, [4] * 9]]):
        memory.write(step.x, step.y, step.t)
        counts.append(memory.class_counts())
        if step.last:
            memory.end_task(step.t)
    assert memory.events == [{"name": "switch", "task": 1, "step": 2}]
    assert counts[1] == {(0, 0): 4, (0, 1): 1, (1, 2): 3}  # 12 slots, 3 classes
    assert counts[2] == {(0, 0): 4, (0, 1): 1, (1, 2): 3, (1, 3): 4}  # 4 were free; then class 3 overwrites itself
    assert counts[3] == {(0, 0): 2, (0, 1): 1, (1, 2): 3, (1, 3): 3, (1, 4): 3}


def test_what_the_switch_keeps_is_a_random_pick(kit):
    kept = Counter()
    for seed in range(300):
        memory = kit.memory("hybrid", 8, seed=seed)
        for step in kit.steps([[[0] * 6 + [1]], [[2]]]):
            memory.write(step.x, step.y, step.t)
            memory.end_task(step.t)
        kept.update(e.number for e in kit.held(memory) if e.label == 0)
    assert set(kept) == set(range(6))  # 2 of 6, each with probability 1/3
    assert all(abs(n - 100) < 4.2 * (300 * 2 / 9) ** 0.5 for n in kept.values())
