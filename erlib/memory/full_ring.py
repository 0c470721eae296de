"""Full-memory ring (orange in Fig. 2): a queue for each class seen so far; queues shrink as classes arrive."""

from __future__ import annotations

from erlib.errors import ErlibError
from erlib.memory.base import Key, Memory


class FullRing(Memory):
    """Each of the K classes seen so far has size / K slots, so the memory is in use from the start."""

    def choose(self, key: Key) -> int:
        if key not in self._slots:
            self._make_room(key)
        if len(self._slots[key]) < self.size // len(self._slots):
            return self._free[-1]
        return self._oldest(key)

    def _make_room(self, key: Key) -> None:
        share = self.size // (len(self._slots) + 1)
        if share < 1:
            raise ErlibError(
                f"a memory of {self.size} slots has no room for class {key[1]} of task {key[0]}; give it at least "
                f"{self.classes} slots."
            )
        for other, slots in self._slots.items():
            while len(slots) > share:
                self._drop(self._oldest(other))
        self._slots[key] = {}
