"""Explicit generators: one a purpose, none moved by another."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from erlib.randomness import draw, generator, uniforms


@settings(max_examples=200, deadline=None, derandomize=True, database=None)
@given(st.integers(0, 300), st.integers(0, 300), st.integers(0, 99))
def test_a_draw_has_no_repeats_and_stays_below_the_population(population, count, seed):
    count = min(count, population)
    drawn = draw(population, count, torch.Generator().manual_seed(seed))
    assert len(drawn) == len(set(drawn)) == count
    assert all(0 <= i < population for i in drawn)


def test_all_orders_are_equally_likely():
    source, trials = torch.Generator().manual_seed(3), 6000
    counts = Counter(tuple(draw(4, 3, source)) for _ in range(trials))
    expected = trials / 24
    assert set(counts) == set(permutations(range(4), 3))
    assert max(abs(n - expected) for n in counts.values()) < 4.5 * expected**0.5


def test_uniforms_lie_in_the_half_open_unit_interval():
    values = uniforms(10_000, torch.Generator().manual_seed(0))
    assert all(0 <= u < 1 for u in values)
    assert abs(sum(values) / len(values) - 0.5) < 0.02


def test_a_generator_depends_on_seed_and_purpose_only():
    values = {
        (seed, purpose): tuple(uniforms(4, generator(seed, purpose)))
        for seed in range(20)
        for purpose in ("stream/ev", "stream/cv", "initialisation", "memory write", "memory read", "pool", "restart")
    }
    assert len(set(values.values())) == len(values)
    torch.manual_seed(12345)
    assert tuple(uniforms(4, generator(3, "memory read"))) == values[3, "memory read"]


def test_the_global_generator_is_not_touched():
    before = torch.get_rng_state()
    draw(100, 10, generator(0, "memory read"))
    assert torch.equal(before, torch.get_rng_state())
