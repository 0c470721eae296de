"""ImageSet: a data set in memory, as every loader returns it."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class ImageSet:
    """A whole data set: uint8 images on the CPU, each held once.

    Images are [n, height, width, 3], or [n, 784] for MNIST; labels are int64, in the data set's own order.
    """

    x_train: Tensor
    y_train: Tensor
    x_test: Tensor
    y_test: Tensor

    def __post_init__(self) -> None:
        for x, y in ((self.x_train, self.y_train), (self.x_test, self.y_test)):
            if x.dtype != torch.uint8 or y.dtype != torch.int64 or len(x) != len(y):
                raise ValueError("an ImageSet holds uint8 images and as many int64 labels")
