"""What k-means and mean-of-features share: a block of slots for each class, written by comparing features.

Which example stays is decided on the device, with `where`; the host only knows how many slots a class has filled.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from erlib.errors import ErlibError
from erlib.memory.base import Key, Memory

CLOSER = 1 - 1e-5  # a distance counts as smaller only beyond rounding, so that an exact tie keeps the older example


class ByFeature(Memory):
    """Each class owns `quota` slots side by side. A class's examples are taken in one after another."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._free = []  # slots belong to blocks
        self._block: dict[Key, int] = {}  # class -> which block of `quota` slots
        self._tensors: dict[str, Tensor] = {}

    def allocate(self, width: int) -> dict[str, Tensor]:
        """The writer's own tensors for features of that width: kept features, centroids or means, distances."""
        raise NotImplementedError

    def fill(self, blocks: Tensor, slots: Tensor, features: Tensor, first: Tensor) -> None:
        """Examples that go to free slots; `first` says which are the first of their class."""
        raise NotImplementedError

    def compete(self, blocks: Tensor, x: Tensor, features: Tensor) -> None:
        """Examples whose class is full: each replaces a kept one if it is closer."""
        raise NotImplementedError

    def write(self, x: Tensor, y: Tensor, t: int, features: Tensor | None = None) -> None:
        if features is None:
            raise ErlibError("this memory writer compares features; pass features= of the training pass to write().")
        if not self._tensors:
            self._tensors = self.allocate(features.shape[1])
        self.writes += 1
        keys = [(t, label) for label in y.tolist()]
        for rows in _each_class_once(keys):
            full = [r for r in rows if len(self._slots.get(keys[r], ())) == self.quota]
            free = [r for r in rows if r not in full]
            if free:
                self._fill_rows(free, keys, x, y, features)
            if full:
                blocks = self._sent(torch.tensor([self._block[keys[r]] for r in full]))
                index = self._sent(torch.tensor(full))
                self.compete(blocks, x.index_select(0, index), features.index_select(0, index))

    def _fill_rows(self, rows: list[int], keys: list[Key], x: Tensor, y: Tensor, features: Tensor) -> None:
        blocks, slots = [], []
        for key in (keys[r] for r in rows):
            block = self._block.setdefault(key, len(self._block))
            if block >= self.classes:
                raise ErlibError(
                    f"class {key[1]} of task {key[0]} is one more than the {self.classes} classes this memory was made "
                    "for; give it room for all classes of the stream."
                )
            blocks.append(block)
            slots.append(block * self.quota + len(self._slots.get(key, ())))
            self._put(slots[-1], key)
        host = torch.tensor(slots)
        self.y[host], self.t[host] = y[torch.tensor(rows)], keys[0][0]
        first = self._sent(torch.tensor([slot % self.quota == 0 for slot in slots]))
        index, where = self._sent(torch.tensor(rows)), self._sent(host)
        self.x.index_copy_(0, where, x.index_select(0, index))
        self.fill(self._sent(torch.tensor(blocks)), where, features.index_select(0, index), first)

    def _of_class(self, name: str, blocks: Tensor) -> Tensor:
        """One of the writer's own tensors, slot by slot of each class: [classes, quota, ...]."""
        tensor = self._tensors[name]
        return tensor.view(self.classes, self.quota, *tensor.shape[1:]).index_select(0, blocks)

    def _remoteness(self, name: str, blocks: Tensor, points: Tensor) -> Tensor:
        """How far the vectors of each class are from its point: [classes, quota], in the order of the distances.

        It is |v|²/2 - v·p, half the squared distance but for |p|²/2, which all slots share. "half" holds |v|²/2, so
        that only the product grows with the slots of a class, not three passes over differences.
        """
        product = torch.bmm(points.unsqueeze(1), self._of_class(name, blocks).transpose(1, 2)).squeeze(1)
        return self._of_class("half", blocks) - product

    def _replace(self, slots: Tensor, take: Tensor, x: Tensor, **values: Tensor) -> None:
        """Overwrite the slots where `take` is true: the image and the named tensors."""
        shape = (-1, *[1] * (x.dim() - 1))
        self.x.index_copy_(0, slots, torch.where(take.view(shape), x, self.x.index_select(0, slots)))
        for name, value in values.items():
            kept = self._tensors[name]
            mask = take.view(-1, *[1] * (value.dim() - 1))
            kept.index_copy_(0, slots, torch.where(mask, value, kept.index_select(0, slots)))

    def state_dict(self) -> dict[str, Any]:
        blocks = [[*key, block] for key, block in self._block.items()]
        return super().state_dict() | {"blocks": blocks, "tensors": dict(self._tensors)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self._block = {(t, y): block for t, y, block in state["blocks"]}
        self._tensors = {name: tensor.to(self.device) for name, tensor in state["tensors"].items()}


def half_square(vectors: Tensor) -> Tensor:
    """Half the squared length of each vector."""
    return vectors.square().sum(1) / 2


def _each_class_once(keys: list[Key]) -> list[list[int]]:
    """Rows of a batch in rounds: the first example of each class, then the second of each, and so on."""
    rounds: list[list[int]] = []
    count: dict[Key, int] = {}
    for row, key in enumerate(keys):
        nth = count.get(key, 0)
        count[key] = nth + 1
        if nth == len(rounds):
            rounds.append([])
        rounds[nth].append(row)
    return rounds
