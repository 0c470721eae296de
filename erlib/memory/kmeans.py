"""Online k-means (Alg. 4): for each class, the examples nearest to K centroids in feature space."""

from __future__ import annotations

import torch
from torch import Tensor

from erlib.memory.by_feature import CLOSER, ByFeature, half_square


class KMeans(ByFeature):
    """The first K examples of a class are its centroids; each later one moves the nearest and may replace its example.

    `distances="current"` compares new and kept with the centroid as it is now; "literal" compares with the distance
    that was stored when the kept example came in, as Alg. 4 is printed.
    """

    def allocate(self, width: int) -> dict[str, Tensor]:
        slots = self.classes * self.quota
        vectors, columns = torch.zeros(slots, width, device=self.device), torch.zeros(slots, device=self.device)
        tensors = {"centroid": vectors, "half": columns, "count": columns.clone()}
        if self.distances == "literal":
            return tensors | {"distance": columns.clone()}
        return tensors | {"kept": vectors.clone()}

    def fill(self, blocks: Tensor, slots: Tensor, features: Tensor, first: Tensor) -> None:
        self._tensors["count"].index_fill_(0, slots, 1)
        self._move(slots, features)  # its distance to its own centroid is 0
        if self.distances != "literal":
            self._tensors["kept"].index_copy_(0, slots, features)

    def compete(self, blocks: Tensor, x: Tensor, features: Tensor) -> None:
        centroid, count = self._tensors["centroid"], self._tensors["count"]
        slots = blocks * self.quota + self._remoteness("centroid", blocks, features).argmin(1)  # line 6
        n = count.index_select(0, slots) + 1
        c = centroid.index_select(0, slots)
        c = c + (features - c) / n.unsqueeze(1)  # line 8
        count.index_copy_(0, slots, n)
        self._move(slots, c)
        new = (features - c).norm(dim=1)
        if self.distances == "literal":
            old = self._tensors["distance"].index_select(0, slots)
            self._replace(slots, new < CLOSER * old, x, distance=new)
        else:
            old = (self._tensors["kept"].index_select(0, slots) - c).norm(dim=1)
            self._replace(slots, new < CLOSER * old, x, kept=features)

    def _move(self, slots: Tensor, centroids: Tensor) -> None:
        self._tensors["centroid"].index_copy_(0, slots, centroids)
        self._tensors["half"].index_copy_(0, slots, half_square(centroids))
