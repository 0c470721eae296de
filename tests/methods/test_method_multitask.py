"""Multi-task: every example of every task exactly once, mixed, each under its own head."""

from __future__ import annotations

from collections import Counter

import pytest
import torch

from erlib.benchmarks.make import make_stream
from erlib.config import paper_config
from erlib.passes import PooledPass, pooled
from erlib.training import run


def tiny(**changes):
    values = {"source": "mnist-5k", "tasks": 4, "examples_per_task": 33, "test_examples": 20} | changes
    return paper_config("permuted_mnist", "multitask", **values)


def test_each_example_comes_once_with_its_own_label_and_task():
    config = tiny(head="per_task")
    stream = make_stream(config)
    expected = Counter()
    for task in stream.tasks:
        x, y = task.train.rows(slice(None))
        expected.update((task.id, label, image.numpy().tobytes()) for image, label in zip(x, y.tolist()))
    got, sizes, mixed = Counter(), [], 0
    for part in pooled(stream, config):
        assert part.steps == len(list(part.batches()))
        for x, y, t in part.batches():
            sizes.append(len(y))
            mixed += len(set(t.tolist())) > 1
            assert torch.equal(y // 10, t)  # own head
            got.update((t, label, image.numpy().tobytes()) for image, label, t in zip(x, y.tolist(), t.tolist()))
    assert got == expected
    assert sizes == [10] * 13 + [2]
    assert mixed > 10


def test_the_pool_is_shuffled_by_seed():
    config = tiny()
    orders = []
    for seed in (0, 0, 1):
        parts = pooled(make_stream(config.replace(seed=seed)), config.replace(seed=seed))
        orders.append(torch.cat([part.order for part in parts]))
    assert torch.equal(orders[0], orders[1])
    assert not torch.equal(orders[0], orders[2])


def test_within_a_batch_the_examples_of_a_task_keep_the_order_drawn():
    """An unstable sort would order them differently on different processors, and so round their sum differently."""
    drawn = torch.tensor([[t, row] for row in range(20) for t in (1, 0)])  # 40 examples: sorts differ from 16 on
    asked: dict[int, list[int]] = {}
    tasks = [Asked(asked, t) for t in range(2)]
    _ = list(PooledPass(tasks, drawn, 40).batches())
    assert asked == {0: list(range(20)), 1: list(range(20))}


class Asked:
    """A task that notes which of its rows are asked for."""

    def __init__(self, asked, t):
        self.asked, self.t, self.train = asked, t, self

    def rows(self, where):
        self.asked[self.t] = where.tolist()
        return torch.zeros(len(where), 1), torch.zeros(len(where))


def test_a_step_is_the_mean_each_under_its_own_head(kit):
    method = kit.method(kit.config("multitask", lr=0.2))
    parts = [next(kit.batches(t, 1)) for t in range(3)]
    x, y = torch.cat([p[0] for p in parts]), torch.cat([p[1] for p in parts])
    tasks = torch.tensor([0] * 4 + [1] * 4 + [2] * 4)
    before = kit.weights(method)
    method.observe(x, y, tasks)
    kit.assert_close(method, kit.step(before, kit.gradient(before, kit.examples(x, y, tasks)), 0.2))


def test_only_the_final_row_is_evaluated():
    result = run(tiny())
    assert len(result.accuracy) == 4
    assert all(value is None for row in result.accuracy[:-1] for value in row)
    assert None not in result.accuracy[-1]
    assert result.forgetting is None


@pytest.mark.parametrize(("tasks", "examples"), [(4, 13), (20, 25)])
def test_all_tasks_are_evaluated_when_the_steps_do_not_divide(tasks, examples):
    result = run(tiny(tasks=tasks, examples_per_task=examples))
    assert len(result.accuracy) == tasks
    assert None not in result.accuracy[-1]
    assert 0 <= result.average_accuracy <= 1
