"""Online k-means (Alg. 4) against a NumPy loop over single examples."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from erlib.errors import ErlibError

LABELS, TASKS = 3, 2
BATCH = st.lists(st.integers(0, LABELS - 1), min_size=1, max_size=14)  # many of one class in a batch
PLAN = st.lists(st.lists(BATCH, min_size=1, max_size=6), min_size=1, max_size=TASKS)


class SlowClass:
    """Alg. 4 for one class. The first K examples are the centroids, with a count of 1 and a distance of 0."""

    def __init__(self, k, distances):
        self.k, self.distances = k, distances
        self.centroids, self.counts, self.kept = [], [], []  # kept: (example, feature, distance when it came in)

    def see(self, example, phi):
        if len(self.centroids) < self.k:
            self.centroids.append(phi)
            self.counts.append(1)
            self.kept.append((example, phi, 0.0))
            return
        j = int(np.argmin([np.linalg.norm(phi - c) for c in self.centroids]))  # line 6
        self.counts[j] += 1  # line 7
        self.centroids[j] = self.centroids[j] + (phi - self.centroids[j]) / self.counts[j]  # line 8
        d = np.linalg.norm(phi - self.centroids[j])  # line 9
        _, feature, stored = self.kept[j]
        if d < (stored if self.distances == "literal" else np.linalg.norm(feature - self.centroids[j])):
            self.kept[j] = (example, phi, d)


@pytest.mark.parametrize("distances", ["current", "literal"])
def test_examples_and_centroids_are_those_of_the_slow_loop(kit, distances):
    replaced = 0

    @settings(max_examples=40, deadline=None, derandomize=True, database=None)
    @given(PLAN, st.integers(1, 4), st.integers(0, 10_000))
    def follows(plan, k, seed):
        nonlocal replaced
        memory = kit.memory("kmeans", k * LABELS * TASKS, LABELS * TASKS, distances=distances)
        slow = {}
        for step in kit.steps(plan, seed):
            memory.write(step.x, step.y, step.t, step.features)
            for example, phi in zip(step.examples, step.features.double().numpy()):
                slow.setdefault((step.t, example.label), SlowClass(k, distances)).see(example, phi)
            expected = {example for c in slow.values() for example, _, _ in c.kept}
            assert set(kit.held(memory)) == expected
        centroids = memory.state_dict()["tensors"]["centroid"].view(LABELS * TASKS, k, -1)
        for block, c in enumerate(slow.values()):  # blocks are given out as classes arrive
            assert np.allclose(centroids[block, : len(c.centroids)].numpy(), np.array(c.centroids), atol=1e-3)
            first = sorted(example.number for example, _, _ in c.kept)
            replaced += first != sorted(first)[: len(first)] or any(stored > 0 for _, _, stored in c.kept)

    follows()
    assert (replaced > 0) == (distances == "current")  # literal: nobody beats a distance of 0


def test_literal_distances_keep_the_first_examples_for_ever(kit):
    memory = kit.memory("kmeans", 2, 1, distances="literal")
    for step in kit.steps([[[0] * 8] * 10]):
        memory.write(step.x, step.y, step.t, step.features)
    assert {e.number for e in kit.held(memory)} == {0, 1}


def test_features_are_needed(kit):
    memory = kit.memory("kmeans", 1, 1)
    with pytest.raises(ErlibError, match="compares features"):
        memory.write(torch.zeros(1, 4, dtype=torch.uint8), torch.tensor([0]), 0)


def test_an_example_that_is_just_as_near_does_not_replace(kit):
    """The second of a cluster puts the centroid in the middle: both are equally far, and only d < get_dst() stores."""
    random = torch.Generator().manual_seed(0)
    for _ in range(100):
        memory = kit.memory("kmeans", 1, 1)
        for step in kit.steps([[[0, 0]]]):
            memory.write(step.x, step.y, step.t, torch.randn(2, 256, generator=random).relu())
        assert [e.number for e in kit.held(memory)] == [0]
