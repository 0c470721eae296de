"""MER: inner steps from theta0 on memory and current batch, then a tenth of the way."""

from __future__ import annotations

import pytest
import torch

from erlib.benchmarks.make import make_stream
from erlib.config import paper_config
from erlib.training import make_method


@pytest.mark.parametrize("steps", ["single", "batch"])
def test_a_step_follows_the_recipe(kit, steps):
    config = kit.config("mer", mer_steps=steps, replay_batch=3, samples_per_class=2, lr=0.05, mer_s=4.0, mer_gamma=0.3)
    method, replayed = kit.method(config), 0
    for t in range(3):
        for batch in kit.batches(t, 5):
            start, past = kit.weights(method), kit.examples(*kit.next_replay(method))
            theta = start
            for chunk in [[e] for e in past] if steps == "single" else [past] * bool(past):
                theta = kit.step(theta, kit.gradient(theta, chunk), 0.05)
            theta = kit.step(theta, kit.gradient(theta, kit.examples(*batch)), 4.0 * 0.05)
            expected = [a + 0.3 * (b - a) for a, b in zip(start, theta)]
            method.observe(*batch)
            kit.assert_close(method, expected)
            replayed += len(past)
        method.end_task(t)
    assert replayed == 14 * 3  # all but the first step, the task being learned included


def memory_steps(mode: str) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor], torch.nn.Module]:
    """The network's state before and after the steps on four memory examples, and the network."""
    config = paper_config(
        "split_cifar", "mer", source="toy", tasks=2, examples_per_task=20, mer_bn=mode, replay_batch=3
    )
    stream = make_stream(config)
    method = make_method(config, stream, None, torch.device("cpu"))
    x, y = stream.tasks[0].train.rows(slice(0, 4))
    before = {name: value.clone() for name, value in method.net.state_dict().items()}
    method._learn_memory(x, y, torch.zeros(4, dtype=torch.int64))
    return before, method.net.state_dict(), method.net


@pytest.mark.parametrize("mode", ["train", "apart", "shared", "running"])
def test_batch_norm_in_the_memory_steps(mode):
    before, after, net = memory_steps(mode)
    running = [name for name in before if "running" in name]
    assert all(torch.equal(before[name], after[name]) for name in running) == (mode in ("apart", "running"))
    assert not torch.equal(before["conv1.weight"], after["conv1.weight"])  # it did learn
    norms = [module for module in net.modules() if isinstance(module, torch.nn.BatchNorm2d)]
    assert norms
    assert all(module.training for module in net.modules())  # the current batch trains as ever
    assert all(module.track_running_stats for module in norms)


def test_averages_apart_change_the_averages_alone():
    (_, train, _), (_, apart, _), (_, running, _) = (memory_steps(mode) for mode in ("train", "apart", "running"))
    weights = [name for name in train if "running" not in name and "num_batches" not in name]
    assert all(torch.equal(train[name], apart[name]) for name in weights)
    assert not all(torch.equal(train[name], running[name]) for name in weights)


def test_shared_statistics_are_those_of_the_memory_batch():
    config = paper_config(
        "split_cifar", "mer", source="toy", tasks=2, examples_per_task=20, mer_bn="shared", replay_batch=3
    )
    stream = make_stream(config)
    method, twin = (make_method(config, stream, None, torch.device("cpu")) for _ in range(2))
    x, y = stream.tasks[0].train.rows(slice(0, 3))
    tasks = torch.zeros(3, dtype=torch.int64)
    method._learn_memory(x, y, tasks)
    for i in range(3):  # a step on one example's loss, its images normalised together
        loss = -twin.masked(twin.net(twin.normalise(x)), tasks).log_softmax(1)[i, y[i]]
        twin.net.zero_grad()
        loss.backward()
        with torch.no_grad():
            for p in twin.net.parameters():
                p -= config.lr * p.grad
    for ours, theirs in zip(method.net.parameters(), twin.net.parameters()):
        torch.testing.assert_close(ours, theirs)
