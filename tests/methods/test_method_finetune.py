"""Finetune and what all methods share: the loss under a head, and plain SGD."""

from __future__ import annotations

import numpy as np
import torch


def test_a_step_is_minus_lr_times_the_mean_gradient(kit):
    method = kit.method(kit.config("finetune", lr=0.3))
    for t in range(3):
        for batch in kit.batches(t, 4):
            before = kit.weights(method)
            method.observe(*batch)
            kit.assert_close(method, kit.step(before, kit.gradient(before, kit.examples(*batch)), 0.3))


def test_units_outside_the_head_do_not_move(kit):
    method = kit.method(kit.config("finetune", lr=0.3))
    before = kit.weights(method)
    for batch in kit.batches(1, 5):
        method.observe(*batch)
    after = kit.weights(method)
    for outside in (0, 1, 4, 5):
        assert np.array_equal(before[4][outside], after[4][outside])
        assert before[5][outside] == after[5][outside]
    assert not np.allclose(before[4][2:4], after[4][2:4])


def test_a_shared_head_masks_nothing(kit):
    method = kit.method(kit.config("finetune"))
    method._outside = None
    logits = torch.randn(3, 6)
    assert method.masked(logits, 1) is logits


def test_predictions_stay_inside_the_head(kit):
    method = kit.method(kit.config("finetune"))
    logits = torch.randn(50, 6, dtype=torch.float64)
    assert set(method.masked(logits, 2).argmax(1).tolist()) == {4, 5}
    tasks = torch.arange(50) % 3
    assert torch.equal(method.masked(logits, tasks).argmax(1) // 2, tasks)
