"""A generated many-class image set: small, made in a second, for tests and demonstrations only.

Every run made from it carries `source="toy"`, and nothing it shows is a result.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import interpolate

from erlib.benchmarks.images import ImageSet
from erlib.randomness import generator

SIDE, TRAIN, TEST = 32, 60, 20  # pixels; images a class


def load(classes: int) -> ImageSet:
    """Each class is a smooth random pattern; its images are shifted, recoloured and noisy copies of it."""
    random = generator(0, "toy")
    prototypes = interpolate(torch.randn(classes, 3, 5, 5, generator=random), size=SIDE, mode="bicubic")
    train, test = (_images(prototypes, count, random) for count in (TRAIN, TEST))
    labels = torch.arange(classes)
    return ImageSet(train, labels.repeat_interleave(TRAIN), test, labels.repeat_interleave(TEST))


def _images(prototypes: Tensor, count: int, random: torch.Generator) -> Tensor:
    copies = []
    for _ in range(count):
        shift = torch.randint(-4, 5, (2,), generator=random).tolist()
        copies.append(torch.roll(prototypes, shift, dims=(2, 3)))
    x = torch.stack(copies, 1).flatten(0, 1)  # class by class
    x = x + 0.9 * torch.randn(x.shape, generator=random) + 0.5 * torch.randn(len(x), 3, 1, 1, generator=random)
    return (128 + 50 * x).clamp_(0, 255).to(torch.uint8).permute(0, 2, 3, 1).contiguous()
