"""Experience replay (Alg. 1): one step on the stack of current and memory examples."""

from __future__ import annotations

import pytest
import torch


@pytest.mark.parametrize("writer", ["ring", "reservoir"])
def test_a_step_is_the_mean_over_the_stack_each_under_its_own_head(kit, writer):
    config = kit.config("er", memory=writer, samples_per_class=2, replay_batch=3, lr=0.2)
    method, sizes = kit.method(config), []
    for t in range(3):
        for batch in kit.batches(t, 5):
            before, past = kit.weights(method), kit.next_replay(method)
            method.observe(*batch)
            stack = kit.examples(*batch) + kit.examples(*past)
            sizes.append(len(stack))
            kit.assert_close(method, kit.step(before, kit.gradient(before, stack), 0.2))
        method.end_task(t)
    no_replay = 5 if writer == "ring" else 1  # the ring replays completed tasks only
    assert sizes == [4] * no_replay + [7] * (15 - no_replay)


def test_the_memory_is_read_before_the_step_and_written_after_it(kit):
    method = kit.method(kit.config("er", memory="reservoir"))
    order = []
    sample, write = method.memory.sample, method.memory.write
    method.memory.sample = lambda *a: order.append("read") or sample(*a)
    descend = method.descend
    method.descend = lambda *a: order.append("step") or descend(*a)
    method.memory.write = lambda *a: order.append("write") or write(*a)
    for batch in kit.batches(0, 2):
        method.observe(*batch)
    assert order == ["read", "step", "write"] * 2


def test_the_writer_gets_the_current_features_of_before_the_step(kit):
    method = kit.method(kit.config("er", memory="reservoir", lr=0.5))
    given = []
    method.memory.write = lambda x, y, t, features: given.append(features)
    for x, y, t in kit.batches(0, 2):
        with torch.no_grad():
            expected = method.net.features(method.normalise(x))
        method.observe(x, y, t)
        assert torch.allclose(given[-1], expected)
        assert not given[-1].requires_grad


def test_replay_follows_alg_1_literally_when_told_to(kit, spy):
    method = kit.method(kit.config("er", memory="ring", replay_current=True))
    seen = spy(method)
    for batch in kit.batches(0, 3):
        method.observe(*batch)
    assert len(seen[0].t) == 4
    assert len(seen[2].t) > 4
    assert set(seen[2].t) == {0}
