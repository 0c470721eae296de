"""Method: two verbs, `observe` one mini-batch of the stream and `end_task`; prediction and loss are shared."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from erlib.benchmarks.streams import Stream
from erlib.config import RunConfig
from erlib.memory import Memory
from erlib.models import MLP, ResNet18


class Method:
    """A network that learns from a stream. `memory` is None for methods that keep no examples."""

    pooled = False  # does it see all tasks shuffled together?

    def __init__(
        self,
        net: MLP | ResNet18,
        stream: Stream,
        config: RunConfig,
        *,
        memory: Memory | None = None,
        read: torch.Generator | None = None,
    ) -> None:
        self.net, self.config, self.memory, self.read = net, config, memory, read
        self.normalise = stream.normalise
        self.params = list(net.parameters())
        self.device = self.params[0].device
        heads = stream.heads()
        self._outside = None if heads is None else ~heads.to(self.device)  # units that are not of a task's head

    def observe(self, x: Tensor, y: Tensor, t: int | Tensor) -> None:
        """Learn from one mini-batch, once: uint8 images on the device, labels on the host, the task (or tasks)."""
        raise NotImplementedError

    def end_task(self, t: int) -> None:
        """Task `t` is over."""
        if self.memory is not None:
            self.memory.end_task(t)

    def replay(self) -> tuple[Tensor, Tensor, Tensor]:
        """A batch from the memory: images, labels, tasks."""
        return self.memory.sample(self.config.replay_batch, self.read)

    def masked(self, logits: Tensor, t: int | Tensor) -> Tensor:
        """Logits with everything outside each example's own head at minus infinity."""
        if self._outside is None:
            return logits
        outside = (
            self._outside[t]
            if isinstance(t, int)
            else self._outside.index_select(0, t.to(self.device, non_blocking=True))
        )
        return logits.masked_fill(outside, -torch.inf)

    def loss(self, logits: Tensor, y: Tensor, t: int | Tensor) -> Tensor:
        """Mean cross-entropy, each example under its own task's head."""
        return cross_entropy(self.masked(logits, t), y.to(self.device, non_blocking=True))

    def gradients(self, x: Tensor, y: Tensor, t: int | Tensor) -> list[Tensor]:
        """Gradient of the loss on a batch, one tensor for each parameter."""
        return self.derivative(self.loss(self.net(self.normalise(x)), y, t))

    def derivative(self, loss: Tensor) -> list[Tensor]:
        """Gradient of a loss, one tensor for each parameter."""
        return list(torch.autograd.grad(loss, self.params))

    def descend(self, gradients: list[Tensor], lr: float | None = None) -> None:
        """One step of plain SGD."""
        with torch.no_grad():
            torch._foreach_add_(self.params, gradients, alpha=-(self.config.lr if lr is None else lr))

    def state_dict(self) -> dict[str, Any]:
        """What the method keeps beside the network and the memory."""
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take up the state of an interrupted run."""
