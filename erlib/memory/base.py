"""Memory: preallocated slots, and the bookkeeping that every writer shares.

Images (and features) lie on the device; labels and the bookkeeping lie on the host, so that deciding where to write
and what to replay never waits for the device.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy
import torch
from torch import Tensor

from erlib.errors import ErlibError
from erlib.randomness import draw

Key = tuple[int, int]  # (task, label): the same digit of two tasks is two classes


class Memory:
    """`size` slots for examples of `classes` classes. A writer overrides `choose`, or `write` as a whole.

    With `replay_current=False` an example can be sampled only once its task has ended.
    """

    def __init__(
        self,
        size: int,
        classes: int,
        shape: tuple[int, ...],
        *,
        generator: torch.Generator,
        replay_current: bool,
        distances: str | None = None,
        device: str | torch.device = "cpu",
    ) -> None:
        if size < 1:
            raise ErlibError(f"a memory of {size} slots cannot hold an example; give it at least 1.")
        self.size, self.classes = size, classes
        self.generator, self.replay_current, self.distances = generator, replay_current, distances
        self.device = torch.device(device)
        self.x = torch.zeros((size, *shape), dtype=torch.uint8, device=self.device)
        self.y = torch.full((size,), -1)  # label, on the host
        self.t = torch.full((size,), -1)  # task, on the host
        self.writes = 0  # calls of write() so far: one a training step
        self.events: list[dict[str, Any]] = []
        self._slots: dict[Key, dict[int, None]] = {}  # each class's slots, oldest first
        self._owner: list[Key | None] = [None] * size
        self._free = list(range(size - 1, -1, -1))
        self._replayable: list[int] = []
        self._position: dict[int, int] = {}  # slot -> its place in _replayable

    def __len__(self) -> int:
        return sum(len(slots) for slots in self._slots.values())

    @property
    def quota(self) -> int:
        """Slots of one class when all classes have the same share."""
        quota = self.size // self.classes
        if quota < 1:
            raise ErlibError(
                f"a memory of {self.size} slots has no room for {self.classes} classes; use {self.classes} or more."
            )
        return quota

    def choose(self, key: Key) -> int | None:
        """The slot for a new example of class `key`, or None to let it pass."""
        raise NotImplementedError

    def write(self, x: Tensor, y: Tensor, t: int, features: Tensor | None = None) -> None:
        """Offer one mini-batch of the stream to the memory: images on the device, labels `y` on the host."""
        self.writes += 1
        placed: dict[int, int] = {}  # slot -> row of the batch; a later example overwrites an earlier one
        for row, label in enumerate(y.tolist()):
            slot = self.choose((t, label))
            if slot is not None:
                self._put(slot, (t, label))
                placed[slot] = row
        placed = {slot: row for slot, row in placed.items() if self._owner[slot] is not None}  # not dropped again
        if placed:
            slots, rows = numbers(placed), numbers(placed.values())
            self.x.index_copy_(0, self._sent(slots), x.index_select(0, self._sent(rows)))
            self.y.index_copy_(0, slots, y.index_select(0, rows))
            self.t.index_fill_(0, slots, t)

    def sample(self, count: int, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
        """Up to `count` different examples, uniformly: images, labels, tasks. All there are, if there are fewer."""
        available = len(self._replayable)
        return self.at(numbers(self._replayable[i] for i in draw(available, min(count, available), generator)))

    def at(self, slots: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The examples in these slots: images, labels, tasks."""
        return self.x.index_select(0, self._sent(slots)), self.y.index_select(0, slots), self.t.index_select(0, slots)

    def of_task(self, t: int) -> tuple[Tensor, Tensor, Tensor]:
        """All examples of one task: images, labels, tasks."""
        return self.at((self.t == t).nonzero().flatten())

    def end_task(self, t: int) -> None:
        """The examples of task `t` may be replayed from now on."""
        for key, slots in self._slots.items():
            if key[0] == t:
                for slot in slots:
                    self._allow_replay(slot)

    def class_counts(self) -> dict[Key, int]:
        """How many examples of each class, (task, label), the memory holds; 0 for a class that was evicted."""
        return {key: len(slots) for key, slots in self._slots.items()}

    def slots_of(self, key: Key) -> list[int]:
        """The slots that hold examples of a class, the oldest first."""
        return list(self._slots.get(key, ()))

    def _sent(self, numbers: Tensor) -> Tensor:
        """Host numbers on the device, without waiting for what it is doing."""
        return numbers.to(self.device, non_blocking=True)

    def _put(self, slot: int, key: Key) -> None:
        """Note that `slot` now holds a new example of class `key`, whatever it held before."""
        before = self._owner[slot]
        if before is not None:
            del self._slots[before][slot]
        elif self._free and self._free[-1] == slot:
            self._free.pop()
        elif slot in self._free:
            self._free.remove(slot)
        self._owner[slot] = key
        self._slots.setdefault(key, {})[slot] = None
        if self.replay_current:
            self._allow_replay(slot)
        else:
            self._forbid_replay(slot)

    def _drop(self, slot: int) -> None:
        """Forget what `slot` holds."""
        del self._slots[self._owner[slot]][slot]
        self._owner[slot] = None
        self.y[slot] = self.t[slot] = -1
        self._free.append(slot)
        self._forbid_replay(slot)

    def _oldest(self, key: Key) -> int:
        return next(iter(self._slots[key]))

    def _allow_replay(self, slot: int) -> None:
        if slot not in self._position:
            self._position[slot] = len(self._replayable)
            self._replayable.append(slot)

    def _forbid_replay(self, slot: int) -> None:
        if slot in self._position:
            hole, last = self._position.pop(slot), self._replayable.pop()
            if last != slot:
                self._replayable[hole] = last
                self._position[last] = hole

    def state_dict(self) -> dict[str, Any]:
        """Everything that a resumed run needs."""
        return {
            "x": self.x,
            "y": self.y,
            "t": self.t,
            "writes": self.writes,
            "events": self.events,
            "slots": [[*key, list(slots)] for key, slots in self._slots.items()],
            "free": self._free,
            "replayable": self._replayable,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take up the state of another memory of the same shape."""
        for mine, theirs in ((self.x, state["x"]), (self.y, state["y"]), (self.t, state["t"])):
            mine.copy_(theirs)
        self.writes, self.events = state["writes"], list(state["events"])
        self._slots = {(t, y): dict.fromkeys(slots) for t, y, slots in state["slots"]}
        self._owner = [None] * self.size
        for key, slots in self._slots.items():
            for slot in slots:
                self._owner[slot] = key
        self._free, self._replayable = list(state["free"]), list(state["replayable"])
        self._position = {slot: i for i, slot in enumerate(self._replayable)}


def numbers(values: Iterable[int]) -> Tensor:
    """Whole numbers as a tensor on the host; by way of NumPy this takes a third of `torch.tensor`'s time."""
    return torch.from_numpy(numpy.fromiter(values, numpy.int64))
