"""Hybrid (section 4.4, Fig. 2): a reservoir until a past class is nearly lost, a balanced ring from then on."""

from __future__ import annotations

from typing import Any

import numpy
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
        self._count_anew()

    def write(self, x: Tensor, y: Tensor, t: int, features: Tensor | None = None) -> None:
        new = [key for label in y.tolist() if (key := (t, label)) not in self._slots]
        if new:
            self._slots |= {key: {} for key in new}
            self._count_anew()
        super().write(x, y, t, features)
        if not self.switched and bool((self._held[self._past] <= 1).any()):
            self._switch(t)

    def choose(self, key: Key) -> int | None:
        if not self.switched:
            return super().choose(key)
        return self._free[-1] if self._free else self._oldest(self._over_represented(key))

    def end_task(self, t: int) -> None:
        super().end_task(t)
        self._completed.add(t)
        self._count_anew()

    def _count_anew(self) -> None:
        """What is asked of the classes at every step, as arrays, so that many classes cost no more than few."""
        self._classes = list(self._slots)  # in the order seen
        self._place = {key: place for place, key in enumerate(self._classes)}
        self._held = numpy.array([len(slots) for slots in self._slots.values()], dtype=numpy.int64)
        self._past = numpy.array([key[0] in self._completed for key in self._classes], dtype=bool)

    def _put(self, slot: int, key: Key) -> None:
        before = self._owner[slot]
        if before is not None:
            self._held[self._place[before]] -= 1
        self._held[self._place[key]] += 1
        super()._put(slot, key)

    def _switch(self, t: int) -> None:
        """Keep min(n_c, size / K) examples of each of the K classes seen so far, picked at random."""
        share = max(1, self.size // len(self._slots))
        for slots in self._slots.values():
            held = list(slots)
            kept = draw(len(held), min(len(held), share), self.generator)
            for slot in set(held) - {held[i] for i in kept}:
                self._drop(slot)
        self.switched = True
        self._count_anew()
        self.events.append({"name": "switch", "task": t, "step": self.writes})

    def _over_represented(self, key: Key) -> Key:
        """The largest class: the example's own if it is one of the largest, else the one seen first."""
        first = int(self._held.argmax())
        return key if self._held[self._place[key]] == self._held[first] else self._classes[first]

    def state_dict(self) -> dict[str, Any]:
        return super().state_dict() | {"switched": self.switched, "completed": sorted(self._completed)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self.switched, self._completed = state["switched"], set(state["completed"])
        self._count_anew()
