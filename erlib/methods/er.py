"""Experience replay (Alg. 1): one step on the current mini-batch stacked with one from the memory."""

from __future__ import annotations

import torch
from torch import Tensor

from erlib.methods.base import Method


class ER(Method):
    """One forward pass over the stack; the loss is the mean over all its examples, each under its own head."""

    def observe(self, x: Tensor, y: Tensor, t: int) -> None:
        past_x, past_y, past_t = self.replay()  # line 6
        features = self._features(x, past_x)
        tasks = t if self._outside is None else torch.cat((torch.full_like(y, t), past_t))
        loss = self.loss(self.net.fc(features), torch.cat((y, past_y)), tasks)
        self.descend(self.derivative(loss))  # line 7
        self.memory.write(x, y, t, features.detach()[: len(y)])  # line 8

    def _features(self, x: Tensor, past_x: Tensor) -> Tensor:
        """Of the current examples, then of the past ones: together in one pass, so that batch norm sees them as one."""
        if self.config.stacked or not len(past_x):
            return self.net.features(self.normalise(torch.cat((x, past_x))))
        return torch.cat([self.net.features(self.normalise(part)) for part in (x, past_x)])
