"""EWC as the paper ran it (EWC++): a running Fisher average, one anchor, a quadratic penalty.

Loss = cross-entropy + lambda * sum F (theta - anchor)^2, with F normalised to [0, 1] over the whole network.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from erlib.methods.base import Method

NEW_SHARE = 0.9  # weight of the newest window in the running Fisher average


class EWC(Method):
    """The Fisher is the square of the mini-batch gradient, averaged over windows of `fisher_every` steps."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.window = [torch.zeros_like(p) for p in self.params]  # squared gradients since the last update
        self.fisher = [torch.zeros_like(p) for p in self.params]
        self.importance: list[Tensor] = []  # normalised Fisher and weights at the end of the last task
        self.anchor: list[Tensor] = []
        self.step = 0  # within the task

    def observe(self, x: Tensor, y: Tensor, t: int) -> None:
        gradients = self.gradients(x, y, t)
        with torch.no_grad():
            self.step += 1
            if self.step % self.config.fisher_every == 0:  # before this step's gradient joins: the paper code's order
                torch._foreach_mul_(self.fisher, 1 - NEW_SHARE)
                torch._foreach_add_(self.fisher, self.window, alpha=NEW_SHARE / self.config.fisher_every)
                torch._foreach_zero_(self.window)
            torch._foreach_addcmul_(self.window, gradients, gradients)
            if self.anchor:
                pull = torch._foreach_sub(self.params, self.anchor)
                torch._foreach_addcmul_(gradients, pull, self.importance, 2 * self.config.ewc_lambda)
        self.descend(gradients)

    def end_task(self, t: int) -> None:
        low = torch.stack([f.min() for f in self.fisher]).min()
        high = torch.stack([f.max() for f in self.fisher]).max()
        self.importance = [(f - low) / (high - low + 1e-32) for f in self.fisher]
        self.anchor = [p.detach().clone() for p in self.params]
        self.step = 0

    def penalty(self) -> Tensor:
        """The penalty at the present weights (0 during the first task)."""
        terms = [(f * (p.detach() - a) ** 2).sum() for f, p, a in zip(self.importance, self.params, self.anchor)]
        return self.config.ewc_lambda * torch.stack(terms).sum() if terms else torch.zeros(())

    def state_dict(self) -> dict[str, Any]:
        names = ("window", "fisher", "importance", "anchor")
        return {name: getattr(self, name) for name in names}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        for name, tensors in state.items():
            setattr(self, name, [tensor.to(self.device) for tensor in tensors])
