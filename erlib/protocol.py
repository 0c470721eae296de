"""The paper's protocol as data: the facts of its benchmarks, and the hyper-parameters of its Table 8."""

from __future__ import annotations

from dataclasses import dataclass

from erlib.errors import ErlibError


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """The fixed facts of a benchmark (section 5.1 of the paper)."""

    title: str
    sources: tuple[str, ...]  # data sets it can be made from; the first is the paper's
    model: str
    cv_tasks: int
    ev_tasks: int
    classes_per_task: int
    samples_per_class: tuple[int, ...]  # the memory sizes of the paper's table
    examples_per_task: int | None  # None: all that the data set has
    fisher_every: int  # EWC: steps between two updates of the Fisher average


CENTRED = ("cifar100", "toy")  # data sets from which the mean training image is subtracted
BENCHMARKS: dict[str, Benchmark] = {
    "permuted_mnist": Benchmark(
        title="Permuted MNIST",
        sources=("mnist", "mnist-5k"),
        model="mlp",
        cv_tasks=3,
        ev_tasks=20,
        classes_per_task=10,
        samples_per_class=(1, 3, 5, 15),
        examples_per_task=1000,
        fisher_every=10,
    ),
    "rotated_mnist": Benchmark(
        title="MNIST rotation",
        sources=("mnist", "mnist-5k"),
        model="mlp",
        cv_tasks=2,
        ev_tasks=2,
        classes_per_task=10,
        samples_per_class=(1,),
        examples_per_task=1000,
        fisher_every=10,
    ),
    "split_cifar": Benchmark(
        title="Split CIFAR",
        sources=("cifar100", "toy"),
        model="resnet18_reduced",
        cv_tasks=3,
        ev_tasks=17,
        classes_per_task=5,
        samples_per_class=(1, 3, 5, 13),
        examples_per_task=None,
        fisher_every=50,
    ),
    "split_miniimagenet": Benchmark(
        title="Split miniImageNet",
        sources=("miniimagenet", "toy"),
        model="resnet18_reduced",
        cv_tasks=3,
        ev_tasks=17,
        classes_per_task=5,
        samples_per_class=(1, 3, 5, 13),
        examples_per_task=None,
        fisher_every=50,
    ),
    "split_cub": Benchmark(
        title="Split CUB",
        sources=("cub", "toy"),
        model="resnet18",
        cv_tasks=3,
        ev_tasks=17,
        classes_per_task=10,
        samples_per_class=(1, 3, 5, 10),
        examples_per_task=None,
        fisher_every=50,
    ),
}

# Table 8 of the paper. "er" holds every writer but the reservoir; the rotation analysis uses MNIST's column.
_MNIST = {
    "finetune": {"lr": 0.1},
    "ewc": {"lr": 0.1, "ewc_lambda": 10.0},
    "agem": {"lr": 0.1},
    "mer": {"lr": 0.03, "mer_gamma": 0.1, "mer_s": 10.0},
    "er/reservoir": {"lr": 0.1},
    "er": {"lr": 0.1},
}
_IMAGES = {
    "finetune": {"lr": 0.03},
    "ewc": {"lr": 0.03, "ewc_lambda": 10.0},
    "agem": {"lr": 0.03},
    "mer": {"lr": 0.03, "mer_gamma": 0.1, "mer_s": 5.0},
    "er/reservoir": {"lr": 0.1},
    "er": {"lr": 0.03},
}
TABLE_8: dict[str, dict[str, dict[str, float]]] = {
    "permuted_mnist": _MNIST,
    "rotated_mnist": _MNIST,
    "split_cifar": _IMAGES,
    "split_miniimagenet": _IMAGES,
    "split_cub": _IMAGES | {"mer": {"lr": 0.1, "mer_gamma": 0.1, "mer_s": 5.0}, "er/reservoir": {"lr": 0.03}},
}
# What Table 8 has no row for, as the CV stream chose it: `python -m erlib sweep tab8 --row ER-Hybrid`.
CV_CHOICE: dict[str, dict[str, dict[str, float]]] = {"split_cifar": {"er/hybrid": {"lr": 0.1}}}


def benchmark_named(name: str) -> Benchmark:
    """The benchmark of that name, or an error that lists them."""
    if name not in BENCHMARKS:
        raise ErlibError(f"unknown benchmark '{name}'; choose one of {', '.join(BENCHMARKS)}.")
    return BENCHMARKS[name]
