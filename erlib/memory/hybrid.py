"""Hybrid (section 4.4, Fig. 2): a reservoir until a past class is nearly lost, a balanced ring from then on."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from erlib.memory.base import Key
from erlib.memory.reservoir import Reservoir
from erlib.randomness import draw


class Hybrid(Reservoir):
    """Switches, after a write, when a class of a completed task holds at most one example."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.switched = False
        self._completed: set[int] = set()
        self._largest = 0  # no class holds more than this

    def write(self, x: Tensor, y: Tensor, t: int, features: Tensor | None = None) -> None:
        for label in y.tolist():
            self._slots.setdefault((t, label), {})
        super().write(x, y, t, features)
        if not self.switched and self._past_class_nearly_lost():
            self._switch(t)

    def choose(self, key: Key) -> int | None:
        if not self.switched:
            return super().choose(key)
        if self._free:
            self._largest = max(self._largest, len(self._slots[key]) + 1)
            return self._free[-1]
        return self._oldest(self._over_represented(key))

    def end_task(self, t: int) -> None:
        super().end_task(t)
        self._completed.add(t)

    def _past_class_nearly_lost(self) -> bool:
        return any(len(slots) <= 1 for key, slots in self._slots.items() if key[0] in self._completed)

    def _switch(self, t: int) -> None:
        """Keep min(n_c, size / K) examples of each of the K classes seen so far, picked at random."""
        share = max(1, self.size // len(self._slots))
        for slots in self._slots.values():
            held = list(slots)
            kept = draw(len(held), min(len(held), share), self.generator)
            for slot in set(held) - {held[i] for i in kept}:
                self._drop(slot)
        self.switched, self._largest = True, share
        self.events.append({"name": "switch", "task": t, "step": self.writes})

    def _over_represented(self, key: Key) -> Key:
        """The largest class: the example's own if it is one of the largest, else the one seen first."""
        if len(self._slots[key]) < self._largest:
            self._largest = max(len(slots) for slots in self._slots.values())
            if len(self._slots[key]) < self._largest:
                return next(other for other, slots in self._slots.items() if len(slots) == self._largest)
        return key

    def state_dict(self) -> dict[str, Any]:
        hybrid = {"switched": self.switched, "completed": sorted(self._completed), "largest": self._largest}
        return super().state_dict() | hybrid

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self.switched, self._completed = state["switched"], set(state["completed"])
        self._largest = state["largest"]
