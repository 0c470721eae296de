"""Online k-means (Alg. 4): for each class, the examples nearest to K centroids in feature space."""

from __future__ import annotations

import torch
from torch import Tensor

from erlib.memory.by_feature import CLOSER, ByFeature


class KMeans(ByFeature):
    """The first K examples of a class are its centroids; each later one moves the nearest and may replace its example.

    `distances="current"` compares new and kept with the centroid as it is now; "literal" compares with the distance
    that was stored when the kept example came in, as Alg. 4 is printed.
    """

    def allocate(self, width: int) -> dict[str, Tensor]:
        slots = self.classes * self.quota
        zeros = torch.zeros(slots, width, device=self.device)
        column = torch.zeros(slots, device=self.device)
        return {"centroid": zeros, "kept": zeros.clone(), "count": column, "distance": column.clone()}

    def fill(self, blocks: Tensor, slots: Tensor, features: Tensor, first: Tensor) -> None:
        for name in ("centroid", "kept"):
            self._tensors[name].index_copy_(0, slots, features)
        self._tensors["count"].index_fill_(0, slots, 1)  # its distance to its own centroid is 0

    def compete(self, blocks: Tensor, x: Tensor, features: Tensor) -> None:
        centroid, count = self._tensors["centroid"], self._tensors["count"]
        of_class = centroid.view(self.classes, self.quota, -1)
        apart = of_class.index_select(0, blocks).sub_(features.unsqueeze(1))
        nearest = apart.square_().sum(2).argmin(1)  # line 6
        slots = blocks * self.quota + nearest
        n = count.index_select(0, slots) + 1
        c = centroid.index_select(0, slots)
        c = c + (features - c) / n.unsqueeze(1)  # line 8
        count.index_copy_(0, slots, n)
        centroid.index_copy_(0, slots, c)
        new = (features - c).norm(dim=1)
        if self.distances == "literal":
            old = self._tensors["distance"].index_select(0, slots)
        else:
            old = (self._tensors["kept"].index_select(0, slots) - c).norm(dim=1)
        self._replace(slots, new < CLOSER * old, x, kept=features, distance=new)
