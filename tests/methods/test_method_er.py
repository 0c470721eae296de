"""Experience replay (Alg. 1): one step on the stack of current and memory examples."""

from __future__ import annotations

import itertools

import pytest
import torch

from erlib.benchmarks.make import make_stream
from erlib.config import paper_config
from erlib.training import make_method


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


def test_two_passes_give_the_same_mean_but_norm_each_batch_by_itself(kit):
    """Without batch norm nothing changes; with it each batch has its own statistics; an empty one is left out."""
    both = [kit.method(kit.config("er", memory="reservoir", lr=0.2, stacked=stacked)) for stacked in (True, False)]
    for batch in kit.batches(0, 4):
        for method in both:
            method.observe(*batch)
    assert torch.allclose(*(torch.cat([p.flatten() for p in method.params]) for method in both), atol=1e-6)

    config = paper_config("split_cifar", "er", memory="reservoir", source="toy", tasks=1, stacked=False)
    stream = make_stream(config)
    method, seen = make_method(config, stream, None, torch.device("cpu")), []
    method.net.bn1.register_forward_hook(lambda module, given, out: seen.append(len(given[0])))
    for x, y in itertools.islice(stream.tasks[0].train.batches(10), 2):
        method.observe(x, y, 0)
    assert seen == [10, 10, len(method.memory)]


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
