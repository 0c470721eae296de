"""Task and Stream: a seed's sequence of tasks, made from a data set that is held once on the device.

A permutation, a rotation or a normalisation is applied to a batch when it is asked for, never stored.
Labels stay on the host: memory writers decide by label, and reading labels back from a device would wait for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

Batch = tuple[Tensor, Tensor]  # uint8 images on the device, int64 labels on the host


class Examples:
    """Some examples of a data set, in stream order."""

    def __init__(self, images: Tensor, labels: Tensor, index: Tensor) -> None:
        self.images, self.labels = images, labels[index]
        self.index = index.to(images.device)

    def __len__(self) -> int:
        return len(self.labels)

    def rows(self, where: slice | Tensor) -> Batch:
        """These examples (a slice, or numbers on the host) as one batch."""
        index = self.index[where if isinstance(where, slice) else where.to(self.index.device, non_blocking=True)]
        return self.at(index), self.labels[where]

    def at(self, index: Tensor) -> Tensor:
        """The images at these places of the data set."""
        return self.images.index_select(0, index)

    def batches(self, size: int) -> Iterator[Batch]:
        """All examples once, in order."""
        for index, labels in zip(self.index.split(size), self.labels.split(size)):
            yield self.at(index), labels


class MovedPixels(Examples):
    """Flat images seen through a pixel map: output pixel i is input pixel `source[i]`, or black where `keep` is 0."""

    def __init__(self, images: Tensor, labels: Tensor, index: Tensor, source: Tensor, keep: Tensor | None) -> None:
        super().__init__(images, labels, index)
        self.source = source.to(images.device)
        self.keep = None if keep is None else keep.to(images.device)

    def at(self, index: Tensor) -> Tensor:
        x = super().at(index)
        x = x.gather(1, self.source.expand_as(x))  # five times faster than index_select along the pixels
        return x if self.keep is None else x.mul_(self.keep)


class MovedColumns(MovedPixels):
    """The same for a whole test set stored as [pixels, images]: moving pixels then copies rows, which is cheap."""

    def batches(self, size: int) -> Iterator[Batch]:
        moved = self.images.index_select(0, self.source)
        if self.keep is not None:
            moved.mul_(self.keep.unsqueeze(1))
        for start in range(0, len(self), size):
            yield moved[:, start : start + size].T, self.labels[start : start + size]

    def rows(self, where: slice | Tensor) -> Batch:
        x, y = next(self.batches(len(self)))
        return x[where], y[where]


@dataclass(frozen=True)
class Task:
    """One task: its number in the stream, the output units of its head, its training and test examples."""

    id: int
    classes: list[int]
    train: Examples
    test: Examples


@dataclass(frozen=True)
class Normaliser:
    """uint8 to float: x * scale - shift; images come as [n, height, width, 3] and leave as [n, 3, height, width]."""

    scale: Tensor | float
    shift: Tensor | None

    def __call__(self, x: Tensor) -> Tensor:
        if x.dim() == 4:
            x = x.permute(0, 3, 1, 2)  # the strides stay: channels_last without a copy
        x = x.float().mul_(self.scale)
        return x if self.shift is None else x.sub_(self.shift)

    def to(self, device: torch.device) -> Normaliser:
        """The same on a device."""
        scale = self.scale.to(device) if isinstance(self.scale, Tensor) else self.scale
        return Normaliser(scale, None if self.shift is None else self.shift.to(device))


@dataclass(frozen=True)
class Stream:
    """The tasks in order, how to normalise a batch, and which output units belong to each task."""

    tasks: list[Task]
    normalise: Normaliser
    outputs: int  # width of the classifier
    shared_head: bool  # one head for all tasks; else a task's head is its own classes

    @property
    def example_shape(self) -> tuple[int, ...]:
        """Shape of one stored image."""
        x, _ = self.tasks[0].train.rows(slice(0, 1))
        return tuple(x.shape[1:])

    def heads(self) -> Tensor | None:
        """[tasks, outputs], true where a unit belongs to a task's head; None for a shared head."""
        if self.shared_head:
            return None
        mask = torch.zeros(len(self.tasks), self.outputs, dtype=torch.bool)
        for task in self.tasks:
            mask[task.id, task.classes] = True
        return mask
