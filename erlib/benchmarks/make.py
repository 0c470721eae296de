"""make_stream: the stream of a config, from the data set that the config names."""

from __future__ import annotations

import functools
from pathlib import Path

import torch
from torch import Tensor

from erlib.benchmarks.images import ImageSet
from erlib.benchmarks.streams import Examples, MovedColumns, MovedPixels, Normaliser, Stream, Task
from erlib.config import RunConfig
from erlib.errors import ErlibError
from erlib.protocol import BENCHMARKS, CENTRED
from erlib.randomness import generator

IMAGENET_MEAN, IMAGENET_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
MNIST_VALIDATION = 5000  # the first images of MNIST's training set, which the released code leaves out


def make_stream(config: RunConfig, data: str | Path | None = None, device: str | torch.device = "cpu") -> Stream:
    """The tasks that a config learns. The same seed gives the same tasks, order and examples to every method."""
    images = load(config.source, config.benchmark, str(data) if data else None)
    build = _mnist_stream if config.source.startswith("mnist") else _split_stream
    return build(config, images, torch.device(device))


@functools.lru_cache(maxsize=2)
def load(source: str, benchmark: str, data: str | None) -> ImageSet:
    """The data set of that name, verified and in memory; kept for the next run of the same process."""
    if source.startswith("mnist"):
        from erlib.benchmarks import mnist

        return mnist.load(source, data)
    if source == "cifar100":
        from erlib.benchmarks import cifar100

        return cifar100.load(data)
    if source == "miniimagenet":
        from erlib.benchmarks import miniimagenet

        return miniimagenet.load(data)
    if source == "cub":
        from erlib.benchmarks import cub

        return cub.load(data)
    from erlib.benchmarks import toy

    bench = BENCHMARKS[benchmark]
    return toy.load((bench.cv_tasks + bench.ev_tasks) * bench.classes_per_task)


def _mnist_stream(config: RunConfig, images: ImageSet, device: torch.device) -> Stream:
    first = MNIST_VALIDATION if config.source == "mnist" else 0
    train, labels = images.x_train[first:].to(device), images.y_train[first:]
    columns = images.x_test.T.contiguous().to(device)
    chosen = _evenly(len(images.y_test), config.test_examples, config)
    columns = columns.index_select(1, chosen.to(device))
    random = generator(config.seed, f"stream/{config.stream}")
    tasks = []
    for t in range(config.tasks):
        source, keep = _pixel_map(config, t, random)
        count = config.second_examples if config.benchmark == "rotated_mnist" and t == 1 else config.examples_per_task
        index = _shuffled(torch.arange(len(labels)), count, config, random)
        units = list(range(10)) if config.head == "shared" else list(range(10 * t, 10 * t + 10))
        own = labels + units[0]
        test_labels = images.y_test[chosen] + units[0]
        test = MovedColumns(columns, test_labels, torch.arange(len(chosen)), source, keep)
        tasks.append(Task(t, units, MovedPixels(train, own, index, source, keep), test))
    outputs = 10 if config.head == "shared" else 10 * config.tasks
    return Stream(tasks, Normaliser(1 / 255, None), outputs, config.head == "shared")


def _pixel_map(config: RunConfig, t: int, random: torch.Generator) -> tuple[Tensor, Tensor | None]:
    """Permuted MNIST: a fresh permutation for every task, the first included. Rotation: upright, then the angle."""
    if config.benchmark == "permuted_mnist":
        return torch.randperm(784, generator=random), None
    return rotation(config.angle if t == 1 else 0.0)


def rotation(angle: float) -> tuple[Tensor, Tensor]:
    """The pixel map of turning a 28 x 28 image by `angle` degrees: PIL's nearest neighbour, black outside."""
    import numpy
    from PIL import Image

    numbered = Image.fromarray(numpy.arange(1, 785, dtype=numpy.int32).reshape(28, 28))
    turned = torch.from_numpy(numpy.array(numbered.rotate(angle), dtype=numpy.int64)).flatten()
    return (turned - 1).clamp_(min=0), (turned > 0).to(torch.uint8)


def _split_stream(config: RunConfig, images: ImageSet, device: torch.device) -> Stream:
    bench = BENCHMARKS[config.benchmark]
    width = bench.classes_per_task
    random = generator(config.seed, f"stream/{config.stream}")
    classes = (bench.cv_tasks + bench.ev_tasks) * width
    block = bench.cv_tasks * width  # the labels of the CV stream: fixed, the lowest
    order = torch.arange(block)
    if config.stream == "ev":
        order = block + torch.randperm(classes - block, generator=random)
    train, test = images.x_train.to(device), images.x_test.to(device)
    tasks = []
    for t in range(config.tasks):
        units = order[t * width : (t + 1) * width].tolist()
        mine = torch.isin(images.y_train, torch.tensor(units)).nonzero().flatten()
        index = _shuffled(mine, config.examples_per_task, config, random)
        theirs = torch.isin(images.y_test, torch.tensor(units)).nonzero().flatten()
        theirs = theirs[_evenly(len(theirs), config.test_examples, config)]
        tasks.append(Task(t, units, Examples(train, images.y_train, index), Examples(test, images.y_test, theirs)))
    return Stream(tasks, _normaliser(config, images).to(device), classes, shared_head=False)


def _normaliser(config: RunConfig, images: ImageSet) -> Normaliser:
    """CIFAR and toy: minus the mean training image. miniImageNet and CUB: ImageNet's mean and deviation a channel."""
    if config.source in CENTRED:
        if not config.centred:
            return Normaliser(1 / 255, None)
        total = images.x_train.sum(0, dtype=torch.int64)  # exact
        mean = (total.double() / (255 * len(images.x_train))).float()
        return Normaliser(1 / 255, mean.permute(2, 0, 1))
    mean, std = torch.tensor(IMAGENET_MEAN).view(3, 1, 1), torch.tensor(IMAGENET_STD).view(3, 1, 1)
    return Normaliser(1 / (255 * std), mean / std)


def _shuffled(index: Tensor, count: int | None, config: RunConfig, random: torch.Generator) -> Tensor:
    if count is not None and count > len(index):
        raise ErlibError(
            f"a task of {count} training examples was asked for, but '{config.source}' has {len(index)} for it; "
            "ask for fewer or use the full data set."
        )
    return index[torch.randperm(len(index), generator=random)[:count]]


def _evenly(available: int, count: int | None, config: RunConfig) -> Tensor:
    """`count` of the test images, evenly spaced: the first ones alone would be easier or harder than the rest."""
    if count is None:
        return torch.arange(available)
    if count > available:
        raise ErlibError(
            f"{count} test images a task were asked for, but '{config.source}' has {available}; ask for fewer."
        )
    return torch.arange(count) * available // count
