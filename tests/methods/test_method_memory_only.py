"""Memory only: task 1 as finetune, then nothing but the memory; with restart, from fresh weights, once."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import torch

from erlib.benchmarks.make import make_stream
from erlib.config import paper_config
from erlib.training import make_method


def test_after_task_1_only_the_memory_teaches(kit):
    method = kit.method(kit.config("memory_only", samples_per_class=2, replay_batch=10, lr=0.2))
    for t in range(2):
        for batch in kit.batches(t, 5):
            before = kit.weights(method)
            examples = kit.examples(*batch) if t == 0 else kit.examples(*method.memory.of_task(0))
            assert len(examples) == 4
            method.observe(*batch)
            kit.assert_close(method, kit.step(before, kit.gradient(before, examples), 0.2))
        method.end_task(t)
    assert len(method.memory) == 4
    assert {key[0] for key in method.memory.class_counts()} == {0}


def test_the_images_of_task_2_have_no_influence(kit):
    ends = []
    for seed in (1, 2):
        method = kit.method(kit.config("memory_only", lr=0.2))
        for batch in kit.batches(0, 3):
            method.observe(*batch)
        method.end_task(0)
        for batch in kit.batches(1, 3, seed=seed):
            method.observe(*batch)
        ends.append(kit.weights(method))
    assert all(np.array_equal(a, b) for a, b in zip(*ends))


def test_restart_begins_task_2_from_fresh_weights():
    base = paper_config("rotated_mnist", "memory_only", source="mnist-5k", examples_per_task=100, second_examples=30)
    config = base.replace(restart=True, lr=1e-12)  # steps too small to hide where the weights started
    stream = make_stream(config)
    method = make_method(config, stream, None, torch.device("cpu"))
    first = [p.clone() for p in method.params]
    for x, y in stream.tasks[0].train.batches(10):
        method.observe(x, y, 0)
    method.end_task(0)
    assert all(torch.allclose(a, b) for a, b in zip(first, method.params))
    seen = []
    for x, y in stream.tasks[1].train.batches(10):
        method.observe(x, y, 1)
        seen.append(method.net.fc1.weight.detach().clone())
    assert not torch.allclose(first[0], seen[0])
    assert abs(seen[0].std() / first[0].std() - 1) < 0.01  # drawn in the same way
    assert all(torch.allclose(seen[0], other) for other in seen)
    assert len(method.memory.of_task(0)[1]) == 10  # what task 1 left behind is kept
    assert method.state_dict() == {"restarted": True}


def test_it_restarts_only_once():
    config = paper_config("rotated_mnist", "memory_only", source="mnist-5k", restart=True, second_examples=30)
    stream = make_stream(config.replace(examples_per_task=30))
    method = make_method(config, stream, None, torch.device("cpu"))
    seen = []
    for task in stream.tasks:
        for x, y in task.train.batches(10):
            method.observe(x, y, task.id)
            seen.append(method.net.fc.bias.detach().clone())
        method.end_task(task.id)
    moves = [float((b - a).abs().max()) for a, b in pairwise(seen[3:])]
    assert min(moves) > 1e-3  # a second restart would lead to the same place again


def test_without_restart_the_weights_go_on():
    base = paper_config("rotated_mnist", "memory_only", source="mnist-5k", examples_per_task=20, second_examples=20)
    stream = make_stream(base)
    method = make_method(base.replace(lr=1e-12), stream, None, torch.device("cpu"))
    first = method.net.fc1.weight.detach().clone()
    for task in stream.tasks:
        for x, y in task.train.batches(10):
            method.observe(x, y, task.id)
        method.end_task(task.id)
    assert torch.allclose(first, method.net.fc1.weight)
