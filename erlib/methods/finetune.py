"""Finetune: SGD on the stream, nothing else."""

from __future__ import annotations

from torch import Tensor

from erlib.methods.base import Method


class Finetune(Method):
    """The baseline without memory or regulariser."""

    def observe(self, x: Tensor, y: Tensor, t: int | Tensor) -> None:
        self.descend(self.gradients(x, y, t))
