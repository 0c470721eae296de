"""MER, the recipe of the paper's authors: inner steps on the memory and on the current batch, then part of the way.

Two readings of its memory steps: one SGD step for each memory example ("single"), or one for their batch ("batch").
Batch norm in them: statistics of the step's own examples, which enter the running averages ("train") or do not
("apart"), those of the whole memory batch ("shared"), or the running averages themselves ("running").
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from erlib.methods.base import Method


class MER(Method):
    """theta <- theta0 + gamma (theta - theta0), where theta is the end of the inner steps that start at theta0."""

    def observe(self, x: Tensor, y: Tensor, t: int) -> None:
        start = [p.detach().clone() for p in self.params]
        self._learn_memory(*self.replay())
        self.descend(self.gradients(x, y, t), self.config.mer_s * self.config.lr)
        with torch.no_grad():
            torch._foreach_lerp_(self.params, start, 1 - self.config.mer_gamma)
        self.memory.write(x, y, t)

    def _learn_memory(self, x: Tensor, y: Tensor, t: Tensor) -> None:
        size = 1 if self.config.mer_steps == "single" else max(1, len(y))
        self.net.train(self.config.mer_bn != "running")
        if self.config.mer_bn == "apart":
            self._track(False)
        for start in range(0, len(y), size):
            rows = slice(start, start + size)
            if self.config.mer_bn == "shared":
                logits = self.net(self.normalise(x))[rows]
                self.descend(self.derivative(self.loss(logits, y[rows], t[rows])))
            else:
                self.descend(self.gradients(x[rows], y[rows], t[rows]))
        if self.config.mer_bn == "apart":
            self._track(True)
        self.net.train()

    def _track(self, on: bool) -> None:
        """Do the running averages of batch norm see what passes from here on?"""
        for module in self.net.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.track_running_stats = on
