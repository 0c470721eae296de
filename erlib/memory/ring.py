"""Ring buffer (Alg. 3): a first-in first-out queue of fixed length for each class."""

from __future__ import annotations

from erlib.errors import ErlibError
from erlib.memory.base import Key, Memory


class Ring(Memory):
    """Keeps the last size / classes examples of each class."""

    def choose(self, key: Key) -> int:
        if len(self._slots.get(key, ())) == self.quota:
            return self._oldest(key)
        if not self._free:
            raise ErlibError(
                f"class {key[1]} of task {key[0]} is one more than the {self.classes} classes this memory was made "
                "for; give it room for all classes of the stream."
            )
        return self._free[-1]
