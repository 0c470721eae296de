"""What every writer promises: never too much, nothing mixed up, fair reading, a state that can be saved."""

from __future__ import annotations

from itertools import permutations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from erlib.errors import ErlibError
from erlib.memory import Memory

QUICK = settings(max_examples=25, deadline=None, derandomize=True, database=None)
LABELS, TASKS = 3, 3
RUN = st.tuples(st.integers(0, LABELS - 1), st.integers(1, 8))  # some of one class, one after another
BATCH = st.lists(RUN, min_size=1, max_size=3).map(lambda runs: [label for label, n in runs for _ in range(n)])
PLAN = st.lists(st.lists(BATCH, min_size=1, max_size=4), min_size=1, max_size=TASKS)
SIZE = st.integers(LABELS * TASKS, 24)

WRITERS = ["reservoir", "ring", "kmeans", "mof", "hybrid", "full_ring"]


@pytest.mark.parametrize("writer", WRITERS)
def test_the_memory_holds_examples_of_the_stream_and_never_more_than_its_size(kit, writer):
    @QUICK
    @given(PLAN, SIZE, st.booleans())
    def holds(plan, size, replay_current):
        memory = kit.memory(writer, size, LABELS * TASKS, replay_current=replay_current)
        seen = []
        for step in kit.steps(plan):
            memory.write(step.x, step.y, step.t, step.features)
            seen += step.examples
            kit.check(memory, seen)
            if step.last:
                memory.end_task(step.t)

    holds()


@pytest.mark.parametrize("writer", WRITERS)
def test_reading_gives_different_examples_of_the_allowed_tasks(kit, writer):
    @QUICK
    @given(PLAN, SIZE, st.booleans(), st.integers(0, 30), st.integers(0, 5))
    def reads(plan, size, replay_current, count, seed):
        memory = kit.memory(writer, size, LABELS * TASKS, replay_current=replay_current)
        read = torch.Generator().manual_seed(seed)
        completed = -1
        for step in kit.steps(plan):
            memory.write(step.x, step.y, step.t, step.features)
            if step.last:
                memory.end_task(step.t)
                completed = step.t
            allowed = {e for e in kit.held(memory) if replay_current or e.task <= completed}
            x, y, t = memory.sample(count, read)
            got = kit.read(x)
            assert len(set(got)) == len(got) == min(count, len(allowed))
            assert set(got) <= allowed
            assert [(e.label, e.task) for e in got] == list(zip(y.tolist(), t.tolist()))

    reads()


def test_a_plan_with_more_examples_than_allowed_reads_them_all(kit):
    memory = kit.memory("ring", 6, 3, replay_current=True)
    for step in kit.steps([[[0, 1, 2, 0, 1, 2]]]):
        memory.write(step.x, step.y, step.t)
    x, _, _ = memory.sample(256, torch.Generator().manual_seed(0))
    assert set(kit.read(x)) == set(kit.held(memory))
    assert len(x) == 6


def test_every_ordered_pair_is_read_equally_often(kit):
    memory = kit.memory("ring", 4, 4)
    for step in kit.steps([[[0, 1, 2, 3]]]):
        memory.write(step.x, step.y, step.t)
    read, trials = torch.Generator().manual_seed(1), 3000
    counts = dict.fromkeys(permutations(range(4), 2), 0)
    for _ in range(trials):
        counts[tuple(memory.sample(2, read)[1].tolist())] += 1
    expected = trials / len(counts)
    assert all(abs(n - expected) < 4.5 * expected**0.5 for n in counts.values())


@pytest.mark.parametrize("writer", WRITERS)
def test_a_saved_state_continues_identically(kit, writer):
    @settings(QUICK, max_examples=15)
    @given(PLAN, SIZE, st.integers(0, 8), st.booleans())
    def continues(plan, size, cut, replay_current):
        options = {"replay_current": replay_current}
        memory = kit.memory(writer, size, LABELS * TASKS, **options)
        steps = list(kit.steps(plan))
        for step in steps[:cut]:
            memory.write(step.x, step.y, step.t, step.features)
            if step.last:
                memory.end_task(step.t)
        twin = kit.memory(writer, size, LABELS * TASKS, seed=99, **options)
        twin.load_state_dict(kit.through_a_file(memory.state_dict()))
        twin.generator.set_state(memory.generator.get_state())
        reads = [torch.Generator().manual_seed(5) for _ in range(2)]
        for step in steps[cut:]:
            for each in (memory, twin):
                each.write(step.x, step.y, step.t, step.features)
                if step.last:
                    each.end_task(step.t)
            assert_same(memory, twin)
            for mine, theirs in zip(*(each.sample(7, read) for each, read in zip((memory, twin), reads))):
                assert torch.equal(mine, theirs)

    continues()


def assert_same(memory, twin):
    for name in ("x", "y", "t"):
        assert torch.equal(getattr(memory, name), getattr(twin, name))
    assert memory.class_counts() == twin.class_counts()
    assert memory.events == twin.events
    assert len(memory) == len(twin)


@pytest.mark.parametrize("writer", WRITERS)
def test_the_memory_keeps_copies_not_views_of_the_stream(kit, writer):
    memory = kit.memory(writer, 3, 3)
    for step in kit.steps([[[0, 1, 2]]]):
        memory.write(step.x, step.y, step.t, step.features)
        before = kit.held(memory)
        step.x.zero_()
        step.y.zero_()
        assert kit.held(memory) == before


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("size", [0, -3])
def test_a_memory_without_slots_is_refused(kit, writer, size):
    with pytest.raises(ErlibError, match=f"memory of {size} slots"):
        kit.memory(writer, size)


@pytest.mark.parametrize("writer", ["ring", "kmeans", "mof"])
def test_fewer_slots_than_classes_is_refused(kit, writer):
    memory = kit.memory(writer, 2, 3)
    (step,) = kit.steps([[[0]]])
    with pytest.raises(ErlibError, match="2 slots has no room for 3 classes"):
        memory.write(step.x, step.y, step.t, step.features)


@pytest.mark.parametrize("writer", ["ring", "kmeans", "mof"])
def test_one_class_too_many_is_refused(kit, writer):
    memory = kit.memory(writer, 4, 2)
    fits, too_much = kit.steps([[[0, 1, 0, 1], [2]]])
    memory.write(fits.x, fits.y, fits.t, fits.features)
    with pytest.raises(ErlibError, match="class 2 of task 0 is one more than the 2 classes"):
        memory.write(too_much.x, too_much.y, too_much.t, too_much.features)


def test_examples_of_one_task(kit):
    memory = kit.memory("ring", 8, 4)
    for step in kit.steps([[[0, 1, 1]], [[0, 0, 1]]]):
        memory.write(step.x, step.y, step.t)
    x, y, t = memory.of_task(1)
    assert {e.number for e in kit.read(x)} == {3, 4, 5}
    assert sorted(y.tolist()) == [0, 0, 1]
    assert t.tolist() == [1, 1, 1]


def test_the_base_class_does_not_choose(kit):
    memory = Memory(1, 1, (4,), generator=torch.Generator(), replay_current=True)
    with pytest.raises(NotImplementedError):
        memory.write(torch.zeros(1, 4, dtype=torch.uint8), torch.tensor([0]), 0)
