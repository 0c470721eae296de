"""Mean of features (Alg. 5) against a NumPy loop over single examples."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from erlib.errors import ErlibError

LABELS, TASKS, ALPHA = 3, 2, 0.5
BATCH = st.lists(st.integers(0, LABELS - 1), min_size=1, max_size=14)  # many of one class in a batch
PLAN = st.lists(st.lists(BATCH, min_size=1, max_size=6), min_size=1, max_size=TASKS)


class SlowClass:
    """Alg. 5 for one class. The mean starts at the first feature; an empty place is infinitely far."""

    def __init__(self, quota, distances):
        self.quota, self.distances, self.mean, self.kept = quota, distances, None, []

    def see(self, example, phi):
        self.mean = phi if self.mean is None else ALPHA * self.mean + (1 - ALPHA) * phi  # line 6
        d = np.linalg.norm(phi - self.mean)  # line 7
        if len(self.kept) < self.quota:
            self.kept.append((example, phi, d))
            return
        if self.distances == "literal":
            far = [stored for _, _, stored in self.kept]
        else:
            far = [np.linalg.norm(feature - self.mean) for _, feature, _ in self.kept]
        worst = int(np.argmax(far))
        if far[worst] > d:  # line 8
            self.kept[worst] = (example, phi, d)


@pytest.mark.parametrize("distances", ["current", "literal"])
def test_examples_and_means_are_those_of_the_slow_loop(kit, distances):
    replaced = 0

    @settings(max_examples=40, deadline=None, derandomize=True, database=None)
    @given(PLAN, st.integers(1, 4), st.integers(0, 10_000))
    def follows(plan, quota, seed):
        nonlocal replaced
        memory = kit.memory("mof", quota * LABELS * TASKS, LABELS * TASKS, distances=distances)
        slow, first = {}, set()
        for step in kit.steps(plan, seed):
            memory.write(step.x, step.y, step.t, step.features)
            for example, phi in zip(step.examples, step.features.double().numpy()):
                mine = slow.setdefault((step.t, example.label), SlowClass(quota, distances))
                first |= {example} if len(mine.kept) < quota else set()
                mine.see(example, phi)
            expected = {example for c in slow.values() for example, _, _ in c.kept}
            assert set(kit.held(memory)) == expected
        replaced += expected != first
        means = memory.state_dict()["tensors"]["mean"]
        for block, c in enumerate(slow.values()):  # blocks are given out as classes arrive
            assert np.allclose(means[block].numpy(), c.mean, atol=1e-3)

    follows()
    assert replaced > 10


def test_features_are_needed(kit):
    memory = kit.memory("mof", 1, 1)
    with pytest.raises(ErlibError, match="compares features"):
        memory.write(torch.zeros(1, 4, dtype=torch.uint8), torch.tensor([0]), 0)


def test_an_example_that_is_just_as_near_does_not_replace(kit):
    """With alpha 0.5 the second example puts the mean in the middle: both are equally far, and find_max() > d fails."""
    random = torch.Generator().manual_seed(0)
    for _ in range(100):
        memory = kit.memory("mof", 1, 1)
        for step in kit.steps([[[0, 0]]]):
            memory.write(step.x, step.y, step.t, torch.randn(2, 256, generator=random).relu())
        assert [e.number for e in kit.held(memory)] == [0]
