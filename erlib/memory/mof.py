"""Online mean of features (Alg. 5): for each class, the examples nearest to a running mean in feature space."""

from __future__ import annotations

import torch
from torch import Tensor

from erlib.memory.by_feature import CLOSER, ByFeature

DECAY = 0.5  # alpha of Alg. 5; the paper does not give it, the first author's later code uses 0.5


class MeanOfFeatures(ByFeature):
    """The mean starts at the class's first feature. A new example replaces the farthest kept one if it is closer.

    `distances="current"` compares with the mean as it is now; "literal" with the distances stored on the way in.
    """

    def allocate(self, width: int) -> dict[str, Tensor]:
        slots = self.classes * self.quota
        kept = torch.zeros(slots, width, device=self.device)
        mean = torch.zeros(self.classes, width, device=self.device)
        return {"kept": kept, "mean": mean, "distance": torch.zeros(slots, device=self.device)}

    def fill(self, blocks: Tensor, slots: Tensor, features: Tensor, first: Tensor) -> None:
        mean = self._moved_mean(blocks, features, first)
        self._tensors["kept"].index_copy_(0, slots, features)
        self._tensors["distance"].index_copy_(0, slots, (features - mean).norm(dim=1))

    def compete(self, blocks: Tensor, x: Tensor, features: Tensor) -> None:
        mean = self._moved_mean(blocks, features)
        new = (features - mean).norm(dim=1)
        if self.distances == "literal":
            kept = self._tensors["distance"].view(self.classes, self.quota).index_select(0, blocks)
        else:
            of_class = self._tensors["kept"].view(self.classes, self.quota, -1)
            kept = of_class.index_select(0, blocks).sub_(mean.unsqueeze(1)).norm(dim=2)
        farthest, place = kept.max(1)
        self._replace(blocks * self.quota + place, new < CLOSER * farthest, x, kept=features, distance=new)

    def _moved_mean(self, blocks: Tensor, features: Tensor, first: Tensor | None = None) -> Tensor:
        means = self._tensors["mean"]
        mean = DECAY * means.index_select(0, blocks) + (1 - DECAY) * features  # line 6
        if first is not None:
            mean = torch.where(first.unsqueeze(1), features, mean)
        means.index_copy_(0, blocks, mean)
        return mean
