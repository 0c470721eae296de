"""Random state is explicit: each purpose has a generator of its own, derived from the seed and a name.

Drawing more from one generator never moves another. All generators live on the CPU, so that a seed means the same
stream, weights and memory on every device.
"""

from __future__ import annotations

import hashlib

import torch


def generator(seed: int, purpose: str) -> torch.Generator:
    """The generator of a purpose: "stream/ev", "initialisation", "memory write", "memory read"."""
    digest = hashlib.sha256(f"{seed}/{purpose}".encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:8], "big") >> 1)


def uniforms(count: int, source: torch.Generator) -> list[float]:
    """`count` numbers in [0, 1), as Python floats."""
    return torch.rand(count, generator=source, dtype=torch.float64).tolist()


def draw(population: int, count: int, source: torch.Generator) -> list[int]:
    """`count` different numbers below `population` in random order, at a cost that does not grow with `population`.

    A Fisher-Yates shuffle of which only the first `count` places are carried out.
    """
    moved: dict[int, int] = {}
    drawn = []
    for i, u in enumerate(uniforms(count, source)):
        j = i + int(u * (population - i))
        drawn.append(moved.get(j, j))
        moved[j] = moved.get(i, i)
    return drawn
