"""Reservoir sampling (Alg. 2): after n examples each has been kept with the same probability, size / n."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from erlib.memory.base import Key, Memory
from erlib.randomness import uniforms


class Reservoir(Memory):
    """The n-th example goes to a uniformly drawn place of n; a place beyond the memory means that it passes."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.seen = 0
        self._draws: list[float] = []

    def write(self, x: Tensor, y: Tensor, t: int, features: Tensor | None = None) -> None:
        self._draws = uniforms(len(y), self.generator)
        super().write(x, y, t, features)

    def choose(self, key: Key) -> int | None:
        self.seen += 1
        u = self._draws.pop()
        if self.seen <= self.size:
            return self.seen - 1
        place = int(u * self.seen)
        return place if place < self.size else None

    def state_dict(self) -> dict[str, Any]:
        return super().state_dict() | {"seen": self.seen}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self.seen = state["seen"]
