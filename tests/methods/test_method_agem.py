"""A-GEM: the projection, its reference, and the step that follows."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from erlib.methods.agem import project

SHAPES = [(3, 2), (4,), (1, 2, 2)]


@settings(max_examples=200, deadline=None, derandomize=True, database=None)
@given(st.integers(0, 2**31), st.floats(-2, 2), st.floats(1e-3, 1e3))
def test_the_projected_gradient_never_points_against_the_reference(seed, lean, scale):
    random = np.random.default_rng(seed)
    g = [scale * random.standard_normal(shape) for shape in SHAPES]
    ref = [random.standard_normal(shape) + lean * part for shape, part in zip(SHAPES, g)]
    flat_g, flat_ref = (np.concatenate([part.ravel() for part in each]) for each in (g, ref))
    got = project([torch.tensor(part) for part in g], [torch.tensor(part) for part in ref])
    flat = np.concatenate([part.numpy().ravel() for part in got])
    size = np.linalg.norm(flat_g) * np.linalg.norm(flat_ref)
    assert flat @ flat_ref >= -1e-12 * size
    dot = flat_g @ flat_ref
    if dot >= 0:
        assert np.array_equal(flat, flat_g)
    else:
        expected = flat_g - dot / (flat_ref @ flat_ref) * flat_ref
        np.testing.assert_allclose(flat, expected, rtol=1e-9, atol=1e-12 * scale)
        assert abs(flat @ flat_ref) < 1e-10 * size


def test_a_zero_reference_changes_nothing():
    g = [torch.randn(3), torch.randn(2, 2)]
    got = project(g, [torch.zeros(3), torch.zeros(2, 2)])
    assert all(torch.equal(a, b) for a, b in zip(got, g))


@pytest.mark.parametrize("reference_batch", [2, 256])
def test_a_step_follows_the_formula(kit, reference_batch):
    config = kit.config("agem", samples_per_class=2, replay_batch=reference_batch, lr=0.2)
    method, projected = kit.method(config), 0
    for t in range(3):
        for batch in kit.batches(t, 6):
            before, past = kit.weights(method), kit.next_replay(method)
            assert set(past[2].tolist()) <= set(range(t))  # completed tasks only
            assert len(past[1]) == (min(reference_batch, 4 * t))
            g = kit.gradient(before, kit.examples(*batch))
            if t > 0:
                ref = kit.gradient(before, kit.examples(*past))
                dot = kit.dot(g, ref)
                if dot < 0:
                    projected += 1
                    g = [a - dot / kit.dot(ref, ref) * b for a, b in zip(g, ref)]
            method.observe(*batch)
            kit.assert_close(method, kit.step(before, g, 0.2))
        method.end_task(t)
    assert projected > 0


def test_the_network_never_trains_on_the_memory(kit):
    """Where the gradients agree, the step is the current batch's alone."""
    method = kit.method(kit.config("agem", lr=0.2))
    for batch in kit.batches(0, 3):
        method.observe(*batch)
    method.end_task(0)
    x, y, t = next(kit.batches(0, 1))
    method.memory.sample = lambda *a: (x, y, torch.full_like(y, t))  # the reference is the batch itself
    before = kit.weights(method)
    method.observe(x, y, t)
    kit.assert_close(method, kit.step(before, kit.gradient(before, kit.examples(x, y, t)), 0.2))
