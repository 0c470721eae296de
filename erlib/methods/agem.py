"""A-GEM: the gradient is kept from pointing against the gradient on a batch of past examples."""

from __future__ import annotations

import torch
from torch import Tensor

from erlib.methods.base import Method


class AGEM(Method):
    """Memory is a constraint only: the network never trains on it. The ring holds it, past tasks are the reference."""

    def observe(self, x: Tensor, y: Tensor, t: int) -> None:
        past = self.replay()
        if len(past[1]):
            reference = self.gradients(*past)  # first, as in the released code: batch norm sees the memory before
            gradients = project(self.gradients(x, y, t), reference)
        else:
            gradients = self.gradients(x, y, t)
        self.descend(gradients)
        self.memory.write(x, y, t)


def project(gradients: list[Tensor], reference: list[Tensor]) -> list[Tensor]:
    """g - (g.r / r.r) r where g.r < 0, else g, in place: over the whole network, without waiting for the device."""
    dot = torch.stack([product.sum() for product in torch._foreach_mul(gradients, reference)]).sum()
    norm = torch.stack(torch._foreach_norm(reference)).square().sum()
    excess = torch.where(dot < 0, -dot / norm, 0.0)
    torch._foreach_addcmul_(gradients, reference, [excess] * len(reference))
    return gradients
