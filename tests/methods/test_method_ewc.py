"""EWC++ as PROTOCOL, section 6 tells it, simulated step by step."""

from __future__ import annotations

import numpy as np
import pytest
import torch


class SlowEWC:
    """Everything flattened into one vector. Numbers in brackets are the protocol's."""

    def __init__(self, size, k, strength):
        self.k, self.strength = k, strength
        self.g, self.f = np.zeros(size), np.zeros(size)
        self.importance = self.anchor = None

    def gradient(self, theta, ce, iteration):
        if iteration % self.k == 0:  # (2) before the k-th gradient is added
            self.f = (1 - 0.9) * self.f + (0.9 / self.k) * self.g
            self.g = np.zeros_like(self.g)
        self.g = self.g + ce**2  # (1) cross-entropy only
        if self.anchor is None:
            return ce
        return ce + 2 * self.strength * self.importance * (theta - self.anchor)  # (4)

    def end_task(self, theta):
        self.importance = (self.f - self.f.min()) / (self.f.max() - self.f.min() + 1e-32)  # (3)
        self.anchor = theta.copy()


def flat(weights):
    return np.concatenate([w.ravel() for w in weights])


@pytest.mark.parametrize(("k", "steps"), [(3, 7), (5, 10), (4, 3)])
def test_weights_follow_the_protocol_over_several_tasks(kit, k, steps):
    method = kit.method(kit.config("ewc", fisher_every=k, ewc_lambda=1.5, lr=0.05))
    theta = flat(kit.weights(method))
    slow = SlowEWC(len(theta), k, 1.5)
    for t in range(3):
        for i, batch in enumerate(kit.batches(t, steps), start=1):
            ce = flat(kit.gradient(kit.weights(method), kit.examples(*batch)))
            theta = theta - 0.05 * slow.gradient(theta, ce, i)
            method.observe(*batch)
            np.testing.assert_allclose(flat(kit.weights(method)), theta, rtol=1e-8, atol=1e-10)
        method.end_task(t)
        slow.end_task(theta)
        np.testing.assert_allclose(flat([f.numpy() for f in method.fisher]), slow.f, rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(flat([f.numpy() for f in method.importance]), slow.importance, rtol=1e-8)
    assert (slow.f.max() > 0) == (steps >= k)  # a task shorter than the window: the Fisher stays 0, as on CUB


def test_the_penalty_is_zero_in_task_1_and_above_zero_after_it(kit):
    method = kit.method(kit.config("ewc", fisher_every=3, lr=0.05))
    for batch in kit.batches(0, 7):
        method.observe(*batch)
        assert method.penalty() == 0
    method.end_task(0)
    assert method.penalty() == 0  # at the anchor
    for batch in kit.batches(1, 4):
        method.observe(*batch)
        assert method.penalty() > 0
    importance = torch.cat([f.flatten() for f in method.importance])
    assert importance.min() == 0
    assert importance.max() == 1


def test_importance_is_scaled_over_the_whole_network_from_its_least_to_its_greatest(kit):
    method = kit.method(kit.config("ewc"))
    random = np.random.default_rng(0)
    method.fisher = [torch.from_numpy(i + 1 + random.random(p.shape)) for i, p in enumerate(method.params)]
    f = flat([part.numpy() for part in method.fisher])
    method.end_task(0)
    importance = flat([part.numpy() for part in method.importance])
    np.testing.assert_allclose(importance, (f - f.min()) / (f.max() - f.min()))


def test_the_penalty_is_lambda_times_the_weighted_squares(kit):
    method = kit.method(kit.config("ewc", fisher_every=2, ewc_lambda=7.0, lr=0.05))
    for t in range(2):
        for batch in kit.batches(t, 4):
            method.observe(*batch)
        if t == 0:
            method.end_task(t)
    moved = flat(kit.weights(method)) - flat([a.numpy() for a in method.anchor])
    expected = 7.0 * (flat([f.numpy() for f in method.importance]) * moved**2).sum()
    assert float(method.penalty()) == pytest.approx(expected)


def test_a_saved_state_continues_identically(kit):
    methods = [kit.method(kit.config("ewc", fisher_every=3, lr=0.05)) for _ in range(2)]
    for batch in kit.batches(0, 7):
        methods[0].observe(*batch)
    methods[0].end_task(0)
    methods[1].net.load_state_dict(methods[0].net.state_dict())
    methods[1].load_state_dict({name: [x.clone() for x in xs] for name, xs in methods[0].state_dict().items()})
    for batch in kit.batches(1, 7):
        for method in methods:
            method.observe(*batch)
        assert all(torch.equal(a, b) for a, b in zip(methods[0].params, methods[1].params))
