"""Online mean of features (Alg. 5): for each class, the examples nearest to a running mean in feature space."""

from __future__ import annotations

import torch
from torch import Tensor

from erlib.memory.by_feature import CLOSER, ByFeature, half_square

DECAY = 0.5  # alpha of Alg. 5; the paper does not give it, the first author's later code uses 0.5


class MeanOfFeatures(ByFeature):
    """The mean starts at the class's first feature. A new example replaces the farthest kept one if it is closer.

    `distances="current"` compares with the mean as it is now; "literal" with the distances stored on the way in.
    """

    def allocate(self, width: int) -> dict[str, Tensor]:
        slots = self.classes * self.quota
        mean, column = torch.zeros(self.classes, width, device=self.device), torch.zeros(slots, device=self.device)
        if self.distances == "literal":
            return {"mean": mean, "distance": column}
        return {"mean": mean, "half": column, "kept": torch.zeros(slots, width, device=self.device)}

    def fill(self, blocks: Tensor, slots: Tensor, features: Tensor, first: Tensor) -> None:
        mean = self._moved_mean(blocks, features, first)
        for name, values in self._of_kept(features, mean).items():
            self._tensors[name].index_copy_(0, slots, values)

    def compete(self, blocks: Tensor, x: Tensor, features: Tensor) -> None:
        mean = self._moved_mean(blocks, features)
        new = (features - mean).norm(dim=1)
        if self.distances == "literal":
            slots = blocks * self.quota + self._of_class("distance", blocks).argmax(1)
            farthest = self._tensors["distance"].index_select(0, slots)
        else:
            slots = blocks * self.quota + self._remoteness("kept", blocks, mean).argmax(1)
            farthest = (self._tensors["kept"].index_select(0, slots) - mean).norm(dim=1)
        self._replace(slots, new < CLOSER * farthest, x, **self._of_kept(features, mean))

    def _of_kept(self, features: Tensor, mean: Tensor) -> dict[str, Tensor]:
        """What is remembered of an example that is kept."""
        if self.distances == "literal":
            return {"distance": (features - mean).norm(dim=1)}
        return {"kept": features, "half": half_square(features)}

    def _moved_mean(self, blocks: Tensor, features: Tensor, first: Tensor | None = None) -> Tensor:
        means = self._tensors["mean"]
        mean = DECAY * means.index_select(0, blocks) + (1 - DECAY) * features  # line 6
        if first is not None:
            mean = torch.where(first.unsqueeze(1), features, mean)
        means.index_copy_(0, blocks, mean)
        return mean
